"""The true value of a config to a simulated reader: nDCG@10 with true like-probabilities as gains. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ranking.entities import EffectiveConfig
from ranking.implicit import NO_LEANS, ImplicitLeans
from tests.lab.world.people import CHOOSING, SCORING, TOP_K, Person, Taste
from tests.lab.world.words import SOURCES
from tests.lab.world.world import POOL, Batch, Floats, World

DISCOUNT: Floats = 1 / np.log2(np.arange(2, TOP_K + 2))
# A change that costs more than this is harmful. Nobody could notice less.
HARMFUL = -0.002


WHOLE = slice(None)


def scores(
    batch: Batch, effective: EffectiveConfig, part: slice = WHOLE, leans: ImplicitLeans = NO_LEANS
) -> Floats:
    """Return weight x recency x (1 + topics + reading) of the items in `part`, as in `ranking.scoring` for
    the known parts.

    The age is counted at the moment an item appears.
    """
    weights = np.array([effective.weight(source) for source in SOURCES])
    read = np.array([leans.added(source) for source in SOURCES])
    held = [batch.holds(topic)[part] for topic in effective.config.topics]
    source = batch.source[part]
    interest = 1.0 + np.sum(held, axis=0) + read[source]
    result: Floats = weights[source] * batch.recency[part] * interest
    return result


def ndcg(order: Floats, gains: Floats) -> float:
    """Return the mean nDCG@10 over pools of 60; `gains` are probabilities, so it carries no label noise.

    Järvelin and Kekäläinen (2002): gains discounted by log2(rank + 1), divided by the best possible.
    """
    order, gains = order.reshape(-1, POOL), gains.reshape(-1, POOL)
    shown = np.argsort(-order, axis=1, kind="stable")[:, :TOP_K]
    dcg = (np.take_along_axis(gains, shown, axis=1) * DISCOUNT).sum(axis=1)
    ideal = (-np.sort(-gains, axis=1)[:, :TOP_K] * DISCOUNT).sum(axis=1)
    return float((dcg / ideal).mean())


@dataclass(frozen=True)
class Judge:
    """Scores configs for one reader on held-out pools; `gains` by taste, computed once."""

    batch: Batch
    gains: Mapping[bool, Floats]

    def value(
        self,
        effective: EffectiveConfig,
        *,
        flipped: bool = False,
        leans: ImplicitLeans = NO_LEANS,
        factor: Floats | float = 1.0,
    ) -> float:
        """Return nDCG@10 of the config, of the effect of reading and of the `factor` of taste.

        Under the reader's taste, or the later one.
        """
        return ndcg(scores(self.batch, effective, leans=leans) * factor, self.gains[flipped])

    def gain(
        self,
        before: EffectiveConfig,
        after: EffectiveConfig,
        *,
        flipped: bool = False,
        factor: Floats | float = 1.0,
    ) -> float:
        """Return the gain of a change: nDCG@10 after it minus nDCG@10 before."""
        values = (self.value(one, flipped=flipped, factor=factor) for one in (after, before))
        return next(values) - next(values)


def judge_for(world: World, person: Person) -> Judge:
    """Return the judge whose result is reported."""
    return _judge(world.scoring, person, SCORING)


def chooser_for(world: World, person: Person) -> Judge:
    """Return the judge the oracle asks: other articles than those it is scored on."""
    return _judge(world.choosing, person, CHOOSING)


def _judge(batch: Batch, person: Person, kind: int) -> Judge:
    own = person.own_pull(batch, kind)

    def gains(taste: Taste) -> Floats:
        result: Floats = expit(taste.log_odds(batch, own))
        return result

    return Judge(batch, {False: gains(person.taste), True: gains(person.feels(flipped=True))})
