"""What a change of settings would have done, measured on thumbs that had no part in choosing it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOP_K = 10
BOOTSTRAP_DRAWS = 400
# A pool is what one day offers for the top 10; deals average out who shares a pool with whom.
POOL_SIZE = 30
DEALS = 50
INTERVAL = (5.0, 95.0)
# Thumbs needed before a measured change of nDCG@10 says anything at all.
MIN_THUMBS = 8

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The measured change of nDCG@10 with its 90 % interval, over `n` later thumbs. `None`: too few."""

    gain: float | None
    low: float | None
    high: float | None
    n: int


def measure(liked: Sequence[bool], before: Sequence[float], after: Sequence[float], seed: int) -> Forecast:
    """Return the change of nDCG@10 between two scorings of the same later items, with a bootstrap interval.

    The items are dealt into pools the size of a digest, as a reader meets them, and the change is averaged
    over the pools: one top 10 out of everything would hardly ever notice that a source went down. `seed`
    makes dealing and resampling repeatable for the same reader and change.
    """
    n = len(liked)
    if n < MIN_THUMBS:
        return Forecast(None, None, None, n)
    columns = np.array([liked, before, after], dtype=np.float64)
    rng = np.random.default_rng(seed)
    dealt = rng.permuted(np.tile(np.arange(n), (DEALS, 1)), axis=1)
    drawn = rng.integers(0, n, (BOOTSTRAP_DRAWS, n))
    low, high = np.percentile(_gains(columns, drawn), INTERVAL)
    return Forecast(float(_gains(columns, dealt).mean()), float(low), float(high), n)


def _gains(columns: Array, picks: NDArray[np.int64]) -> Array:
    """Return the mean change over the pools of each row of item numbers."""
    rows, n = picks.shape
    pools = max(1, round(n / POOL_SIZE))
    used = n // pools * pools
    liked, old, new = columns[:, picks[:, :used].reshape(rows * pools, -1)]
    change = _ndcg(liked, new) - _ndcg(liked, old)
    gains: Array = change.reshape(rows, pools).mean(axis=1)
    return gains


def _ndcg(liked: Array, order: Array) -> Array:
    """Return nDCG@10 of each row of `liked` (0/1 per item) when its items are shown by descending `order`.

    Järvelin and Kekäläinen (2002): gains discounted by log2(rank + 1), divided by the ideal. 0 where
    nothing is liked.
    """
    k = min(TOP_K, liked.shape[1])
    discount = 1 / np.log2(np.arange(2, k + 2))
    shown = np.argsort(-order, axis=1, kind="stable")[:, :k]
    dcg = (np.take_along_axis(liked, shown, axis=1) * discount).sum(axis=1)
    ideal = (-np.sort(-liked, axis=1)[:, :k] * discount).sum(axis=1)
    result: Array = np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)
    return result
