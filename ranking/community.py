"""What a community of readers thinks of items and sources: counts of thumbs that are published with noise.

A figure has two counts: the thumbs, and the likes among them. Each is published once, with noise of the
two-sided geometric distribution (Ghosh, Roughgarden, Sundararajan 2009; the Laplace mechanism of Dwork and
Roth 2014, 3.3, on whole numbers):

    P(noise = k) = (1 - a) / (1 + a) * a^|k|,    a = exp(-epsilon)

One thumb changes either count by one at most, so each count alone is epsilon-differentially private for a
thumb; what a thumb said changes the likes alone. Items and sources have EPSILON, the whole community, whose
counts are large, EPSILON_WHOLE. A figure of an item or a source is published where the noisy number of thumbs
reaches GROUP_MIN, so that one with a single thumb behind it is published with a probability below DELTA
(Korolova et al. 2009). What is computed from published figures, by whomever and however often, tells no more
(post-processing). docs/peers.md has the whole argument. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, exp, log

import numpy as np
from numpy.typing import NDArray

EPSILON, EPSILON_WHOLE, DELTA = 0.25, 0.05, 1e-6
ALPHA = exp(-EPSILON)
# P(noise >= k) = ALPHA^k / (1 + ALPHA) is below DELTA from here on; one more for the thumb itself: 54.
GROUP_MIN = 1 + ceil(log(1 / (DELTA * (1 + ALPHA))) / EPSILON)
# A thumb is in three figures at most, of item, source and the whole; what it said in one count of each.
LOSSES = (EPSILON, EPSILON, EPSILON_WHOLE)
# How much tastes vary (`suggestions.planner.tastes`): a reader's bounded estimate and its weight, in
# hundredths. A thumb is in one batch; what it says moves the estimates alone.
SPREAD_STEPS, SPREAD_ESTIMATES = 100, (-0.3, 0.5)
EPSILON_SPREAD, EPSILON_SPREAD_WEIGHT = 0.3, 0.1
# A reader's thumbs that count in one period, on one source and in all: a loud reader is one voice.
VOTES_MAX, VOTES_WHOLE_MAX = 5, 20
SHRINKAGE = 20.0
STEP = 0.05
DEVIATION_MAX = 0.2
# An item is worth something from half the usual share of likes on: being rated at all is a sign of interest.
BASE_SHARE = 0.5
# Others may move an item down by less than half (three times this, `ranking.scoring`): never bury it.
LOWEST = -0.15
BASE_UNKNOWN = 0.5
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure: how many thumbs, and how many likes among them, both with noise."""

    likes: int
    thumbs: int


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a community thinks of one target, in coarse numbers.

    `thumbs` are rounded down to fives; `deviation` is the like-rate above (+) or below (-) the community's
    usual one, in steps of 0.05 within +-0.2.
    """

    thumbs: int
    deviation: float


def noise(uniforms: Floats, epsilon: float) -> Ints:
    """Return two-sided geometric noise of shape (n,) from uniforms in (0, 1] of shape (2, n).

    Each is the difference of two geometric numbers: P(floor(-ln(u) / epsilon) >= k) = exp(-epsilon * k).
    """
    found: Ints = np.diff(np.floor(-np.log(uniforms) / epsilon), axis=0)[0].astype(np.int64)
    return found


def with_noise(likes: Ints, thumbs: Ints, uniforms: Floats, epsilon: float) -> tuple[Ints, Ints]:
    """Return likes and thumbs (n,) with noise; likes lie within 0 and the thumbs.

    `uniforms` are four for each figure, in (0, 1], of shape (4, n).
    """
    counted = thumbs + noise(uniforms[:2], epsilon)
    return np.clip(likes + noise(uniforms[2:], epsilon), 0, np.maximum(counted, 0)), counted


def published(likes: Ints, thumbs: Ints, uniforms: Floats) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return likes and thumbs of items or sources with noise, and which of them are published."""
    liked, counted = with_noise(likes, thumbs, uniforms, EPSILON)
    return liked, counted, counted >= GROUP_MIN


def spread_with_noise(estimates: int, weights: int, uniforms: Floats) -> tuple[int, int]:
    """Return the sums of a batch of readers, of estimates and of weights, with noise.

    `uniforms` are two for each sum, in (0, 1], of shape (2, 2). One reader moves a sum by its range at most.
    """
    losses = _spread_epsilon(weight=False), _spread_epsilon(weight=True)
    first, second = (int(noise(uniforms[:, [n]], loss)[0]) for n, loss in enumerate(losses))
    return estimates + first, weights + second


def spread_noise_variance() -> float:
    """Return the variance of the noise on a sum of estimates: 2 a / (1 - a)^2, in their own unit."""
    a = exp(-_spread_epsilon(weight=False))
    return 2 * a / (1 - a) ** 2 / SPREAD_STEPS**2


def _spread_epsilon(*, weight: bool) -> float:
    """Return the loss for each step of a sum: that of the sum, over the steps one reader may move it."""
    low, high = (0.0, 1.0) if weight else SPREAD_ESTIMATES
    return (EPSILON_SPREAD_WEIGHT if weight else EPSILON_SPREAD) / (SPREAD_STEPS * (high - low))


def epsilon_of_a_thumb(*, seen: bool) -> float:
    """Return the privacy loss of one thumb for as long as its reader lives, by basic composition.

    For what it says (like or dislike), or, with `seen`, for whether it was given at all.
    """
    if seen:
        return 2 * sum(LOSSES) + EPSILON_SPREAD + EPSILON_SPREAD_WEIGHT
    return sum(LOSSES) + EPSILON_SPREAD


def guess_right_max(epsilon: float, delta: float = 0.0) -> float:
    """Return the best chance of telling two equally likely cases apart: (e^eps + delta) / (1 + e^eps)."""
    return (exp(epsilon) + delta) / (1 + exp(epsilon))


def like_rate(figures: Iterable[Figure]) -> float:
    """Return the share of likes over all figures; one half where there is none."""
    rows = list(figures)
    thumbs = sum(row.thumbs for row in rows)
    return sum(row.likes for row in rows) / thumbs if thumbs > 0 else BASE_UNKNOWN


def figures_sum(figures: Iterable[Figure]) -> Figure:
    """Return one figure of several."""
    rows = list(figures)
    return Figure(sum(row.likes for row in rows), sum(row.thumbs for row in rows))


def opinion_of(figure: Figure, usual: float) -> Opinion:
    """Return the opinion in a figure: (likes - usual * thumbs) / (thumbs + 20), `usual` a like-rate."""
    surplus = (figure.likes - usual * figure.thumbs) / (figure.thumbs + SHRINKAGE)
    return Opinion(figure.thumbs // 5 * 5, _in_steps(float(np.clip(surplus, -DEVIATION_MAX, DEVIATION_MAX))))


def item_rate(figure: Figure, usual: float) -> float:
    """Return what a figure adds to an item's score: (likes - usual / 2 * thumbs) / (thumbs + 20)."""
    surplus = figure.likes - BASE_SHARE * usual * figure.thumbs
    return max(LOWEST, _in_steps(surplus / (figure.thumbs + SHRINKAGE)))


def _in_steps(value: float) -> float:
    return round(round(value / STEP) * STEP, 2)
