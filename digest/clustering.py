"""Which items tell the same story, by their titles: one pass in order of time. Pure.

An item joins the story whose centroid its title is closest to, if it is close enough and at least one title
of the story shares three telling words with it. A centroid, unlike a chain of pairs, keeps two stories apart
that a third title touches (single-pass clustering with centroids: Allan, Topic Detection and Tracking, 2002).
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from ranking.function_words import FUNCTION_WORDS
from ranking.matching import fold

# How long a story runs: items further from its first one are another story.
STORY_HOURS = 72
# The cosine to a story's centroid, and the words shared with one of its titles, that make an item part of it.
# Both are chosen on half of the labelled stories (`python -m tests.bench.clusters`), precision first.
CENTROID_MIN = 0.25
SHARED_WORDS_MIN = 3
# Titles less alike than this say nothing about each other.
PAIR_MIN = 0.15
# One source tells a story once, unless it posts the same headline again: pieces of its own stay apart.
REPOST_MIN = 0.8
# A word in more than this share of the titles tells nothing, in whichever language; names of days neither.
COMMON_SHARE, COMMON_COUNT = 0.1, 20
DAYS: frozenset[str] = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february"}
    | {"march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
    | {"montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "januar", "februar"}
    | {"märz", "mai", "juni", "juli", "oktober", "dezember", "today", "heute", "update", "live", "video"}
)
# The beginnings of words are compared, in place of stems in any language ("increases" and "increased").
STEM_CHARS = 6
# What headlines are furnished with, whatever they are about ("Ten things you need to know this morning").
FURNITURE = frozenset(
    {"best", "briefing", "day", "everything", "guide", "here", "know", "links", "morning", "need", "photos"}
    | {"pictures", "questions", "reasons", "recap", "review", "roundup", "things", "tips", "top", "watch"}
    | {"ways", "week", "year", "tag", "woche", "wissen", "dinge", "morgen", "jahr"}
)
SILENT = frozenset(FUNCTION_WORDS) | DAYS | FURNITURE
ROWS = 500
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Told:
    """One item as it is compared. `story` is the cluster it is in; `fingerprint` "" compares nothing."""

    item_id: int
    source: str
    title: str
    dated_at: datetime
    fingerprint: str = ""
    story: int | None = None


@dataclass(slots=True)
class _Story:
    """A story as it grows. `norm2` is the squared length of the sum of its titles' vectors."""

    members: list[int]
    first_at: datetime
    norm2: float


def words_of(title: str) -> list[str]:
    """The telling words of a title, folded and cut to their stems: what any headline may have is missing."""
    return [
        w[:STEM_CHARS] for w in _WORD.findall(fold(title)) if (len(w) > 1 or w.isdigit()) and w not in SILENT
    ]


def stories(
    known: Sequence[Told],
    fresh: Sequence[Told],
    *,
    close: float = CENTROID_MIN,
    shared: int = SHARED_WORDS_MIN,
    once: bool = True,
) -> list[list[Told]]:
    """The stories of two items or more that hold at least one of `fresh`.

    `known` are items compared before; those with a `story` stay in it, those without may begin one with a
    fresh item. Deterministic: items go by `dated_at`, then id. Memory grows with the number of titles and, by
    blocks of 500 rows, with the pairs that share a word. The order of titles in a story is that of time.
    `once`: a source tells a story once, reposts apart.
    """
    told = sorted(known, key=_when) + sorted(fresh, key=_when)
    vectors = _vectors([item.title for item in told])
    if vectors is None:
        return []
    pass_ = _Pass(told, vectors, close, shared, once)
    pass_.begin(len(known))
    for at, sims in pass_.rows(len(known)):
        pass_.join(at, sims)
    return [
        [told[i] for i in sorted(story.members, key=lambda i: _when(told[i]))]
        for story in pass_.stories.values()
        if len(story.members) > 1 and any(i >= len(known) for i in story.members)
    ]


def _when(item: Told) -> tuple[datetime, int]:
    return item.dated_at, item.item_id


def _vectors(titles: Sequence[str]) -> Any:
    """Unit TF-IDF rows (titles x words) as CSR, or `None` where no title has a telling word."""
    most = max(COMMON_COUNT, int(COMMON_SHARE * len(titles)))
    vectorizer = TfidfVectorizer(analyzer=words_of, binary=True, max_df=most, dtype=np.float32)
    try:
        return vectorizer.fit_transform(titles)
    except ValueError:  # what scikit-learn says to an empty vocabulary
        return None


class _Pass:
    """One pass over the items of `told` in their order; positions in `told` stand for items."""

    def __init__(self, told: Sequence[Told], vectors: Any, close: float, shared: int, once: bool) -> None:
        self.told, self.vectors, self.close, self.shared, self.once = told, vectors, close, shared, once
        self.words = [frozenset(words_of(item.title)) for item in told]
        self.stories: dict[Hashable, _Story] = {}
        self.of: dict[int, Hashable] = {}
        self.by_print: dict[str, int] = {}

    def begin(self, known: int) -> None:
        """Take over the stories there are; an item of none is one of its own until another joins it."""
        groups: dict[Hashable, list[int]] = {}
        for at in range(known):
            story = self.told[at].story
            groups.setdefault(story if story is not None else ("alone", at), []).append(at)
            self._print(at)
        for key, members in groups.items():
            total = self.vectors[members].sum(axis=0)
            first = min(self.told[at].dated_at for at in members)
            self.stories[key] = _Story(members, first, float(np.square(total).sum()))
            self.of.update(dict.fromkeys(members, key))

    def rows(self, known: int) -> Iterator[tuple[int, dict[int, float]]]:
        """Each fresh item with its similarity to every title that shares a word."""
        turned = self.vectors.T.tocsr()
        for start in range(known, len(self.told), ROWS):
            block = sparse.csr_matrix(self.vectors[start : start + ROWS] @ turned)
            for row in range(block.shape[0]):
                cut = slice(block.indptr[row], block.indptr[row + 1])
                yield (
                    start + row,
                    dict(zip(block.indices[cut].tolist(), block.data[cut].tolist(), strict=True)),
                )

    def join(self, at: int, sims: dict[int, float]) -> None:
        """Put the item into the closest story that takes it, or let it begin one."""
        twin = self.by_print.get(self.told[at].fingerprint)
        key = self.of[twin] if twin is not None and self._in_time(self.of[twin], at) else None
        if key is None:
            key = self._closest(at, sims)
        dots = sum(sims.get(i, 0.0) for i in self.stories[key].members) if key is not None else 0.0
        if key is None:
            key = ("alone", at)
            self.stories[key] = _Story([], self.told[at].dated_at, 0.0)
        story = self.stories[key]
        story.members.append(at)
        story.first_at = min(story.first_at, self.told[at].dated_at)
        story.norm2 += 2 * dots + 1
        self.of[at] = key
        self._print(at)

    def _closest(self, at: int, sims: dict[int, float]) -> Hashable:
        linked = {
            self.of[i]
            for i, sim in sims.items()
            if sim >= PAIR_MIN and i in self.of and self._linked(at, i, sim)
        }
        best: tuple[float, int, Hashable] | None = None
        for key in linked:
            story = self.stories[key]
            cosine = sum(sims.get(i, 0.0) for i in story.members) / max(story.norm2, 1e-9) ** 0.5
            if cosine < self.close or not self._in_time(key, at) or not self._takes(story, at, sims):
                continue
            rank = (cosine, -story.members[0], key)
            if best is None or rank[:2] > best[:2]:
                best = rank
        return best[2] if best else None

    def _linked(self, at: int, other: int, sim: float) -> bool:
        """Whether two titles share enough words, and differ in more than a number ("Report 3", "4")."""
        mine, theirs = self.words[at], self.words[other]
        apart = mine ^ theirs
        return len(mine & theirs) >= self.shared and not (apart and all(w.isdigit() for w in apart))

    def _in_time(self, key: Hashable, at: int) -> bool:
        return abs(self.told[at].dated_at - self.stories[key].first_at) <= timedelta(hours=STORY_HOURS)

    def _takes(self, story: _Story, at: int, sims: dict[int, float]) -> bool:
        """Whether the story has nothing of the item's source yet, or the same headline from it."""
        own = [i for i in story.members if self.told[i].source == self.told[at].source]
        return not (own and self.once) or any(
            sims.get(i, 0.0) >= REPOST_MIN and self._linked(at, i, 1.0) for i in own
        )

    def _print(self, at: int) -> None:
        if print_ := self.told[at].fingerprint:
            self.by_print.setdefault(print_, at)
