"""The score: a product, so that weights scale and nothing escapes recency.

score = weight x 0.5^(age / half-life) x (1 + topics + boosts + alpha x similarity + gamma x community)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ranking.entities import WEIGHT_DEFAULT, Candidate, EffectiveConfig, Parts, Score
from ranking.matching import topic_key
from ranking.pool import Figures, Pool, column_of
from ranking.synonyms import topics_distinct

__all__ = ["COMMUNITY_GAMMA", "INTEREST_MIN", "Figures", "Pool", "Ranking", "Signals", "rank", "ranked"]

# Twenty likes of others then weigh about as much as one topic. Tuned on the development half of the readers
# of MovieLens-100k: AUC .706 at 0.5, .712 at 2, .720 at 3, .727 at 4, popularity .710. More would let the
# crowd outvote the reader's own topics.
COMMUNITY_GAMMA = 3.0
# Interest below this is a mistake of negative boosts, not a wish to bury an item under dead ones.
INTEREST_MIN = 0.05

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of items beyond their text, by id: similarity to the reader's profile, community rate."""

    similarity: Mapping[int, float] = field(default_factory=dict)
    community: Mapping[int, float] = field(default_factory=dict)


class Ranking(Sequence[Score]):
    """Scores best first, each explained only when it is asked for. `ids` and `totals` are in that order."""

    def __init__(
        self, pool: Pool, effective: EffectiveConfig, now: datetime, signals: Signals, rows: Ids | None
    ):
        """Score the candidates of `pool` at `rows` (`None`: all) and order them.

        Ties: the newer, then the lower id.
        """
        self._pool, self._effective, self._rows = pool, effective, rows
        ids, stamps, source = self._at(pool.ids), self._at(pool.stamps), self._at(pool.source)
        self._hours = np.maximum(0.0, now.timestamp() - stamps) / 3600
        self._recency = 0.5 ** (self._hours / effective.config.recency_half_life_hours)
        self._similarity = column_of(signals.similarity, ids)
        self._community = column_of(signals.community, ids)
        self._topics = topics_distinct(effective.config.topics, topic_key)
        self._interest = self._interests(effective.config.keyword_boosts)
        weight = np.array([effective.weight(key) for key in pool.sources], dtype=np.float64)
        self._weight = weight[source] if len(ids) else np.zeros(0)
        self._given = self._weight * self._recency * self._interest
        self._order = np.argsort(-self._given, kind="stable")
        self.totals: Floats = self._given[self._order]
        if (self.totals[1:] == self.totals[:-1]).any():
            self._order = np.lexsort((ids, -stamps, -self._given))
        self.ids: Ids = ids[self._order]

    def _at(self, column: NDArray[T]) -> NDArray[T]:
        return column if self._rows is None else column[self._rows]

    def _interests(self, boosts: Mapping[str, float]) -> Floats:
        config = self._effective.config
        interest = 1 + config.ai_score_alpha * self._similarity + COMMUNITY_GAMMA * self._community
        for topic in self._topics:
            interest += self._at(self._pool.held(topic))
        for word, boost in boosts.items():
            interest += boost * self._at(self._pool.held(word))
        return np.maximum(INTEREST_MIN, interest)

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Score: ...

    @overload
    def __getitem__(self, at: slice) -> list[Score]: ...

    def __getitem__(self, at: int | slice) -> Score | list[Score]:
        if isinstance(at, slice):
            return self._explained(self._order[at])
        return self._explained(self._order[[at]])[0]

    def undisliked(self) -> Floats:
        """What the totals would be without the boosts below 0, in the order of `ids`."""
        boosts = self._effective.config.keyword_boosts
        if all(boost >= 0 for boost in boosts.values()):
            return self.totals
        wanted = {word: boost for word, boost in boosts.items() if boost > 0}
        return (self._weight * self._recency * self._interests(wanted))[self._order]

    def given(self) -> list[Score]:
        """The scores in the order in which the candidates were given."""
        return self._explained(np.arange(len(self._order)))

    def _explained(self, places: Ids) -> list[Score]:
        rows = places if self._rows is None else self._rows[places]
        config, deltas = self._effective.config, self._effective.deltas
        columns = (self._hours, self._recency, self._similarity, self._community, self._interest, self._given)
        return [
            Score(
                candidate := self._pool.candidates[row],
                total,
                Parts(
                    source_weight=self._effective.weight(candidate.source),
                    config_weight=config.source_weights.get(candidate.source, WEIGHT_DEFAULT),
                    learned_delta=deltas.get(candidate.source, 0.0),
                    age_hours=hours,
                    recency=recency,
                    topics=tuple(topics),
                    boosts={word: config.keyword_boosts[word] for word in boosts},
                    similarity=similarity,
                    community=community,
                    interest=interest,
                ),
            )
            for row, topics, boosts, hours, recency, similarity, community, interest, total in zip(
                rows.tolist(),
                self._standing(self._topics, rows),
                self._standing(config.keyword_boosts, rows),
                *(column[places].tolist() for column in columns),
                strict=True,
            )
        ]

    def _standing(self, terms: Iterable[str], rows: Ids) -> list[list[str]]:
        """For each of `rows`, those of `terms` that stand in it, in their order."""
        standing: list[list[str]] = [[] for _ in rows]
        for term in terms:
            for place in np.flatnonzero(self._pool.held(term)[rows]).tolist():
                standing[place].append(term)
        return standing


def ranked(
    candidates: Sequence[Candidate] | Pool,
    effective: EffectiveConfig,
    now: datetime,
    signals: Signals | None = None,
    rows: Ids | None = None,
) -> Ranking:
    """`candidates` (or the rows of a pool that a reader may see) best first, explained on demand.

    The fast way: take the first thirty of it, or only its `ids`. Where several configs or readers rank the
    same items, make one `Pool` and hand it in each time.
    """
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates)
    return Ranking(pool, effective, now, signals or Signals(), rows)


def rank(
    candidates: Sequence[Candidate], effective: EffectiveConfig, now: datetime, signals: Signals | None = None
) -> list[Score]:
    """`candidates` best first, each with its parts. Ties: the newer, then the lower id."""
    return list(ranked(candidates, effective, now, signals)[:])


def score_all(
    candidates: Sequence[Candidate] | Pool, effective: EffectiveConfig, now: datetime, signals: Signals
) -> list[Score]:
    """The score of each candidate, in the given order; the arithmetic runs on arrays."""
    return ranked(candidates, effective, now, signals).given()
