"""Publish counts of all readers' thumbs on items and sources with noise, and turn them into opinions.

A figure has two counts: thumbs, and likes among them. Each count is published once, with noise of the
two-sided geometric distribution (Ghosh, Roughgarden, Sundararajan 2009; it is the Laplace mechanism of Dwork
and Roth 2014, 3.3, for whole numbers):

    P(noise = k) = (1 - a) / (1 + a) * a^|k|,    a = exp(-epsilon)

One thumb changes each count by at most one, so each count alone is epsilon-differentially private for a
thumb. Whether a thumb is a like or a dislike changes only the count of likes. Items and sources use EPSILON.
The whole community, with its large counts, uses EPSILON_WHOLE. Every item and source of a public feed gets a
figure, also those without a thumb: a figure's presence tells nothing. Computations on noisy figures reveal
nothing more, however often they are repeated (post-processing). So figures that may be noise alone are
dropped afterwards. docs/peers.md has the whole argument. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

EPSILON, EPSILON_WHOLE = 0.25, 0.05
ALPHA = exp(-EPSILON)
# Figures with few noisy thumbs are dropped: those below the least number at which at most this share of the
# figures that are left is expected to be noise alone (Benjamini, Hochberg 1995), and all below six.
COUNT_MIN, FALSE_SHARE = 6, 0.2
# A thumb counts in at most three figures (item, source, whole). Like or dislike changes one count in each.
LOSSES = (EPSILON, EPSILON, EPSILON_WHOLE)
# How much tastes vary (`suggestions.planner.tastes`): the sums of readers' limited estimates and of their
# weights, in hundredths. A thumb is in one batch. Like or dislike changes only the sum of estimates.
SPREAD_STEPS, SPREAD_ESTIMATES = 100, (-0.3, 0.5)
EPSILON_SPREAD, EPSILON_SPREAD_WEIGHT = 0.3, 0.1
# The most thumbs of one reader that count in one period, on one source and in all.
VOTES_MAX, VOTES_WHOLE_MAX = 5, 20
SHRINKAGE = 20.0
STEP = 0.05
DEVIATION_MAX = 0.2
# An item gains from half the usual share of likes on, because a rating of either kind shows interest.
BASE_SHARE = 0.5
# Other readers may lower an item's interest by less than half (3 x 0.15, `ranking.scoring`), never bury it.
LOWEST = -0.15
BASE_UNKNOWN = 0.5
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure: the number of thumbs, and of likes among them, both with noise."""

    likes: int
    thumbs: int


@dataclass(frozen=True, slots=True)
class Opinion:
    """The community's opinion of one target, in coarse numbers.

    `thumbs` is rounded down to a multiple of five. `deviation` is the difference to the community's usual
    like-rate (+ is above), in steps of 0.05 within ±0.2.
    """

    thumbs: int
    deviation: float


def noise(uniforms: Floats, epsilon: float) -> Ints:
    """Return two-sided geometric noise of shape (n,) from uniforms in (0, 1] of shape (2, n).

    Each value is the difference of two geometric numbers: P(floor(-ln(u) / epsilon) >= k) = exp(-epsilon *
    k).
    """
    found: Ints = np.diff(np.floor(-np.log(uniforms) / epsilon), axis=0)[0].astype(np.int64)
    return found


def with_noise(likes: Ints, thumbs: Ints, uniforms: Floats, epsilon: float) -> tuple[Ints, Ints]:
    """Add noise to likes and thumbs of shape (n,). The likes stay between 0 and the thumbs.

    `uniforms` has four numbers for each figure, in (0, 1], of shape (4, n).
    """
    counted = thumbs + noise(uniforms[:2], epsilon)
    return np.clip(likes + noise(uniforms[2:], epsilon), 0, np.maximum(counted, 0)), counted


def publish(likes: Ints, thumbs: Ints, uniforms: Floats) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return noisy likes and thumbs of all items or sources of one publication, and a mask of those to keep.

    They must include those without a thumb, so that the mask depends on noisy numbers alone.
    """
    liked, counted = with_noise(likes, thumbs, uniforms, EPSILON)
    return liked, counted, counted >= count_least(counted)


def count_least(counted: Ints) -> float:
    """Return the least noisy number of thumbs that a figure needs, from all noisy numbers of the
    publication."""
    least = np.arange(COUNT_MIN, max(int(counted.max(initial=0)), COUNT_MIN) + 1)
    left = len(counted) - np.searchsorted(np.sort(counted), least)
    noise_alone = len(counted) * ALPHA**least / (1 + ALPHA)
    enough = least[(left > 0) & (noise_alone <= FALSE_SHARE * left)]
    return float(enough[0]) if len(enough) else float("inf")


def spread_with_noise(estimates: int, weights: int, uniforms: Floats) -> tuple[int, int]:
    """Add noise to a batch of readers' sums of estimates and of weights.

    `uniforms` has two numbers for each sum, in (0, 1], of shape (2, 2). One reader changes a sum by at most
    its range.
    """
    losses = _spread_epsilon(weight=False), _spread_epsilon(weight=True)
    first, second = (int(noise(uniforms[:, [n]], loss)[0]) for n, loss in enumerate(losses))
    return estimates + first, weights + second


def spread_noise_variance() -> float:
    """Return the variance of the noise on a sum of estimates, 2 a / (1 - a)^2, in units of the estimates."""
    a = exp(-_spread_epsilon(weight=False))
    return 2 * a / (1 - a) ** 2 / SPREAD_STEPS**2


def _spread_epsilon(*, weight: bool) -> float:
    """Return the epsilon of one step of a sum: its epsilon divided by the steps in a reader's range."""
    low, high = (0.0, 1.0) if weight else SPREAD_ESTIMATES
    return (EPSILON_SPREAD_WEIGHT if weight else EPSILON_SPREAD) / (SPREAD_STEPS * (high - low))


def like_rate(figures: Iterable[Figure]) -> float:
    """Return the share of likes over all figures, or one half without thumbs."""
    rows = list(figures)
    thumbs = sum(row.thumbs for row in rows)
    return sum(row.likes for row in rows) / thumbs if thumbs > 0 else BASE_UNKNOWN


def figures_sum(figures: Iterable[Figure]) -> Figure:
    """Return the sum of several figures."""
    rows = list(figures)
    return Figure(sum(row.likes for row in rows), sum(row.thumbs for row in rows))


def opinion_of(figure: Figure, usual: float) -> Opinion:
    """Return the opinion in a figure: (likes - usual * thumbs) / (thumbs + 20). `usual` is a like-rate."""
    surplus = (figure.likes - usual * figure.thumbs) / (figure.thumbs + SHRINKAGE)
    return Opinion(
        figure.thumbs // 5 * 5, _round_to_step(float(np.clip(surplus, -DEVIATION_MAX, DEVIATION_MAX)))
    )


def item_rate(figure: Figure, usual: float) -> float:
    """Return the community part of an item's score: (likes - usual / 2 * thumbs) / (thumbs + 20)."""
    surplus = figure.likes - BASE_SHARE * usual * figure.thumbs
    return max(LOWEST, _round_to_step(surplus / (figure.thumbs + SHRINKAGE)))


def _round_to_step(value: float) -> float:
    return round(round(value / STEP) * STEP, 2)
