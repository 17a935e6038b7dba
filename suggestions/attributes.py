"""A reader's thumbs and candidate items as the joint model sees them: sources and topics as columns. Pure.

Topics are the config's own, and the most frequent phrases of rated titles. They are chosen by how often
they occur, never by how much they are liked, so that the choice itself proves nothing.

A reason says which attribute was meant. "My kind of topic" and "not my topic" speak of the topics; depth,
original reporting, hype, clickbait or a paywall of how a source works; "well explained" or "already knew
this" of the one item. So each reason is an observation of its own, as in a choice among alternatives
(McFadden, 1974): what was named pulled harder than either of the others, in the direction of the thumb.
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
# What a reason speaks of (slugs of the taxonomy).
ABOUT_TOPIC = frozenset({"on-topic", "off-topic"})
ABOUT_SOURCE = frozenset({"depth", "original", "practical", "hype", "clickbait", "paywall"})
ABOUT_ITEM = frozenset({"clarity", "surprising", "shallow", "known"})
# What one comparison counts for, against 1 for a thumb: readers pick reasons loosely, and the two
# comparisons of one reason are not independent. Tried in simulation: 0, 0.5, 0.7 and 0.9.
REASON_WEIGHT = 0.7
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
    at = {source: 1 + n for n, source in enumerate(attributes.sources)}
    width = 1 + len(at) + len(attributes.topics)
    rows = np.zeros((len(rated), width))
    rows[:, 0] = 1.0
    for n, item in enumerate(rated):
        rows[n, at[item.source]] = 1.0
        rows[n, 1 + len(at) :] = _titled(item.title, attributes)
    weight = np.array([decayed(item.at, now) for item in rated])
    compared, counts = _comparisons(rated, rows, weight, 1 + len(at))
    past, past_liked, past_weight = _older(older, at, width)
    base = base_rate(sum(item.useful for item in rated), len(rated))
    expected = np.zeros(width - 1)
    for source, lead in deviation.items():
        if source in at:
            expected[at[source] - 1] = float(logit(base_rate_held(base + lead)) - logit(base))
    return Design(
        rows=np.vstack([rows, compared, past]),
        liked=np.concatenate([[float(item.useful) for item in rated], np.ones(len(counts)), past_liked]),
        weight=np.concatenate([weight, counts, past_weight]),
        sources=len(at),
        expected=expected,
    )


def reasons_given(rated: Sequence[RatedItem]) -> int:
    """How many of these thumbs have a reason that says which attribute was meant."""
    return sum(_named(item) is not None for item in rated)


def _named(item: RatedItem) -> frozenset[str] | None:
    """What a thumb's reasons speak of; `None` if of nothing, or of several at once."""
    named = [kind for kind in (ABOUT_TOPIC, ABOUT_SOURCE, ABOUT_ITEM) if not kind.isdisjoint(item.tags)]
    return named[0] if len(named) == 1 else None


def _comparisons(
    rated: Sequence[RatedItem], rows: Array, weight: Array, first_topic: int
) -> tuple[Array, Array]:
    """Two observations per thumb with a reason: what was named pulled harder than each of the others."""
    found: list[Array] = []
    counts: list[float] = []
    for n, item in enumerate(rated):
        named = _named(item)
        if named is None:
            continue
        sign = 1.0 if item.useful else -1.0
        source, topics = (sign * rows[n] for _ in "12")
        source[0] = source[first_topic:] = 0.0
        topics[:first_topic] = 0.0
        if named is ABOUT_TOPIC:
            found += [topics, topics - source]
        elif named is ABOUT_SOURCE:
            found += [source, source - topics]
        else:
            found += [-source, -topics]
        counts += [REASON_WEIGHT * float(weight[n])] * 2
    return np.array(found).reshape(len(found), rows.shape[1]), np.array(counts)


def base_rate_held(rate: float) -> float:
    """A rate held off 0 and 1, where logits end."""
    return min(0.95, max(0.05, rate))


def _older(tallies: Sequence[SourceTally], at: Mapping[str, int], width: int) -> tuple[Array, Array, Array]:
    """Two rows per source, the likes and the dislikes, each with its weight."""
    known = [tally for tally in tallies if tally.source in at and tally.n > 0]
    rows = np.zeros((2 * len(known), width))
    liked, weight = np.tile([1.0, 0.0], len(known)), np.zeros(2 * len(known))
    share = min(1.0, OLDER_MAX / max(1.0, sum(tally.n for tally in known)))
    for n, tally in enumerate(known):
        rows[2 * n : 2 * n + 2, [0, at[tally.source]]] = 1.0
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
