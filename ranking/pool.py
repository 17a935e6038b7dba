"""The items to rank, in columns: their texts, labels, sources and values by id. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranking.common.categories import author_names, category_key, category_keys, topic_categories
from ranking.common.phrases import terms_search
from ranking.common.text import first_words, fold_lightly, subject_finder, topic_key
from ranking.entities import WEIGHT_DEFAULT, Candidate, Config, EffectiveConfig, clamp_weight
from ranking.implicit import IMPLICIT_MAX, ImplicitLeans

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Topics, each with its other names.
NamedTopics = tuple[tuple[str, tuple[str, ...]], ...]
# The places of the items that are about a topic, and what it adds to the interest of each.
About = tuple[Ids, NDArray[np.floating]]
FindAbout = Callable[[Sequence[str], Ids], Mapping[str, About]]
Step = TypeVar("Step")


class InSteps(Protocol):
    """How a long computation goes through many things: it may pause before any of them."""

    def __call__(self, things: Iterable[Step], /) -> Iterator[Step]:
        """Yield the things in their order."""


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


class Pool:
    """Candidates in columns. It folds each text once and searches for each term once.

    One pool serves any number of readers, because `ranked` takes the rows that a reader may see. `timestamps`
    are seconds since 1970. `source_codes` are indices of `sources`.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        find_about: FindAbout | None = None,
        *,
        in_steps: InSteps = iter,
    ) -> None:
        """Build the columns, in the order of `candidates`.

        `find_about` takes some topics and the ids of all candidates and returns, by topic key, the places of
        those that are about it, and what it adds to each. Without it topics are found by words alone. All
        texts are read with `in_steps`.
        """
        self.candidates, self._in_steps = candidates, in_steps
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
        self._matches: dict[str, Mask] = {}
        self._says: dict[tuple[str, tuple[str, ...]], Mask] = {}
        self._worths: dict[tuple[NamedTopics, NamedTopics], Floats] = {}
        self._find_about = find_about
        self._about: dict[str, About | None] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    def search_for(self, configs: Sequence[Config]) -> None:
        """Search for everything in these settings at once, since each search reads all texts and vectors."""
        self.search_all({term for config in configs for term in config.terms})
        self.search_meanings({term for config in configs for term in (*config.topics, *config.boosts_wide)})

    def search_all(self, terms: Iterable[str]) -> None:
        """Search for all `terms` in one pass over the texts, so that `matches` need not search again."""
        rows: dict[str, list[int]] = {
            term: [] for term in terms if term not in self._matches and first_words(term)
        }
        search = terms_search(rows)
        for row, text in enumerate(self._in_steps(self._texts_folded() if rows else ())):
            for term in search(text):
                rows[term].append(row)
        for term, places in rows.items():
            self._matches[term] = np.zeros(len(self), dtype=np.bool_)
            self._matches[term][[*places, *self._label_rows(term)]] = True

    def _texts_folded(self) -> list[str]:
        if not self._texts:
            read = self._in_steps(self.candidates)
            self._texts = [fold_lightly(f"{c.title}\n{c.text}") for c in read]
        return self._texts

    def matches(self, term: str) -> Mask:
        """Return a mask of candidates with `term` as their subject (`subject_finder`), or as a label."""
        if (known := self._matches.get(term)) is None:
            texts, finds = self._texts_folded(), subject_finder(term)
            known = self._matches[term] = np.fromiter(map(finds, self._in_steps(texts)), np.bool_, len(texts))
            known[self._label_rows(term)] = True
        return known

    def says(self, topic: str, names: tuple[str, ...]) -> Mask:
        """Return a mask of candidates that match `topic`, or one of its other `names`. Computed once."""
        if not names:
            return self.matches(topic)
        if (found := self._says.get((topic, names))) is None:
            found = np.logical_or.reduce([self.matches(term) for term in (topic, *names)])
            self._says[topic, names] = found
        return found

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

    def about(self, topic: str, names: tuple[str, ...] = ()) -> Mask:
        """Return a mask of candidates that are about `topic` by meaning, and say none of its names."""
        return self.about_worth(topic, names) > 0

    def about_worth(self, topic: str, names: tuple[str, ...] = ()) -> Floats:
        """Return what `topic` adds to the interest of each candidate that `about` marks; 0 for the others."""
        self.search_meanings([topic])
        found = np.zeros(len(self))
        if (about := self._about.get(topic_key(topic))) is not None:
            rows, worths = about
            found[rows] = worths
            found[self.says(topic, names)] = 0.0
        return found

    def boost_worth(self, word: str, *, wide: bool) -> Floats:
        """Return how much of its boost `word` gives each candidate: all to one that says it.

        If it is `wide`, one that is about it by meaning gets as much as by a topic.
        """
        says = self.matches(word).astype(np.float64)
        return says + self.about_worth(word) if wide else says

    def topics_worth(self, topics: NamedTopics, wide: NamedTopics) -> Floats:
        """Return the number of `topics` that each candidate says, plus what those of `wide` add that it is
        about. Computed once: a pool is ranked for many days."""
        if (worth := self._worths.get((topics, wide))) is None:
            worth = self._worths[topics, wide] = np.zeros(len(self))
            for topic, names in topics:
                worth += self.says(topic, names)
            for topic, names in wide:
                worth += self.about_worth(topic, names)
        return worth

    def _label_rows(self, term: str) -> list[int]:
        """Return the rows of candidates that have `term` as a category or author."""
        both = self._categories(), self._authors()
        return [row for key in topic_categories(term) for rows in both for row in rows.get(key, ())]

    def labelled(self, key: str, *, author: bool) -> Sequence[int]:
        """Return the rows of the candidates that have the category, or the author, with this key."""
        return (self._authors() if author else self._categories()).get(key, ())

    def _categories(self) -> Mapping[str, list[int]]:
        """Return for each category, by its key, the rows of the candidates that have it. Computed once."""
        if self._by_category is None:
            self._by_category = {}
            for row, candidate in enumerate(self.candidates):
                for key in category_keys(candidate.categories) if candidate.categories else ():
                    self._by_category.setdefault(key, []).append(row)
        return self._by_category

    def _authors(self) -> Mapping[str, list[int]]:
        """Return for each author, by the key of their name, the rows of the candidates they wrote.

        A candidate with several authors is in the rows of each. Computed once.
        """
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
