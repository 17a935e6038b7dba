"""What an answer changes about its feed: when it is asked next, how it is doing, where it lives."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import QuerySet

from digest.feeds import FeedProblem
from digest.fetch import Fetched
from digest.identity import canonical_url
from digest.models import Feed
from digest.polling import (
    Move,
    check_minutes,
    failure_next_at,
    is_missing,
    move_seen,
    success_next_at,
)
from digest.services.ingest import IngestResult, document_ingest
from digest.services.moving import feed_move

log = structlog.get_logger(__name__)
# A feed that was not asked, because a host was busy, is due again so soon.
BUSY_PAUSE = timedelta(minutes=5)
MISSING_WORDS = "The server had nothing at this address ten times in a row, so it is no longer asked."


def feed_claim(*, feed: Feed, now: datetime, until: datetime) -> bool:
    """Take `feed` for one fetch; whether it was still as it was read. Nobody else gets it before `until`.

    A worker that dies leaves it due again then. `feed.next_check_at` becomes `until`: the claim's fence.
    """
    rows = Feed.objects.filter(pk=feed.pk, state=Feed.State.ACTIVE, next_check_at=feed.next_check_at)
    if not rows.update(next_check_at=until):
        return False
    feed.next_check_at = until
    return True


def answer_keep(*, feed: Feed, answer: Fetched, now: datetime, draw: float) -> IngestResult:
    """Keep the items of a good answer, and what it says of the feed. `draw` is a random number from 0 to 1.

    An unchanged document (304) is a success like any other. Raises `FeedProblem` for a document that is
    refused; nothing is written then.
    """
    result = IngestResult(0, 0)
    if answer.body is not None:
        result = document_ingest(feed=feed, body=answer.body, now=now, url=answer.url)
    move = move_seen(url=_moved(feed, answer), known=feed.moved_url, sightings=feed.moved_sightings)
    ttl_s = result.ttl_minutes * 60.0 if result.ttl_minutes else None
    minutes = check_minutes(
        before=feed.check_minutes,
        gap=result.gap or _gap_seen(feed, result, now),
        last_new_at=now if result.items_new else feed.last_new_at,
        wishes_s=(answer.fresh_s, ttl_s),
        now=now,
    )
    fields: dict[str, Any] = {
        # A 304 need not repeat what it was asked with.
        "etag": answer.etag or (feed.etag if answer.body is None else ""),
        "last_modified": answer.last_modified or (feed.last_modified if answer.body is None else ""),
        "last_fetched_at": now,
        "next_check_at": success_next_at(
            now=now, minutes=minutes, retry_after_s=answer.retry_after_s, draw=draw
        ),
        "check_minutes": minutes,
        "failures": 0,
        "missing": 0,
        "error_code": "",
        "error_message": "",
        "moved_url": move.url,
        "moved_sightings": move.sightings,
    } | ({"last_new_at": now} if result.items_new else {})
    # An unchanged feed is the usual case, and most of what is known of it stays.
    changed = {name: value for name, value in fields.items() if getattr(feed, name) != value}
    if _claimed(feed).update(**changed) and move.adopt:
        _adopt(feed, move, now)
    return result


def problem_keep(*, feed: Feed, problem: FeedProblem, now: datetime, draw: float) -> None:
    """Note a failed fetch and when to try again; a feed that is gone, or missing for long, is given up.

    A host that was too busy to be asked is no failure of the feed.
    """
    if problem.code == "host_busy":
        _claimed(feed).update(next_check_at=now + BUSY_PAUSE)
        return
    failures, missing = feed.failures + 1, feed.missing + 1 if problem.code == "http_404" else 0
    after = failure_next_at(
        now=now,
        failures=failures,
        minutes=feed.check_minutes,
        retry_after_s=problem.retry_after_s,
        draw=draw,
    )
    fields: dict[str, Any] = problem_fields(problem, now) | {
        "failures": failures,
        "missing": missing,
        "next_check_at": after,
    }
    if problem.gone or is_missing(missing=missing):
        fields["state"] = Feed.State.GONE
    if is_missing(missing=missing):
        fields["error_message"] = MISSING_WORDS
    _claimed(feed).update(**fields)


def problem_fields(problem: FeedProblem, now: datetime) -> dict[str, object]:
    """The columns that say what went wrong, and when."""
    return {
        "last_fetched_at": now,
        "error_code": problem.code[:40],
        "error_message": problem.message[:300],
    }


def _claimed(feed: Feed) -> QuerySet[Feed]:
    """The feed's row as long as our claim holds: whoever claimed it later has the last word."""
    return Feed.objects.filter(pk=feed.pk, next_check_at=feed.next_check_at)


def _moved(feed: Feed, answer: Fetched) -> str:
    """Where the answer says the feed lives now; "" where that is no news, or gives up a secure address."""
    url = canonical_url(answer.moved_url) if answer.moved_url else ""
    unsafe = feed.url.startswith("https:") and url.startswith("http:")
    return "" if url == feed.url or unsafe else url


def _gap_seen(feed: Feed, result: IngestResult, now: datetime) -> timedelta | None:
    """The mean time between new items as we saw them come, for feeds whose items bear no dates."""
    if not result.items_new or feed.last_new_at is None:
        return None
    return (now - feed.last_new_at) / result.items_new


def _adopt(feed: Feed, move: Move, now: datetime) -> None:
    """Follow a move that is believed; one to an address we would not fetch from is not."""
    try:
        feed_move(feed=feed, url=move.url, now=now)
    except FeedProblem as problem:
        log.warning("feed.move_refused", feed=feed.url, to=move.url, code=problem.code)
