"""How much a reader likes what is similar to an item, by the vectors of their examples. Pure.

An example says something about an item as far as the two are alike: its *membership* is

    k = max(0, (cosine - 0.2) / 0.8)

with vectors centred on what feeds bring. The lean is that of `ranking.taste.leans` with soft membership:

    z = sum of w k (y - b),   v = b (1 - b) sum of w k^2,   likeness = z / (v + 1), between -1 and 1

with w the weight of an example, y 1 if it was liked, and b the reader's like-rate. So several subjects count
each for themselves. With three articles named of each of three feeds among ninety, the first 60 items by
likeness are .29 of these feeds; by the mean of the likes minus that of the dislikes they are .21, by a
Gaussian process on the same vectors .30.

Items without a vector of meaning, those in other languages, are compared by TF-IDF (`ranking.similarity`):

    likeness = 12 n / (n + 8) (x . (mean of likes - mean of dislikes))

where 12 gives it the spread that the other has.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import Floats, Vectors, unit_rows
from ranking.meaning.topics import centred

Array = NDArray[np.float64]

# A smaller cosine says nothing: items of two feeds without a common subject reach it now and then.
ALIKE_FROM = 0.2
# The variance of true log-odds between groups of similar items, and the largest lean.
LIKENESS_SPREAD, LIKENESS_MAX = 1.0, 1.0
# Rows in one pass: 2,000 x 300 memberships are 2.4 MB.
BATCH = 2_000


def memberships(items: Floats, examples: Floats) -> Floats:
    """Return how far each item belongs to each example, (items, examples), from centred vectors."""
    found: Floats = np.maximum(0.0, (items @ examples.T - ALIKE_FROM) / (1 - ALIKE_FROM))
    return found


def likeness_of(
    items: Vectors, examples: Vectors, weights: Array, liked: Array, base: float, centre: Floats
) -> Array:
    """Return the lean towards each item by its likeness to the examples, (items,), 0 for a row of zeros.

    `weights` and `liked` (examples,) are those of the examples, `base` the reader's like-rate, `centre`
    (128,) the mean vector of what feeds bring.
    """
    known = examples.any(axis=1)
    found = np.zeros(len(items))
    if not known.any():
        return found
    rows, w = centred(examples[known], centre), weights[known].astype(np.float32)
    surplus = w * (liked[known].astype(np.float32) - np.float32(base))
    for start in range(0, len(items), BATCH):
        some = items[start : start + BATCH]
        alike = memberships(centred(some, centre), rows)
        found[start : start + BATCH] = lean_alike(alike @ surplus, alike**2 @ w, base)
        found[start : start + BATCH][~some.any(axis=1)] = 0.0
    return found


def lean_alike(surplus: NDArray[np.floating], squares: NDArray[np.floating], base: float) -> Array:
    """Return the lean z / (v + 1 / spread) from the sums of w k (y - b) and of w k^2."""
    lean = surplus / (base * (1 - base) * squares + 1 / LIKENESS_SPREAD)
    found: Array = np.clip(lean, -LIKENESS_MAX, LIKENESS_MAX).astype(np.float64)
    return found


def most_alike(items: Vectors, examples: Vectors, centre: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return for each item the number of the most similar example, and its membership, both (items,)."""
    if not len(examples):
        return np.zeros(len(items), dtype=np.int64), np.zeros(len(items), dtype=np.float32)
    alike = memberships(centred(items, centre), centred(examples, centre))
    nearest = alike.argmax(axis=1)
    return nearest, np.take_along_axis(alike, nearest[:, None], axis=1)[:, 0]


def centre_of(total: Sequence[float] | Floats | None, count: float, usual: Floats) -> Floats:
    """Return the mean vector of what feeds bring, from the sum of the unit vectors of `count` items.

    `usual` is that of real feeds elsewhere; it counts as 200 items, so that an installation begins with it.
    """
    if total is None or not count:
        return usual
    found: Floats = ((200 * usual + np.asarray(total)) / (200 + count)).astype(np.float32)
    return found


def unit_sum(vectors: Vectors) -> Floats:
    """Return the sum of the rows as unit vectors, (128,)."""
    found: Floats = unit_rows(vectors).sum(axis=0)
    return found
