"""The taste factor of many items, in columns, and the reasons of some. Pure."""

from collections.abc import Mapping, Sequence

import numpy as np

from ranking.meaning.table import vectors_of
from ranking.pool import Ids, Mask, Pool
from ranking.taste.entities import ARTICLE, AUTHOR, SOURCE, TOPIC, TasteLevel, TasteReason
from ranking.taste.learn import (
    STRONGEST,
    TargetLean,
    added_leans,
    columns_of,
    leans_learned,
    strongest_first,
    targets_of,
)
from ranking.taste.likeness import NAMED_FROM, Array, most_alike
from ranking.taste.signal import TasteSignal, factors_of


def taste_learned(signal: TasteSignal, topics: Mapping[str, Sequence[str]]) -> list[TargetLean]:
    """Return the leans of the reader's examples, the strongest first.

    `topics` are the reader's own, each with its other names.
    """
    columns = columns_of(signal.examples, signal.at)
    leans = leans_learned(
        signal.examples,
        targets_of(signal.examples, topics),
        columns,
        spread=signal.spread,
        on_hold=signal.on_hold,
        deviations=signal.deviations,
    )
    return strongest_first(leans)


class TasteColumns:
    """The factors of the items of a pool at `rows` (all if `None`), (rows,)."""

    def __init__(
        self,
        items: Pool,
        rows: Ids | None,
        signal: TasteSignal,
        level: TasteLevel,
        leans: Sequence[TargetLean],
        likeness: Array,
    ) -> None:
        """Compute the factors from `leans` learned from the signal, and from its `likeness`, (rows,)."""
        self._items, self._rows, self._signal, self._likeness = items, rows, signal, likeness
        self._leans = leans
        self._masks = [self._at(self._mask(one)) for one in self._leans]
        exponents = added_leans(self._leans, self._masks, len(likeness)) + likeness
        self.factors: Array = factors_of(exponents, level)

    def _at(self, mask: Mask) -> Mask:
        return mask if self._rows is None else mask[self._rows]

    def _mask(self, lean: TargetLean) -> Mask:
        """Return which of all items have the target."""
        target, items = lean.target, self._items
        if target.kind == SOURCE:
            code = items.sources.index(target.key) if target.key in items.sources else -1
            of_source: Mask = items.source_codes == code
            return of_source
        if target.kind == TOPIC:
            return items.says(target.label, target.names)
        found = np.zeros(len(items), dtype=np.bool_)
        found[list(items.labelled(target.key, author=target.kind == AUTHOR))] = True
        return found

    def reasons(self, places: Ids) -> list[tuple[TasteReason, ...]]:
        """Return for each of these places (of `factors`) why its factor is so, the strongest reason first."""
        articles = self._articles(places)
        found = []
        for at, article in zip(places.tolist(), articles, strict=True):
            reasons = [_reason(one) for one in self._counting(at)]
            reasons += [article] if article else []
            found.append(tuple(sorted(reasons, key=lambda one: -abs(one.lean))))
        return found

    def _counting(self, at: int) -> list[TargetLean]:
        """Return the leans that count for the item at a place."""
        taken: dict[str, int] = {}
        found = []
        for one, mask in zip(self._leans, self._masks, strict=True):
            if mask[at] and taken.get(one.target.kind, 0) < STRONGEST:
                taken[one.target.kind] = taken.get(one.target.kind, 0) + 1
                found.append(one)
        return found

    def _articles(self, places: Ids) -> list[TasteReason | None]:
        """Return for each place the example that its likeness rests on most."""
        signal, rows = self._signal, places if self._rows is None else self._rows[places]
        ids = self._items.ids[rows].tolist()
        packed = [_vector(signal.vectors, item) for item in ids]
        leans = self._likeness[places].tolist()
        known = [one for one in signal.examples if one.meaning]
        by_way = {way: [one for one in known if one.liked is way] for way in (True, False)}
        found: list[TasteReason | None] = [None] * len(packed)
        for liked, examples in by_way.items():
            some = [n for n, lean in enumerate(leans) if packed[n] and lean and (lean > 0) is liked]
            if not some or not examples:
                continue
            vectors = vectors_of([one.meaning for one in examples])
            nearest, alike = most_alike(vectors_of([packed[n] for n in some]), vectors, signal.centre)
            for n, at, near in zip(some, nearest.tolist(), alike.tolist(), strict=True):
                # That a rated article is like itself tells nobody anything.
                is_named = near >= NAMED_FROM and examples[at].item_id != ids[n]
                label = examples[at].title if is_named else ""
                found[n] = TasteReason(ARTICLE, label, int(liked), int(not examples[at].named), leans[n])
        return [
            one or (TasteReason(ARTICLE, "", int(lean > 0), 1, lean) if lean else None)
            for one, lean in zip(found, leans, strict=True)
        ]


def _vector(vectors: Mapping[int, bytes], item_id: int) -> bytes:
    return vectors.get(item_id, b"")


def _reason(one: TargetLean) -> TasteReason:
    return TasteReason(one.target.kind, one.target.label, one.likes, one.thumbs, one.lean)
