"""Find how many items share a topic with those that say it: a mixture of two groups. Pure.

Some of the items that are about a topic say it (the *seeds*), the others do not. With s, the likeness of an
item to the seeds,

    P(about | s) = 1 / (1 + exp(-steepness (s - middle)))        P(says | about) = share

If nearly all of the most alike items say the topic, `share` is near 1, and hardly any other is about it. If
few do, many others are. (Learning from positive and unlabelled items: Elkan and Noto, 2008.) Fitted by EM:
items that do not say the topic count with the probability that they are about it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranking.meaning.table import Floats

# Likenesses are counted in so many bins, so 20,000 items cost as much as a hundred.
BINS = 240
ROUNDS = 120
# The prior for the share: as if one more item about the topic said it, and one did not.
SHARE_PRIOR = 1.0
# Keeps the curve from becoming a step if no item lies between the groups.
STEEPNESS_PENALTY = 0.05
# The steepness to begin with, in standard deviations of the others' likeness, and the longest step.
STEEPNESS_FIRST, STEP_MAX, ODDS_MAX = 2.0, 2.0, 30.0

_Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mixture:
    """The curve of P(about | likeness), and the share of the items about the topic that say it."""

    middle: float
    steepness: float
    share: float

    def likeness_at(self, probability: float) -> float:
        """Return the likeness at which an item is about the topic with this probability."""
        return self.middle + float(np.log(probability / (1 - probability))) / self.steepness


def mixture_fit(own: Floats, others: Floats) -> Mixture | None:
    """Return the mixture of the likenesses of the seeds (`own`) and of the `others`.

    `own` are likenesses to the other seeds only. Returns None if seeds are no more alike than others.
    """
    mean, spread = float(others.mean()), float(others.std())
    if not spread:
        return None
    scaled_own, scaled = (own.astype(float) - mean) / spread, (others.astype(float) - mean) / spread
    edges = np.linspace(
        min(scaled_own.min(), scaled.min()), max(scaled_own.max(), scaled.max()) + 1e-6, BINS + 1
    )
    at = (edges[1:] + edges[:-1]) / 2
    says, silent = (np.histogram(some, edges)[0].astype(float) for some in (scaled_own, scaled))
    share, level, steepness = 0.5, -STEEPNESS_FIRST * float(np.median(scaled_own)), STEEPNESS_FIRST
    for _ in range(ROUNDS):
        about = _probability(level + steepness * at)
        hidden = silent * about * (1 - share) / (about * (1 - share) + 1 - about)
        share = (len(own) + SHARE_PRIOR) / (len(own) + hidden.sum() + 2 * SHARE_PRIOR)
        # One step of Newton's method towards the curve of those who count as about it.
        missing, weight = says + hidden - (says + silent) * about, (says + silent) * about * (1 - about)
        slope = np.array([missing.sum(), missing @ at - STEEPNESS_PENALTY * steepness])
        across = weight @ at
        bend = np.array([[weight.sum() + 1e-9, across], [across, weight @ at**2 + STEEPNESS_PENALTY]])
        step = np.clip(np.linalg.solve(bend, slope), -STEP_MAX, STEP_MAX)
        level, steepness = level + float(step[0]), steepness + float(step[1])
    if steepness <= 0:
        return None
    return Mixture(mean - level / steepness * spread, steepness / spread, float(share))


def _probability(odds: _Doubles) -> _Doubles:
    found: _Doubles = 1 / (1 + np.exp(-np.clip(odds, -ODDS_MAX, ODDS_MAX)))
    return found
