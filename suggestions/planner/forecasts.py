"""The effect of a change of settings in nDCG@10, measured on ratings that did not choose it.

A backtest on the ratings that chose a change proves nothing: it "gains" even on shuffled ones. So a reader's
ratings are split by time into blocks of five, and every sixth block is held out only to measure. If the
reader's taste counts, a holdout rating has the factor given by the ratings of other days. Below 120 ratings
too few would be held out, so all of them choose.

Blocks are used instead of single ratings because the items of one digest resemble each other. They come from
the whole period, so that the newest ratings can choose as well. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from digest.entities import RatedItem
from ranking.entities import Candidate, EffectiveConfig
from ranking.mutes import MuteFilter
from ranking.other_names import topic_names
from ranking.pool import Pool
from ranking.scoring import rank_all
from ranking.taste.entities import TasteLevel
from ranking.taste.signal import TasteSignal, factors_of
from suggestions.proposals import WeekEffect

Array = NDArray[np.float64]

TOP_K = 10
BLOCK = 5
# One block in this many measures.
BLOCKS = 6
TITLES_SHOWN = 5
BOOTSTRAP_DRAWS = 400
# A pool has the items that one day offers for the top 10. Shuffles average out which items share a pool.
POOL_SIZE = 30
SHUFFLES = 50
INTERVAL = (5.0, 95.0)
# Holdout ratings needed before a measured change says more than they would as training (measured on
# MovieLens, week by week).
HOLDOUT_RATINGS_MIN = 20


@dataclass(frozen=True, slots=True)
class Forecast:
    """The measured change of nDCG@10 with its 90 % interval, over `n` later thumbs. `None`: too few."""

    gain: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Split:
    """The ratings that choose changes, and the holdout ratings that only measure them; each oldest first."""

    training: tuple[RatedItem, ...]
    holdout: tuple[RatedItem, ...]


def split_by_time(rated: Sequence[RatedItem]) -> Split:
    """Hold out every sixth block of five ratings, counted from the oldest one; none of fewer than 120."""
    ordered = sorted(rated, key=lambda item: (item.at, item.item_id))
    enough = len(ordered) >= BLOCKS * HOLDOUT_RATINGS_MIN
    holdout = [enough and n // BLOCK % BLOCKS == BLOCKS - 1 for n in range(len(ordered))]
    parts = (
        tuple(item for item, in_holdout in zip(ordered, holdout, strict=True) if in_holdout is wanted)
        for wanted in (False, True)
    )
    return Split(*parts)


def forecast_of(
    holdout: Sequence[RatedItem],
    before: EffectiveConfig,
    after: EffectiveConfig,
    *,
    now: datetime,
    seed: str,
    taste: TasteSignal | None = None,
) -> Forecast:
    """Measure the change of nDCG@10 over the holdout ratings, each item as old as when it was rated.

    `seed` names the reader and the target, so that the same question gets the same interval. `taste` has the
    reader's examples; it counts under a config that lets it. No taste works
    against the change of a source's weight, as `digest.daily.tastes` has it.
    """
    pool = pool_then(holdout, now)
    hides = MuteFilter(mute for mute in after.config.mutes if mute not in before.config.mutes)
    decided = taste.holding(after.sources_moved(before)) if taste else None
    old, new = (
        _with_taste(holdout, config, signal, rank_all(pool, config, now).totals_as_given.tolist())
        for config, signal in ((before, taste), (after, decided))
    )
    if hides:
        new = [0.0 if hides.finds(one) else total for one, total in zip(pool.candidates, new, strict=True)]
    return ndcg_change([item.useful for item in holdout], old, new, crc32(seed.encode()))


def _with_taste(
    rated: Sequence[RatedItem], config: EffectiveConfig, signal: TasteSignal | None, scores: Sequence[float]
) -> list[float]:
    """Return the scores times the taste factor of each rated item, told by the ratings of other days."""
    level = config.config.taste
    if signal is None or level is TasteLevel.OFF or not rated:
        return [*scores]
    foretold = signal.foretold(topic_names(config.config))
    factors = factors_of(foretold.exponents, level).tolist()
    by_item = {
        signal.examples[row].item_id: factor for row, factor in zip(foretold.rows, factors, strict=True)
    }
    return [score * by_item.get(item.item_id, 1.0) for item, score in zip(rated, scores, strict=True)]


def pool_then(rated: Sequence[RatedItem], now: datetime) -> Pool:
    """Return the rated items as candidates, each as old at `now` as when it was rated."""
    return Pool(
        [
            Candidate(
                item.item_id,
                item.source,
                item.title,
                item.text,
                now - max(item.at - item.dated_at, timedelta()),
                categories=item.categories,
                author=item.author,
            )
            for item in rated
        ]
    )


def forecast_row(forecast: Forecast, *, digits: int = 3) -> dict[str, Any]:
    """Return the measured effect as JSON, rounded; gains are `None` with fewer than eight holdout ratings."""
    values = {"ndcg_gain": forecast.gain, "ndcg_low": forecast.low, "ndcg_high": forecast.high}
    rounded = {name: None if value is None else round(value, digits) for name, value in values.items()}
    return rounded | {"later_thumbs": forecast.n}


def forecast_body(
    p_helpful: float,
    forecast: Forecast,
    effect: WeekEffect,
    *,
    others: float = 0.0,
    by_words: bool = False,
) -> dict[str, Any]:
    """Return the JSON stored with a suggestion.

    `enters` and `leaves` have five titles at most of the last days' first tens, `moves` counts changed places
    there. `others` is what other readers' thumbs add to the lean towards the target, in log-odds. `by_words`
    says that the change rests on the reader's own words.
    """
    return {
        "p_helpful": round(p_helpful, 3),
        **forecast_row(forecast, digits=4),
        "others": round(others, 3),
        "enters": [item.title for item in effect.enters[:TITLES_SHOWN]],
        "leaves": [item.title for item in effect.leaves[:TITLES_SHOWN]],
        "moves": effect.reordered,
        **({"by_words": True} if by_words else {}),
    }


def ndcg_change(
    liked: Sequence[bool], before: Sequence[float], after: Sequence[float], seed: int
) -> Forecast:
    """Return the change of nDCG@10 between two scorings of the same later items, with a bootstrap interval.

    The items are dealt into pools the size of a digest, as a reader meets them, and the change is averaged
    over the pools: one top 10 out of everything would hardly ever notice that a source went down. `seed`
    makes dealing and resampling repeatable for the same reader and change.
    """
    n = len(liked)
    if n < HOLDOUT_RATINGS_MIN:
        return Forecast(None, None, None, n)
    columns = np.array([liked, before, after], dtype=np.float64)
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(np.arange(n), (SHUFFLES, 1)), axis=1)
    drawn = rng.integers(0, n, (BOOTSTRAP_DRAWS, n))
    low, high = np.percentile(_gains(columns, drawn), INTERVAL)
    return Forecast(float(_gains(columns, shuffled).mean()), float(low), float(high), n)


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
    """Return nDCG@10 of each row of `liked` (0/1 per item) if its items are shown by descending `order`.

    Järvelin and Kekäläinen (2002): gains discounted by log2(rank + 1), divided by the ideal. 0 if nothing is
    liked.
    """
    k = min(TOP_K, liked.shape[1])
    discount = 1 / np.log2(np.arange(2, k + 2))
    shown = np.argsort(-order, axis=1, kind="stable")[:, :k]
    dcg = (np.take_along_axis(liked, shown, axis=1) * discount).sum(axis=1)
    ideal = (-np.sort(-liked, axis=1)[:, :k] * discount).sum(axis=1)
    result: Array = np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)
    return result
