"""Changes of stored feeds and sources: claims, results of fetches, moves, and operators' requests."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_noop

from digest.errors import InvalidSourceKey, UnknownSource
from digest.feeds.access import REFUSED, UNREADABLE
from digest.feeds.addresses import feed_address
from digest.feeds.connect import resolve_addresses
from digest.feeds.entities import FeedProblem, IngestResult, ParsedFeed
from digest.feeds.fetch import FetchResponse, host_of, web_address
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS, source_key
from digest.feeds.ingest import documents_ingest, feed_get_or_create, source_get_or_create
from digest.feeds.pauses import due_at
from digest.feeds.polling import (
    MISSING_MAX,
    Move,
    count_sighting,
    failure_next_at,
    next_interval_minutes,
    server_pause_until,
    success_next_at,
)
from digest.feeds.storable import text_storable
from digest.feeds.twins import feed_place, items_follow, items_join, readers_new, twins_of
from digest.models import Feed, Item, Source, SourceFigure, Subscription
from ranking.common.isolation import isolate
from ranking.common.rows import rows_set
from ranking.services import source_key_rename

BATCH: Final = 500
# Problems that are none of the feed. It is due again so soon.
NOT_COUNTED: Final = ("host_busy", "no_network")
BUSY_PAUSE: Final = timedelta(minutes=5)
MISSING_MESSAGE: Final = gettext_noop(
    "The server had nothing at this address ten times in a row, so it is no longer asked."
)
# A row of a feed is written by these as long as our claim holds.
CLAIM_COLUMNS: Final = ("id", "next_check_at")
SUCCESS_COLUMNS: Final = (
    *("etag", "last_modified", "last_fetched_at", "next_check_at", "check_minutes"),
    *("failures", "missing", "error_code", "error_message"),
    *("moved_url", "moved_sightings", "moved_since", "last_new_at", "note", "pause_until"),
)
# A failure ends a row of redirects, so it clears them.
FAILURE_COLUMNS: Final = (
    *("last_fetched_at", "error_code", "error_message", "failures", "missing", "next_check_at"),
    *("moved_url", "moved_sightings", "moved_since", "pause_until"),
)
# A domain, or one with the path of a publisher on it ("medium.com/@ada"): never a whole address.
_SOURCE_KEY: Final = re.compile(r"(?!\w+:/)[^\s<>\"'\x00-\x1f\x7f]+\Z")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FeedAnswer:
    """A good answer of a feed. `parsed` is None for an unchanged document. `jitter` is random, 0 to 1."""

    feed: Feed
    response: FetchResponse
    parsed: ParsedFeed | None
    jitter: float


@dataclass(frozen=True, slots=True)
class FeedFailure:
    """A fetch without a document that could be stored. `jitter` is random, 0 to 1."""

    feed: Feed
    problem: FeedProblem
    jitter: float

    @property
    def missing(self) -> int:
        """Return how often in a row the feed's address answered 404, this time included."""
        return self.feed.missing + 1 if self.problem.code == "http_404" else 0

    @property
    def final_state(self) -> str:
        """Return the final state of a feed that is not fetched again automatically, else "".

        If a secret was refused twice in a row or cannot be decrypted, the feed waits for its owner.
        """
        if self.problem.gone or self.missing >= MISSING_MAX:
            return Feed.State.GONE
        again = self.problem.code == REFUSED and self.feed.error_code == REFUSED
        return Feed.State.REFUSED if again or self.problem.code == UNREADABLE else ""


@dataclass(frozen=True, slots=True)
class SourceMove:
    """The rows that move with a source. `joined` is true if the target key is a source already."""

    key: str
    into: str
    joined: bool
    feeds: int
    items: int
    configs: int = 0


def feed_claim(*, feed: Feed, until: datetime) -> bool:
    """Claim `feed` for one fetch until `until`. Return False if it changed since it was read.

    `feed.next_check_at` becomes `until`, the fence of the claim. If the worker dies, the feed is due again
    then.
    """
    rows = Feed.objects.filter(pk=feed.pk, state=Feed.State.ACTIVE, next_check_at=feed.next_check_at)
    if not rows.update(next_check_at=until):
        return False
    feed.next_check_at = until
    return True


def feeds_claim(*, feeds: Sequence[Feed], until: datetime) -> list[Feed]:
    """Claim `feeds` as `feed_claim` does, in one statement if all are free. Return the claimed ones."""
    if len(feeds) > 1 and all(feed.next_check_at for feed in feeds):
        rows = sorted((feed.pk, feed.next_check_at, Feed.State.ACTIVE, until) for feed in feeds)
        keys = ("id", "next_check_at", "state")
        with transaction.atomic():
            free = rows_set(model=Feed, keys=keys, columns=("next_check_at",), rows=rows) == len(rows)
            if not free:
                transaction.set_rollback(True)  # which feed somebody else has, only asking for each can tell
        if free:
            for feed in feeds:
                feed.next_check_at = until
            return list(feeds)
    return [feed for feed in feeds if feed_claim(feed=feed, until=until)]


def answers_store(*, answers: Sequence[FeedAnswer], now: datetime) -> list[IngestResult]:
    """Store the items of good answers, one per feed, and update the feeds.

    An unchanged document is a success, too. A feed is written only while our claim holds. The number of
    statements is constant, apart from feeds that have moved for good.
    """
    _sources_follow([one for one in answers if one.parsed is not None])
    documents = [(one.feed, one.parsed) for one in answers if one.parsed is not None]
    ingested = iter(documents_ingest(documents=documents, now=now) if documents else ())
    results = [next(ingested) if one.parsed is not None else IngestResult(0, 0) for one in answers]
    came = [one.feed for one, result in zip(answers, results, strict=True) if result.items_new]
    _predecessors_follow([feed for feed in came if feed.last_new_at is None], now)
    moves = [_move(one, now) for one in answers]
    rows = [_success_row(*facts, now) for facts in zip(answers, results, moves, strict=True)]
    staying = [row for row, move in zip(rows, moves, strict=True) if not move.adopt]
    _success_store(sorted(staying, key=lambda row: int(row[0])))
    for one, row, move in zip(answers, rows, moves, strict=True):
        if move.adopt and _success_store([row]):
            try:
                feed_move(feed=one.feed, url=move.url, now=now)
            except FeedProblem as problem:
                host = host_of(move.url)
                log.warning("feed_move_refused", feed_id=one.feed.pk, host=host, code=problem.code)
    return results


def _sources_follow(answers: Sequence[FeedAnswer]) -> None:
    """Give each feed that redirects to another domain the source of the host that answered.

    So an open redirect on a publisher's domain lends nobody the publisher's name. When the redirect is gone,
    the feed gets the source of its own address back. A private feed stays its own source. No query if neither
    happened.
    """
    for one in answers:
        feed, own, last = one.feed, source_key(one.feed.address), source_key(one.response.url)
        other = last if last != own else ""
        if other != feed.answered_by:
            feed.answered_by = other
            if feed.owner_id is None:
                feed.source = source_get_or_create(key=last, title="")
            feed.save(update_fields=["source", "answered_by"])


def _predecessors_follow(feeds: Sequence[Feed], now: datetime) -> None:
    """Join the posts of feeds with their first items to those of the feeds that moved there.

    So a move to another domain brings no post again. One query if nothing moved, or none without `feeds`.
    """
    targets = {feed.url: feed for feed in feeds}
    seen: set[str] = set()
    while places := targets.keys() - seen:
        seen |= places
        for before in Feed.objects.filter(state=Feed.State.MOVED, moved_url__in=places).exclude(url__in=seen):
            target = targets[before.url] = targets[before.moved_url]
            readers = list(Subscription.objects.filter(feed=before).values_list("reader_id", flat=True))
            with isolate("feed", before.pk, "feed_follow_failed"), transaction.atomic():
                items_follow(feed=before, target=target, readers=readers, now=now)


def _success_store(rows: Sequence[tuple[Any, ...]]) -> int:
    return rows_set(model=Feed, keys=CLAIM_COLUMNS, columns=SUCCESS_COLUMNS, rows=rows)


def _move(answer: FeedAnswer, now: datetime) -> Move:
    """Return where the feed moves, as far as known. A move from https to http does not count.

    A private feed never moves, because its secret was given for its address.
    """
    feed, moved_url = answer.feed, answer.response.moved_url
    url = feed_address(moved_url)
    if feed.owner_id or url == feed.url or (feed.url.startswith("https:") and url.startswith("http:")):
        url = ""
    previous = Move(feed.moved_url, feed.moved_sightings, feed.moved_since)
    return count_sighting(url=url, previous=previous, now=now)


def _success_row(answer: FeedAnswer, result: IngestResult, move: Move, now: datetime) -> tuple[Any, ...]:
    """Return the values of `CLAIM_COLUMNS` and `SUCCESS_COLUMNS`."""
    feed, response = answer.feed, answer.response
    gap = result.gap or None
    if not gap and result.items_new and feed.last_new_at:
        gap = (now - feed.last_new_at) / result.items_new  # items without dates: the gap as we saw them come
    last_new_at = now if result.items_new else feed.last_new_at
    ttl_s = result.ttl_minutes * 60.0 if result.ttl_minutes else None
    minutes = next_interval_minutes(
        before=feed.check_minutes,
        gap=gap,
        last_new_at=last_new_at,
        wishes_s=(response.fresh_s, ttl_s),
        now=now,
    )
    after = success_next_at(
        now=now, minutes=minutes, retry_after_s=response.retry_after_s, jitter=answer.jitter
    )
    unchanged = response.body is None  # a 304 need not repeat its headers
    return (
        *_claim(feed),
        response.etag or (feed.etag if unchanged else ""),
        response.last_modified or (feed.last_modified if unchanged else ""),
        now,
        after,
        minutes,
        *(0, 0, "", ""),  # no failure, nothing missing, no error
        move.url,
        move.sightings,
        move.since,
        last_new_at,
        feed.note if unchanged else _note(result),
        server_pause_until(code="", retry_after_s=response.retry_after_s, next_at=after, now=now),
    )


def _note(result: IngestResult) -> str:
    """Return what is odd about a document that was read, or ""."""
    if result.is_broken:
        return Feed.Note.BROKEN
    return "" if result.items_seen else Feed.Note.EMPTY


def failures_store(*, failures: Sequence[FeedFailure], now: datetime) -> None:
    """Store failed fetches and the next try. Give up feeds that are gone or have long been missing.

    A busy host, or an outage of our own network, is no failure of its feeds. A feed is written only while our
    claim holds, so a later claim has the last word. At most three statements: busy, failing, given up.
    """
    busy = sorted(_claim(one.feed) for one in failures if one.problem.code in NOT_COUNTED)
    again = [(*claim, now + BUSY_PAUSE) for claim in busy]
    rows_set(model=Feed, keys=CLAIM_COLUMNS, columns=("next_check_at",), rows=again)
    counted = (one for one in failures if one.problem.code not in NOT_COUNTED)
    rest = sorted(counted, key=lambda one: one.feed.pk)
    failing = [_failure_row(one, now) for one in rest if not one.final_state]
    rows_set(model=Feed, keys=CLAIM_COLUMNS, columns=FAILURE_COLUMNS, rows=failing)
    final = [(*_failure_row(one, now), one.final_state) for one in rest if one.final_state]
    rows_set(model=Feed, keys=CLAIM_COLUMNS, columns=(*FAILURE_COLUMNS, "state"), rows=final)


def _failure_row(failure: FeedFailure, now: datetime) -> tuple[Any, ...]:
    """Return the values of `CLAIM_COLUMNS` and `FAILURE_COLUMNS`."""
    feed, problem = failure.feed, failure.problem
    fields = problem_fields(problem=problem, now=now)
    if failure.missing >= MISSING_MAX:
        fields["error_message"] = MISSING_MESSAGE
    after = failure_next_at(
        now=now,
        failures=feed.failures + 1,
        minutes=feed.check_minutes,
        retry_after_s=problem.retry_after_s,
        jitter=failure.jitter,
        unreachable=problem.unreachable,
    )
    pause = server_pause_until(code=problem.code, retry_after_s=problem.retry_after_s, next_at=after, now=now)
    return (*_claim(feed), *fields.values(), feed.failures + 1, failure.missing, after, "", 0, None, pause)


def _claim(feed: Feed) -> tuple[int, datetime | None]:
    """Return the values of `CLAIM_COLUMNS`. A claimed feed has a time."""
    return feed.pk, feed.next_check_at


def problem_fields(*, problem: FeedProblem, now: datetime) -> dict[str, object]:
    """Return the columns that record a problem and its time."""
    return {
        "last_fetched_at": now,
        "error_code": text_storable(problem.code, 40),
        "error_message": text_storable(problem.message, 300),
    }


def feeds_check(*, feed_ids: Collection[int], now: datetime) -> int:
    """Make these feeds active and due, now or when the pause ends that their server asked for. Return their
    number.

    Known problems stay until the next fetch ends them. Feeds that were given up or paused are fetched again.
    So are feeds that moved, in case the old address is their publisher's again. A missing feed gets ten more
    tries. Imported feeds, and newsletters that wait for a yes, have no address and are left out.
    """
    rows = Feed.objects.filter(pk__in=feed_ids).exclude(state__in=(Feed.State.IMPORTED, Feed.State.WAITING))
    return rows.update(state=Feed.State.ACTIVE, next_check_at=due_at(now=now), missing=0)


def feeds_pause(*, feed_ids: Collection[int]) -> int:
    """Stop fetching these feeds until an operator resumes them. Return how many were active."""
    return Feed.objects.filter(pk__in=feed_ids, state=Feed.State.ACTIVE).update(state=Feed.State.PAUSED)


def feed_move(*, feed: Feed, url: str, now: datetime) -> Feed:
    """Move the readers of `feed` to `url` (an encoded address). Return the feed they read now.

    The old feed and its items stay with its readers, and nobody else who reads `url` ever sees them: a
    redirect does not prove a right to speak there. A post that both feeds have becomes one article
    (`items_follow`), now or when the new address first answers. If only the scheme or a leading `www.`
    changes, the feed itself gets the new address, or joins the feed that is stored there already
    (`items_join`). Raises `FeedProblem`, and changes nothing, if feeds may not be fetched from the address.
    """
    address = web_address(url)
    resolve_addresses(
        address.host, address.port, allow=settings.FETCH_ALLOW_HOSTS, ports=settings.FETCH_PORTS
    )
    with transaction.atomic():
        rows = {row.url: row for row in Feed.objects.select_for_update().filter(url__in=[feed.url, url])}
        before = rows.get(feed.url)
        if before is None or before.state == Feed.State.MOVED:
            return rows.get(url, feed)  # another worker was faster
        is_twin = feed_place(url) != "" and feed_place(url) == feed_place(before.url)
        if url not in rows and is_twin:
            Feed.objects.filter(state=Feed.State.MOVED, moved_url=before.url).update(moved_url=url)
            before.url, before.moved_url, before.moved_sightings, before.moved_since = url, "", 0, None
            before.save(update_fields=["url", "moved_url", "moved_sightings", "moved_since"])
            target = before
        else:
            target = rows.get(url) or feed_get_or_create(url=url, now=now)
            if is_twin:
                items_join(feed=before, target=target, now=now)
            else:
                readers = readers_new(feed=before, target=target)
                items_follow(feed=before, target=target, readers=readers, now=now)
            _readers_move(before, target, now)
    # Addresses may hold a reader's secret, hosts hold none.
    log.info("feed_moved", feed_id=target.pk, host=host_of(url), joined=target.pk != feed.pk)
    return target


def twins_join(*, now: datetime, feed_ids: Collection[int] | None = None) -> int:
    """Join feeds that are stored twice, with and without TLS or `www.`. Return how many were removed.

    They are joined only if both answered with the same posts, each pair in its own transaction. With
    `feed_ids`, only pairs with one of these.
    """
    pairs = twins_of(feed_ids=feed_ids)
    for feed, target in pairs:
        with isolate("feed", feed.pk, "twins_join_failed"), transaction.atomic():
            rows = {
                row.pk: row for row in Feed.objects.select_for_update().filter(pk__in=[feed.pk, target.pk])
            }
            if len(rows) < 2 or any(row.state == Feed.State.MOVED for row in rows.values()):
                continue  # another worker was faster
            items_join(feed=rows[feed.pk], target=rows[target.pk], now=now)
            _readers_move(rows[feed.pk], rows[target.pk], now)
            log.info("feed_moved", feed_id=target.pk, host=host_of(target.url), joined=True)
    return len(pairs)


def _readers_move(feed: Feed, target: Feed, now: datetime) -> None:
    """Subscribe the readers of `feed` to `target`. A target that was given up is fetched again."""
    theirs = Subscription.objects.filter(feed=feed)
    without_models = theirs.filter(ai_enabled=False).values("reader")
    Subscription.objects.filter(feed=target, reader__in=without_models).update(ai_enabled=False)
    rows = [
        Subscription(
            reader_id=row.reader_id,
            feed=target,
            created_at=now,
            folder=row.folder,
            own_name=row.own_name,
            ai_enabled=row.ai_enabled,
            full_text=row.full_text,
            in_today=row.in_today,
        )
        for row in theirs
    ]
    Subscription.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
    feed.state, feed.moved_url, feed.moved_sightings, feed.moved_since = Feed.State.MOVED, target.url, 0, None
    feed.save(update_fields=["state", "moved_url", "moved_sightings", "moved_since"])
    if target.state in (Feed.State.GONE, Feed.State.IMPORTED, Feed.State.MOVED):
        target.state, target.failures, target.missing, target.next_check_at = Feed.State.ACTIVE, 0, 0, now
        target.save(update_fields=["state", "failures", "missing", "next_check_at"])


def source_move_plan(*, key: str, into: str) -> SourceMove:
    """Return the effect of `source_move`, without writing.

    Raises `UnknownSource` if there is no source `key`, and `InvalidSourceKey` if `into` cannot be a key or is
    the same one.
    """
    into = into.strip().casefold()
    if not _SOURCE_KEY.match(into) or len(into) > SOURCE_KEY_MAX_CHARS:
        raise InvalidSourceKey(
            f"A key has 1 to {SOURCE_KEY_MAX_CHARS} characters, no spaces, quotes or angle brackets, "
            "and no https:// before it."
        )
    if into == key:
        raise InvalidSourceKey("That is the key it has.")
    if not Source.objects.filter(pk=key).exists():
        raise UnknownSource(f"There is no source “{key}”.")
    return SourceMove(
        key=key,
        into=into,
        joined=Source.objects.filter(pk=into).exists(),
        feeds=Feed.objects.filter(source_id=key).count(),
        items=Item.objects.filter(source_id=key).count(),
    )


def source_move(*, key: str, into: str, now: datetime) -> SourceMove:
    """Rename the source `key` to `into`, or join it with the source that has that key, in one transaction.

    Feeds, items, settings, pins and learned weights follow, and the title too if `into` is new. Evidence and
    past versions of settings are records and keep the old key. That key leads to the new one from now on: in
    imports, in new feeds, and when a reader goes back to such a version. Raises the errors of
    `source_move_plan`.
    """
    with transaction.atomic():
        source = Source.objects.select_for_update().filter(pk=key).first()
        plan = source_move_plan(key=key, into=into)
        title = source.title if source else ""
        Source.objects.get_or_create(key=plan.into, defaults={"title": title})
        feeds = Feed.objects.filter(source_id=key).update(source_id=plan.into)
        items = Item.objects.filter(source_id=key).update(source_id=plan.into)
        if not plan.joined:
            SourceFigure.objects.filter(source_id=key).update(source_id=plan.into)
        configs = source_key_rename(old=key, new=plan.into, now=now)
        Source.objects.filter(pk=key).delete()
    return SourceMove(key, plan.into, plan.joined, feeds, items, configs)
