"""What a reader read and saved."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from digest.models import Item, Reading

SAVED_PAGE = 20


@dataclass(frozen=True, slots=True)
class ReadState:
    """When one reader read and saved one item; `None`: not, or not any more."""

    read_at: datetime | None = None
    saved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page of what a reader saved, the latest first. `total` counts all pages."""

    items: tuple[Item, ...]
    total: int
    page: int

    @property
    def more(self) -> bool:
        """Whether there is a page after this one."""
        return self.page * SAVED_PAGE < self.total


def readings_for(*, reader_id: UUID, item_ids: Collection[int]) -> dict[int, ReadState]:
    """What the reader did with those of the items they read or saved, by item id; one query."""
    rows = Reading.objects.filter(reader_id=reader_id, item_id__in=item_ids)
    found = rows.values_list("item_id", "read_at", "saved_at")
    return {item_id: ReadState(read_at, saved_at) for item_id, read_at, saved_at in found}


def items_saved(*, reader_id: UUID, page: int = 1) -> SavedPage:
    """What the reader saved, twenty a page (from 1), the latest saved first, sources at hand; two queries.

    A saved item stays, whatever its feed or its subscription does.
    """
    rows = Reading.objects.filter(reader_id=reader_id, saved_at__isnull=False)
    start = (max(page, 1) - 1) * SAVED_PAGE
    shown = rows.order_by("-saved_at", "-pk").select_related("item__source")[start : start + SAVED_PAGE]
    return SavedPage(tuple(row.item for row in shown), rows.count(), max(page, 1))
