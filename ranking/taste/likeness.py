"""How much a reader likes items similar to a given one, by the vectors of their examples. Pure.

It is a Gaussian process on the reader's own examples. Their liking of an item is a function f of its vector.
Two vectors with the cosine c, centred on the mean of the feeds, have the covariance

    3 exp((c - 1) / 0.2)

An example is liked with the probability logistic(intercept + f). The intercept, the reader's general liking,
has the variance 2. The likeness is the mode of f (Rasmussen and Williams, 2006, algorithm 3.1), between -1
and 1. An example's weight multiplies its log-likelihood. Near-duplicates share their evidence, and each of
several subjects counts for itself.

On 24 simulated readers of 194 real feeds, .40 of the first 15 articles are to taste after an interview and
114 thumbs. With the lean of `ranking.taste.leans` and soft membership it is .29, with the mean of the likes
minus that of the dislikes .39. With three articles named for each liked subject: .50, .48, .46; by thumbs
alone: .38, .37, .36 (`tests.lab page`).

`foretold` leaves out one day after another. That needs many fits, so it uses a plain form instead. An example
counts by how close the item is, k = max(0, (c - 0.2) / 0.8), and

    z = sum of w k (y - b),   v = b (1 - b) sum of w k^2,   likeness = z / (v + 1), between -1 and 1

with w the weight of an example, y 1 if it was liked, and b the reader's like-rate.

Items without a vector of meaning, those in other languages, are compared by `ranking.taste.words`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import Floats, Vectors
from ranking.meaning.topics import centre_rows

Array = NDArray[np.float64]

# The variance of f, how fast covariance falls with the cosine, and the variance of the intercept. A spread of
# 1 and a reach of .3 are within chance of these.
SPREAD, REACH, INTERCEPT_SPREAD = 3.0, 0.2, 2.0
LIKENESS_MAX = 1.0
# Newton's steps to the mode: it takes five to eight until none of f moves by a thousandth.
STEPS_MAX, STEP_MIN = 30, 1e-3
# A smaller cosine says nothing: items of two feeds without a common subject reach it now and then.
ALIKE_FROM = 0.2
# From this cosine on an example is named as a reason: 97 of 100 are then about the same subject as the item
# by the labels of BBC, and 87 of 100 by those of AG News. From a cosine of .2 it is 82 and 70
# (`tests.lab meaning`).
NAMED_FROM = 0.5
# The variance of true log-odds between groups of similar items, in the plain form.
PLAIN_SPREAD = 1.0
# Rows in one pass: 2,000 x 300 memberships are 2.4 MB.
BATCH = 2_000


def memberships(items: Floats, examples: Floats) -> Floats:
    """Return how close each item is to each example: k of the plain form, from 0 to 1, (items, examples).

    Both arguments have a centred vector in each row. A k of 0 is a cosine of at most `ALIKE_FROM`, and 1 the
    same direction.
    """
    found: Floats = np.maximum(0.0, (items @ examples.T - ALIKE_FROM) / (1 - ALIKE_FROM))
    return found


def likeness_of(items: Vectors, examples: Vectors, weights: Array, liked: Array, centre: Floats) -> Array:
    """Return the lean towards each item by its likeness to the examples, (items,), or 0 for a row of zeros.

    `weights` and `liked` (examples,) belong to the examples. `centre` (128,) is the mean vector of the feeds.
    """
    known = examples.any(axis=1)
    found = np.zeros(len(items))
    if not known.any():
        return found
    rows = centre_rows(examples[known], centre)
    pulls = pulls_of(_covariance(rows, rows), weights[known], liked[known])
    for start in range(0, len(items), BATCH):
        some = items[start : start + BATCH]
        leans = _covariance(centre_rows(some, centre), rows) @ pulls
        leans[~some.any(axis=1)] = 0.0
        found[start : start + BATCH] = np.clip(leans, -LIKENESS_MAX, LIKENESS_MAX)
    return found


def pulls_of(covariance: Array, weights: Array, liked: Array) -> Array:
    """Return the pull of each example, (examples,). The f of an item is its covariances times these.

    `covariance` (examples, examples) is that of f. One step takes 2 ms for 300 examples.
    """
    whole = covariance + INTERCEPT_SPREAD
    f = pulls = np.zeros(len(liked))
    for _ in range(STEPS_MAX):
        p = 1 / (1 + np.exp(-f))
        curvature = weights * np.maximum(p * (1 - p), 1e-6)
        root = np.sqrt(curvature)
        step = curvature * f + weights * (liked - p)
        system = np.eye(len(f)) + root[:, None] * whole * root
        pulls = step - root * np.linalg.solve(system, root * (whole @ step))
        before, f = f, whole @ pulls
        if np.abs(f - before).max(initial=0.0) < STEP_MIN:
            break
    return pulls


def _covariance(items: Floats, examples: Floats) -> Array:
    found: Array = SPREAD * np.exp((items @ examples.T - 1) / REACH).astype(np.float64)
    return found


def lean_alike(surplus: NDArray[np.floating], squares: NDArray[np.floating], base: float) -> Array:
    """Return the plain lean z / (v + 1 / spread) from the sums of w k (y - b) and of w k^2."""
    lean = surplus / (base * (1 - base) * squares + 1 / PLAIN_SPREAD)
    found: Array = np.clip(lean, -LIKENESS_MAX, LIKENESS_MAX).astype(np.float64)
    return found


def most_alike(items: Vectors, examples: Vectors, centre: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return for each item the number of the most similar example, and the cosine with it, both (items,)."""
    cosines = centre_rows(items, centre) @ centre_rows(examples, centre).T
    nearest = cosines.argmax(axis=1)
    return nearest, np.take_along_axis(cosines, nearest[:, None], axis=1)[:, 0]


def centre_of(total: Sequence[float] | Floats | None, count: float, usual: Floats) -> Floats:
    """Return the mean vector of the feeds, from the sum of the unit vectors of `count` items.

    `usual` is the mean of other real feeds. It counts as 200 items, so that a new installation begins with
    it.
    """
    if total is None or not count:
        return usual
    found: Floats = ((200 * usual + np.asarray(total)) / (200 + count)).astype(np.float32)
    return found
