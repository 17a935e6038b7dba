"""Score and order items. The score is a product, so a weight scales the rest and every item loses with age.

score = weight x freshness x (1 + topics + boosts + alpha x similarity + gamma x community
                                            + agreement + reading) x taste

Taste counts only if the reader has agreed to it (`ranking.taste`); otherwise it is 1.

A topic adds 1 to an item that says it or is filed under it, and 0.5 to 1 to one that is about it by meaning.

A `Ranking` is one order of the items of a `Pool`. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ranking.common.text import topic_key, topics_distinct
from ranking.entities import (
    WEIGHT_DEFAULT,
    Candidate,
    EffectiveConfig,
    Score,
    ScoreBreakdown,
)
from ranking.freshness import day_ages, freshness_by_day, freshness_by_hour
from ranking.implicit import NO_LEANS, UNKNOWN, ImplicitLeans
from ranking.pool import Floats, Ids, Mask, Pool, values_for
from ranking.taste.columns import TasteColumns, taste_learned
from ranking.taste.entities import TasteLevel
from ranking.taste.signal import TasteSignal

# With this factor twenty likes of others weigh about as much as one topic. Tuned on the development half of
# the readers of MovieLens-100k: AUC .706 at 0.5, .712 at 2, .720 at 3, .727 at 4, popularity .710. A larger
# factor would let other readers outvote the reader's own topics.
COMMUNITY_GAMMA = 3.0
# Interest that a story gains with each doubling of the reader's sources that report it, and the most it gains
# (32 sources). Four sources weigh a fifth of a topic. It is small, because no open data set can tell a better
# number (docs/ranking.md).
AGREEMENT_STEP = 0.1
AGREEMENT_MAX = 0.5
# From this factor of taste down, the reader wants less of an item: no rule of diversity lifts it over others.
TASTE_DISLIKED = 0.8
# The least interest. Several negative boosts together should not push an item below old, dead ones.
INTEREST_MIN = 0.05

T = TypeVar("T", bound=np.generic)


def agreement(reported_by: Floats | float) -> Floats:
    """Return the interest that a story gains if this many of the reader's sources report it; 0 for one."""
    doublings: Floats = np.log2(np.maximum(1.0, reported_by))
    return np.minimum(AGREEMENT_MAX, AGREEMENT_STEP * doublings)


def count_sources(stories: Ids, sources: Ids) -> Floats:
    """Return for each row the number of different `sources` among all rows of the same story."""
    order = np.lexsort((sources, stories))
    by_story, by_source = stories[order], sources[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (by_story[1:] != by_story[:-1]) | (by_source[1:] != by_source[:-1])
    keys, counts = np.unique(by_story[is_first], return_counts=True)
    found: Floats = counts[np.searchsorted(keys, stories)].astype(np.float64)
    return found


@dataclass(frozen=True, slots=True)
class Signals:
    """Inputs of scores beside the config, by item id.

    `similarity` is that to the reader's profile (0 to 1), `community` the other readers' opinion.
    `reported_by` is the number of the reader's sources that report the item's story; a missing item counts as
    1. `implicit` has the reader's implicit preferences for sources and categories.
    """

    similarity: Mapping[int, float] = field(default_factory=dict)
    community: Mapping[int, float] = field(default_factory=dict)
    reported_by: Mapping[int, float] = field(default_factory=dict)
    implicit: ImplicitLeans = NO_LEANS
    # The reader's examples, if their taste is to count at all.
    taste: TasteSignal | None = None


class Ranking(Sequence[Score]):
    """Scores in order, best first. It builds a score's breakdown only when that score is read.

    `ids` and `totals` are in that order, `totals_as_given` is in the order of the candidates.
    """

    def __init__(
        self, pool: Pool, effective: EffectiveConfig, now: datetime, signals: Signals, rows: Ids | None
    ):
        """Score and order the candidates of `pool` at `rows` (`None`: all).

        On equal scores the newer item comes first, then the lower id. `now` is in the reader's time zone,
        since freshness counts the reader's days.
        """
        self._pool, self._effective, self._rows = pool, effective, rows
        ids, timestamps, source = self._at(pool.ids), self._at(pool.timestamps), self._at(pool.source_codes)
        self._hours = np.maximum(0.0, now.timestamp() - timestamps) / 3600
        self._days, self._recency = self._freshness(timestamps, now)
        self._similarity = values_for(signals.similarity, ids)
        self._community = values_for(signals.community, ids)
        self._reported_by = np.maximum(1.0, values_for(signals.reported_by, ids))
        self._leans = signals.implicit
        self._reading = self._at(pool.implicit(self._leans)) if self._leans.weight else np.zeros(len(ids))
        self._topics = topics_distinct(effective.config.topics, topic_key)
        # Topics that also match by meaning.
        self._wide = [topic for topic in self._topics if topic_key(topic) not in effective.config.literal]
        self._wide_boosts = effective.config.boosts_wide
        pool.search_meanings([*self._wide, *self._wide_boosts])
        pool.search_all(effective.config.terms)
        self._interest = self._interests(effective.config.keyword_boosts)
        self._weight = pool.weights(effective)[source]
        self._taste = self._tastes(signals.taste, ids)
        self._factors = self._taste.factors if self._taste else np.ones(len(ids))
        self.totals_as_given: Floats = self._weight * self._recency * self._interest * self._factors
        self._order = np.argsort(-self.totals_as_given, kind="stable")
        self.totals: Floats = self.totals_as_given[self._order]
        if (self.totals[1:] == self.totals[:-1]).any():
            self._order = np.lexsort((ids, -timestamps, -self.totals_as_given))
        self.ids: Ids = ids[self._order]

    def _tastes(self, signal: TasteSignal | None, ids: Ids) -> TasteColumns | None:
        """Return the taste of these candidates, or `None` if it does not count."""
        config = self._effective.config
        if signal is None or config.taste is TasteLevel.OFF or not signal.examples:
            return None
        likeness = values_for(signal.likeness, ids)
        leans = taste_learned(signal, {topic: self._names_of(topic) for topic in self._topics})
        return TasteColumns(self._pool, self._rows, signal, config.taste, leans, likeness)

    def _at(self, column: NDArray[T]) -> NDArray[T]:
        return column if self._rows is None else column[self._rows]

    def _freshness(self, timestamps: Floats, now: datetime) -> tuple[Floats | None, Floats]:
        """Return the ages in whole days (`None` if freshness goes by the hour), and the freshness."""
        config = self._effective.config
        if not config.recency_by_day:
            return None, freshness_by_hour(self._hours, config.recency_half_life_hours)
        days = day_ages(timestamps, now)
        return days, freshness_by_day(days, self._hours, config.recency_half_life_hours)

    def _names_of(self, topic: str) -> tuple[str, ...]:
        """Return the other names of `topic`."""
        return self._effective.config.other_names.get(topic_key(topic), ())

    def _says(self, topic: str) -> Mask:
        """Return a mask of the pool for items that say `topic` or one of its other names."""
        return self._pool.says(topic, self._names_of(topic))

    def _names_by_row(self, rows: Ids) -> list[dict[str, str]]:
        """Return for each of `rows` the other name that it says, by topic, if it does not say the topic."""
        found: list[dict[str, str]] = [{} for _ in rows]
        for topic in self._topics:
            for name in self._names_of(topic):
                by_name = self._pool.matches(name)[rows] & ~self._pool.matches(topic)[rows]
                for place in np.flatnonzero(by_name).tolist():
                    found[place].setdefault(topic, name)
        return found

    def _worths_by_row(self, rows: Ids) -> list[dict[str, float]]:
        """Return for each of `rows` what the topics add that it is about by meaning."""
        found: list[dict[str, float]] = [{} for _ in rows]
        for topic in self._wide:
            worths = self._pool.about_worth(topic, self._names_of(topic))[rows]
            for place in np.flatnonzero(worths).tolist():
                found[place][topic] = float(worths[place])
        return found

    def _interests(self, boosts: Mapping[str, float]) -> Floats:
        config = self._effective.config
        interest = 1 + config.ai_score_alpha * self._similarity + COMMUNITY_GAMMA * self._community
        interest += agreement(self._reported_by) + self._reading
        topics, wide = (
            tuple((topic, self._names_of(topic)) for topic in some) for some in (self._topics, self._wide)
        )
        interest += self._at(self._pool.topics_worth(topics, wide))
        for word, boost in boosts.items():
            interest += boost * self._at(self._pool.boost_worth(word, wide=word in self._wide_boosts))
        return np.maximum(INTEREST_MIN, interest)

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Score: ...

    @overload
    def __getitem__(self, at: slice) -> list[Score]: ...

    def __getitem__(self, at: int | slice) -> Score | list[Score]:
        if isinstance(at, slice):
            return self._scores_at(self._order[at])
        return self._scores_at(self._order[[at]])[0]

    def scores_of(self, item_ids: Sequence[int]) -> list[Score]:
        """Return the scores of `item_ids`, in the order given. Raises `KeyError` for an unknown id."""
        at = {item_id: place for place, item_id in zip(self._order.tolist(), self.ids.tolist(), strict=True)}
        return self._scores_at(np.array([at[item_id] for item_id in item_ids], dtype=np.int64))

    def disliked(self) -> set[int]:
        """Return the items that the reader's taste counts against by a fifth or more."""
        return set(self.ids[self._factors[self._order] <= TASTE_DISLIKED].tolist())

    def totals_without_penalties(self) -> Floats:
        """Return the totals without negative boosts, in the order of `ids`."""
        boosts = self._effective.config.keyword_boosts
        if all(boost >= 0 for boost in boosts.values()):
            return self.totals
        wanted = {word: boost for word, boost in boosts.items() if boost > 0}
        return (self._weight * self._recency * self._interests(wanted) * self._factors)[self._order]

    def _scores_at(self, places: Ids) -> list[Score]:
        rows = places if self._rows is None else self._rows[places]
        days = np.full(len(self._order), -1.0) if self._days is None else self._days
        columns = (
            self._hours,
            days,
            self._recency,
            self._similarity,
            self._community,
            self._reported_by,
            self._reading,
            self._interest,
            self._factors,
        )
        tastes = self._taste.reasons(places) if self._taste else [()] * len(places)
        return [
            Score(
                candidate := self._pool.candidates[row],
                total,
                replace(
                    self._breakdown(candidate.source, topics, worths, boosts, figures),
                    tastes=reasons,
                    named=named,
                    boosts_about=tuple(boosts_about),
                ),
            )
            for row, reasons, named, worths, topics, boosts, boosts_about, total, *figures in zip(
                rows.tolist(),
                tastes,
                self._names_by_row(rows),
                self._worths_by_row(rows),
                self._terms_by_row(self._topics, rows, self._says),
                self._boosts_by_row(rows),
                self._terms_by_row(self._wide_boosts, rows, self._pool.about),
                self.totals_as_given[places].tolist(),
                *(column[places].tolist() for column in columns),
                strict=True,
            )
        ]

    def _breakdown(
        self,
        source: str,
        topics: Sequence[str],
        about: Mapping[str, float],
        boosts: Mapping[str, float],
        figures: Sequence[float],
    ) -> ScoreBreakdown:
        """Return the parts of one score.

        `about` has what each topic adds that the item is about, `boosts` what each boosted word adds, and
        `figures` its values in the columns of `_scores_at`.
        """
        hours, days, recency, similarity, community, sources, reading, interest, taste = figures
        config, deltas = self._effective.config, self._effective.deltas
        opens = self._leans.sources.get(source, UNKNOWN) if reading else UNKNOWN
        return ScoreBreakdown(
            source_weight=self._effective.weight(source),
            config_weight=config.source_weights.get(source, WEIGHT_DEFAULT),
            learned_delta=deltas.get(source, 0.0),
            age_hours=hours,
            age_days=int(days) if days >= 0 else None,
            recency=recency,
            topics=tuple(topics),
            about=tuple(about),
            about_worths=about,
            boosts=boosts,
            similarity=similarity,
            community=community,
            reported_by=round(sources),
            reading=reading,
            opened=opens.opened,
            shown=opens.shown,
            interest=interest,
            taste=taste,
        )

    def _boosts_by_row(self, rows: Ids) -> list[dict[str, float]]:
        """Return for each of `rows` what each boosted word adds to it."""
        found: list[dict[str, float]] = [{} for _ in rows]
        for word, boost in self._effective.config.keyword_boosts.items():
            worths = self._pool.boost_worth(word, wide=word in self._wide_boosts)[rows]
            for place in np.flatnonzero(worths).tolist():
                found[place][word] = boost * float(worths[place])
        return found

    def _terms_by_row(
        self, terms: Iterable[str], rows: Ids, matches: Callable[[str], NDArray[np.bool_]]
    ) -> list[list[str]]:
        """Return for each of `rows` the `terms` that it matches, in order."""
        found: list[list[str]] = [[] for _ in rows]
        for term in terms:
            for place in np.flatnonzero(matches(term)[rows]).tolist():
                found[place].append(term)
        return found


def rank_all(
    candidates: Sequence[Candidate] | Pool,
    effective: EffectiveConfig,
    now: datetime,
    signals: Signals | None = None,
    rows: Ids | None = None,
) -> Ranking:
    """Return `candidates` best first, with breakdowns on demand.

    `rows` limits a pool to the items that the reader may see. It is fast if the caller reads only `ids` or
    the first thirty scores. To rank the same items by several configs, make one `Pool` and pass it each time.
    """
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates)
    return Ranking(pool, effective, now, signals or Signals(), rows)


def rank(
    candidates: Sequence[Candidate], effective: EffectiveConfig, now: datetime, signals: Signals | None = None
) -> list[Score]:
    """Return the scores of all `candidates` best first, with breakdowns."""
    return list(rank_all(candidates, effective, now, signals)[:])
