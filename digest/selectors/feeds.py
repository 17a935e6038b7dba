"""Which feeds are due, and what is known already of what they carry."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet

from digest.models import Feed, FeedEntry, Item


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry a feed carried before. `speaks`: its feed brought the item first and may change its words."""

    item_id: int
    source_id: str
    fingerprint: str
    speaks: bool


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that is there already; `carried` by the feed in question under some other guid."""

    id: int
    url: str
    title: str
    source_id: str
    carried: bool


def feeds_due(*, now: datetime) -> QuerySet[Feed]:
    """Active feeds whose next check has come, longest waiting first."""
    due = Q(next_check_at=None) | Q(next_check_at__lte=now)
    return Feed.objects.filter(due, state=Feed.State.ACTIVE).order_by(
        F("next_check_at").asc(nulls_first=True), "pk"
    )


def entries_known(*, feed_id: int, guids: Sequence[str]) -> dict[str, KnownEntry]:
    """Those of `guids` (at most a document's worth) that the feed carried before."""
    if not guids:
        return {}
    rows = (
        FeedEntry.objects.filter(feed_id=feed_id, guid__in=guids)
        .annotate(first=Min("item__entries__id"))
        .values_list("guid", "item_id", "item__source_id", "item__fingerprint", "id", "first")
    )
    return {
        guid: KnownEntry(item, source, print_, id_ == first)
        for guid, item, source, print_, id_, first in rows
    }


def items_known(*, feed_id: int, urls: Sequence[str]) -> dict[str, KnownItem]:
    """Those of `urls` that are items already."""
    if not urls:
        return {}
    carried = Exists(FeedEntry.objects.filter(feed_id=feed_id, item=OuterRef("pk")))
    rows = Item.objects.filter(url__in=urls).annotate(carried=carried)
    found = rows.values_list("url", "id", "title", "source_id", "carried")
    return {url: KnownItem(id_, url, title, source, carried) for url, id_, title, source, carried in found}
