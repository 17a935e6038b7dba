"""First fetch of feeds that a reader has just added, as soon as any process is free for it.

The feeds that wait are in the database. A message wakes a Celery worker, and the embedded worker looks every
second. If neither comes, the page that waits fetches a few feeds itself.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from digest.feeds.entities import FetchReport
from digest.feeds.fetch_batch import ROUND_FEEDS, feeds_fetch
from digest.feeds.first_fetch import AT_WORK, feeds_in_turn, feeds_new, filling_is_stuck, readers_filled_anew
from digest.items.meanings import meanings_update
from digest.items.stories import StoriesReport, stories_update
from digest.items.vectors import item_vectors_update
from digest.models import Reader
from digest.places import LOOKUPS
from digest.summaries.services import extracts_make
from ranking.common.broker import WorkerTask
from ranking.common.isolation import Parts

# How long one part of a first round starts requests. Then other work has its turn before the next part.
PART_S: Final = 30.0
# Limits for a page that fetches itself: no request begins after 2 s, and each takes at most 8 s.
INLINE_S: Final = 2.0
INLINE_REQUEST_S: Final = 8.0
INLINE_FEEDS: Final = 50
# How long a worker that was woken is not woken again.
WAKE_AGAIN_S: Final = 15
WAKE_KEY: Final = "digest:first_round:woken:{}"
# A page that has fetched goes on doing so: without this mark its own recent tries would look like a worker's.
PAGE_KEY: Final = "digest:first_round:page:{}"
PAGE_S: Final = 60

log = structlog.get_logger(__name__)


def first_round_part() -> bool:
    """Fetch new feeds for half a minute. If some are left, wake a worker again and return True."""
    left = first_round(now=timezone.now(), clock=timezone.now)
    if left:
        first_fetch_wake()
    return left


FIRST_ROUND: Final = WorkerTask("digest.first_round", first_round_part)


def first_round(*, now: datetime, clock: Callable[[], datetime], seconds: float = PART_S) -> bool:
    """Fetch feeds that were never fetched. After the last one, make stories, vectors and extracts.

    Return whether some are left that can be fetched at once. One query if no feed waits. Claims and pauses
    work as in every round (`feeds_fetch`).
    """
    feeds = list(feeds_new(now=now)[:ROUND_FEEDS])
    if not feeds:
        return False
    feeds = feeds_in_turn(feeds=feeds)
    report = feeds_fetch(now=now, feeds=feeds, seconds=seconds, clock=clock)
    tried, left = _count(report), report.left > 0
    if tried and not left:
        parts = Parts("first round")
        parts.run("stories", lambda: stories_refresh(now=clock(), clock=clock))
        parts.run("vectors", lambda: item_vectors_update(now=clock()))
        parts.run("meanings", lambda: meanings_update(now=clock()))
        parts.run("extracts", lambda: extracts_make(now=clock()))
        parts.end()
    log.info("first_round_done", fetched=tried, left=report.left)
    return left and tried > 0


def stories_refresh(*, now: datetime, clock: Callable[[], datetime] | None = None) -> StoriesReport:
    """Group new items into stories (`stories_update`), and mark digests made without these stories as due.

    Those are the digests built before it ended (by `clock`), or before `now` if there is no clock.
    """
    report = stories_update(now=now)
    if report.clustered:
        readers_filled_anew(clustered_at=now, now=clock() if clock else now)
    return report


def _count(report: FetchReport) -> int:
    return len(report.per_feed) + len(report.errors)


def first_fetch_wake() -> None:
    """Announce new feeds to the Celery workers after this transaction commits.

    Without a broker nothing is announced, because the embedded worker looks for itself.
    """
    if settings.REDIS_URL:
        transaction.on_commit(_announce)


def _announce() -> None:
    if wrong := FIRST_ROUND.wake():
        log.warning("first_round_wake_failed", error=wrong)


def first_fetch_advance(*, reader: Reader, now: datetime) -> int:
    """Help a waiting page if no worker has come for five seconds; return how many feeds were tried.

    With a broker, wake a worker once more. Without one, fetch up to fifty of the reader's feeds now, in at
    most ten seconds. A slower server has failed and is asked again in ten minutes. Nothing is fetched while
    too many threads wait for other sites (`LOOKUPS`).
    """
    own = cache.get(PAGE_KEY.format(reader.pk)) is not None
    if not filling_is_stuck(reader_id=reader.pk, now=now, at_work=timedelta() if own else AT_WORK):
        return 0
    if settings.REDIS_URL:
        if cache.add(WAKE_KEY.format(reader.pk), 1, timeout=WAKE_AGAIN_S):
            _announce()
        return 0
    with LOOKUPS.place(reader.pk) as has_place:
        if not has_place:
            return 0
        cache.set(PAGE_KEY.format(reader.pk), 1, timeout=PAGE_S)
        feeds = feeds_new(now=now).filter(subscriptions__reader=reader)[:INLINE_FEEDS]
        report = feeds_fetch(
            now=now, feeds=feeds, seconds=INLINE_S, request_s=INLINE_REQUEST_S, clock=timezone.now
        )
    return _count(report)
