"""What is known of items beyond their text, for one reader: likeness to their taste, and what others say."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from ranking.scoring import Signals


def signals_for(*, reader_id: UUID, item_ids: Collection[int], now: datetime) -> Signals:
    """The similarity and community figures of the items; empty where nothing is known."""
    return signals_for_many(reader_ids=[reader_id], item_ids=item_ids, now=now)[reader_id]


def signals_for_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, Signals]:
    """The same for many readers over the union of their candidates."""
    return {reader_id: Signals() for reader_id in reader_ids}
