"""What an answer changes about its feed: when it is asked next, how it is doing, where it lives."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import transaction

from digest.feeds import FeedProblem, ParsedFeed
from digest.fetch import Fetched, host_of
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
from digest.reports import IngestResult
from digest.services.ingest import documents_keep
from digest.services.moving import feed_move
from digest.services.rows import rows_set

log = structlog.get_logger(__name__)
# A feed that was not asked, because a host was busy, is due again so soon.
BUSY_PAUSE = timedelta(minutes=5)
CLAIM: Final = ("id", "next_check_at")
# What a good answer says of its feed.
COLUMNS: Final = (
    *("etag", "last_modified", "last_fetched_at", "next_check_at", "check_minutes"),
    *("failures", "missing", "error_code", "error_message"),
    *("moved_url", "moved_sightings", "moved_since", "last_new_at"),
)
# What a failed fetch says of its feed; it ends a row of redirects.
PROBLEM_COLUMNS: Final = (
    *("last_fetched_at", "error_code", "error_message", "failures", "missing", "next_check_at"),
    *("moved_url", "moved_sightings", "moved_since"),
)
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


def feeds_claim(*, feeds: Sequence[Feed], now: datetime, until: datetime) -> list[Feed]:
    """Take `feeds` as `feed_claim` takes one, in one statement where nobody else wants them; those we got."""
    if len(feeds) > 1 and all(feed.next_check_at for feed in feeds):
        rows = sorted((feed.pk, feed.next_check_at, Feed.State.ACTIVE, until) for feed in feeds)
        keys = ("id", "next_check_at", "state")
        try:
            with transaction.atomic():
                if rows_set(model=Feed, keys=keys, columns=("next_check_at",), rows=rows) < len(rows):
                    raise _Contended
        except _Contended:
            return [feed for feed in feeds if feed_claim(feed=feed, now=now, until=until)]
        for feed in feeds:
            feed.next_check_at = until
        return list(feeds)
    return [feed for feed in feeds if feed_claim(feed=feed, now=now, until=until)]


class _Contended(Exception):
    """Somebody else has one of the feeds; which one only asking for each can tell."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A good answer to a feed, read. `parsed` is None where the document is unchanged (304); `draw` is a
    random number from 0 to 1."""

    feed: Feed
    answer: Fetched
    parsed: ParsedFeed | None
    draw: float


def answers_keep(*, heard: Sequence[Heard], now: datetime) -> list[IngestResult]:
    """Keep the items of good answers, each of another feed, and what they say of the feeds.

    An unchanged document is a success like any other. What is known of a feed is written as long as our claim
    holds. A constant number of statements, but for feeds that are believed to have moved.
    """
    brought = [(one.feed, one.parsed) for one in heard if one.parsed is not None]
    kept = iter(documents_keep(documents=brought, now=now) if brought else ())
    results = [next(kept) if one.parsed is not None else IngestResult(0, 0) for one in heard]
    moves = [_move(one, now) for one in heard]
    rows = [_row(*known, now) for known in zip(heard, results, moves, strict=True)]
    staying = [row for row, move in zip(rows, moves, strict=True) if not move.adopt]
    _rows_keep(sorted(staying, key=_pk))
    for one, row, move in zip(heard, rows, moves, strict=True):
        if move.adopt and _rows_keep([row]):
            _adopt(one.feed, move, now)
    return results


def _pk(row: tuple[Any, ...]) -> int:
    return int(row[0])


def _rows_keep(rows: Sequence[tuple[Any, ...]]) -> int:
    return rows_set(model=Feed, keys=CLAIM, columns=COLUMNS, rows=rows)


def _move(heard: Heard, now: datetime) -> Move:
    feed = heard.feed
    noted = Move(feed.moved_url, feed.moved_sightings, feed.moved_since)
    return move_seen(url=_moved(feed, heard.answer), noted=noted, now=now)


def _row(heard: Heard, result: IngestResult, move: Move, now: datetime) -> tuple[Any, ...]:
    """The feed's id, its claim, and the values of `COLUMNS`."""
    feed, answer = heard.feed, heard.answer
    ttl_s = result.ttl_minutes * 60.0 if result.ttl_minutes else None
    minutes = check_minutes(
        before=feed.check_minutes,
        gap=result.gap or _gap_seen(feed, result, now),
        last_new_at=now if result.items_new else feed.last_new_at,
        wishes_s=(answer.fresh_s, ttl_s),
        now=now,
    )
    after = success_next_at(now=now, minutes=minutes, retry_after_s=answer.retry_after_s, draw=heard.draw)
    unchanged = answer.body is None  # a 304 need not repeat what it was asked with
    return (
        feed.pk,
        feed.next_check_at,
        answer.etag or (feed.etag if unchanged else ""),
        answer.last_modified or (feed.last_modified if unchanged else ""),
        now,
        after,
        minutes,
        *(0, 0, "", ""),  # no failure, nothing missing, no error
        move.url,
        move.sightings,
        move.since,
        now if result.items_new else feed.last_new_at,
    )


@dataclass(frozen=True, slots=True)
class Failed:
    """A fetch that brought no document, or none that could be kept; `draw` is a random number from 0 to 1."""

    feed: Feed
    problem: FeedProblem
    draw: float


def problems_keep(*, failed: Sequence[Failed], now: datetime) -> None:
    """Note failed fetches and when to try again; a feed that is gone, or missing for long, is given up.

    A host that was too busy to be asked is no failure of its feeds. What is known of a feed is written as
    long as our claim holds: whoever claimed it later has the last word. One statement for those whose hosts
    are busy, one for those that fail, one for those that are given up, however many there are.
    """
    busy = sorted(_claim(one.feed) for one in failed if one.problem.code == "host_busy")
    again = [(*claim, now + BUSY_PAUSE) for claim in busy]
    rows_set(model=Feed, keys=CLAIM, columns=("next_check_at",), rows=again)
    rest = sorted((one for one in failed if one.problem.code != "host_busy"), key=lambda one: one.feed.pk)
    failing = [_failed_row(one, now) for one in rest if not _is_over(one)]
    rows_set(model=Feed, keys=CLAIM, columns=PROBLEM_COLUMNS, rows=failing)
    over = [(*_failed_row(one, now), Feed.State.GONE) for one in rest if _is_over(one)]
    rows_set(model=Feed, keys=CLAIM, columns=(*PROBLEM_COLUMNS, "state"), rows=over)


def _missing(one: Failed) -> int:
    """How often in a row there was nothing at the feed's address, this time included."""
    return one.feed.missing + 1 if one.problem.code == "http_404" else 0


def _is_over(one: Failed) -> bool:
    return one.problem.gone or is_missing(missing=_missing(one))


def _failed_row(one: Failed, now: datetime) -> tuple[Any, ...]:
    """The feed's id, its claim, and the values of `PROBLEM_COLUMNS`."""
    feed, problem, missing = one.feed, one.problem, _missing(one)
    fields = problem_fields(problem=problem, now=now)
    if is_missing(missing=missing):
        fields["error_message"] = MISSING_WORDS
    after = failure_next_at(
        now=now,
        failures=feed.failures + 1,
        minutes=feed.check_minutes,
        retry_after_s=problem.retry_after_s,
        draw=one.draw,
    )
    return (*_claim(feed), *fields.values(), feed.failures + 1, missing, after, "", 0, None)


def problem_fields(*, problem: FeedProblem, now: datetime) -> dict[str, object]:
    """The columns that say what went wrong, and when: `last_fetched_at`, `error_code`, `error_message`."""
    return {
        "last_fetched_at": now,
        "error_code": problem.code[:40],
        "error_message": problem.message[:300],
    }


def _claim(feed: Feed) -> tuple[int, datetime | None]:
    """What a row of the feed is written by as long as our claim holds; a feed that was claimed has a time."""
    return feed.pk, feed.next_check_at


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
        log.warning("feed.move_refused", feed_id=feed.pk, host=host_of(move.url), code=problem.code)
