"""Likeness by words, for items without a vector of meaning: those in languages that the table does not know.

    likeness = 12 n / (n + 8) (x . (mean of likes - mean of dislikes)),   between -1 and 1

of TF-IDF vectors (`ranking.similarity`), with n the decayed examples. The factor of 12 is meant to give it
about the spread that likeness by meaning has. It was not tuned on thumbs. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ranking.learning import KAPPA
from ranking.similarity import HASH_BUCKETS, Floats, VectorRows, products, vector_unpack
from ranking.taste.entities import Example
from ranking.taste.leans import Array
from ranking.taste.learn import columns_of
from ranking.taste.likeness import LIKENESS_MAX

WORDS_FACTOR = 12.0


def likeness_by_words(examples: Sequence[Example], rows: VectorRows, now: datetime) -> Array:
    """Return the lean towards each of `rows` by the examples that have TF-IDF vectors."""
    columns = columns_of(examples, now)
    sums = np.zeros((2, HASH_BUCKETS), dtype=np.float32)
    counts = [0.0, 0.0]
    for one, weight in zip(examples, columns.weight.tolist(), strict=True):
        if one.terms:
            vector, side = vector_unpack(one.terms), int(one.liked)
            sums[side, vector.indices] += np.float32(weight) * vector.weights
            counts[side] += weight
    direction: Floats = sums[1] / np.float32(counts[1] + 1) - sums[0] / np.float32(counts[0] + 1)
    n = sum(counts)
    lean = WORDS_FACTOR * n / (n + KAPPA) * products(direction, rows)
    found: Array = np.clip(lean, -LIKENESS_MAX, LIKENESS_MAX).astype(np.float64)
    return found
