"""One data set prepared for ranking: the product's own arithmetic over it, with parts that can be left out.

Nothing here knows a reader's later choices. Vectors, taste, figures, learning loop and score are those of the
`ranking` room. Only the database between them is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from digest.feedback.noisy_counts import MEMBERS_MIN
from digest.items.clustering import TitledItem, cluster_items
from ranking.common.categories import category_keys
from ranking.community import Figure, item_rate, like_rate, publish
from ranking.entities import ALPHA_DEFAULT, Config, EffectiveConfig, SourceTally, clamp_weight
from ranking.implicit import NO_LEANS, ImplicitLeans, ReadingEvent, articles_skipped, implicit_leans
from ranking.learning import base_rate, learn, posterior
from ranking.pool import ItemValues, Pool
from ranking.scoring import Signals, rank_all
from ranking.similarity import (
    EMPTY,
    HASH_BUCKETS,
    Vector,
    document_counts_add,
    profile_of,
    similarities,
    taste_update,
    term_counts,
    tfidf_vector,
    vectors_stack,
)
from tests.lab.ranking.data import NEMIG_DE, NEMIG_EN, Case, Data

# Two months of weekly cycles.
CYCLES = 8
TOPICS_NAMED = 3
TOPIC_THUMBS, TOPIC_SURE = 5, 0.95
# The rule of the first formula: up from 70 % likes on, down from 30 %.
GREEDY_HIGH, GREEDY_LOW, GREEDY_STEP, GREEDY_THUMBS = 0.7, 0.3, 0.15, 3
NO_RECENCY = 1e9
# The exact sums, for comparison with noisy figures, need this many thumbs.
EXACT_MIN = 5
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Thumbs = Sequence[tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the score in use.

    `gamma` is a multiple of the community's share. Without `noise`, every item with five thumbs has its exact
    figure: the result if no thumb had to be kept private. `agreement` is a multiple of a story's gain by the
    number of publishers that report it. `reading` is the weight of the reader's opens on earlier pages,
    `anothers` that of the next reader's opens: a control.
    """

    weights: bool = True
    topics: bool = True
    similarity: bool = True
    community: bool = True
    recency: bool = True
    alpha: float = ALPHA_DEFAULT
    gamma: float = 1.0
    noise: bool = True
    agreement: float = 1.0
    reading: float = 0.0
    anothers: float = 0.0


class World:
    """A data set with its vectors, its figures and its pool of items."""

    def __init__(self, data: Data, *, seed: int) -> None:
        """Make every item a vector, and everybody's thumbs so far figures with the noise of `seed`."""
        self.data = data
        self.pool = Pool(data.items)
        terms = [term_counts(item.title, item.text) for item in data.items]
        counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), terms)
        self.vectors: list[Vector] = [tfidf_vector(one, counts, len(terms)) for one in terms]
        self.packed = [vector.packed() for vector in self.vectors]
        given = [thumb for said in data.said.values() for thumb in said]
        places = np.array([place for place, _ in given])
        self.thumbs = np.bincount(places, minlength=len(data.items))
        self.likes = np.bincount(places, [up for _, up in given], len(data.items)).astype(np.int64)
        uniforms = 1 - np.random.default_rng(seed).random((4, len(data.items)))
        self.usual = like_rate([Figure(int(self.likes.sum()), int(self.thumbs.sum()))])
        liked, counted, shown = publish(self.likes, self.thumbs, uniforms)
        self._noisy = self._rates(liked, counted, shown & (len(data.said) >= MEMBERS_MIN))
        self._exact = self._rates(self.likes, self.thumbs, self.thumbs >= EXACT_MIN)
        self._alike: dict[tuple[str, int], Floats] = {}
        self._reported_by = self._publishers() if data.name in (NEMIG_EN, NEMIG_DE) else np.ones(len(terms))

    def _publishers(self) -> Floats:
        """Return how many publishers report the story of each item, among all, because the data has no
        subscriptions."""
        titled = [
            TitledItem(n, i.source, i.title, i.dated_at, "", None) for n, i in enumerate(self.data.items)
        ]
        counts = np.ones(len(titled))
        for story in cluster_items([], sorted(titled, key=lambda item: item.dated_at)):
            counts[[item.item_id for item in story]] = len({item.source for item in story})
        return counts

    def popularity(self, case: Case) -> Floats:
        """How many others liked each offered item."""
        likes = self.likes.astype(np.float64)
        np.subtract.at(likes, [place for place, up in self.data.said.get(case.reader, ()) if up], 1)
        return likes[list(case.offered)]

    def _rates(self, likes: Ints, thumbs: Ints, shown: NDArray[np.bool_]) -> Floats:
        rates = np.zeros(len(likes))
        for place in np.flatnonzero(shown).tolist():
            rates[place] = item_rate(Figure(int(likes[place]), int(thumbs[place])), self.usual)
        return rates

    def community(self, case: Case, *, noise: bool = True) -> Floats:
        """Return the effect of the others' thumbs on each offered item."""
        return (self._noisy if noise else self._exact)[list(case.offered)]

    def similarity(self, case: Case, thumbs: Thumbs) -> Floats:
        """Return the likeness of each offered item to the taste those thumbs say."""
        key = case.reader, hash(tuple(thumbs))
        if key not in self._alike:
            changes = [(self.vectors[place], up, 1.0) for place, up in thumbs]
            profile = profile_of(taste_update(EMPTY, changes))
            found = similarities(profile, vectors_stack([self.packed[place] for place in case.offered]))
            self._alike[key] = found.astype(np.float64)
        return self._alike[key]

    def score(self, case: Case, thumbs: Thumbs, parts: Parts = Parts()) -> Floats:
        """Return the score of each offered item, `thumbs` being all that the reader has said."""
        places = np.array(case.offered)
        ids = self.pool.ids[places]
        rates = self.community(case, noise=parts.noise) if parts.community else np.zeros(len(ids))
        signals = Signals(
            ItemValues(ids, self.similarity(case, thumbs) if parts.similarity else np.zeros(len(ids))),
            ItemValues(ids, parts.gamma * rates),
            ItemValues(ids, self._reported_by[places] ** parts.agreement),
            self.leans(case, parts),
        )
        effective = self.effective(thumbs, parts)
        ranking = rank_all(self.pool, effective, case.now, signals, places)
        found = dict(zip(ranking.ids.tolist(), ranking.totals.tolist(), strict=True))
        return np.array([found[pk] for pk in ids.tolist()])

    def leans(self, case: Case, parts: Parts) -> ImplicitLeans:
        """Return the implicit leans from earlier pages for sources and categories, at the given weight."""
        if not (parts.reading or parts.anothers):
            return NO_LEANS
        cases = self.data.cases
        whose = cases[(cases.index(case) + 1) % len(cases)] if parts.anothers else case
        events = [event for page in whose.pages for event in self._events(page)]
        return replace(implicit_leans(events, ()), weight=parts.reading or parts.anothers)

    def _events(self, page: Sequence[tuple[int, bool]]) -> Iterator[ReadingEvent]:
        ranks = {place: rank for rank, (place, _) in enumerate(page, start=1)}
        opened = {place for place, yes in page if yes}
        for place in (*opened, *articles_skipped(ranks, opened)):
            item = self.data.items[place]
            keys = category_keys(item.categories)
            yield ReadingEvent(item.source, keys, ranks[place], opened=place in opened)

    def effective(self, thumbs: Thumbs, parts: Parts) -> EffectiveConfig:
        """Return the result of the learning loop for the thumbs of two months, and the topics the reader
        would name."""
        config = Config(
            topics=self.topics_named(thumbs) if parts.topics else (),
            recency_half_life_hours=24.0 if parts.recency else NO_RECENCY,
            ai_score_alpha=parts.alpha,
        )
        effective = EffectiveConfig(config)
        if not parts.weights:
            return effective
        tallies = self.tallies(thumbs)
        for _ in range(CYCLES):
            changes = learn(tallies, effective)
            effective = EffectiveConfig(config, {c.source: c.after - 1.0 for c in changes})
        return effective

    def tallies(self, thumbs: Thumbs) -> list[SourceTally]:
        """Return the thumbs per source."""
        counted = _counted((self.data.items[place].source, up) for place, up in thumbs)
        return [SourceTally(source, n, k, int(n)) for source, (k, n) in counted.items()]

    def topics_named(self, thumbs: Thumbs) -> tuple[str, ...]:
        """At most three topics that the reader surely likes more than the rest."""
        counted = _counted((topic, up) for place, up in thumbs for topic in self.data.topics[place])
        base = base_rate(sum(up for _, up in thumbs), len(thumbs))
        beliefs = {topic: posterior(k, n, base) for topic, (k, n) in counted.items() if n >= TOPIC_THUMBS}
        sure = [topic for topic, belief in beliefs.items() if belief.p_better > TOPIC_SURE]
        return tuple(sorted(sure, key=lambda topic: -beliefs[topic].p_better)[:TOPICS_NAMED])

    def rates(self, case: Case, thumbs: Thumbs) -> Floats:
        """Source and topic like-rates alone: their shrunk log-odds against the reader's base, summed."""
        base = base_rate(sum(up for _, up in thumbs), len(thumbs))
        items, topics = self.data.items, self.data.topics
        sources = _counted((items[place].source, up) for place, up in thumbs)
        named = _counted((topic, up) for place, up in thumbs for topic in topics[place])

        def worth(table: Mapping[str, tuple[float, float]], key: str) -> float:
            k, n = table.get(key, (0.0, 0.0))
            return float(logit(posterior(k, n, base).mean) - logit(base))

        return np.array(
            [
                worth(sources, items[place].source) + sum(worth(named, topic) for topic in topics[place])
                for place in case.offered
            ]
        )

    def plain(self, case: Case, thumbs: Thumbs) -> Floats:
        """Return the first formula: weights by the 0.7/0.3 rule, topics, recency; no similarity, no
        community."""
        weights = {}
        for tally in self.tallies(thumbs):
            rate = tally.likes / tally.n
            if tally.n >= GREEDY_THUMBS and not GREEDY_LOW < rate < GREEDY_HIGH:
                step = GREEDY_STEP if rate >= GREEDY_HIGH else -GREEDY_STEP
                weights[tally.source] = clamp_weight(1 + CYCLES * step)
        config = Config(topics=self.topics_named(thumbs), source_weights=weights)
        places = np.array(case.offered)
        ranking = rank_all(self.pool, EffectiveConfig(config), case.now, Signals(), places)
        found = dict(zip(ranking.ids.tolist(), ranking.totals.tolist(), strict=True))
        return np.array([found[pk] for pk in self.pool.ids[places].tolist()])


def _counted(pairs: Iterable[tuple[str, bool]]) -> dict[str, tuple[float, float]]:
    """Key -> (likes, thumbs)."""
    counted: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key, up in pairs:
        counted[key][0] += up
        counted[key][1] += 1
    return {key: (k, n) for key, (k, n) in counted.items()}
