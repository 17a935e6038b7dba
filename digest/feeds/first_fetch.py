"""New feeds of a reader: how far their first fetch has come, and when it has ended."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from digest.entities import ITEM_WINDOW_DAYS
from digest.feeds.entities import UNREACHABLE
from digest.feeds.selectors import feed_is_due, outage_began_at
from digest.models import Feed, Item, Reader, Subscription

# Feeds that a reader began to read within this time count as one lot with those that still wait.
LOT: Final = timedelta(hours=1)
# How long a page keeps polling.
WATCHED: Final = timedelta(minutes=15)
# No worker is running if a feed has been due for the shorter time and none tried another within the longer.
START_WITHIN: Final = timedelta(seconds=5)
AT_WORK: Final = timedelta(seconds=15)
# A feed due for so long was missed by two rounds.
OVERDUE: Final = timedelta(minutes=10)
# For so long after a first fetch Today says which feeds it missed.
LOST_DAYS: Final = timedelta(days=1)
NEVER_FETCHED: Final = Q(state=Feed.State.ACTIVE, last_fetched_at=None)


@dataclass(frozen=True, slots=True)
class FirstFetch:
    """The progress of a reader's first fetch: the feeds that they have just added.

    Of `feeds`, `fetched` were tried, and `failed` of these had an error. They have `items`. A worker is at
    `asked` others. `since` is when the reader last added one.
    """

    feeds: int
    fetched: int
    asked: int
    failed: int
    items: int
    since: datetime

    @property
    def active(self) -> bool:
        """Return whether feeds still wait."""
        return self.fetched < self.feeds

    def is_watched(self, now: datetime) -> bool:
        """Return whether pages keep polling the progress. They give up after 15 minutes without a worker."""
        return self.active and now - self.since < WATCHED


@dataclass(frozen=True, slots=True)
class LostFeeds:
    """Of a reader's `feeds`, `lost` never brought anything, since each try failed.

    `is_offline`: no server answered this site lately, so the feeds are not at fault.
    """

    feeds: int
    lost: int
    is_offline: bool


def feeds_new(*, now: datetime) -> QuerySet[Feed]:
    """Return the feeds that somebody reads, that were never fetched and are due: the oldest first."""
    read = Exists(Subscription.objects.filter(feed=OuterRef("pk")))
    return Feed.objects.filter(NEVER_FETCHED, feed_is_due(now=now), read).order_by("next_check_at", "pk")


def feeds_in_turn(*, feeds: Sequence[Feed]) -> list[Feed]:
    """Return `feeds` in turns: each reader's first feed before anybody's second. One query.

    A reader with a thousand slow feeds then delays another reader's one feed by at most one feed. A feed with
    several readers takes the best of their turns. Within a turn the order stays. If all feeds fit into the
    workers at once, the order stays and no query is needed.
    """
    if len(feeds) <= settings.FETCH_WORKERS:
        return list(feeds)
    places = {feed.pk: n for n, feed in enumerate(feeds)}
    rows = Subscription.objects.filter(feed__in=list(places)).values_list("reader_id", "feed_id")
    counts: Counter[UUID] = Counter()
    turns: dict[int, int] = {}
    for reader_id, feed_id in sorted(rows, key=lambda row: places[row[1]]):
        counts[reader_id] += 1
        turns[feed_id] = min(turns.get(feed_id, counts[reader_id]), counts[reader_id])
    return sorted(feeds, key=lambda feed: (turns.get(feed.pk, 0), places[feed.pk]))


def reader_first_fetch(*, reader_id: UUID, now: datetime, finished: bool = False) -> FirstFetch | None:
    """Return the progress of the reader's first fetch, as `first_fetch_of` does.

    One query if no feed waits and a finished fetch is not wanted, else three.
    """
    mine = Subscription.objects.filter(reader_id=reader_id)
    if not finished and not mine.filter(feed__in=Feed.objects.filter(NEVER_FETCHED)).exists():
        return None
    return first_fetch_of(subscriptions=mine.select_related("feed"), now=now, finished=finished)


def first_fetch_of(
    *, subscriptions: Iterable[Subscription], now: datetime, finished: bool = False
) -> FirstFetch | None:
    """Return the progress of the first fetch of a reader's `subscriptions`, which have their feeds loaded.

    It counts the subscriptions of the last hour and all feeds that wait. Returns None if no feed waits, or
    with `finished` if there are neither. One query at most.
    """
    active = [row for row in subscriptions if row.feed.state == Feed.State.ACTIVE]
    waiting = {row.feed_id for row in active if row.feed.last_fetched_at is None}
    lot = [row for row in active if row.feed_id in waiting or row.created_at > now - LOT]
    if not lot or not (waiting or finished):
        return None
    fetched = [row for row in lot if row.feed_id not in waiting]
    return FirstFetch(
        feeds=len(lot),
        fetched=len(fetched),
        asked=sum(row.feed_id in waiting and (row.feed.next_check_at or now) > now for row in lot),
        failed=sum(row.feed.failures > 0 for row in fetched),
        items=Item.objects.filter(feed_id__in=[row.feed_id for row in fetched]).count() if fetched else 0,
        since=max(row.created_at for row in lot),
    )


def readers_filled(*, feed_ids: Collection[int], now: datetime) -> int:
    """Note the end of the first fetch for the readers of these feeds. Return the number of readers.

    It makes their digests from before `now` stale. Two statements, or none without feeds.
    """
    if not feed_ids:
        return 0
    waiting = Subscription.objects.filter(reader=OuterRef("pk"), feed__in=Feed.objects.filter(NEVER_FETCHED))
    readers = Subscription.objects.filter(feed_id__in=list(feed_ids)).values("reader_id")
    done = Reader.objects.filter(~Exists(waiting), pk__in=readers).values_list("pk", flat=True)
    ids = sorted(done)
    return Reader.objects.filter(pk__in=ids).update(sources_filled_at=now) if ids else 0


def readers_filled_anew(*, clustered_at: datetime, now: datetime) -> int:
    """Note the end of a first fetch again if its items joined stories only at `clustered_at`.

    It makes digests from before `now` stale again, because they knew nothing of the stories. It concerns
    readers whose first fetch ended within the hour before. Returns their number. One query if there are none,
    else three.
    """
    lately = Reader.objects.filter(sources_filled_at__gt=clustered_at - LOT)
    ids = sorted(lately.values_list("pk", flat=True))
    if not ids:
        return 0
    joined = Subscription.objects.filter(
        reader__in=ids,
        feed__items__dated_at__gt=clustered_at - timedelta(days=ITEM_WINDOW_DAYS),
        feed__items__clustered_at=clustered_at,
        feed__items__story__isnull=False,
        feed__items__first_seen_at__lte=F("reader__sources_filled_at"),
    )
    found = sorted(set(joined.values_list("reader_id", flat=True)))
    behind = Reader.objects.filter(pk__in=found, sources_filled_at__lt=now)
    return behind.update(sources_filled_at=now) if found else 0


def feeds_lost(*, reader: Reader, now: datetime) -> LostFeeds | None:
    """Return how many of the reader's feeds could not be fetched once since they were added, or `None`.

    Only for a day after a first fetch. No query later, else one, or two if feeds are lost.
    """
    if reader.sources_filled_at is None or now - reader.sources_filled_at > LOST_DAYS:
        return None
    mine = Feed.objects.filter(subscriptions__reader=reader, state=Feed.State.ACTIVE)
    counts = mine.aggregate(
        feeds=Count("pk"), lost=Count("pk", filter=Q(failures__gt=0, last_new_at__isnull=True))
    )
    return LostFeeds(**counts, is_offline=site_is_offline(now=now)) if counts["lost"] else None


def site_is_offline(*, now: datetime) -> bool:
    """Return whether this machine has no network, or no feed of the site could be reached in the last hour,
    of two or more. At most two queries."""
    if outage_began_at():
        return True
    counts = Feed.objects.filter(state=Feed.State.ACTIVE, last_fetched_at__gt=now - LOT).aggregate(
        tried=Count("pk"), unreachable=Count("pk", filter=Q(failures__gt=0, error_code__in=UNREACHABLE))
    )
    return bool(counts["unreachable"] == counts["tried"] > 1)


def feeds_overdue(*, reader_id: UUID, now: datetime) -> int:
    """Return how many of the reader's feeds were not fetched when due, if that is most of them, else 0.

    That happens when the machine was off or no worker runs. One query.
    """
    counts = Feed.objects.filter(subscriptions__reader_id=reader_id, state=Feed.State.ACTIVE).aggregate(
        polled=Count("pk"),
        overdue=Count("pk", filter=Q(next_check_at__lte=now - OVERDUE, last_fetched_at__isnull=False)),
    )
    overdue: int = counts["overdue"]
    return overdue if overdue * 2 > counts["polled"] else 0


def filling_is_stuck(*, reader_id: UUID, now: datetime, at_work: timedelta = AT_WORK) -> bool:
    """Return whether new feeds of the reader have been due for five seconds, and no worker is at them.

    One is while it has claimed one, and for `at_work` after it tried one: it may be making stories.
    """
    due = Q(next_check_at=None) | Q(next_check_at__lte=now - START_WITHIN)
    counts = Feed.objects.filter(subscriptions__reader_id=reader_id, state=Feed.State.ACTIVE).aggregate(
        due=Count("pk", filter=NEVER_FETCHED & due),
        claimed=Count("pk", filter=NEVER_FETCHED & Q(next_check_at__gt=now)),
        tried=Count("pk", filter=Q(last_fetched_at__gt=now - at_work)),
    )
    return bool(counts["due"]) and not counts["claimed"] and not counts["tried"]
