"""The items that a topic takes in: those that say it, and those that are about it by meaning.

There is one matcher for all: `Pool.matches` and `Pool.about`. A topic in nobody's settings has no stored
meaning yet, so it gets one from the reader's own items. A search works in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from digest.items.meanings import about_of, topics_about, vectors_for
from digest.items.selectors import items_candidates
from digest.models import Item
from digest.places import articles_shared, turn_let_pass
from ranking.common.categories import topic_categories
from ranking.common.text import topic_key
from ranking.entities import Candidate
from ranking.meaning.table import Floats, Vectors, known_words, meaning_vectors, unit_rows
from ranking.meaning.topics import centre_rows, topic_meaning
from ranking.pool import About, Ids, Pool

DAYS, ITEMS_MAX = 30, 2_000
# If too few items say a search, the most similar ones are shown: at most ten, none below this cosine. Of
# 1,989 items of 237 real feeds "cooking recipes" has three above it, "football results" two, "asdfgh" none.
ALIKE_MAX, ALIKE_MIN = 10, 0.45
# Of real items that join a topic by meaning 31 % are about it, of those above this worth 57 %
# (`ranking.meaning.topics`).
CLEAR_WORTH = 0.87
# As many as a page of a search has.
FILED_MAX = 20


@dataclass(frozen=True, slots=True)
class TakenIn:
    """Of `total` items, the ids of those that say a topic, and of those that are about it.

    Newest first. `clear` are those of `about` that surely are, the surest first. `titles` are of up to five,
    first those that say it.
    """

    topic: str
    total: int
    says: tuple[int, ...]
    about: tuple[int, ...]
    titles: tuple[str, ...] = ()
    clear: tuple[int, ...] = ()


def topics_take_in(*, reader_id: UUID, topics: Sequence[str], now: datetime) -> list[TakenIn]:
    """Return the items of 30 days each topic would take in. A constant number of queries."""
    candidates = items_candidates(reader_id=reader_id, now=now, days=DAYS, limit=ITEMS_MAX)
    return taken_of(candidates, topics)


def taken_of(candidates: Sequence[Candidate], topics: Sequence[str]) -> list[TakenIn]:
    """Return the items among `candidates` that each topic would take in, with up to five titles, first those
    that say it. Two queries, and one for each 10,000 items."""
    pool = _own_pool(candidates)
    pool.search_all(topics)
    pool.search_meanings(topics)
    found = []
    for topic in topics:
        worth = pool.about_worth(topic)
        says, about = np.flatnonzero(pool.matches(topic)), np.flatnonzero(worth)
        surest = np.argsort(-worth, kind="stable")
        clear = tuple(pool.ids[surest[worth[surest] >= CLEAR_WORTH]].tolist())
        titles = [candidates[row].title for row in [*says[:3], *about][:5]]
        in_words, by_meaning = (tuple(pool.ids[rows].tolist()) for rows in (says, about))
        found.append(TakenIn(topic, len(candidates), in_words, by_meaning, tuple(titles), clear))
    return found


@dataclass(frozen=True, slots=True)
class Alike:
    """Items about a query that do not say it: the `filed` first ones have it as category or author.

    The others are alike, the most similar first, to `words`: the query, or its known words.
    """

    words: str = ""
    items: tuple[Item, ...] = ()
    filed: int = 0


def items_about(*, reader_id: UUID, query: str, found: Sequence[int], now: datetime) -> Alike:
    """Return the reader's items of 30 days that are about a query and do not say it.

    First, newest first, up to twenty that have it as category or author: the index of the search has only
    titles and texts. Then up to ten by meaning. Items in `found` are left out. If too few items say it,
    likeness to its known words decides: those in the table, or in an item. If no word is known, there
    are none by meaning.
    """
    candidates = items_candidates(reader_id=reader_id, now=now, days=DAYS, limit=ITEMS_MAX)
    if not candidates:
        return Alike()
    pool = Pool(candidates, in_steps=articles_shared)
    vectors = vectors_for(pool.ids.tolist())
    turn_let_pass()
    words, likeness = _likeness(vectors, pool, query)
    turn_let_pass()
    filed = [pk for pk in _filed_under(pool, query) if pk not in found][:FILED_MAX]
    rows = [row for row in np.argsort(-likeness, kind="stable").tolist() if likeness[row] > 0]
    known = {*found, *pool.ids[pool.matches(query)].tolist()}
    ids = [candidates[row].item_id for row in rows if candidates[row].item_id not in known][:ALIKE_MAX]
    items = Item.objects.select_related("source").in_bulk([*filed, *ids])
    return Alike(query if filed else words, tuple(items[pk] for pk in (*filed, *ids)), len(filed))


def _filed_under(pool: Pool, query: str) -> list[int]:
    """Return the items with a category or an author of this name, newest first."""
    keys = topic_categories(query)
    rows = {row for key in keys for author in (False, True) for row in pool.labelled(key, author=author)}
    return [pool.candidates[row].item_id for row in sorted(rows)]


def _likeness(vectors: Vectors, pool: Pool, query: str) -> tuple[str, Floats]:
    """Return the words that were compared, and how similar each item is to them, (rows,); 0 if it is not."""
    if (meaning := topic_meaning(vectors, pool.matches(query))) is not None:
        found = meaning.likeness(vectors)
        return query, np.where(found >= meaning.cut, found, 0.0).astype(np.float32)
    known = vectors.any(axis=1)
    words = " ".join(known_words(query, or_if=lambda word: bool(pool.matches(word).any())))
    if not words or not known.any():
        return "", np.zeros(len(vectors), dtype=np.float32)
    mean = unit_rows(vectors[known]).mean(axis=0)
    asked = centre_rows(meaning_vectors([words], [""]), mean)[0]
    found = centre_rows(vectors, mean) @ asked
    found[~known] = 0.0
    return words, np.where(found >= ALIKE_MIN, found, 0.0).astype(np.float32)


def _own_pool(candidates: Sequence[Candidate]) -> Pool:
    """Return a pool that finds topics by their stored meaning, or by one made from these items."""

    def find(topics: Sequence[str], item_ids: Ids) -> dict[str, About]:
        found = topics_about(topics, item_ids)
        missing = [topic for topic in topics if topic_key(topic) not in found]
        vectors = vectors_for(item_ids.tolist())
        for topic in missing:
            if (meaning := topic_meaning(vectors, pool.matches(topic))) is not None:
                found[topic_key(topic)] = about_of(meaning.worth(vectors))
        return found

    pool = Pool(candidates, find, in_steps=articles_shared)
    return pool
