"""Storing digests: many readers' at once, under row locks, nothing written where nothing changed."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from digest.build.compose import Composed, NoveltyDraw, PlacedItem, Rules, compose
from digest.build.shares import Choice
from digest.models import Digest, Exposure, Feedback, Impression, Reader
from ranking.entities import Score

# Rows of one INSERT: ten columns each, far from what any database takes.
ROWS = 500
# Whose digest of which day.
Key = tuple[UUID, dt.date]


@dataclass(frozen=True, slots=True)
class RankedDay:
    """One reader's ranked day, ready to be composed. `score_of` gives the score of an item of `choices`."""

    reader: Reader
    date: dt.date
    version: int
    choices: Sequence[Choice]
    draw: NoveltyDraw
    score_of: Callable[[int], Score]


@transaction.atomic
def digests_store(*, ranked_days: Sequence[RankedDay], rules: Rules, now: dt.datetime) -> list[Digest]:
    """Compose and store the digests of some readers (a hundred or so), in the order given.

    1. Under the digests' row locks, what the readers have rated keeps its rank, score and parts; what was
       drawn for novelty that day stays too.
    2. The rest is composed round it. Rows are written only where something changed; then the digest counts as
       not shown yet if its items did. The log of exposures is never changed.

    A digest of a newer config is never replaced by an older one's. Nine queries at most, plus one for each
    500 impressions.
    """
    digests = _digests_lock(ranked_days, now)
    impressions = _impressions_by_digest(digests.values())
    changed: list[Digest] = []
    gone: list[int] = []
    fresh: list[Impression] = []
    for ranked in ranked_days:
        digest = digests[ranked.reader.pk, ranked.date]
        if digest.config_version > ranked.version:
            continue
        before = impressions[digest.pk]
        composed = _compose(ranked, rules, before)
        after = _impressions_make(digest, ranked, composed, before)
        if _values(before) != _values(after):
            gone.append(digest.pk)
            fresh += after
        elif digest.config_version == ranked.version and digest.left_out == composed.counts():
            continue
        digest.config_version, digest.built_at, digest.left_out = ranked.version, now, composed.counts()
        if [row.item_id for row in before] != [row.item_id for row in after]:
            digest.exposed_at = None
        changed.append(digest)
    if gone:
        Impression.objects.filter(digest__in=gone).delete()
        Impression.objects.bulk_create(fresh, batch_size=ROWS)
    if changed:
        Digest.objects.bulk_update(changed, ["config_version", "built_at", "left_out", "exposed_at"])
    return [digests[ranked.reader.pk, ranked.date] for ranked in ranked_days]


def _digests_lock(ranked_days: Sequence[RankedDay], now: dt.datetime) -> dict[Key, Digest]:
    """Return the rows of the digests, created where they are missing, locked."""
    Digest.objects.bulk_create(
        [Digest(reader=o.reader, date=o.date, config_version=o.version, built_at=now) for o in ranked_days],
        ignore_conflicts=True,
    )
    rows = Digest.objects.select_for_update().filter(
        reader__in=[ranked.reader for ranked in ranked_days], date__in={ranked.date for ranked in ranked_days}
    )
    return {(digest.reader_id, digest.date): digest for digest in rows.order_by("pk")}


def _impressions_by_digest(digests: Collection[Digest]) -> Mapping[int, list[Impression]]:
    """Return what each digest shows, by rank, with item and source; `rated`: its reader has rated it."""
    rating = Feedback.objects.filter(item=OuterRef("item"), reader=OuterRef("digest__reader"))
    found = Impression.objects.filter(digest__in=digests).annotate(rated=Exists(rating)).order_by("rank")
    rows: defaultdict[int, list[Impression]] = defaultdict(list)
    for row in found.select_related("item").defer("item__text"):
        rows[row.digest_id].append(row)
    return rows


def _compose(ranked: RankedDay, rules: Rules, before: Sequence[Impression]) -> Composed:
    at = {
        row.rank: PlacedItem(row.item_id, row.item.source_id, row.item.story_id, row.propensity)
        for row in before
    }
    return compose(
        ranked.choices,
        rules,
        ranked.draw,
        rated={row.rank: at[row.rank] for row in before if _is_rated(row)},
        drawn={row.rank: at[row.rank] for row in before if row.slot == Impression.Slot.NOVELTY},
    )


def _is_rated(row: Impression) -> bool:
    return bool(getattr(row, "rated", False))


def _impressions_make(
    digest: Digest, ranked: RankedDay, composed: Composed, before: Sequence[Impression]
) -> list[Impression]:
    """Return the digest's impressions by rank, unsaved; rated items keep score, parts, probability."""
    rated = {row.item_id: row for row in before if _is_rated(row)}
    rows = []
    for rank, place in enumerate(composed.places, start=1):
        row = Impression(digest=digest, item_id=place.item_id, rank=rank, slot=place.slot)
        if known := rated.get(place.item_id):
            row.score, row.parts, row.propensity = known.score, known.parts, known.propensity
        else:
            score = ranked.score_of(place.item_id)
            row.score, row.parts, row.propensity = score.total, score.parts.as_dict(), place.propensity
        rows.append(row)
    return rows


def _values(impressions: Sequence[Impression]) -> list[tuple[object, ...]]:
    return [(i.rank, i.item_id, i.score, i.parts, i.propensity, i.slot) for i in impressions]


def exposure_make(
    shown: Impression, *, digest: Digest, date: dt.date, door: str, rank: int, now: dt.datetime
) -> Exposure:
    """Return the row, not stored yet, that logs one impression of `digest` as shown at `rank`."""
    return Exposure(
        reader_id=digest.reader_id,
        item_id=shown.item_id,
        date=date,
        door=door,
        rank=rank,
        slot=shown.slot,
        propensity=shown.propensity,
        score=shown.score,
        config_version=digest.config_version,
        shown_at=now,
    )


def exposures_log(*, digest: Digest, door: str, now: dt.datetime) -> int:
    """Log the items of `digest` as shown through `door` (`Exposure.Door`); return how many rows were written.

    Only what this door has not shown at its rank that day is written, so that a second view costs one query
    and writes nothing. The log is append-only: building the digest again takes nothing back.
    """
    logged = Exposure.objects.filter(
        reader_id=digest.reader_id, date=digest.date, door=door, item=OuterRef("item"), rank=OuterRef("rank")
    )
    rows = [
        exposure_make(shown, digest=digest, date=digest.date, door=door, rank=shown.rank, now=now)
        for shown in digest.impressions.filter(~Exists(logged)).defer("parts").order_by("rank")
    ]
    if rows:
        Exposure.objects.bulk_create(rows, ignore_conflicts=True)
    if digest.exposed_at is None:
        unseen = Digest.objects.filter(pk=digest.pk, exposed_at=None, built_at=digest.built_at)
        if unseen.update(exposed_at=now):
            digest.exposed_at = now
    return len(rows)
