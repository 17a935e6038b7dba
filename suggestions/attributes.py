"""A reader's thumbs and candidate items as the joint model sees them: sources and topics as columns. Pure.

Topics are the config's own, and the most frequent phrases of rated titles. They are chosen by how often
they occur, never by how much they are liked, so that the choice itself proves nothing.

A reason says what a thumb was about. "Not my topic" and "my kind of topic" speak of the topics and less of
the source; hype, clickbait, a paywall, depth or clarity speak of how an item was made, so of its source,
and hardly of its topics. What a reason does not speak of counts for `ASIDE` of a thumb's attribute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from digest.entities import ITEM_WINDOW_DAYS, RatedItem
from ranking.entities import Candidate, EffectiveConfig, SourceTally
from ranking.matching import fold, term_matches, terms_matching, topic_key
from ranking.posterior import base_rate
from suggestions.entities import SOURCE_WEIGHTS
from suggestions.forecasts import decayed
from suggestions.gains import Setting, Stock
from suggestions.joint import Design
from suggestions.topics import source_names, topic_candidates

Array = NDArray[np.float64]

TOPICS_MAX = 40
# Reasons that say which attribute was meant (slugs of the taxonomy).
ABOUT_TOPIC = frozenset({"on-topic", "off-topic"})
ABOUT_MAKING = frozenset(
    {"clarity", "depth", "original", "practical", "hype", "clickbait", "shallow", "paywall"}
)
ASIDE = 0.5
# Thumbs beyond the sample count by source only, and together for no more than the sample itself.
OLDER_MAX = 500.0
# Recent digests to replay, one a day. As in a real one an item counts for a week, but beyond the newest
# hundred or so nothing has a chance of the top 10 (at the default half-life two days halve a score twice).
POOLS = 14
POOL_DAYS = ITEM_WINDOW_DAYS
POOL_MAX = 120
POOL_MIN = 3
# With fewer candidates than this, the rated items stand in for what is offered.
STOCK_MIN = 30
RATED_POOL = 30


@dataclass(frozen=True, slots=True)
class Attributes:
    """The columns: source keys, topic keys and the spelling of each topic, in a fixed order."""

    sources: tuple[str, ...]
    topics: tuple[str, ...]
    labels: Mapping[str, str]

    def column(self, field: str, key: str) -> int:
        """The index of a target among all columns. Raises `ValueError` for one that is not there."""
        if field == SOURCE_WEIGHTS:
            return self.sources.index(key)
        return len(self.sources) + self.topics.index(key)


def attributes_of(
    rated: Sequence[RatedItem], *, sources: Sequence[str], topics: Sequence[str], titles: dict[str, str]
) -> Attributes:
    """The columns for these thumbs; `topics` are always among them, in their own spelling."""
    labels = {topic_key(topic): topic for topic in topics}
    for found in topic_candidates(rated, source_names(titles))[:TOPICS_MAX]:
        labels.setdefault(found.key, found.label)
    keys = {*sources, *(item.source for item in rated)}
    return Attributes(tuple(sorted(keys)), tuple(sorted(labels)), labels)


def design_of(
    rated: Sequence[RatedItem],
    attributes: Attributes,
    *,
    older: Sequence[SourceTally],
    deviation: Mapping[str, float],
    now: datetime,
) -> Design:
    """The thumbs as a regression sees them.

    `older` are the decayed thumbs beyond `rated`, by source; `deviation` how much more (+) or less (-) than
    usual the reader's peers like a source, as a difference of rates.
    """
    at = {source: n for n, source in enumerate(attributes.sources)}
    rows = np.zeros((len(rated), len(at) + len(attributes.topics)))
    for n, item in enumerate(rated):
        source, topics = _attention(item)
        rows[n, at[item.source]] = source
        rows[n, len(at) :] = topics * _titled(item.title, attributes)
    past, liked, weight = _older(older, at, rows.shape[1])
    base = base_rate(sum(item.useful for item in rated), len(rated))
    expected = np.zeros(rows.shape[1])
    for source, lead in deviation.items():
        if source in at:
            expected[at[source]] = float(logit(base_rate_held(base + lead)) - logit(base))
    return Design(
        rows=np.vstack([rows, past]),
        liked=np.concatenate([[float(item.useful) for item in rated], liked]),
        weight=np.concatenate([[decayed(item.at, now) for item in rated], weight]),
        sources=len(at),
        expected=expected,
    )


def base_rate_held(rate: float) -> float:
    """A rate held off 0 and 1, where logits end."""
    return min(0.95, max(0.05, rate))


def _attention(item: RatedItem) -> tuple[float, float]:
    """How much the thumb speaks of its source and of its topics, by its reasons."""
    topic, making = (not kind.isdisjoint(item.tags) for kind in (ABOUT_TOPIC, ABOUT_MAKING))
    if topic == making:
        return 1.0, 1.0
    return (ASIDE, 1.0) if topic else (1.0, ASIDE)


def _older(tallies: Sequence[SourceTally], at: Mapping[str, int], width: int) -> tuple[Array, Array, Array]:
    """Two rows per source, the likes and the dislikes, each with its weight."""
    known = [tally for tally in tallies if tally.source in at and tally.n > 0]
    rows = np.zeros((2 * len(known), width))
    liked, weight = np.tile([1.0, 0.0], len(known)), np.zeros(2 * len(known))
    share = min(1.0, OLDER_MAX / max(1.0, sum(tally.n for tally in known)))
    for n, tally in enumerate(known):
        rows[2 * n : 2 * n + 2, at[tally.source]] = 1.0
        weight[2 * n], weight[2 * n + 1] = share * tally.likes, share * max(0.0, tally.n - tally.likes)
    return rows, liked, weight


def _titled(text: str, attributes: Attributes) -> Array:
    folded = fold(text)
    held = [float(term_matches(attributes.labels[key], folded)) for key in attributes.topics]
    return np.array(held, dtype=np.float64)


def setting_of(effective: EffectiveConfig, attributes: Attributes) -> Setting:
    """A config as the columns see it."""
    own = {topic_key(topic) for topic in effective.config.topics}
    return Setting(
        np.array([effective.weight(source) for source in attributes.sources], dtype=np.float64),
        np.array([float(key in own) for key in attributes.topics], dtype=np.float64),
    )


def stock_of(
    candidates: Sequence[Candidate],
    rated: Sequence[RatedItem],
    attributes: Attributes,
    effective: EffectiveConfig,
    now: datetime,
) -> Stock | None:
    """The recent digests to replay: one pool a day of what was on offer; `None` where there is nothing.

    Without enough candidates (an imported history) the rated items are dealt into pools in order of time,
    each as old as it was when it was rated.
    """
    known = [c for c in candidates if c.source in attributes.sources]
    if len(known) >= STOCK_MIN:
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
    return _stock(known, index, recency, attributes, effective)


def _stock(
    items: Sequence[Candidate],
    index: NDArray[np.int64],
    recency: Array,
    attributes: Attributes,
    effective: EffectiveConfig,
) -> Stock:
    at = {source: n for n, source in enumerate(attributes.sources)}
    boosts = effective.config.keyword_boosts
    folded = [(fold(item.title), fold(f"{item.title}\n{item.text}")) for item in items]
    labels = [attributes.labels[key] for key in attributes.topics]
    return Stock(
        source=np.array([at[item.source] for item in items]),
        titled=_matches(labels, [title for title, _ in folded]),
        matched=_matches(labels, [text for _, text in folded]),
        interest=np.array([1 + sum(boosts[w] for w in terms_matching(boosts, text)) for _, text in folded]),
        pools=index,
        recency=recency,
    )


def _matches(labels: Sequence[str], folded: Sequence[str]) -> Array:
    held = [[float(term_matches(label, text)) for label in labels] for text in folded]
    return np.array(held, dtype=np.float64).reshape(len(folded), len(labels))


def _daily(items: Sequence[Candidate], now: datetime) -> tuple[list[list[int]], list[list[float]]]:
    """Pools by the end of each of the last days, with ages in hours; `items` newest first."""
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
