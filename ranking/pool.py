"""Candidates as columns: what many rankings of the same items share, worked out once. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ranking.entities import Candidate
from ranking.matching import first_words, fold_lightly, term_finder

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_WORD = re.compile(r"\w+")


class Figures(Mapping[int, float]):
    """A number for each of some items, read one by one or for a whole column of ids at once; else 0."""

    __slots__ = ("_ids", "_values")

    def __init__(self, ids: Ids, values: NDArray[np.floating]) -> None:
        """`ids` in any order, each once, with their values."""
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

    def of(self, ids: Ids) -> Floats:
        """The value for each of `ids`, 0 where there is none."""
        if not len(self._ids):
            return np.zeros(len(ids))
        if np.array_equal(self._ids, ids):
            return self._values.astype(np.float64)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._values[at], 0.0).astype(np.float64)


def column_of(figures: Mapping[int, float], ids: Ids) -> Floats:
    """`figures` for a column of ids, 0 where there is none."""
    if isinstance(figures, Figures):
        return figures.of(ids)
    if not figures:
        return np.zeros(len(ids))
    return np.fromiter((figures.get(pk, 0.0) for pk in ids.tolist()), np.float64, len(ids))


class Pool:
    """Candidates by column. Texts are folded once, and each term is looked for once.

    One pool may serve any number of readers: `ranking.scoring.ranked` takes the rows each may see.
    `stamps` are seconds since 1970.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        """The columns of `candidates`, in their order."""
        self.candidates = candidates
        self.ids: Ids = np.array([c.item_id for c in candidates], dtype=np.int64)
        self.stamps: Floats = np.array([c.dated_at.timestamp() for c in candidates], dtype=np.float64)
        codes: dict[str, int] = {}
        self.source: Ids = np.array(
            [codes.setdefault(c.source, len(codes)) for c in candidates], dtype=np.int64
        )
        self.sources = tuple(codes)
        self._texts: list[str] = []
        self._held: dict[str, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    def look_for(self, terms: Iterable[str]) -> None:
        """Look for all of `terms` in one reading of each text: what `held` finds, for many terms at once."""
        finders = {term: term_finder(term) for term in terms if term not in self._held and first_words(term)}
        by_word: dict[str, list[str]] = {}
        for term in finders:
            for word in first_words(term):
                by_word.setdefault(word, []).append(term)
        rows: dict[str, list[int]] = {term: [] for term in finders}
        for row, text in enumerate(self._folded() if finders else ()):
            for word in by_word.keys() & _WORD.findall(text):
                for term in by_word[word]:
                    if finders[term](text):
                        rows[term].append(row)
        for term, found in rows.items():
            self._held[term] = np.zeros(len(self), dtype=np.bool_)
            self._held[term][found] = True

    def _folded(self) -> list[str]:
        if not self._texts:
            self._texts = [fold_lightly(f"{c.title}\n{c.text}") for c in self.candidates]
        return self._texts

    def held(self, term: str) -> NDArray[np.bool_]:
        """Which candidates have `term` in their title or text, as whole words."""
        if (known := self._held.get(term)) is None:
            texts, finds = self._folded(), term_finder(term)
            known = self._held[term] = np.fromiter(map(finds, texts), np.bool_, len(texts))
        return known
