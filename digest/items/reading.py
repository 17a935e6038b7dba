"""Record the items that a reader reads, opens, saves and names. None of this is a rating."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from digest.items.selectors import item_get
from digest.models import Item, Reader, Reading

SAVED_PAGE = 20


@dataclass(frozen=True, slots=True)
class ReadState:
    """When a reader read, saved and named one item; `None` if they did not, or undid it."""

    read_at: datetime | None = None
    saved_at: datetime | None = None
    named_at: datetime | None = None


NOT_READ = ReadState()
_STATE = ("read_at", "saved_at", "named_at")


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page of a reader's saved items, latest saved first. `total` counts all pages."""

    items: tuple[Item, ...]
    total: int
    page: int

    @property
    def more(self) -> bool:
        """Return whether another page follows."""
        return self.page * SAVED_PAGE < self.total


def item_read(*, reader: Reader, item_id: int, now: datetime) -> datetime:
    """Mark an item as read; return when it was first read. Raises `ItemNotFound`."""
    return _stamp(reader, item_id, {"read_at": now}).read_at or now


def item_open(*, reader: Reader, item_id: int, door: str, now: datetime, finished: bool = False) -> datetime:
    """Mark an item as read and opened through a `Reading.Door`; return when it was first read.

    `finished` means that it was read to its end. The open is not recorded if the reader does not want the
    ranking to learn from reading. Raises `ItemNotFound`.
    """
    stamps = {"read_at": now}
    if reader.learn_from_reading:
        stamps |= {"opened_at": now} | ({"finished_at": now} if finished else {})
    return _stamp(reader, item_id, stamps, door=Reading.Door(door)).read_at or now


def item_unread(*, reader: Reader, item_id: int) -> bool:
    """Mark an item as unread and never opened; return whether it was read. Raises `ItemNotFound`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    rows = Reading.objects.filter(reader=reader, article=article, read_at__isnull=False)
    return rows.update(read_at=None, opened_at=None, opened_by="", finished_at=None) > 0


def item_save(*, reader: Reader, item_id: int, saved: bool, now: datetime) -> datetime | None:
    """Save an item for later, or remove it; return when it was first saved, or `None`.

    Raises `ItemNotFound`.
    """
    if saved:
        return _stamp(reader, item_id, {"saved_at": now}).saved_at
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    Reading.objects.filter(reader=reader, article=article).update(saved_at=None)
    return None


def item_name(*, reader: Reader, item_id: int, now: datetime) -> datetime:
    """Name an item: ask for more like it; return when it was first named. Raises `ItemNotFound`."""
    return _stamp(reader, item_id, {"named_at": now}).named_at or now


def article_forget(*, reader: Reader, article: int) -> bool:
    """Take back that the reader named an article; return whether they had. One statement."""
    named = Reading.objects.filter(reader=reader, article=article, named_at__isnull=False)
    return named.update(named_at=None) > 0


def items_read(
    *, reader: Reader, item_ids: Collection[int], now: datetime, seen_by: datetime | None = None
) -> int:
    """Mark the unread ones of `item_ids` (items shown to the reader) as read; return how many.

    All get the same moment `now`, by which `readings_undo` finds them again. Items that came after `seen_by`,
    the moment the page was made, stay unread.
    """
    return _stamp_all(reader, item_ids, "read_at", now, seen_by)


def items_unread(*, reader: Reader, item_ids: Collection[int], at: datetime) -> int:
    """Undo `items_read` of the moment `at` for these items; return how many."""
    articles = set(_articles(item_ids).values())
    return Reading.objects.filter(reader=reader, article__in=articles, read_at=at).update(read_at=None)


def items_unmark(*, reader: Reader, item_ids: Collection[int]) -> int:
    """Mark `item_ids` as unread and never opened; return how many were read. Two statements."""
    articles = set(_articles(item_ids).values())
    rows = Reading.objects.filter(reader=reader, article__in=articles, read_at__isnull=False)
    return rows.update(read_at=None, opened_at=None, opened_by="", finished_at=None)


def items_save(*, reader: Reader, item_ids: Collection[int], saved: bool, now: datetime) -> int:
    """Save `item_ids` (items the reader may see) for later, or remove them; return how many changed."""
    if not saved:
        rows = Reading.objects.filter(reader=reader, article__in=set(_articles(item_ids).values()))
        return rows.filter(saved_at__isnull=False).update(saved_at=None)
    return _stamp_all(reader, item_ids, "saved_at", now)


def readings_undo(*, reader: Reader, at: datetime) -> int:
    """Mark all items that were marked as read at the moment `at` as unread; return how many."""
    return Reading.objects.filter(reader=reader, read_at=at).update(read_at=None)


def readings_of(*, reader_id: UUID, items: Collection[Item]) -> dict[int, ReadState]:
    """Return {item id: state} for those items that the reader read or saved; one query."""
    rows = Reading.objects.filter(reader_id=reader_id, article__in={item.article for item in items})
    states = {article: ReadState(*at) for article, *at in rows.values_list("article", *_STATE)}
    return {item.pk: states[item.article] for item in items if item.article in states}


def readings_for(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, ReadState]:
    """Return {item id: state} of the items that the reader read or saved. One query."""
    mine = Reading.objects.filter(reader_id=reader_id, article=OuterRef("article"))
    columns = (Subquery(mine.values(name)[:1]) for name in _STATE)
    rows = Item.objects.filter(Exists(mine), pk__in=item_ids).values_list("pk", *columns)
    return {pk: ReadState(*at) for pk, *at in rows}


def _articles(item_ids: Collection[int], seen_by: datetime | None = None) -> dict[int, int]:
    rows = Item.objects.filter(pk__in=item_ids)
    if seen_by:
        rows = rows.filter(first_seen_at__lte=seen_by)
    return dict(rows.values_list("pk", "article"))


def items_saved(*, reader_id: UUID, page: int = 1) -> SavedPage:
    """Return twenty of the reader's saved items with their sources, latest saved first. Two queries.

    Pages count from 1. A saved item stays even if its feed or subscription ends.
    """
    rows = Reading.objects.filter(reader_id=reader_id, saved_at__isnull=False)
    start = (max(page, 1) - 1) * SAVED_PAGE
    shown = rows.order_by("-saved_at", "-pk").select_related("item__source")[start : start + SAVED_PAGE]
    return SavedPage(tuple(row.item for row in shown), rows.count(), max(page, 1))


def _stamp(reader: Reader, item_id: int, stamps: dict[str, datetime], door: str = "") -> Reading:
    """Set the empty ones of these columns in the reader's row for the item. Return the row.

    `door` is stored when `opened_at` is set for the first time.
    """
    item = item_get(reader_id=reader.pk, item_id=item_id)
    opened_by = {"opened_by": door} if "opened_at" in stamps else {}
    reading, created = Reading.objects.get_or_create(
        reader=reader, article=item.article, defaults={"item": item, **stamps, **opened_by}
    )
    if not created and any(getattr(reading, column) is None for column in stamps):
        if opened_by:
            Reading.objects.filter(pk=reading.pk, opened_at=None).update(**opened_by)
        empty = {column: Coalesce(F(column), Value(at)) for column, at in stamps.items()}
        Reading.objects.filter(pk=reading.pk).update(**empty)
        reading.refresh_from_db(fields=[*stamps])
    return reading


def _stamp_all(
    reader: Reader, item_ids: Collection[int], column: str, now: datetime, seen_by: datetime | None = None
) -> int:
    """Set `column` to `now` if it is empty in the reader's rows for the items; return how many changed."""
    item_of = {article: pk for pk, article in _articles(item_ids, seen_by).items()}
    with transaction.atomic():
        rows = Reading.objects.filter(reader=reader, article__in=item_of)
        known = set(rows.select_for_update().values_list("article", flat=True))
        changed = rows.filter(**{column: None}).update(**{column: now})
        new = [
            Reading(reader=reader, item_id=pk, article=article, **{column: now})
            for article, pk in item_of.items()
            if article not in known
        ]
        Reading.objects.bulk_create(new, ignore_conflicts=True)
    return changed + len(new)
