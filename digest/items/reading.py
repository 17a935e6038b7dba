"""What a reader has read and saved. Neither counts as a rating."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery

from digest.items.selectors import item_get
from digest.models import Item, Reader, Reading

SAVED_PAGE = 20


@dataclass(frozen=True, slots=True)
class ReadState:
    """When one reader read and saved one item; `None`: not, or no longer."""

    read_at: datetime | None = None
    saved_at: datetime | None = None


NOT_READ = ReadState()


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page of a reader's saved items, the latest first. `total` counts all pages."""

    items: tuple[Item, ...]
    total: int
    page: int

    @property
    def more(self) -> bool:
        """Return whether there is a page after this one."""
        return self.page * SAVED_PAGE < self.total


def item_read(*, reader: Reader, item_id: int, now: datetime) -> datetime:
    """Mark an item as read, and return when it first was. Raises `ItemNotFound`."""
    return _stamp(reader, item_id, "read_at", now)


def item_unread(*, reader: Reader, item_id: int) -> bool:
    """Mark an item as unread, and return whether it was read. Raises `ItemNotFound`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    rows = Reading.objects.filter(reader=reader, article=article, read_at__isnull=False)
    return rows.update(read_at=None) > 0


def item_save(*, reader: Reader, item_id: int, saved: bool, now: datetime) -> datetime | None:
    """Save an item for later or remove it, and return when it was first saved. Raises `ItemNotFound`."""
    if saved:
        return _stamp(reader, item_id, "saved_at", now)
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    Reading.objects.filter(reader=reader, article=article).update(saved_at=None)
    return None


def items_read(*, reader: Reader, item_ids: Collection[int], now: datetime) -> int:
    """Mark the unread of `item_ids` (items shown to the reader) as read, and return how many that were.

    All get the same moment `now`, by which `items_unread` finds them again.
    """
    item_of = {article: pk for pk, article in _articles(item_ids).items()}
    with transaction.atomic():
        rows = Reading.objects.filter(reader=reader, article__in=item_of)
        known = set(rows.select_for_update().values_list("article", flat=True))
        changed = rows.filter(read_at=None).update(read_at=now)
        new = [
            Reading(reader=reader, item_id=pk, article=article, read_at=now)
            for article, pk in item_of.items()
            if article not in known
        ]
        Reading.objects.bulk_create(new, ignore_conflicts=True)
    return changed + len(new)


def items_unread(*, reader: Reader, item_ids: Collection[int], at: datetime) -> int:
    """Undo what `items_read` marked at the moment `at`, and return how many items that were."""
    articles = set(_articles(item_ids).values())
    return Reading.objects.filter(reader=reader, article__in=articles, read_at=at).update(read_at=None)


def readings_for(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, ReadState]:
    """Return the state of those of the items that the reader read or saved, by item id; one query."""
    mine = Reading.objects.filter(reader_id=reader_id, article=OuterRef("article"))
    columns = {name: Subquery(mine.values(name)[:1]) for name in ("read_at", "saved_at")}
    rows = Item.objects.filter(Exists(mine), pk__in=item_ids).values_list("pk", *columns.values())
    return {pk: ReadState(read_at, saved_at) for pk, read_at, saved_at in rows}


def _articles(item_ids: Collection[int]) -> dict[int, int]:
    return dict(Item.objects.filter(pk__in=item_ids).values_list("pk", "article"))


def items_saved(*, reader_id: UUID, page: int = 1) -> SavedPage:
    """Return twenty of the reader's saved items with their sources, the latest saved first; two queries.

    Pages count from 1. A saved item stays, whatever happens to its feed or its subscription.
    """
    rows = Reading.objects.filter(reader_id=reader_id, saved_at__isnull=False)
    start = (max(page, 1) - 1) * SAVED_PAGE
    shown = rows.order_by("-saved_at", "-pk").select_related("item__source")[start : start + SAVED_PAGE]
    return SavedPage(tuple(row.item for row in shown), rows.count(), max(page, 1))


def _stamp(reader: Reader, item_id: int, column: str, now: datetime) -> datetime:
    """Set an empty `column` of the reader's row for the item to `now`, and return its value."""
    item = item_get(reader_id=reader.pk, item_id=item_id)
    reading, created = Reading.objects.get_or_create(
        reader=reader, article=item.article, defaults={"item": item, column: now}
    )
    if not created and getattr(reading, column) is None:
        Reading.objects.filter(pk=reading.pk, **{column: None}).update(**{column: now})
        reading.refresh_from_db(fields=[column])
    return getattr(reading, column) or now
