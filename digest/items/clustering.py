"""Group items into stories by their titles, in one pass in order of time.

An item joins the story with the closest centroid, if it is close enough and at least one title of the story
shares three significant words with it. A centroid, unlike a chain of pairs, separates two stories that a
third title touches (single-pass clustering with centroids: Allan, Topic Detection and Tracking, 2002). Pure.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from digest.items.tfidf import tfidf_rows
from ranking.common.text import FUNCTION_WORDS, fold

# Items further in time from a story's first item belong to another story.
STORY_HOURS = 72
# The cosine to a story's centroid, and the words shared with one of its titles, that an item needs to join.
# Both were chosen on half of the labelled stories (`python -m tests.lab bench.clusters`), for precision
# first.
CENTROID_MIN = 0.25
SHARED_WORDS_MIN = 3
# Equal headlines with fewer words prove nothing ("Daily briefing"), unless the texts are equal, too.
HEADLINE_WORDS_MIN = 3
# Titles less similar than this are no evidence of one story.
PAIR_MIN = 0.15
# A second item of one source joins a story only as a repost, with almost the same headline.
REPOST_MIN = 0.8
# A word in more titles than this share (and this count) is ignored, in any language.
COMMON_SHARE, COMMON_COUNT = 0.1, 20
# Words are compared by this many first letters, as a stem in any language ("increases" and "increased").
STEM_CHARS = 6
DATE_WORDS: frozenset[str] = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february"}
    | {"march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
    | {"montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "januar", "februar"}
    | {"märz", "mai", "juni", "juli", "oktober", "dezember", "today", "heute", "update", "live", "video"}
)
# Words that occur in headlines about anything ("Ten things you need to know this morning").
HEADLINE_WORDS = frozenset(
    {"best", "briefing", "day", "everything", "guide", "here", "know", "links", "morning", "need", "photos"}
    | {"pictures", "questions", "reasons", "recap", "review", "roundup", "things", "tips", "top", "watch"}
    | {"ways", "week", "year", "tag", "woche", "wissen", "dinge", "morgen", "jahr"}
)
STOP_WORDS = frozenset(FUNCTION_WORDS) | DATE_WORDS | HEADLINE_WORDS
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TitledItem:
    """One item to compare. `story` is its current story. A `fingerprint` of "" matches nothing."""

    item_id: int
    source: str
    title: str
    dated_at: datetime
    fingerprint: str = ""
    story: int | None = None


class StoryTitle(NamedTuple):
    """One item of a stored story: its article, and the words of its title.

    `same_as` is the folded title and text, set only if the title has too few words to link it to others.
    """

    story: int
    article: int
    words: frozenset[str]
    same_as: str = ""


@dataclass(slots=True)
class _Story:
    """A growing story. `norm2` is the squared length of the sum of its titles' vectors."""

    members: list[int]
    first_at: datetime
    norm2: float


def title_stems(title: str) -> list[str]:
    """Return the significant words of a title, folded and cut to stems, without stop words."""
    return [
        w[:STEM_CHARS]
        for w in _WORD.findall(fold(title))
        if (len(w) > 1 or w.isdigit()) and w not in STOP_WORDS
    ]


def title_proves(title: str, *, has_text: bool) -> bool:
    """Return whether an equal title (and text) on another item proves that it is the same story."""
    return has_text or len(title_stems(title)) >= HEADLINE_WORDS_MIN


def titles_linked(mine: frozenset[str], theirs: frozenset[str], shared: int = SHARED_WORDS_MIN) -> bool:
    """Return whether two titles share enough words and differ in more than a number ("Report 3", "4")."""
    different = mine ^ theirs
    return len(mine & theirs) >= shared and not (different and all(w.isdigit() for w in different))


def story_title(*, story: int, article: int, title: str, text: str) -> StoryTitle:
    """Return the facts about an item that `stories_split` compares."""
    words = frozenset(title_stems(title))
    is_short = len(words) < SHARED_WORDS_MIN and title_proves(title, has_text=bool(text))
    return StoryTitle(story, article, words, f"{fold(title)}\n{fold(text)}" if is_short else "")


def stories_split(titles: Iterable[StoryTitle]) -> dict[int, int]:
    """Return {article: key of its story} using only `titles`; an article that is alone is missing.

    Stored stories are made of all readers' items. The link between two titles may be an item of a feed that
    this reader does not read. Then anybody who writes a headline between two articles could hide one behind
    the other. So two articles count as one story only if items of one stored story link them directly, or
    through items in `titles`. Applied to all items of a story, it returns the whole story, because each item
    joined by such a link.
    """
    by_story: defaultdict[int, list[StoryTitle]] = defaultdict(list)
    for one in titles:
        by_story[one.story].append(one)
    parents: dict[int, int] = {}

    def root(article: int) -> int:
        while (parent := parents.setdefault(article, article)) != article:
            article = parent
        return article

    for waiting in by_story.values():
        while waiting:
            reached = [waiting.pop()]
            for one in reached:
                apart: list[StoryTitle] = []
                for other in waiting:
                    (reached if _is_one_story(one, other) else apart).append(other)
                waiting[:] = apart
            least = min(root(one.article) for one in reached)
            parents.update((root(one.article), least) for one in reached)
    joined: defaultdict[int, list[int]] = defaultdict(list)
    for article in parents:
        joined[root(article)].append(article)
    return {article: key for key, articles in joined.items() if len(articles) > 1 for article in articles}


def _is_one_story(one: StoryTitle, other: StoryTitle) -> bool:
    same = one.article == other.article or (one.same_as and one.same_as == other.same_as)
    return bool(same) or titles_linked(one.words, other.words)


def cluster_items(
    known: Sequence[TitledItem],
    fresh: Sequence[TitledItem],
    *,
    close: float = CENTROID_MIN,
    shared: int = SHARED_WORDS_MIN,
    once: bool = True,
) -> list[list[TitledItem]]:
    """Return the stories with two or more items and at least one of `fresh`, each in order of time.

    `known` are items compared before. Those with a `story` stay in it; those without may start one with a
    fresh item. Deterministic: items are taken by `dated_at`, then id. Memory grows with the number of titles.
    With `once`, a source has only one item in a story, except reposts.
    """
    items = sorted(known, key=_time_order) + sorted(fresh, key=_time_order)
    document_max = max(COMMON_COUNT, int(COMMON_SHARE * len(items)))
    grouping = _Grouping(items, document_max, close, shared, once)
    grouping.start(len(known))
    for at, similarities in grouping.similarities(len(known)):
        grouping.assign(at, similarities)
    return [
        [items[i] for i in sorted(story.members, key=lambda i: _time_order(items[i]))]
        for story in grouping.stories.values()
        if len(story.members) > 1 and any(i >= len(known) for i in story.members)
    ]


def _time_order(item: TitledItem) -> tuple[datetime, int]:
    return item.dated_at, item.item_id


class _Grouping:
    """One pass over `items` in their order. An item is referred to by its position in `items`."""

    def __init__(
        self, items: Sequence[TitledItem], documents_max: int, close: float, shared: int, once: bool
    ) -> None:
        self.items, self.close, self.shared, self.once = items, close, shared, once
        self.stems = [frozenset(title_stems(item.title)) for item in items]
        self.vectors = tfidf_rows(map(sorted, self.stems), documents_max=documents_max)
        self.stories: dict[Hashable, _Story] = {}
        self.story_of: dict[int, Hashable] = {}
        self.by_fingerprint: dict[str, int] = {}

    def start(self, known: int) -> None:
        """Take over the existing stories. An item without one is alone until another joins it."""
        groups: dict[Hashable, list[int]] = {}
        for at in range(known):
            story = self.items[at].story
            groups.setdefault(story if story is not None else ("alone", at), []).append(at)
            self._index_fingerprint(at)
        for key, members in groups.items():
            first = min(self.items[at].dated_at for at in members)
            self.stories[key] = _Story(members, first, self._squared_length(members))
            self.story_of.update(dict.fromkeys(members, key))

    def similarities(self, known: int) -> Iterator[tuple[int, dict[int, float]]]:
        """Yield (position of a fresh item, {position of a title that shares a word: similarity})."""
        starts, terms, weights = self.vectors.starts, self.vectors.terms, self.vectors.weights
        by_term = np.argsort(terms, kind="stable")
        titles, shares = self.vectors.rows[by_term], weights[by_term]
        bounds = np.searchsorted(terms[by_term], np.arange(self.vectors.width + 1))
        sums = np.zeros(len(self.items))
        for at in range(known, len(self.items)):
            for entry in range(starts[at], starts[at + 1]):
                having = slice(bounds[terms[entry]], bounds[terms[entry] + 1])
                sums[titles[having]] += weights[entry] * shares[having]
            near = np.flatnonzero(sums)
            yield at, dict(zip(near.tolist(), sums[near].tolist(), strict=True))
            sums[near] = 0.0

    def _squared_length(self, members: Sequence[int]) -> float:
        """Return the squared length of the sum of the members' vectors."""
        cuts = [slice(self.vectors.starts[at], self.vectors.starts[at + 1]) for at in members]
        terms = np.concatenate([self.vectors.terms[cut] for cut in cuts])
        places = np.unique(terms, return_inverse=True)[1]
        sums = np.bincount(places, np.concatenate([self.vectors.weights[cut] for cut in cuts]))
        return float(sums @ sums)

    def assign(self, at: int, sims: dict[int, float]) -> None:
        """Put the item into the closest story that accepts it, or start a new story."""
        item = self.items[at]
        same_text = self.by_fingerprint.get(item.fingerprint)
        key = self.story_of[same_text] if same_text is not None else None
        if key is None or not self._in_time(key, at):
            key = self._closest(at, sims)
        if key is None:
            key = ("alone", at)
            self.stories[key] = _Story([], item.dated_at, 0.0)
        story = self.stories[key]
        story.norm2 += 2 * sum(sims.get(i, 0.0) for i in story.members) + 1
        story.members.append(at)
        story.first_at = min(story.first_at, item.dated_at)
        self.story_of[at] = key
        self._index_fingerprint(at)

    def _closest(self, at: int, sims: dict[int, float]) -> Hashable:
        linked = {
            self.story_of[i]
            for i, sim in sims.items()
            if sim >= PAIR_MIN and i in self.story_of and self._are_linked(at, i)
        }
        best: tuple[float, int, Hashable] | None = None
        for key in linked:
            story = self.stories[key]
            cosine = sum(sims.get(i, 0.0) for i in story.members) / max(story.norm2, 1e-9) ** 0.5
            if cosine < self.close or not self._in_time(key, at) or not self._accepts(story, at, sims):
                continue
            rank = (cosine, -story.members[0], key)
            if best is None or rank[:2] > best[:2]:
                best = rank
        return best[2] if best else None

    def _are_linked(self, at: int, other: int) -> bool:
        return titles_linked(self.stems[at], self.stems[other], self.shared)

    def _in_time(self, key: Hashable, at: int) -> bool:
        return abs(self.items[at].dated_at - self.stories[key].first_at) <= timedelta(hours=STORY_HOURS)

    def _accepts(self, story: _Story, at: int, sims: dict[int, float]) -> bool:
        """Return whether the story has no item of this source yet, or the same headline from it."""
        own = [i for i in story.members if self.items[i].source == self.items[at].source]
        return not (own and self.once) or any(
            sims.get(i, 0.0) >= REPOST_MIN and self._are_linked(at, i) for i in own
        )

    def _index_fingerprint(self, at: int) -> None:
        if fingerprint := self.items[at].fingerprint:
            self.by_fingerprint.setdefault(fingerprint, at)
