"""Which feeds are due, and what is known already of what they carry."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from django.db.models import F, Min, Q, QuerySet

from digest.arrivals import KnownEntry, KnownItem
from digest.models import Feed, FeedEntry, Item

FORGOTTEN = KnownEntry(0, "", "", speaks=False)


def feeds_due(*, now: datetime) -> QuerySet[Feed]:
    """Active feeds whose next check has come, longest waiting first."""
    due = Q(next_check_at=None) | Q(next_check_at__lte=now)
    return Feed.objects.filter(due, state=Feed.State.ACTIVE).order_by(
        F("next_check_at").asc(nulls_first=True), "pk"
    )


def entries_known(*, guids: Mapping[int, Collection[str]]) -> dict[tuple[int, str], KnownEntry]:
    """Those of the `guids` of some feeds (at most a few thousand) that the feeds carried before.

    One whose item has had its time is known all the same, and speaks for nothing.
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
        (feed, guid): FORGOTTEN if item is None else KnownEntry(item, source, print_, id_ == first)
        for feed, guid, item, source, print_, id_, first in rows
        if guid in guids[feed]
    }


def items_known(*, feed_ids: Collection[int], urls: Collection[str]) -> dict[str, KnownItem]:
    """Those of `urls` (at most a few thousand) that are items already, and which of the feeds carry them."""
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
