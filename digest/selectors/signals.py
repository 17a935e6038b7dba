"""What is known of items beyond their text, for one reader: likeness to their taste, and what others say."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import numpy as np

from digest.models import Feedback, ItemVector, TasteProfile
from digest.selectors.peers import community_rates_many
from digest.tastes import taste_unpack
from ranking.scoring import Figures, Signals
from ranking.similarity import Taste, profile_of, similarities, vectors_stack

# Ids in one statement; SQLite takes 32,766.
BATCH = 10_000


def signals_for(*, reader_id: UUID, item_ids: Collection[int], now: datetime) -> Signals:
    """The similarity and community figures of the items; empty where nothing is known.

    At most eight queries for up to 10,000 items. An item the reader has rated has a similarity of 0: what
    was read once is no reason to show more of the very same.
    """
    return signals_for_many(reader_ids=[reader_id], item_ids=item_ids, now=now)[reader_id]


def signals_for_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, Signals]:
    """The same for many readers over all the items any of them may be shown.

    Vectors are read once for all of them, and the number of queries does not depend on that of readers.
    Memory is four bytes for each item and reader: ask for some hundred readers at a time.
    """
    ids = sorted(set(item_ids))
    liked = _similarities(reader_ids, ids) if ids else {}
    others = community_rates_many(reader_ids=reader_ids, item_ids=ids, now=now) if ids else {}
    return {reader: Signals(liked.get(reader, {}), others.get(reader, {})) for reader in reader_ids}


def _similarities(reader_ids: Collection[UUID], ids: Sequence[int]) -> dict[UUID, Figures]:
    tastes = _tastes(reader_ids)
    if not tastes:
        return {}
    found = [row for batch in _batches(ids) for row in _vectors(batch)]
    known = np.array([pk for pk, _ in found], dtype=np.int64)
    vectors = vectors_stack([terms for _, terms in found])
    rated = _rated(list(tastes), ids[0], ids[-1])
    figures = {}
    for reader, taste in tastes.items():
        values = similarities(profile_of(taste), vectors)
        values[np.isin(known, rated.get(reader, []))] = 0.0
        figures[reader] = Figures(known, values)
    return figures


def _tastes(reader_ids: Collection[UUID]) -> dict[UUID, Taste]:
    rows = TasteProfile.objects.filter(reader_id__in=list(reader_ids), likes__gt=0)
    return {row.reader_id: taste_unpack(bytes(row.terms), row.likes, row.dislikes) for row in rows}


def _vectors(ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    rows = ItemVector.objects.filter(pk__in=ids).values_list("pk", "terms")
    return ((pk, bytes(terms)) for pk, terms in rows.iterator())


def _rated(reader_ids: Sequence[UUID], first: int, last: int) -> Mapping[UUID, list[int]]:
    rated: dict[UUID, list[int]] = {}
    rows = Feedback.objects.filter(reader_id__in=reader_ids, item_id__gte=first, item_id__lte=last)
    for reader, item in rows.values_list("reader_id", "item_id"):
        rated.setdefault(reader, []).append(item)
    return rated


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
