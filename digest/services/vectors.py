"""Items become vectors as they come in, and a reader's taste follows each thumb: nothing is ever trained.

A profile knows exactly which thumbs are in it. Bringing it up to date compares them with the thumbs as they
stand and adds or takes back the difference, so a thumb, its opposite, an undo and a whole import are the same
work, and calling it once too often changes nothing.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID
from zlib import compress, decompress

import numpy as np
from django.db import transaction
from django.db.models import F, Q

from digest.days import utc_day
from digest.models import Feedback, Item, ItemVector, TasteProfile, TermCounts
from digest.tastes import THUMB, Thumbs, taste_pack, taste_unpack, thumbs_changed
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.similarity import (
    EMPTY,
    PLACES,
    Counts,
    Vector,
    counts_add,
    taste_aged,
    taste_changed,
    terms_of,
    vector_of,
    vector_unpack,
)

# Items that may still be ranked, with some to spare for digests of past days.
VECTOR_DAYS = 30
# Without a thumb on it, an older item is in nobody's digest and nobody's taste.
VECTOR_KEPT_DAYS = 60
# What weighs less than 2^-5 of a fresh thumb, or lies behind a thousand newer ones, is forgotten.
THUMBS_DAYS = 300
THUMBS_MAX = 1000
BATCH = 500


def item_vectors_update(*, now: datetime, limit: int = 5_000) -> int:
    """Make the vectors of new and changed items of the last 30 days, newest first; how many were made.

    At most `limit` at a time, 500 a transaction. Safe to run twice at once: an item counted twice costs a
    little precision of its terms' weights and nothing else.
    """
    stale = Q(vector__isnull=True) | ~Q(vector__fingerprint=F("fingerprint"))
    recent = Item.objects.filter(stale, dated_at__gt=now - timedelta(days=VECTOR_DAYS))
    wanted = list(recent.order_by("-dated_at").values_list("pk", flat=True)[:limit])
    for start in range(0, len(wanted), BATCH):
        _vectors_make(wanted[start : start + BATCH])
    return len(wanted)


def item_vectors_prune(*, now: datetime) -> int:
    """Drop the vectors of items older than 60 days that nobody rated; how many there were."""
    old = ItemVector.objects.filter(
        item__dated_at__lt=now - timedelta(days=VECTOR_KEPT_DAYS), item__feedback__isnull=True
    )
    dropped, _ = old.delete()
    return dropped


def profile_refresh(*, reader_id: UUID, now: datetime, anew: bool = False) -> bool:
    """Bring the reader's profile up to their thumbs as they stand; whether it changed.

    Two queries where nothing changed. With `anew` it is summed up from nothing, which also takes in what
    became of items' words since. A first thumb makes the profile; a reader without thumbs has none.
    """
    stand = _thumbs_now(reader_id, utc_day(now))
    kept = TasteProfile.objects.filter(reader_id=reader_id).first()
    included = stand[:0] if kept is None or anew else _included(kept)
    gone, come = thumbs_changed(included, stand)
    if not (len(gone) or len(come) or (kept and anew)):
        return False
    _vectors_ensure(come["item"].tolist())
    with transaction.atomic():
        row, created = TasteProfile.objects.select_for_update().get_or_create(
            reader_id=reader_id, defaults={"day": utc_day(now), "updated_at": now}
        )
        _profile_store(row, _thumbs_now(reader_id, utc_day(now)), now, anew or created)
    return True


def profile_take_back(*, reader_id: UUID) -> None:
    """Bring the profile up to thumbs that were taken back since it last changed; no clock is needed."""
    kept = TasteProfile.objects.filter(reader_id=reader_id).first()
    if kept is not None:
        profile_refresh(reader_id=reader_id, now=kept.updated_at)


def _profile_store(row: TasteProfile, stand: Thumbs, now: datetime, anew: bool) -> None:
    """Add what is new and take back what is gone, under the row's lock, and keep the result."""
    day, included = utc_day(now), _included(row)
    taste = taste_unpack(bytes(row.terms), row.likes, row.dislikes)
    if anew:
        taste, included = EMPTY, included[:0]
    taste = taste_aged(taste, _decay(max(0, day - row.day)))
    gone, come = thumbs_changed(included, stand)
    vectors = _vectors_of([*gone["item"].tolist(), *come["item"].tolist()])
    changes = [
        (vectors[item], bool(useful), sign * _decay(max(0, day - given)))
        for sign, thumbs in ((-1.0, gone), (1.0, come))
        for item, given, useful in thumbs.tolist()
        if item in vectors
    ]
    taste = taste_changed(taste, changes)
    row.day, row.updated_at = max(day, row.day), now
    row.likes, row.dislikes, row.terms = taste.likes, taste.dislikes, taste_pack(taste)
    row.thumbs = stand.tobytes()
    row.save()


def _decay(days: int) -> float:
    return float(2.0 ** (-days / FEEDBACK_HALF_LIFE_DAYS))


def _included(row: TasteProfile) -> Thumbs:
    return np.frombuffer(bytes(row.thumbs), dtype=THUMB)


def _thumbs_now(reader_id: UUID, day: int) -> Thumbs:
    """The newest thumbs that still weigh anything, in order of item."""
    rows = Feedback.objects.filter(reader_id=reader_id, day__gt=day - THUMBS_DAYS).order_by("-at", "-pk")
    newest = rows.values_list("item_id", "day", "useful")[:THUMBS_MAX]
    return np.array(sorted(newest), dtype=THUMB)


def _vectors_of(item_ids: Collection[int]) -> dict[int, Vector]:
    rows = ItemVector.objects.filter(pk__in=set(item_ids)).values_list("pk", "terms")
    return {pk: vector_unpack(bytes(terms)) for pk, terms in rows}


def _vectors_ensure(item_ids: Sequence[int]) -> None:
    """Make the vectors that are missing among these items."""
    known = set(ItemVector.objects.filter(pk__in=item_ids).values_list("pk", flat=True))
    missing = [pk for pk in item_ids if pk not in known]
    for start in range(0, len(missing), BATCH):
        _vectors_make(missing[start : start + BATCH])


def _vectors_make(item_ids: Sequence[int]) -> None:
    """Count the items' terms and store their vectors, in one transaction under the lock of the counts."""
    rows = Item.objects.filter(pk__in=item_ids).values_list("pk", "fingerprint", "title", "text")
    items = [(pk, print_, terms_of(title, text)) for pk, print_, title, text in rows]
    with transaction.atomic():
        held, _ = TermCounts.objects.select_for_update().get_or_create(pk=1)
        counts = counts_add(_counts(held), (terms for _, _, terms in items))
        held.documents, held.counts = held.documents + len(items), compress(counts.tobytes(), 1)
        held.save()
        ItemVector.objects.bulk_create(
            [
                ItemVector(pk=pk, fingerprint=mark, terms=vector_of(terms, counts, held.documents).packed())
                for pk, mark, terms in items
            ],
            update_conflicts=True,
            unique_fields=["item"],
            update_fields=["fingerprint", "terms"],
        )


def _counts(held: TermCounts) -> Counts:
    if not held.counts:
        return np.zeros(PLACES, dtype=np.uint32)
    return np.frombuffer(decompress(bytes(held.counts)), dtype=np.uint32)
