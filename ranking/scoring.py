"""The score: a product, so that weights scale and nothing escapes recency.

score = weight x 0.5^(age / half-life) x (1 + topics + boosts + alpha x similarity + gamma x community)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ranking.entities import WEIGHT_DEFAULT, Candidate, EffectiveConfig, Parts, Score
from ranking.pool import Figures, Pool, column_of

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
        self._interest = self._interests()
        weight = np.array([effective.weight(key) for key in pool.sources], dtype=np.float64)
        self._given = weight[source] * self._recency * self._interest if len(ids) else np.zeros(0)
        self._order = np.argsort(-self._given, kind="stable")
        self.totals: Floats = self._given[self._order]
        if (self.totals[1:] == self.totals[:-1]).any():
            self._order = np.lexsort((ids, -stamps, -self._given))
        self.ids: Ids = ids[self._order]

    def _at(self, column: NDArray[T]) -> NDArray[T]:
        return column if self._rows is None else column[self._rows]

    def _interests(self) -> Floats:
        config = self._effective.config
        interest = 1 + config.ai_score_alpha * self._similarity + COMMUNITY_GAMMA * self._community
        for topic in config.topics:
            interest += self._at(self._pool.held(topic))
        for word, boost in config.keyword_boosts.items():
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
            return [self._explained(place) for place in self._order[at].tolist()]
        return self._explained(int(self._order[at]))

    def given(self) -> list[Score]:
        """The scores in the order in which the candidates were given."""
        return [self._explained(place) for place in range(len(self._order))]

    def _explained(self, place: int) -> Score:
        row = place if self._rows is None else int(self._rows[place])
        config = self._effective.config
        candidate, held = self._pool.candidates[row], self._pool.held
        source = candidate.source
        parts = Parts(
            source_weight=self._effective.weight(source),
            config_weight=config.source_weights.get(source, WEIGHT_DEFAULT),
            learned_delta=self._effective.deltas.get(source, 0.0),
            age_hours=float(self._hours[place]),
            recency=float(self._recency[place]),
            topics=tuple(topic for topic in config.topics if held(topic)[row]),
            boosts={word: boost for word, boost in config.keyword_boosts.items() if held(word)[row]},
            similarity=float(self._similarity[place]),
            community=float(self._community[place]),
            interest=float(self._interest[place]),
        )
        return Score(candidate, float(self._given[place]), parts)


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
