"""How much tastes vary, from all readers together: contributions, and what was published of their sums. Pure.

A reader's contribution, for sources and for topics, is a bounded estimate of the spread and its weight:

    estimate = clip(w q / d, -0.3, 0.5),   q = sum of (z^2 - u N / (N - 1)),   d = sum of v^2
    weight   = w = D / (D + 5),            D = d with 1/4 for b (1 - b)

(z, u, v, b and N as in `tastes`). The weight knows how many thumbs there are and nothing of what they say.
The sums of a batch are published with noise (`ranking.community`). The spread is the mean under a normal
prior:

    (0.2 / s^2 + W Q / V) / (1 / s^2 + W^2 / V),   at least 0;   s = 0.2

with W the sum of the weights over all batches, Q 1.5 times that of the estimates, since the bounds cut off a
third, and V the variance of Q: 2.25 times 0.08 W and that of the noise. The prior is what MovieLens readers
have, so that an installation too small to publish anything begins there. The bounds and weights were chosen
so that, with the noise, 500 readers who prefer nothing come out near 0 and 500 real ones near their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranking.community import SPREAD_ESTIMATES, SPREAD_STEPS, spread_noise_variance
from suggestions.planner.tastes import Spread, Tallies

PRIOR, PRIOR_SD = 0.2, 0.2
WEIGHT_HALF = 5.0
# The variance of one reader's estimate per weight, and what undoes the bounds, on MovieLens.
READER_VARIANCE, UNBOUND = 0.08, 1.5


@dataclass(frozen=True, slots=True)
class Batch:
    """The sums of a batch of readers, in steps of a hundredth: estimates and weights."""

    source_estimates: int
    source_weights: int
    topic_estimates: int
    topic_weights: int


def contribution_of(tallies: Tallies) -> Batch:
    """Return one reader's contribution, each number within its bounds."""
    first = tallies.source_count
    sources, topics = _bounded(tallies, slice(0, first)), _bounded(tallies, slice(first, None))
    return Batch(*sources, *topics)


def _bounded(tallies: Tallies, columns: slice) -> tuple[int, int]:
    seen = tallies.thumbs[columns] >= 1
    variance = tallies.variance[columns][seen]
    d, most = (float((tallies.information(rate)[columns][seen] ** 2).sum()) for rate in (tallies.rates, 0.5))
    if d <= 0:
        return 0, 0
    n = tallies.thumbs_all
    q = float((tallies.surplus[columns][seen] ** 2 - variance * n / max(1.0, n - 1)).sum())
    weight = most / (most + WEIGHT_HALF)
    low, high = SPREAD_ESTIMATES
    return round(SPREAD_STEPS * min(high, max(low, weight * q / d))), round(SPREAD_STEPS * weight)


def batch_sum(contributions: Sequence[Batch]) -> Batch:
    """Return the sums of several contributions, or of several batches."""
    return Batch(
        *(
            sum(getattr(one, name) for one in contributions)
            for name in ("source_estimates", "source_weights", "topic_estimates", "topic_weights")
        )
    )


def spread_of(batches: Sequence[Batch]) -> Spread:
    """Return the spread by everything published; that of the prior where nothing was."""
    total = batch_sum(batches)
    return Spread(
        _spread(total.source_estimates, total.source_weights, len(batches)),
        _spread(total.topic_estimates, total.topic_weights, len(batches)),
    )


def _spread(estimates: int, weights: int, batches: int) -> float:
    q, w = UNBOUND * estimates / SPREAD_STEPS, weights / SPREAD_STEPS
    if w <= 0:
        return PRIOR
    variance = UNBOUND**2 * (READER_VARIANCE * w + batches * spread_noise_variance())
    precision = 1 / PRIOR_SD**2
    found = (PRIOR * precision + w * q / variance) / (precision + w * w / variance)
    return float(np.clip(found, 0.0, None))
