"""The worth of a change of settings in nDCG@10: expected under posterior draws, measured on holdout ratings.

Expected: a draw gives each candidate item a probability of being liked. Under it, the value of a setting is
the nDCG@10 of recent digests as the setting would have ordered them, with that probability as gain (Järvelin
and Kekäläinen, 2002); the gain of a change is the difference of two values. Over all draws, P(gain > 0) is
the probability that the change helps, and the mean its expected gain.

Measured: a backtest on the ratings that chose a change proves nothing, since it "gains" even on shuffled
ones. So a reader's ratings are split by time into blocks of five, and every sixth block is held out: it only
measures. Blocks rather than single ratings, since the items of one digest resemble each other; blocks from
the whole period rather than its end, so that the newest ratings can choose as well. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from digest.entities import ITEM_WINDOW_DAYS, RatedItem
from ranking.common.text import fold, term_matches, terms_matching, topic_key
from ranking.entities import Candidate, EffectiveConfig
from ranking.scoring import INTEREST_MIN, Signals, score_all
from suggestions.entities import Preview
from suggestions.planner.posterior import Attributes

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TOP_K = 10
# A smaller change of nDCG@10 is none that a reader could notice.
GAIN_MIN = 1e-4
# The least probability that the reader leans towards (or away from) the target: without this condition one
# accepted suggestion in seven did no good in simulation. Reasons say what was meant, so readers who give
# them need less of it; of readers without preferences and without reasons, one in ten was otherwise bothered.
LEANING_MIN = 0.75
LEANING_MIN_EXPLAINED = 0.6
# With reasons and that condition met, more changes help than the draws say. Odds times this bring the stated
# probability within .02 to .05 of the observed rate (expected calibration error, simulated readers, seeds 1
# to 3).
CALIBRATION_ODDS_EXPLAINED = 2.0
# Ratings with a reason from which a reader counts as explained in full.
REASONS_FULL = 15
BLOCK = 5
# One block in so many measures. With 50 ratings that leaves eight to measure, the fewest that say anything;
# in simulation choosing by 5/6 of the ratings rather than by all cost 2 to 4 % of an oracle's uplift.
BLOCKS = 6
TITLES_SHOWN = 5
BOOTSTRAP_DRAWS = 400
# A pool is what one day offers for the top 10; shuffles average out who shares a pool with whom.
POOL_SIZE = 30
SHUFFLES = 50
INTERVAL = (5.0, 95.0)
# Holdout ratings needed before a measured change of nDCG@10 says anything at all.
HOLDOUT_RATINGS_MIN = 8
# Recent digests to replay, one a day. As in a real one an item counts for a week, but beyond the newest
# hundred or so nothing has a chance of the top 10 (at the default half-life two days halve a score twice).
POOLS = 14
POOL_DAYS = ITEM_WINDOW_DAYS
POOL_MAX = 120
POOL_MIN = 3
# With fewer candidates than this, the rated items replace the offer.
CANDIDATES_MIN = 30
RATED_POOL = 30


@dataclass(frozen=True, slots=True)
class ReplayPools:
    """Candidate items as columns, and the pools they were offered in.

    `source_index` is the index of each item's source; `title_topics` and `text_topics` (items x topics) are
    1 where the title, or title or text, has the topic: the first drives ratings, the second the ranking;
    `base_interest` is an item's interest without any of the topics. `pools` has item indices, one row per
    pool, -1 where a pool is shorter, and `recency` the factor of each place.
    """

    source_index: Indices
    title_topics: Array
    text_topics: Array
    base_interest: Array
    pools: Indices
    recency: Array


@dataclass(frozen=True, slots=True)
class ConfigColumns:
    """Settings as columns: a weight per source, and 1 or 0 per topic."""

    weights: Array
    topics: Array


@dataclass(frozen=True, slots=True)
class Forecast:
    """The measured change of nDCG@10 with its 90 % interval, over `n` later thumbs. `None`: too few."""

    gain: float | None
    low: float | None
    high: float | None
    n: int


def config_columns(effective: EffectiveConfig, attributes: Attributes) -> ConfigColumns:
    """Return a config as columns."""
    own = {topic_key(topic) for topic in effective.config.topics}
    return ConfigColumns(
        np.array([effective.weight(source) for source in attributes.sources], dtype=np.float64),
        np.array([float(key in own) for key in attributes.topics], dtype=np.float64),
    )


def replay_pools_of(
    candidates: Sequence[Candidate],
    rated: Sequence[RatedItem],
    attributes: Attributes,
    effective: EffectiveConfig,
    now: datetime,
) -> ReplayPools | None:
    """Return the recent digests to replay, one pool of candidates a day; `None` without any.

    Without enough candidates (an imported history) the rated items are split into pools by time, each item
    as old as when it was rated.
    """
    known = [c for c in candidates if c.source in attributes.sources]
    if len(known) >= CANDIDATES_MIN:
        pools, ages = _daily(known, now)
    else:
        known, pools, ages = _of_rated(rated)
    if not pools:
        return None
    width = max(map(len, pools))
    index = np.full((len(pools), width), -1)
    recency = np.zeros((len(pools), width))
    for n, (pool, hours) in enumerate(zip(pools, ages, strict=True)):
        index[n, : len(pool)] = pool
        recency[n, : len(pool)] = 0.5 ** (np.array(hours) / effective.config.recency_half_life_hours)
    recency[index < 0] = 1.0
    at = {source: n for n, source in enumerate(attributes.sources)}
    boosts = effective.config.keyword_boosts
    folded = [(fold(item.title), fold(f"{item.title}\n{item.text}")) for item in known]
    labels = [attributes.labels[key] for key in attributes.topics]
    return ReplayPools(
        source_index=np.array([at[item.source] for item in known]),
        title_topics=_matches(labels, [title for title, _ in folded]),
        text_topics=_matches(labels, [text for _, text in folded]),
        base_interest=np.array(
            [1 + sum(boosts[w] for w in terms_matching(boosts, text)) for _, text in folded]
        ),
        pools=index,
        recency=recency,
    )


def _matches(labels: Sequence[str], folded: Sequence[str]) -> Array:
    found = [[float(term_matches(label, text)) for label in labels] for text in folded]
    return np.array(found, dtype=np.float64).reshape(len(folded), len(labels))


def _daily(items: Sequence[Candidate], now: datetime) -> tuple[list[list[int]], list[list[float]]]:
    """Return a pool for each of the last days, with ages in hours at its end; `items` newest first."""
    ages = [(now - item.dated_at) / timedelta(hours=1) for item in items]
    pools, hours = [], []
    for day in range(POOLS):
        end = 24.0 * day
        pool = [n for n, age in enumerate(ages) if end <= age < end + 24 * POOL_DAYS][:POOL_MAX]
        if len(pool) >= POOL_MIN:
            pools.append(pool)
            hours.append([ages[n] - end for n in pool])
    return pools, hours


def _of_rated(rated: Sequence[RatedItem]) -> tuple[list[Candidate], list[list[int]], list[list[float]]]:
    items = [Candidate(i.item_id, i.source, i.title, i.text, i.dated_at) for i in rated]
    if len(items) < POOL_MIN:
        return items, [], []
    count = ceil(len(items) / RATED_POOL)
    pools = [list(map(int, chunk)) for chunk in np.array_split(np.arange(len(items)), count)]
    hours = [max(0.0, (i.at - i.dated_at) / timedelta(hours=1)) for i in rated]
    return items, pools, [[hours[n] for n in pool] for pool in pools]


class ReplayEvaluator:
    """The value of any setting in replayed pools under fixed draws."""

    def __init__(self, replay: ReplayPools, draws: Array, seed: int, reasons: int = 0) -> None:
        """Take one row per draw of (base, sources..., topics...), from `posterior.posterior_draws`.

        `reasons` counts the ratings behind them that say which attribute was meant.

        The pools are a sample of future offers, so each draw weighs them differently (Rubin's Bayesian
        bootstrap, 1981). Otherwise a phrase that happens to be in this week's good items looks like a gain:
        in simulation half of the topics to add then did no good.
        """
        self.draws = draws
        self.explained = min(1.0, reasons / REASONS_FULL)
        first = draws.shape[1] - replay.title_topics.shape[1]
        logits = draws[:, 0] + draws[:, 1 + replay.source_index].T + replay.title_topics @ draws[:, first:].T
        # A row of nothing at the end, which the -1 of short pools points to.
        self._liked = np.vstack([expit(logits), np.zeros(len(draws))])
        self._replay = replay
        self._k = min(TOP_K, replay.pools.shape[1])
        self._discount = 1 / np.log2(np.arange(2, self._k + 2))
        best = -np.sort(-self._liked[replay.pools], axis=1)[:, : self._k]
        ideal = np.maximum(np.einsum("pkm,k->pm", best, self._discount), 1e-12)
        # Pools that share items are fewer than they look.
        slots = replay.pools[replay.pools >= 0]
        alone = np.full(len(replay.pools), len(np.unique(slots)) / len(slots))
        shares = np.random.default_rng(seed).dirichlet(alone, len(draws))
        self._share = shares.T / ideal

    def value(self, setting: ConfigColumns) -> Array:
        """Return the nDCG@10 of `setting` under each draw, over the pools as the draw weighs them."""
        replay = self._replay
        interest = np.maximum(INTEREST_MIN, replay.base_interest + replay.text_topics @ setting.topics)
        worth = np.append(setting.weights[replay.source_index] * interest, -np.inf)
        score = worth[replay.pools] * replay.recency
        order = np.argsort(-score, axis=1, kind="stable")[:, : self._k]
        shown = np.take_along_axis(replay.pools, order, axis=1)
        gained = np.einsum("pkm,k->pm", self._liked[shown], self._discount)
        result: Array = (gained * self._share).sum(axis=0)
        return result


def p_helps(change: Array, leaning: Array, explained: float = 0.0) -> float:
    """Return P(the change helps) over the draws, by Laplace's rule of succession.

    `change` is the gain in each draw, `leaning` the reader's preference for the target in the direction of
    the change, `explained` (0 to 1) how well reasons say what was meant. A doubtful leaning caps the answer:
    a topic that merely occurs in the items of a loved source helps as well, but not because the reader likes
    it, and it would lift every other source that has it.
    """
    odds = (1 + explained * (CALIBRATION_ODDS_EXPLAINED - 1)) * float((change > GAIN_MIN).sum() + 1)
    helps = odds / (odds + float((change <= GAIN_MIN).sum() + 1))
    leans = float((leaning > 0).mean())
    bar = LEANING_MIN + explained * (LEANING_MIN_EXPLAINED - LEANING_MIN)
    return helps if leans >= bar else min(helps, leans)


def p_better(change: Array) -> float:
    """Return P(better rather than worse) over the draws; no effect counts for half."""
    up, down = float((change > GAIN_MIN).mean()), float((change < -GAIN_MIN).mean())
    return up + (1 - up - down) / 2


def information_value(change: Array) -> float:
    """Return the expected value of perfect information about this one change, in nDCG@10.

    The mean gain of making the change exactly where it helps, minus the gain of the best choice now (Raiffa
    and Schlaifer, 1961).
    """
    return float(np.maximum(change, 0.0).mean() - max(0.0, float(change.mean())))


@dataclass(frozen=True, slots=True)
class Split:
    """The ratings that choose changes, and the holdout ratings that only measure them; each oldest first."""

    training: tuple[RatedItem, ...]
    holdout: tuple[RatedItem, ...]


def split_by_time(rated: Sequence[RatedItem]) -> Split:
    """Hold out every sixth block of five ratings, counted from the oldest one."""
    ordered = sorted(rated, key=lambda item: (item.at, item.item_id))
    holdout = [n // BLOCK % BLOCKS == BLOCKS - 1 for n in range(len(ordered))]
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
) -> Forecast:
    """Measure the change of nDCG@10 over the holdout ratings, each item as old as when it was rated.

    `seed` names the reader and the target, so that the same question gets the same interval.
    """
    candidates = [
        Candidate(
            item.item_id, item.source, item.title, item.text, now - max(item.at - item.dated_at, timedelta())
        )
        for item in holdout
    ]
    old, new = (
        [score.total for score in score_all(candidates, config, now, Signals())] for config in (before, after)
    )
    return ndcg_change([item.useful for item in holdout], old, new, crc32(seed.encode()))


def forecast_body(p_helpful: float, forecast: Forecast, preview: Preview) -> dict[str, Any]:
    """Return the JSON stored with a suggestion: five titles at most, `moves` counts changed ranks."""
    gain, low, high = (
        None if v is None else round(v, 4) for v in (forecast.gain, forecast.low, forecast.high)
    )
    return {
        "p_helpful": round(p_helpful, 3),
        "ndcg_gain": gain,
        "ndcg_low": low,
        "ndcg_high": high,
        "later_thumbs": forecast.n,
        "enters": [item.title for item in preview.enters[:TITLES_SHOWN]],
        "leaves": [item.title for item in preview.leaves[:TITLES_SHOWN]],
        "moves": len(preview.moves),
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
