"""Storing digests: many readers' at once, under row locks, nothing written where nothing changed."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from digest.compose import Chances, Composed, Place, Rules, Stood, compose
from digest.models import Digest, Feedback, Impression, Reader
from digest.shares import Choice
from ranking.entities import Score

# Rows of one INSERT: ten columns each, far from what any database takes.
ROWS = 500
Key = tuple[UUID, dt.date]


@dataclass(frozen=True, slots=True)
class Order:
    """One reader's ranked day, ready to be composed. `score_of` gives the score of an item of `choices`."""

    reader: Reader
    date: dt.date
    version: int
    choices: Sequence[Choice]
    chances: Chances
    score_of: Callable[[int], Score]

    @property
    def key(self) -> Key:
        """Whose digest of which day."""
        return self.reader.pk, self.date


@transaction.atomic
def digests_store(*, orders: Sequence[Order], rules: Rules, now: dt.datetime) -> list[Digest]:
    """Compose and store the digests of some readers (a hundred or so), in the order given.

    1. Under the digests' row locks, what the readers have rated stays where it stood, as it was shown; what
       was drawn for novelty that day stays too.
    2. The rest is composed round it. Rows are written only where something changed; then the digest counts as
       not shown yet if its items did. What was logged as shown is kept.

    A digest of a newer config is never replaced by an older one's. Nine queries at most, plus one for each
    500 impressions.
    """
    digests = _claimed(orders, now)
    shown = _shown(digests.values())
    changed: list[Digest] = []
    gone: list[int] = []
    fresh: list[Impression] = []
    for order in orders:
        digest = digests[order.key]
        if digest.config_version > order.version:
            continue
        stood = shown[digest.pk]
        composed = _composed(order, rules, stood)
        wanted = _impressions(digest, order, composed, stood)
        if _rows(stood) != _rows(wanted):
            gone.append(digest.pk)
            fresh += wanted
        elif digest.config_version == order.version and digest.left_out == composed.counts():
            continue
        digest.config_version, digest.built_at, digest.left_out = order.version, now, composed.counts()
        if _items(stood) != _items(wanted):
            digest.exposed_at = None
        changed.append(digest)
    _write(changed, gone, fresh)
    return [digests[order.key] for order in orders]


def _claimed(orders: Sequence[Order], now: dt.datetime) -> dict[Key, Digest]:
    """The rows of the digests, made where they are missing, locked."""
    Digest.objects.bulk_create(
        [Digest(reader=o.reader, date=o.date, config_version=o.version, built_at=now) for o in orders],
        ignore_conflicts=True,
    )
    rows = Digest.objects.select_for_update().filter(
        reader__in=[order.reader for order in orders], date__in={order.date for order in orders}
    )
    return {(digest.reader_id, digest.date): digest for digest in rows.order_by("pk")}


def _shown(digests: Collection[Digest]) -> Mapping[int, list[Impression]]:
    """What each digest shows, by rank, with item and source at hand; `rated` says if its reader rated it."""
    thumb = Feedback.objects.filter(item=OuterRef("item"), reader=OuterRef("digest__reader"))
    found = Impression.objects.filter(digest__in=digests).annotate(rated=Exists(thumb)).order_by("rank")
    rows: defaultdict[int, list[Impression]] = defaultdict(list)
    for row in found.select_related("item").defer("item__text"):
        rows[row.digest_id].append(row)
    return rows


def _composed(order: Order, rules: Rules, shown: Sequence[Impression]) -> Composed:
    standing = {row.rank: _stood(row) for row in shown}
    return compose(
        order.choices,
        rules,
        order.chances,
        rated={row.rank: standing[row.rank] for row in shown if _is_rated(row)},
        drawn={row.rank: standing[row.rank] for row in shown if row.slot == Impression.Slot.NOVELTY},
    )


def _stood(row: Impression) -> Stood:
    return Stood(row.item_id, row.item.source_id, row.item.cluster_id, row.propensity)


def _is_rated(row: Impression) -> bool:
    return bool(getattr(row, "rated", False))


def _impressions(
    digest: Digest, order: Order, composed: Composed, shown: Sequence[Impression]
) -> list[Impression]:
    """The digest's impressions by rank, fresh and unsaved; those of rated items as they were shown."""
    stood = {row.item_id: row for row in shown if _is_rated(row)}
    return [
        _again(digest, stood[place.item_id], place, rank)
        if place.item_id in stood
        else _fresh(digest, order.score_of(place.item_id), place, rank)
        for rank, place in enumerate(composed.places, start=1)
    ]


def _fresh(digest: Digest, score: Score, place: Place, rank: int) -> Impression:
    return Impression(
        digest=digest,
        item_id=place.item_id,
        rank=rank,
        score=score.total,
        parts=score.parts.as_dict(),
        propensity=place.propensity,
        slot=place.slot,
    )


def _again(digest: Digest, stood: Impression, place: Place, rank: int) -> Impression:
    return Impression(
        digest=digest,
        item_id=stood.item_id,
        rank=rank,
        score=stood.score,
        parts=stood.parts,
        propensity=stood.propensity,
        slot=place.slot,
    )


def _rows(impressions: Sequence[Impression]) -> list[tuple[object, ...]]:
    return [(i.rank, i.item_id, i.score, i.parts, i.propensity, i.slot) for i in impressions]


def _items(impressions: Sequence[Impression]) -> list[int]:
    return [impression.item_id for impression in impressions]


def _write(changed: Sequence[Digest], gone: Sequence[int], fresh: Sequence[Impression]) -> None:
    if gone:
        Impression.objects.filter(digest__in=gone).delete()
        Impression.objects.bulk_create(fresh, batch_size=ROWS)
    if changed:
        Digest.objects.bulk_update(changed, ["config_version", "built_at", "left_out", "exposed_at"])
