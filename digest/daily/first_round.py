"""First rounds: feeds that somebody began to read a moment ago are fetched at once, by whoever is there.

What waits is in the database. A message wakes a Celery worker, the embedded worker looks every second, and
where neither comes a page that waits fetches a little itself.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from digest.feeds.discovery import LOOKUPS
from digest.feeds.entities import FetchReport
from digest.feeds.filling import AT_WORK, feeds_new, filling_is_stuck, readers_filled_anew
from digest.feeds.rounds import ROUND_FEEDS, feeds_fetch
from digest.items.stories import StoriesReport, stories_update
from digest.items.vectors import item_vectors_update
from digest.models import Reader
from digest.summaries.services import extracts_make
from ranking.common.apart import Apart
from ranking.common.broker import WorkerTask

# One part of a first round begins requests for so long; then other work has its turn before the next.
PART_S: Final = 30.0
# What a page may fetch itself, in seconds: when the last request begins, and how long one takes.
INLINE_S: Final = 2.0
INLINE_REQUEST_S: Final = 8.0
INLINE_FEEDS: Final = 50
# A worker that was woken is not woken again for this long.
WAKE_AGAIN_S: Final = 15
WAKE_KEY: Final = "digest:first_round:woken:{}"
# A page that fetched goes on doing so: what was tried a moment ago was its own.
PAGE_KEY: Final = "digest:first_round:page:{}"
PAGE_S: Final = 60

log = structlog.get_logger(__name__)


def first_round_part() -> bool:
    """Fetch new feeds for half a minute; wake a worker again, and return True, where some are left."""
    left = first_round(now=timezone.now(), clock=timezone.now)
    if left:
        first_round_wake()
    return left


FIRST_ROUND: Final = WorkerTask("digest.first_round", first_round_part)


def first_round(*, now: datetime, clock: Callable[[], datetime], seconds: float = PART_S) -> bool:
    """Fetch feeds that were never fetched; after the last, make stories, vectors and extracts of their items.

    Return whether some are left that can go on at once; one query where there are none. Claims and pauses are
    those of every round (`feeds_fetch`).
    """
    feeds = list(feeds_new(now=now)[:ROUND_FEEDS])
    if not feeds:
        return False
    report = feeds_fetch(now=now, feeds=feeds, seconds=seconds, clock=clock)
    tried, left = _count(report), report.left > 0
    if tried and not left:
        apart = Apart("first round")
        apart.run("stories", lambda: stories_refresh(now=clock(), clock=clock))
        apart.run("vectors", lambda: item_vectors_update(now=clock()))
        apart.run("extracts", lambda: extracts_make(now=clock()))
        apart.end()
    log.info("first_round_done", fetched=tried, left=report.left)
    return left and tried > 0


def stories_refresh(*, now: datetime, clock: Callable[[], datetime] | None = None) -> StoriesReport:
    """Group new items into stories (`stories_update`); digests made from first items without them are due.

    Those are digests from before it ended, by `clock`, or from before `now` without one.
    """
    report = stories_update(now=now)
    if report.clustered:
        readers_filled_anew(clustered_at=now, now=clock() if clock else now)
    return report


def _count(report: FetchReport) -> int:
    return len(report.per_feed) + len(report.errors)


def first_round_wake() -> None:
    """Announce new feeds to the Celery workers once this transaction is committed.

    Without a broker nothing is announced: the embedded worker looks for itself.
    """
    if settings.REDIS_URL:
        transaction.on_commit(_announce)


def _announce() -> None:
    if wrong := FIRST_ROUND.wake():
        log.warning("first_round_wake_failed", error=wrong)


def first_round_advance(*, reader: Reader, now: datetime) -> int:
    """Do for a waiting page what no worker did within five seconds; return how many feeds were tried.

    With a broker a worker is woken once more. Without one, up to fifty of the reader's feeds are fetched here
    and now, in at most ten seconds: a server that takes longer has failed and is asked again in ten minutes.
    None while as many threads wait for other sites as may (`LOOKUPS`).
    """
    own = cache.get(PAGE_KEY.format(reader.pk)) is not None
    if not filling_is_stuck(reader_id=reader.pk, now=now, at_work=timedelta() if own else AT_WORK):
        return 0
    if settings.REDIS_URL:
        if cache.add(WAKE_KEY.format(reader.pk), 1, timeout=WAKE_AGAIN_S):
            _announce()
        return 0
    if not LOOKUPS.acquire(blocking=False):
        return 0
    try:
        cache.set(PAGE_KEY.format(reader.pk), 1, timeout=PAGE_S)
        feeds = feeds_new(now=now).filter(subscriptions__reader=reader)[:INLINE_FEEDS]
        report = feeds_fetch(
            now=now, feeds=feeds, seconds=INLINE_S, request_s=INLINE_REQUEST_S, clock=timezone.now
        )
    finally:
        LOOKUPS.release()
    return _count(report)
