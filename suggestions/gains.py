"""What a change of settings is worth: the change of nDCG@10 of recent digests under draws of a reader. Pure.

A draw says how likely each candidate item is to be liked. Under it, the value of a setting is the nDCG@10 of
the pools it would have ordered, with the probability of a like as gain (Järvelin and Kekäläinen, 2002); the
gain of a change is the difference of two values. Over all draws: P(gain > 0) is the probability that the
change helps, the mean what to expect of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ranking.scoring import INTEREST_MIN

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TOP_K = 10
# A smaller change of nDCG@10 is none that a reader could notice.
GAIN_MIN = 1e-4
# A reader must lean that way, towards or away from a target, at least this likely: without a condition one
# accepted suggestion in seven did no good in simulation. Reasons tell what was meant, so readers who give
# them need less of it; of readers without preferences and without reasons, one in ten was otherwise bothered.
LEANING_MIN = 0.75
LEANING_MIN_EXPLAINED = 0.6
# With reasons and that condition met, more changes help than the draws say. Odds times this make what is
# stated what happens, within .02 to .05 (expected calibration error, simulated readers, seeds 1 to 3).
CALIBRATION_ODDS_EXPLAINED = 2.0
# Thumbs with a reason from which a reader counts as explained in full.
REASONS_FULL = 15


@dataclass(frozen=True, slots=True)
class Stock:
    """Candidate items as columns, and the pools they were offered in.

    `source` is the index of each item's source; `titled` and `matched` (items x topics) hold 1 where the
    title, or title or text, has the topic: the first is what a reader reacts to, the second what ranks;
    `interest` is an item's interest without any of the topics. `pools` holds item indices, one row per
    pool, -1 where a pool is shorter, and `recency` the factor of each place.
    """

    source: Indices
    titled: Array
    matched: Array
    interest: Array
    pools: Indices
    recency: Array


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings that order a stock: a weight per source, and 1 or 0 per topic."""

    weights: Array
    topics: Array


class Judge:
    """Values of settings over one stock under fixed draws."""

    def __init__(self, stock: Stock, draws: Array, seed: int, reasons: int = 0) -> None:
        """`draws`: one row per draw of (base, sources..., topics...), as `joint.posterior_draws` gives.

        `reasons` counts the thumbs behind them that say which attribute was meant.

        The pools are a sample of what the reader will be offered, so each draw weighs them differently
        (Rubin's Bayesian bootstrap, 1981). Without that a phrase that happens to stand in this week's good
        items looks like a gain: in simulation half of the topics to add then did no good.
        """
        self.draws = draws
        self.explained = min(1.0, reasons / REASONS_FULL)
        first = draws.shape[1] - stock.titled.shape[1]
        logits = draws[:, 0] + draws[:, 1 + stock.source].T + stock.titled @ draws[:, first:].T
        # A row of nothing at the end, which the -1 of short pools points to.
        self._liked = np.vstack([expit(logits), np.zeros(len(draws))])
        self._stock = stock
        self._k = min(TOP_K, stock.pools.shape[1])
        self._discount = 1 / np.log2(np.arange(2, self._k + 2))
        best = -np.sort(-self._liked[stock.pools], axis=1)[:, : self._k]
        ideal = np.maximum(np.einsum("pkm,k->pm", best, self._discount), 1e-12)
        # Pools that share items are fewer than they look.
        slots = stock.pools[stock.pools >= 0]
        alone = np.full(len(stock.pools), len(np.unique(slots)) / len(slots))
        shares = np.random.default_rng(seed).dirichlet(alone, len(draws))
        self._share = shares.T / ideal

    def value(self, setting: Setting) -> Array:
        """The nDCG@10 of `setting` under each draw, over the pools as the draw weighs them."""
        stock = self._stock
        interest = np.maximum(INTEREST_MIN, stock.interest + stock.matched @ setting.topics)
        worth = np.append(setting.weights[stock.source] * interest, -np.inf)
        score = worth[stock.pools] * stock.recency
        order = np.argsort(-score, axis=1, kind="stable")[:, : self._k]
        shown = np.take_along_axis(stock.pools, order, axis=1)
        gained = np.einsum("pkm,k->pm", self._liked[shown], self._discount)
        result: Array = (gained * self._share).sum(axis=0)
        return result


def p_helps(change: Array, leaning: Array, explained: float = 0.0) -> float:
    """P(the change helps) over the draws, by Laplace's rule of succession.

    `change` is the gain in each draw, `leaning` the reader's own preference for the target in the direction
    of the change, `explained` (0 to 1) how well reasons tell what was meant. Where the leaning is doubtful
    the doubt caps the answer: a topic that merely stands in the items of a loved source helps as well, but
    not because the reader likes it, and would lend its shine to whatever other source has it.
    """
    odds = (1 + explained * (CALIBRATION_ODDS_EXPLAINED - 1)) * float((change > GAIN_MIN).sum() + 1)
    helps = odds / (odds + float((change <= GAIN_MIN).sum() + 1))
    leans = float((leaning > 0).mean())
    bar = LEANING_MIN + explained * (LEANING_MIN_EXPLAINED - LEANING_MIN)
    return helps if leans >= bar else min(helps, leans)


def p_better(change: Array) -> float:
    """The probability that the change is for the better rather than the worse; no effect counts for half."""
    up, down = float((change > GAIN_MIN).mean()), float((change < -GAIN_MIN).mean())
    return up + (1 - up - down) / 2


def information_value(change: Array) -> float:
    """What knowing the reader for certain would be worth for this one decision, in nDCG@10.

    The expected value of perfect information: the mean of what one would gain by making the change exactly
    where it helps, over what the best choice made now gains (Raiffa and Schlaifer, 1961).
    """
    return float(np.maximum(change, 0.0).mean() - max(0.0, float(change.mean())))
