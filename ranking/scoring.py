"""Score and order items. The score is a product, so a weight scales the rest and every item loses with age.

score = weight x freshness x (1 + topics + boosts + alpha x similarity + gamma x community
                                            + agreement + reading) x taste

Taste counts only if the reader has said yes (`ranking.taste`); otherwise it is 1.

A topic adds 1 to an item that says it or is filed under it, and 0.5 to one that is about it by meaning.

A `Pool` has the data that many rankings of the same items share. A `Ranking` is one order of them. Pure.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ranking.common.categories import author_names, category_key, category_keys, topic_categories
from ranking.common.text import first_words, fold_lightly, term_finder, topic_key, topics_distinct
from ranking.entities import (
    WEIGHT_DEFAULT,
    Candidate,
    EffectiveConfig,
    Score,
    ScoreBreakdown,
    clamp_weight,
)
from ranking.freshness import day_ages, freshness_by_day, freshness_by_hour
from ranking.implicit import IMPLICIT_MAX, NO_LEANS, UNKNOWN, ImplicitLeans
from ranking.meaning.topics import ABOUT_WORTH
from ranking.taste.columns import TasteColumns
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
# The least interest. Several negative boosts together should not push an item below old, dead ones.
INTEREST_MIN = 0.05

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
FindAbout = Callable[[Sequence[str], Ids], Mapping[str, Ids]]
T = TypeVar("T", bound=np.generic)
_WORD = re.compile(r"\w+")


class ItemValues(Mapping[int, float]):
    """A number for each item id. It reads single ids as a mapping, or whole columns at once."""

    __slots__ = ("_ids", "_values")

    def __init__(self, ids: Ids, values: NDArray[np.floating]) -> None:
        """Store the values of `ids`, which may have any order but no duplicates."""
        order = np.argsort(ids)
        self._ids, self._values = ids[order], values[order]

    def __getitem__(self, item_id: int) -> float:
        at = int(np.searchsorted(self._ids, item_id))
        if at == len(self._ids) or self._ids[at] != item_id:
            raise KeyError(item_id)
        return float(self._values[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids.tolist())

    def __len__(self) -> int:
        return len(self._ids)

    def values_for(self, ids: Ids) -> Floats:
        """Return the value of each of `ids`, 0 for unknown ids."""
        if not len(self._ids):
            return np.zeros(len(ids))
        if np.array_equal(self._ids, ids):
            return self._values.astype(np.float64)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._values[at], 0.0).astype(np.float64)


def values_for(figures: Mapping[int, float], ids: Ids) -> Floats:
    """Return the figure of each of `ids` as a column, 0 for unknown ids."""
    if isinstance(figures, ItemValues):
        return figures.values_for(ids)
    if not figures:
        return np.zeros(len(ids))
    return np.fromiter((figures.get(pk, 0.0) for pk in ids.tolist()), np.float64, len(ids))


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


class Pool:
    """Candidates in columns. It folds each text once and searches for each term once.

    One pool serves any number of readers, because `ranked` takes the rows that a reader may see. `timestamps`
    are seconds since 1970. `source_codes` are indices of `sources`.
    """

    def __init__(self, candidates: Sequence[Candidate], find_about: FindAbout | None = None) -> None:
        """Build the columns, in the order of `candidates`.

        `find_about` takes some topics and the ids of all candidates and returns, by topic key, the places of
        those that are about it. Without it topics are found by their words alone.
        """
        self.candidates = candidates
        self.ids: Ids = np.array([c.item_id for c in candidates], dtype=np.int64)
        self.timestamps: Floats = np.array([c.dated_at.timestamp() for c in candidates], dtype=np.float64)
        codes: dict[str, int] = {}
        self.source_codes: Ids = np.array(
            [codes.setdefault(c.source, len(codes)) for c in candidates], dtype=np.int64
        )
        self.sources, self._codes = tuple(codes), codes
        self._texts: list[str] = []
        self._by_category: dict[str, list[int]] | None = None
        self._by_author: dict[str, list[int]] | None = None
        self._matches: dict[str, NDArray[np.bool_]] = {}
        self._find_about = find_about
        self._about: dict[str, Ids | None] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    def search_all(self, terms: Iterable[str]) -> None:
        """Search for all `terms` in one pass over the texts, so that `matches` need not search again."""
        finders = {
            term: term_finder(term) for term in terms if term not in self._matches and first_words(term)
        }
        by_word: dict[str, list[tuple[str, bool]]] = {}
        for term in finders:
            for word, is_whole in first_words(term).items():
                by_word.setdefault(word, []).append((term, is_whole))
        rows: dict[str, list[int]] = {term: [] for term in finders}
        for row, text in enumerate(self._texts_folded() if finders else ()):
            for word in by_word.keys() & _WORD.findall(text):
                for term, is_whole in by_word[word]:
                    if is_whole or finders[term](text):
                        rows[term].append(row)
        for term, found in rows.items():
            self._matches[term] = np.zeros(len(self), dtype=np.bool_)
            self._matches[term][[*found, *self._label_rows(term)]] = True

    def _texts_folded(self) -> list[str]:
        if not self._texts:
            self._texts = [fold_lightly(f"{c.title}\n{c.text}") for c in self.candidates]
        return self._texts

    def matches(self, term: str) -> NDArray[np.bool_]:
        """Return a mask of candidates with `term` as whole words in title or text, or as a label."""
        if (known := self._matches.get(term)) is None:
            texts, finds = self._texts_folded(), term_finder(term)
            known = self._matches[term] = np.fromiter(map(finds, texts), np.bool_, len(texts))
            known[self._label_rows(term)] = True
        return known

    def search_meanings(self, topics: Iterable[str]) -> None:
        """Find the candidates that are about each of `topics`, all at once, so that `about` knows them."""
        missing = {topic_key(topic): topic for topic in topics if topic_key(topic) not in self._about}
        if missing and self._find_about:
            found = self._find_about(list(missing.values()), self.ids)
            self._about |= {key: found.get(key) for key in missing}

    def has_meaning(self, topic: str) -> bool:
        """Return whether `topic` matches by meaning at all; others are found by their words alone."""
        self.search_meanings([topic])
        return self._about.get(topic_key(topic)) is not None

    def about(self, topic: str) -> NDArray[np.bool_]:
        """Return a mask of candidates that are about `topic` by meaning and do not say it."""
        self.search_meanings([topic])
        found = np.zeros(len(self), dtype=np.bool_)
        rows = self._about.get(topic_key(topic))
        if rows is None or not len(rows):
            return found
        found[rows] = True
        return found & ~self.matches(topic)

    def _label_rows(self, term: str) -> list[int]:
        """Return the rows of candidates that have `term` as a category or author."""
        both = self._categories(), self._authors()
        return [row for key in topic_categories(term) for rows in both for row in rows.get(key, ())]

    def labelled(self, key: str, *, author: bool) -> Sequence[int]:
        """Return the places of the candidates with a category, or an author, by its key."""
        return (self._authors() if author else self._categories()).get(key, ())

    def _categories(self) -> Mapping[str, list[int]]:
        """Return the rows by category key. Computed once."""
        if self._by_category is None:
            self._by_category = {}
            for row, candidate in enumerate(self.candidates):
                for key in category_keys(candidate.categories) if candidate.categories else ():
                    self._by_category.setdefault(key, []).append(row)
        return self._by_category

    def _authors(self) -> Mapping[str, list[int]]:
        """Return the rows by key of an author's name. Computed once."""
        if self._by_author is None:
            self._by_author = {}
            for row, candidate in enumerate(self.candidates):
                for name in author_names(candidate.author) if candidate.author else ():
                    self._by_author.setdefault(category_key(name), []).append(row)
        return self._by_author

    def weights(self, effective: EffectiveConfig) -> Floats:
        """Return the effective weight of each of `sources`, as one column."""
        found = np.full(len(self.sources), clamp_weight(WEIGHT_DEFAULT))
        for key, weight in effective.weights().items():
            if (code := self._codes.get(key)) is not None:
                found[code] = weight
        return found

    def implicit(self, leans: ImplicitLeans) -> Floats:
        """Return `ImplicitLeans.added` of all candidates, as one column."""
        source, thumbs = np.zeros(len(self.sources)), np.zeros(len(self.sources))
        for key in leans.sources.keys() & self._codes.keys():
            source[self._codes[key]] = leans.source(key)
        for key in leans.source_thumbs.keys() & self._codes.keys():
            thumbs[self._codes[key]] = leans.source_thumbs[key]
        whole, counts = np.zeros(len(self)), np.zeros(len(self))
        for key in leans.categories.keys() & self._categories().keys():
            rows = self._categories()[key]
            whole[rows] += leans.category(key)
            counts[rows] += 1
        whole = whole / np.maximum(1.0, counts) + source[self.source_codes]
        whole[whole * thumbs[self.source_codes] < 0] = 0.0
        added: Floats = IMPLICIT_MAX * leans.weight * np.clip(whole, -1.0, 1.0)
        return added


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

    `ids` and `totals` are in the same order.
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
        pool.search_meanings(self._wide)
        self._interest = self._interests(effective.config.keyword_boosts)
        self._weight = pool.weights(effective)[source]
        self._taste = self._tastes(signals.taste, ids)
        self._factors = self._taste.factors if self._taste else np.ones(len(ids))
        self._scores = self._weight * self._recency * self._interest * self._factors
        self._order = np.argsort(-self._scores, kind="stable")
        self.totals: Floats = self._scores[self._order]
        if (self.totals[1:] == self.totals[:-1]).any():
            self._order = np.lexsort((ids, -timestamps, -self._scores))
        self.ids: Ids = ids[self._order]

    def _tastes(self, signal: TasteSignal | None, ids: Ids) -> TasteColumns | None:
        """Return the taste of these candidates, or `None` if it does not count."""
        config = self._effective.config
        if signal is None or config.taste is TasteLevel.OFF or not signal.examples:
            return None
        likeness = values_for(signal.likeness, ids)
        return TasteColumns(self._pool, self._rows, signal, config.taste, self._topics, likeness)

    def _at(self, column: NDArray[T]) -> NDArray[T]:
        return column if self._rows is None else column[self._rows]

    def _freshness(self, timestamps: Floats, now: datetime) -> tuple[Floats | None, Floats]:
        """Return the ages in whole days (`None` if freshness goes by the hour), and the freshness."""
        config = self._effective.config
        if not config.recency_by_day:
            return None, freshness_by_hour(self._hours, config.recency_half_life_hours)
        days = day_ages(timestamps, now)
        return days, freshness_by_day(days, self._hours, config.recency_half_life_hours)

    def _interests(self, boosts: Mapping[str, float]) -> Floats:
        config = self._effective.config
        interest = 1 + config.ai_score_alpha * self._similarity + COMMUNITY_GAMMA * self._community
        interest += agreement(self._reported_by) + self._reading
        for topic in self._topics:
            interest += self._at(self._pool.matches(topic))
        for topic in self._wide:
            interest += ABOUT_WORTH * self._at(self._pool.about(topic))
        for word, boost in boosts.items():
            interest += boost * self._at(self._pool.matches(word))
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

    def totals_without_penalties(self) -> Floats:
        """Return the totals without negative boosts, in the order of `ids`."""
        boosts = self._effective.config.keyword_boosts
        if all(boost >= 0 for boost in boosts.values()):
            return self.totals
        wanted = {word: boost for word, boost in boosts.items() if boost > 0}
        return (self._weight * self._recency * self._interests(wanted) * self._factors)[self._order]

    def in_input_order(self) -> list[Score]:
        """Return the scores in the order in which the candidates were given."""
        return self._scores_at(np.arange(len(self._order)))

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
                replace(self._breakdown(candidate.source, topics, about, boosts, figures), tastes=reasons),
            )
            for row, reasons, topics, about, boosts, total, *figures in zip(
                rows.tolist(),
                tastes,
                self._terms_by_row(self._topics, rows, self._pool.matches),
                self._terms_by_row(self._wide, rows, self._pool.about),
                self._terms_by_row(self._effective.config.keyword_boosts, rows, self._pool.matches),
                self._scores[places].tolist(),
                *(column[places].tolist() for column in columns),
                strict=True,
            )
        ]

    def _breakdown(
        self,
        source: str,
        topics: Sequence[str],
        about: Sequence[str],
        boosts: Sequence[str],
        figures: Sequence[float],
    ) -> ScoreBreakdown:
        """Return the parts of one score. `figures` are its values in the columns of `_scores_at`."""
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
            boosts={word: config.keyword_boosts[word] for word in boosts},
            similarity=similarity,
            community=community,
            reported_by=round(sources),
            reading=reading,
            opened=opens.opened,
            shown=opens.shown,
            interest=interest,
            taste=taste,
        )

    def _terms_by_row(
        self, terms: Iterable[str], rows: Ids, matches: Callable[[str], NDArray[np.bool_]]
    ) -> list[list[str]]:
        """Return for each of `rows` the `terms` that it matches, in order."""
        found: list[list[str]] = [[] for _ in rows]
        for term in terms:
            for place in np.flatnonzero(matches(term)[rows]).tolist():
                found[place].append(term)
        return found


def ranked(
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
    return list(ranked(candidates, effective, now, signals)[:])


def score_all(
    candidates: Sequence[Candidate] | Pool, effective: EffectiveConfig, now: datetime, signals: Signals
) -> list[Score]:
    """Return the score of each candidate with its breakdown, in the given order."""
    return ranked(candidates, effective, now, signals).in_input_order()
