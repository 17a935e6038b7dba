"""Reading and saving: what a reader does with items besides rating them. Neither is a thumb."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from digest.models import Reader, Reading
from digest.selectors import item_get


def item_read(*, reader: Reader, item_id: int, now: datetime) -> datetime:
    """Mark an item as read, and return when it first was. Raises `ItemNotFound`."""
    item_get(reader_id=reader.pk, item_id=item_id)
    reading, created = Reading.objects.get_or_create(
        reader=reader, item_id=item_id, defaults={"read_at": now}
    )
    if not created and reading.read_at is None:
        Reading.objects.filter(pk=reading.pk, read_at=None).update(read_at=now)
        reading.refresh_from_db(fields=["read_at"])
    return reading.read_at or now


def item_unread(*, reader: Reader, item_id: int) -> bool:
    """Mark an item as not read; whether it was. Raises `ItemNotFound`."""
    item_get(reader_id=reader.pk, item_id=item_id)
    rows = Reading.objects.filter(reader=reader, item_id=item_id, read_at__isnull=False)
    return rows.update(read_at=None) > 0


def item_save(*, reader: Reader, item_id: int, saved: bool, now: datetime) -> datetime | None:
    """Save an item for later, or stop; returns when it was saved. Saving twice keeps the first time.

    Raises `ItemNotFound`.
    """
    item_get(reader_id=reader.pk, item_id=item_id)
    if not saved:
        Reading.objects.filter(reader=reader, item_id=item_id).update(saved_at=None)
        return None
    reading, created = Reading.objects.get_or_create(
        reader=reader, item_id=item_id, defaults={"saved_at": now}
    )
    if not created and reading.saved_at is None:
        Reading.objects.filter(pk=reading.pk, saved_at=None).update(saved_at=now)
        reading.refresh_from_db(fields=["saved_at"])
    return reading.saved_at


def items_read(*, reader: Reader, item_ids: Collection[int], now: datetime) -> int:
    """Mark as read whatever of `item_ids` (shown to the reader) is not yet; how many that were.

    All get the same moment `now`, by which `items_unread` finds them again.
    """
    with transaction.atomic():
        kept = Reading.objects.filter(reader=reader, item_id__in=item_ids)
        known = set(kept.select_for_update().values_list("item_id", flat=True))
        changed = kept.filter(read_at=None).update(read_at=now)
        fresh = [Reading(reader=reader, item_id=pk, read_at=now) for pk in item_ids if pk not in known]
        Reading.objects.bulk_create(fresh, ignore_conflicts=True)
    return changed + len(fresh)


def items_unread(*, reader: Reader, item_ids: Collection[int], at: datetime) -> int:
    """Take back what `items_read` marked at the moment `at`; how many items that were."""
    rows = Reading.objects.filter(reader=reader, item_id__in=item_ids, read_at=at)
    return rows.update(read_at=None)
