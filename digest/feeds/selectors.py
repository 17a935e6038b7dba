"""Selectors of feeds, subscriptions, and what is stored of the entries that feeds carry."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Count, Exists, F, Min, OuterRef, Q, QuerySet, When

from digest.feeds.dedupe import KnownEntry, KnownItem
from digest.feeds.health import FetchFacts, stall_message
from digest.models import Feed, FeedEntry, Item, Reader, Subscription

# An entry whose item was deleted by retention.
_EXPIRED: Final = KnownEntry(0, "", "", is_first=False)


def feeds_due(*, now: datetime) -> QuerySet[Feed]:
    """Return active feeds whose next check has come: known ones first, then those waiting longest.

    So no number of new feeds keeps a known one from its round.
    """
    due = Q(next_check_at=None) | Q(next_check_at__lte=now)
    is_new = Case(When(last_fetched_at=None, then=1), default=0)
    return Feed.objects.filter(due, state=Feed.State.ACTIVE).order_by(
        is_new, F("next_check_at").asc(nulls_first=True), "pk"
    )


def known_entries(*, guids: Mapping[int, Collection[str]]) -> dict[tuple[int, str], KnownEntry]:
    """Return which of the `guids` of some feeds (a few thousand at most) the feeds carried before.

    An entry whose item was deleted by retention is known too, and changes nothing.
    """
    wanted = {guid for some in guids.values() for guid in some}
    if not wanted:
        return {}
    rows = (
        FeedEntry.objects.filter(feed_id__in=list(guids), guid__in=wanted)
        .annotate(first=Min("item__entries__id"))
        .values_list("feed_id", "guid", "item_id", "item__source_id", "item__fingerprint", "id", "first")
    )
    return {
        (feed, guid): _EXPIRED if item is None else KnownEntry(item, source, print_, id_ == first)
        for feed, guid, item, source, print_, id_, first in rows
        if guid in guids[feed]
    }


def known_items(*, feed_ids: Collection[int], urls: Collection[str]) -> dict[str, KnownItem]:
    """Return which of `urls` (a few thousand at most) are items, and which of the feeds carry them."""
    if not urls:
        return {}
    rows = list(Item.objects.filter(url__in=urls).values_list("url", "pk", "title", "source_id"))
    if not rows:
        return {}
    carriers: defaultdict[int, set[int]] = defaultdict(set)
    entries = FeedEntry.objects.filter(feed_id__in=feed_ids, item_id__in=[pk for _, pk, _, _ in rows])
    for item, feed in entries.values_list("item_id", "feed_id"):
        carriers[item].add(feed)
    return {
        url: KnownItem(pk, url, title, source, frozenset(carriers[pk])) for url, pk, title, source in rows
    }


def subscriptions_of(*, reader_id: UUID) -> list[Subscription]:
    """Return the reader's subscriptions with feed and source, by the source's name; one query."""
    rows = Subscription.objects.filter(reader_id=reader_id).select_related("feed__source")
    return sorted(rows, key=lambda row: str(row.feed.source).casefold())


def subscriptions_left(*, reader_id: UUID) -> int:
    """Return how many more feeds the reader may subscribe to (SUBSCRIPTIONS_MAX); one query."""
    limit: int = settings.SUBSCRIPTIONS_MAX
    return max(limit - Subscription.objects.filter(reader_id=reader_id).count(), 0)


def subscriptions_exist(*, reader_id: UUID) -> bool:
    """Return whether the reader has a subscription; one query."""
    return Subscription.objects.filter(reader_id=reader_id).exists()


def subscription_of(*, reader_id: UUID, feed_id: int) -> Subscription | None:
    """Return the reader's own subscription to a feed, with feed and source; None where there is none."""
    found = Subscription.objects.filter(reader_id=reader_id, feed__pk=feed_id)
    return found.select_related("feed__source").first()


def readers_without_models() -> set[UUID]:
    """Return the readers whose feedback no model may study; one query.

    They have turned models off, or have for one of their feeds: ratings are studied all together, titles and
    all, and what one feed brought cannot be told from what others make of it.
    """
    return set(_without_models().values_list("pk", flat=True))


def models_allowed(*, reader_id: UUID) -> bool:
    """Return whether a model may study this reader's feedback; one query."""
    return not _without_models().filter(pk=reader_id).exists()


def _without_models() -> QuerySet[Reader]:
    off = Subscription.objects.filter(reader_id=OuterRef("pk"), ai_enabled=False)
    return Reader.objects.filter(Q(ai_enabled=False) | Q(Exists(off)))


def fetching_trouble(*, now: datetime) -> str:
    """Return why a person should look, or "": feeds are due and none was fetched for FETCH_WATCHDOG_MINUTES.

    One query. Zero minutes switch the watch off.
    """
    minutes = settings.FETCH_WATCHDOG_MINUTES
    if minutes <= 0:
        return ""
    since = now - timedelta(minutes=minutes)
    recent = Q(last_fetched_at__gte=since)
    counts = Feed.objects.filter(state=Feed.State.ACTIVE).aggregate(
        overdue=Count("pk", filter=Q(next_check_at__lte=since) | Q(next_check_at=None)),
        fetched=Count("pk", filter=recent & Q(failures=0)),
        failed=Count("pk", filter=recent & Q(failures__gt=0)),
    )
    return stall_message(FetchFacts(**counts), minutes=minutes)
