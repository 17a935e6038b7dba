"""The items that a topic takes in: those that say it, and those that are about it by meaning.

There is one matcher for all: `Pool.matches` and `Pool.about`. A topic in nobody's settings has no stored
meaning yet, so it gets one from the reader's own items. A search works in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from digest.items.meanings import topics_about, vectors_for
from digest.items.selectors import items_candidates
from digest.models import Item
from ranking.common.text import topic_key
from ranking.entities import Candidate
from ranking.meaning.table import Floats, Vectors, meaning_vectors, unit_rows
from ranking.meaning.topics import Mask, centre_rows, topic_meaning
from ranking.pool import Ids, Pool

DAYS, ITEMS_MAX = 30, 2_000
# If too few items say a search, the most similar ones are shown: at most ten, none below this cosine. Of
# 1,989 items of 237 real feeds "cooking recipes" has three above it, "football results" two, "asdfgh" none.
ALIKE_MAX, ALIKE_MIN = 10, 0.45


@dataclass(frozen=True, slots=True)
class TakenIn:
    """Of `total` items of 30 days, the ids of those that say a topic, and of those that are about it.

    Newest first. `titles` are of up to five, first those that say it.
    """

    topic: str
    total: int
    says: tuple[int, ...]
    about: tuple[int, ...]
    titles: tuple[str, ...] = ()


def topics_take_in(*, reader_id: UUID, topics: Sequence[str], now: datetime) -> list[TakenIn]:
    """Return the items each topic would take in, with up to five titles, first those that say it.

    A constant number of queries.
    """
    candidates = items_candidates(reader_id=reader_id, now=now, days=DAYS, limit=ITEMS_MAX)
    pool = _own_pool(candidates)
    pool.search_all(topics)
    pool.search_meanings(topics)
    found = []
    for topic in topics:
        says, about = np.flatnonzero(pool.matches(topic)), np.flatnonzero(pool.about(topic))
        titles = [candidates[row].title for row in [*says[:3], *about][:5]]
        in_words, by_meaning = (tuple(pool.ids[rows].tolist()) for rows in (says, about))
        found.append(TakenIn(topic, len(candidates), in_words, by_meaning, tuple(titles)))
    return found


def items_about(*, reader_id: UUID, query: str, found: Sequence[int], now: datetime) -> list[Item]:
    """Return up to ten of the reader's items of 30 days that are about a query and do not say it.

    Items in `found` are left out. If too few items say it, likeness to the query itself decides. The most
    similar come first. The list is empty if the query has no meaning.
    """
    candidates = items_candidates(reader_id=reader_id, now=now, days=DAYS, limit=ITEMS_MAX)
    if not candidates:
        return []
    pool = Pool(candidates)
    vectors = vectors_for(pool.ids.tolist())
    likeness = _likeness(vectors, pool.matches(query), query)
    rows = [row for row in np.argsort(-likeness, kind="stable").tolist() if likeness[row] > 0]
    known = {*found, *pool.ids[pool.matches(query)].tolist()}
    ids = [candidates[row].item_id for row in rows if candidates[row].item_id not in known][:ALIKE_MAX]
    items = Item.objects.select_related("source").in_bulk(ids)
    return [items[pk] for pk in ids]


def _likeness(vectors: Vectors, says: Mask, query: str) -> Floats:
    """Return how similar each item is to the query, (rows,). 0 or less means that it is not about it."""
    if (meaning := topic_meaning(vectors, says)) is not None:
        found = meaning.likeness(vectors)
        return np.where(found >= meaning.cut, found, 0.0).astype(np.float32)
    known = vectors.any(axis=1)
    if not known.any():
        return np.zeros(len(vectors), dtype=np.float32)
    mean = unit_rows(vectors[known]).mean(axis=0)
    asked = centre_rows(meaning_vectors([query], [""]), mean)[0]
    found = centre_rows(vectors, mean) @ asked
    found[~known] = 0.0
    return np.where(found >= ALIKE_MIN, found, 0.0).astype(np.float32)


def _own_pool(candidates: Sequence[Candidate]) -> Pool:
    """Return a pool that finds topics by their stored meaning, or by one made from these items."""

    def find(topics: Sequence[str], item_ids: Ids) -> dict[str, Ids]:
        found = topics_about(topics, item_ids)
        missing = [topic for topic in topics if topic_key(topic) not in found]
        vectors = vectors_for(item_ids.tolist())
        for topic in missing:
            if (meaning := topic_meaning(vectors, pool.matches(topic))) is not None:
                found[topic_key(topic)] = np.flatnonzero(meaning.about(vectors))
        return found

    pool = Pool(candidates, find)
    return pool
