"""Item vectors, made when items come in, and taste profiles, updated with each rating. Nothing is trained.

A profile stores exactly which ratings it includes. An update compares them with the current ratings and adds
or subtracts the difference. So a rating, its opposite, an undo and a whole import all work the same way, and
an extra update changes nothing.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zlib import compress, decompress

import numpy as np
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Window
from django.db.models.functions import RowNumber
from numpy.typing import NDArray

from digest.days import utc_day
from digest.items.meanings import meanings_of
from digest.models import Feedback, Item, ItemVector, Reading, TasteProfile, TermCounts
from ranking.common.isolation import isolate_batches
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.meaning.table import unit_rows, vectors_of
from ranking.similarity import (
    EMPTY,
    HASH_BUCKETS,
    Taste,
    Vector,
    document_counts_add,
    taste_decay,
    taste_update,
    term_counts,
    tfidf_vector,
    vector_unpack,
)

# One rating: its item, UTC day, and whether it was up.
RATING = np.dtype([("item", "<i8"), ("day", "<i4"), ("useful", "?")])
Ratings = NDArray[Any]
# Items that may still be ranked, with a margin for digests of past days.
VECTOR_DAYS = 30
# An older item without a rating is in no digest and no taste profile.
VECTOR_RETENTION_DAYS = 90
# Ratings that weigh less than 2^-5 of a fresh one, or are not among the newest thousand, are ignored.
RATINGS_DAYS = 300
RATINGS_MAX = 1000
BATCH = 500
# Ids per statement. SQLite takes at most 32,766.
IDS = 10_000
PROFILE_FIELDS = ("day", "likes", "dislikes", "terms", "thumbs", "updated_at")


def item_vectors_update(*, now: datetime, limit: int = 5_000) -> int:
    """Make vectors for new and changed items of the last 30 days, newest first. Return how many.

    At most `limit` items, 500 per transaction. It is safe to run twice at once: an item that is counted twice
    only makes the weights of its terms a little less exact.
    """
    stale = Q(vector__isnull=True) | ~Q(vector__fingerprint=F("fingerprint"))
    recent = Item.objects.filter(stale, dated_at__gt=now - timedelta(days=VECTOR_DAYS))
    item_ids = list(recent.order_by("-dated_at").values_list("pk", flat=True)[:limit])
    _vectors_make(item_ids)
    return len(item_ids)


def item_vectors_prune(*, now: datetime) -> int:
    """Delete the vectors of items older than 90 days that nobody rated or named; return how many."""
    old = now - timedelta(days=VECTOR_RETENTION_DAYS)
    named = Reading.objects.filter(item=OuterRef("pk"), named_at__isnull=False)
    rows = ItemVector.objects.filter(item__dated_at__lt=old, item__feedback__isnull=True)
    deleted, _ = rows.filter(~Exists(named)).delete()
    return deleted


def item_vector_ensure(*, item_id: int) -> None:
    """Make the vector of an item that has none, such as one older than 30 days; one query if it has one."""
    if not ItemVector.objects.filter(pk=item_id).exists():
        _vectors_make([item_id])


def profile_refresh(*, reader_id: UUID, now: datetime) -> bool:
    """Update the reader's taste profile to their current ratings; return whether it changed.

    Two queries if nothing changed. The first rating creates the profile; a reader without ratings has none.
    """
    current = _ratings_of(reader_id, utc_day(now))
    stored = TasteProfile.objects.filter(reader_id=reader_id).first()
    included = current[:0] if stored is None else _ratings_in(stored)
    removed, added = _difference(included, current)
    if not (len(removed) or len(added)):
        return False
    rated = added["item"].tolist()
    known = set(ItemVector.objects.filter(pk__in=rated).values_list("pk", flat=True))
    _vectors_make([pk for pk in rated if pk not in known])
    with transaction.atomic():
        row, _ = TasteProfile.objects.select_for_update().get_or_create(
            reader_id=reader_id, defaults={"day": utc_day(now), "updated_at": now}
        )
        _profile_store(row, _ratings_of(reader_id, utc_day(now)), now)
    return True


def profiles_rebuild(*, reader_ids: Collection[UUID], now: datetime) -> None:
    """Recompute the taste profiles of about a hundred readers from all their ratings.

    This removes rounding errors from adding and subtracting, and rereads items whose words changed. Six
    queries, one more per further 10,000 rated items. A profile without ratings is left empty.
    """
    day = utc_day(now)
    rated = Feedback.objects.filter(reader_id__in=reader_ids, day__gt=day - RATINGS_DAYS)
    missing = rated.filter(item__vector=None).order_by("item_id").values_list("item_id", flat=True)
    _vectors_make(list(missing.distinct()))
    with transaction.atomic():
        locked = TasteProfile.objects.select_for_update().filter(reader_id__in=reader_ids).order_by("pk")
        days = dict(locked.values_list("pk", "day"))
        ratings = _ratings_many(reader_ids, day)
        vectors = _vectors_of({item for some in ratings.values() for item in some["item"].tolist()})
        none = np.empty(0, dtype=RATING)
        profiles = [
            _profile(
                reader_id, ratings.get(reader_id, none), vectors, max(day, days.get(reader_id, day)), now
            )
            for reader_id in sorted({*days, *ratings})
        ]
        TasteProfile.objects.bulk_create(
            profiles, update_conflicts=True, unique_fields=["reader"], update_fields=PROFILE_FIELDS
        )


def profile_prune(*, reader_id: UUID) -> None:
    """Remove deleted ratings from the reader's profile, as of its last change, so no clock is needed."""
    stored = TasteProfile.objects.filter(reader_id=reader_id).first()
    if stored is not None:
        profile_refresh(reader_id=reader_id, now=stored.updated_at)


def taste_unpack(packed: bytes, likes: float, dislikes: float) -> Taste:
    """Return the taste stored in a profile's `terms`, with the decayed counts of its ratings.

    Twelve bytes per term: first all places, then all liked sums, then all disliked sums in single precision.
    """
    n = len(packed) // 12
    return Taste(
        np.frombuffer(packed, "<u4", count=n),
        np.frombuffer(packed, "<f4", count=n, offset=4 * n),
        np.frombuffer(packed, "<f4", count=n, offset=8 * n),
        likes,
        dislikes,
    )


def _profile_store(row: TasteProfile, current: Ratings, now: datetime) -> None:
    """Add new ratings, subtract removed ones, and save the profile. The caller has locked its row."""
    day = utc_day(now)
    taste = taste_unpack(bytes(row.terms), row.likes, row.dislikes)
    taste = taste_decay(taste, _decay(max(0, day - row.day)))
    removed, added = _difference(_ratings_in(row), current)
    vectors = _vectors_of({*removed["item"].tolist(), *added["item"].tolist()})
    changes = [*_changes(removed, vectors, day, -1.0), *_changes(added, vectors, day, 1.0)]
    _profile_set(row, taste_update(taste, changes), current, max(day, row.day), now)
    row.save()


def _profile(
    reader_id: UUID, ratings: Ratings, vectors: Mapping[int, Vector], day: int, now: datetime
) -> TasteProfile:
    """Return an unsaved profile of the reader made from these ratings."""
    row = TasteProfile(reader_id=reader_id)
    _profile_set(row, taste_update(EMPTY, _changes(ratings, vectors, utc_day(now), 1.0)), ratings, day, now)
    return row


def _profile_set(row: TasteProfile, taste: Taste, ratings: Ratings, day: int, now: datetime) -> None:
    row.day, row.updated_at = day, now
    row.likes, row.dislikes = taste.likes, taste.dislikes
    parts = taste.indices.astype("<u4"), taste.liked.astype("<f4"), taste.disliked.astype("<f4")
    row.terms = b"".join(part.tobytes() for part in parts)
    row.thumbs = ratings.tobytes()


def _changes(
    ratings: Ratings, vectors: Mapping[int, Vector], day: int, sign: float
) -> list[tuple[Vector, bool, float]]:
    """Return the ratings in the form for `taste_update`, as of `day`; items without a vector are left out."""
    return [
        (vectors[item], useful, sign * _decay(max(0, day - rated_day)))
        for item, rated_day, useful in ratings.tolist()
        if item in vectors
    ]


def _vectors_of(item_ids: Collection[int]) -> dict[int, Vector]:
    """Return the vectors of those items that have one; one query per 10,000 items."""
    ids, found = sorted(item_ids), dict[int, Vector]()
    for start in range(0, len(ids), IDS):
        rows = ItemVector.objects.filter(pk__in=ids[start : start + IDS])
        found |= {pk: vector_unpack(bytes(terms)) for pk, terms in rows.values_list("pk", "terms")}
    return found


def _difference(before: Ratings, after: Ratings) -> tuple[Ratings, Ratings]:
    """Return the removed and the added ratings. A rating that was changed or given again is in both."""
    return before[~np.isin(before, after)], after[~np.isin(after, before)]


def _decay(days: int) -> float:
    return float(2.0 ** (-days / FEEDBACK_HALF_LIFE_DAYS))


def _ratings_in(row: TasteProfile) -> Ratings:
    return np.frombuffer(bytes(row.thumbs), dtype=RATING)


def _ratings_of(reader_id: UUID, day: int) -> Ratings:
    """Return the reader's newest ratings that still have weight, sorted by item."""
    rows = Feedback.objects.filter(reader_id=reader_id, day__gt=day - RATINGS_DAYS).order_by("-at", "-pk")
    newest = rows.values_list("item_id", "day", "useful")[:RATINGS_MAX]
    return np.array(sorted(newest), dtype=RATING)


def _ratings_many(reader_ids: Collection[UUID], day: int) -> dict[UUID, Ratings]:
    """Return {reader: `_ratings_of`} for readers who have ratings; one query."""
    newest = Window(RowNumber(), partition_by=F("reader_id"), order_by=[F("at").desc(), F("pk").desc()])
    rows = Feedback.objects.filter(reader_id__in=reader_ids, day__gt=day - RATINGS_DAYS).annotate(n=newest)
    found: defaultdict[UUID, list[tuple[int, int, bool]]] = defaultdict(list)
    columns = ("reader_id", "item_id", "day", "useful")
    for reader_id, *rating in rows.filter(n__lte=RATINGS_MAX).order_by("item_id").values_list(*columns):
        found[reader_id].append((*rating,))
    return {reader_id: np.array(some, dtype=RATING) for reader_id, some in found.items()}


def _vectors_make(item_ids: Sequence[int]) -> None:
    """Count the items' terms and store their vectors, 500 per transaction, with the counts locked.

    Words of private feeds are not counted.
    """
    deque(isolate_batches(item_ids, _vectors_store, what="item", event="vector_failed", size=BATCH), maxlen=0)


def _vectors_store(item_ids: Sequence[int]) -> None:
    batch = Item.objects.filter(pk__in=item_ids)
    rows = list(batch.values_list("pk", "fingerprint", "title", "text", "language", "feed__owner"))
    items = [(pk, fingerprint, term_counts(title, text)) for pk, fingerprint, title, text, *_ in rows]
    meanings = meanings_of([(title, text, language) for _, _, title, text, language, _ in rows])
    private = {pk for pk, *_, owner in rows if owner}
    public = [terms for pk, _, terms in items if pk not in private]
    with transaction.atomic():
        row, _ = TermCounts.objects.select_for_update().get_or_create(pk=1)
        stored = decompress(bytes(row.counts)) if row.counts else bytes(4 * HASH_BUCKETS)
        before = np.frombuffer(stored, dtype=np.uint32)
        counts = document_counts_add(before, public)
        row.documents, row.counts = row.documents + len(public), compress(counts.tobytes(), 1)
        known = [one for (pk, *_), one in zip(items, meanings, strict=True) if one and pk not in private]
        if known:
            earlier = np.frombuffer(bytes(row.meaning_sum), "<f4") if row.meaning_sum else 0.0
            total = unit_rows(vectors_of(known)).sum(axis=0) + earlier
            row.meanings, row.meaning_sum = row.meanings + len(known), total.astype("<f4").tobytes()
        row.save()
        vectors = [
            ItemVector(
                pk=pk,
                fingerprint=fingerprint,
                terms=tfidf_vector(terms, counts, row.documents).packed(),
                meaning=meaning,
            )
            for (pk, fingerprint, terms), meaning in zip(items, meanings, strict=True)
        ]
        ItemVector.objects.bulk_create(
            vectors,
            update_conflicts=True,
            unique_fields=["item"],
            update_fields=["fingerprint", "terms", "meaning"],
        )
