"""Predict each thumb of a reader from those of other days, to see whether their taste predicts anything.
Pure.

Thumbs of one day resemble each other, because near-duplicates of one story stand on one page. So a whole day
is left out at once. Named articles are examples, but are not predicted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import Floats, vectors_of
from ranking.meaning.topics import centre_rows
from ranking.taste.entities import NO_HOLD, Example
from ranking.taste.leans import Array
from ranking.taste.learn import (
    Columns,
    added_leans,
    columns_of,
    leans_learned,
    strongest_first,
    targets_of,
)
from ranking.taste.likeness import lean_alike, memberships


@dataclass(frozen=True, slots=True)
class Foretold:
    """A reader's thumbs, each with what the examples of other days predict for it.

    `exponents` (thumbs,) are the predictions: the sum of leans and likeness, above 0 for an item that the
    reader should like. `liked` (thumbs,) is 1 for a thumb up and 0 for one down. `rows` are the places of
    these thumbs among the examples.
    """

    exponents: Array
    liked: Array
    rows: tuple[int, ...]

    @property
    def sureness(self) -> float:
        """Return the z-score of the AUC, which tells how clearly liked items stand above others, or 0 without
        an AUC.

        The variance is that of shuffled thumbs (Mann and Whitney, 1947), with ties averaged.
        """
        likes = float(self.liked.sum())
        others = len(self.liked) - likes
        if not likes or not others or np.ptp(self.exponents) < 1e-9:
            return 0.0
        _, place, counts = np.unique(self.exponents, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
        area = (ranks[self.liked > 0].sum() - likes * (likes + 1) / 2) / (likes * others)
        n = likes + others
        ties = float((counts**3 - counts).sum())
        variance = (n + 1 - ties / (n * (n - 1))) / (12 * likes * others)
        return float((area - 0.5) / np.sqrt(variance)) if variance > 0 else 0.0


def foretold(
    examples: Sequence[Example],
    topics: Mapping[str, Sequence[str]],
    *,
    now: datetime,
    spread: float,
    centre: Floats,
    on_hold: Mapping[str, int] = NO_HOLD,
) -> Foretold:
    """Predict each thumb from the examples of all other days, in the order of `examples`."""
    columns = columns_of(examples, now)
    days = np.array([one.at.timestamp() // 86400 for one in examples])
    thumbs = columns.counted > 0
    parts = [np.flatnonzero((days == day) & thumbs) for day in np.unique(days[thumbs])]
    return _foretell(examples, topics, columns, parts, spread=spread, centre=centre, on_hold=on_hold)


def foretold_since(
    examples: Sequence[Example],
    since: datetime,
    topics: Mapping[str, Sequence[str]],
    *,
    now: datetime,
    spread: float,
    centre: Floats,
    on_hold: Mapping[str, int] = NO_HOLD,
) -> Foretold:
    """Predict each thumb given after `since` from the examples up to then."""
    columns = columns_of(examples, now)
    later = np.array([one.at > since for one in examples], dtype=np.bool_)
    columns = replace(columns, weight=np.where(later, 0.0, columns.weight))
    rows = np.flatnonzero(later & (columns.counted > 0))
    return _foretell(examples, topics, columns, [rows], spread=spread, centre=centre, on_hold=on_hold)


def _foretell(
    examples: Sequence[Example],
    topics: Mapping[str, Sequence[str]],
    columns: Columns,
    parts: Sequence[NDArray[np.int64]],
    *,
    spread: float,
    centre: Floats,
    on_hold: Mapping[str, int],
) -> Foretold:
    """Predict the examples of each of `parts`, which are their rows, from all examples that are not in it."""
    targets = targets_of(examples, topics)
    has = np.zeros((len(targets), len(examples)), dtype=np.bool_)
    for n, target in enumerate(targets):
        has[n, list(target.rows)] = True
    places = {id(target): n for n, target in enumerate(targets)}
    alike = _alike(examples, centre)
    exponents = np.zeros(len(examples))
    for rows in parts:
        weight = columns.weight.copy()
        weight[rows] = 0.0
        rest = replace(columns, weight=weight)
        leans = strongest_first(leans_learned(examples, targets, rest, spread=spread, on_hold=on_hold))
        masks = [has[places[id(one.target)], rows] for one in leans]
        exponents[rows] = added_leans(leans, masks, len(rows)) + _likeness(alike[rows], rest)
    rows_foretold = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
    return Foretold(exponents[rows_foretold], columns.liked[rows_foretold], tuple(rows_foretold.tolist()))


def _alike(examples: Sequence[Example], centre: Floats) -> Floats:
    """Return how much each example resembles each other one, (examples, examples), from 0 to 1.

    Computed once for all days that are left out in turn. An example without a vector of meaning, such as one
    in another language, resembles none: its row and its column are 0.
    """
    vectors = vectors_of([one.meaning for one in examples])
    rows = centre_rows(vectors, centre)
    rows[~vectors.any(axis=1)] = 0.0
    return memberships(rows, rows)


def _likeness(alike: Floats, columns: Columns) -> Array:
    """Return the likeness of some examples to all, in the plain form of `ranking.taste.likeness`.

    `alike` are their rows of `_alike`. The weights of the examples that must not count are 0 in `columns`.
    """
    surplus = columns.weight * (columns.liked - columns.base)
    return lean_alike(alike @ surplus, alike**2 @ columns.weight, columns.base)
