"""The digests a reader got, as they were shown."""

from datetime import date
from uuid import UUID

from digest.models import Digest, Impression
from digest.selectors.feedback import feedback_by_items


def digest_for(*, reader_id: UUID, date: date) -> Digest | None:
    """The reader's digest of that day, if one was built."""
    return Digest.objects.filter(reader_id=reader_id, date=date).first()


def digest_dates_between(*, reader_id: UUID, first: date, last: date) -> set[date]:
    """The days from `first` to `last`, both included, for which the reader has a digest; one query."""
    rows = Digest.objects.filter(reader_id=reader_id, date__range=(first, last))
    return set(rows.values_list("date", flat=True))


def digest_impressions(*, digest: Digest) -> list[Impression]:
    """What the digest shows, by rank, in three queries.

    Each impression has its item and source at hand, and as `thumb` the reader's `RatedItem` (or `None`).
    """
    rows = digest.impressions.select_related("item__source").order_by("rank")
    shown = list(rows)
    thumbs = feedback_by_items(
        reader_id=digest.reader_id, item_ids=[impression.item_id for impression in shown]
    )
    for impression in shown:
        impression.thumb = thumbs.get(impression.item_id)
    return shown
