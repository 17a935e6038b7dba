"""Group items by subject: spherical k-means, begun where the items are densest. Pure.

Nothing is random. The first centres are the most informative items, one after the other
(`ranking.meaning.spread`), so the same items make the same groups.
"""

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.spread import most_telling
from ranking.meaning.table import Floats, Vectors, unit_rows
from ranking.meaning.topics import centre_rows

ROUNDS = 15
NO_GROUP = -1


def groups_of(vectors: Vectors, count: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the group of each item (rows,) and its likeness to the group's centre (rows,).

    Groups count from 0, the largest first. An item without meaning is in `NO_GROUP`, with likeness 0.
    """
    labels = np.full(len(vectors), NO_GROUP, dtype=np.int64)
    likeness = np.zeros(len(vectors), dtype=np.float32)
    known = np.flatnonzero(vectors.any(axis=1))
    if len(known) < count or not count:
        return labels, likeness
    some = vectors[known]
    rows = centre_rows(some, unit_rows(some).mean(axis=0))
    centres = rows[most_telling(rows, count)]
    for _ in range(ROUNDS):
        nearest = (rows @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, rows)
        moved = unit_rows(sums)
        if np.allclose(moved, centres, atol=1e-4):
            break
        centres = moved
    found = rows @ centres.T
    nearest = found.argmax(axis=1)
    sizes = np.bincount(nearest, minlength=count)
    places = np.empty(count, dtype=np.int64)
    places[np.argsort(-sizes, kind="stable")] = np.arange(count)
    labels[known] = places[nearest]
    likeness[known] = found.max(axis=1)
    return labels, likeness
