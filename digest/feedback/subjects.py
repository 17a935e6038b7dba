"""Subjects in a reader's own feeds, to choose from: each has a name and three headlines.

Choosing a subject names its three articles. On 30 readers with known tastes, of the tenth ranked first by
that .43 was to their taste with 50 real feeds (before anything .18), and .35 with 190 (.17). Groups by
meaning got .43 and .41, but were called "stories, tuesdays, black".
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from digest.entities import UNREAD_DAYS
from digest.errors import ItemNotFound
from digest.feedback.naming import article_name
from digest.items.meanings import vectors_for
from digest.items.selectors import items_candidates
from digest.models import Item, ItemVector, Reader
from ranking.common.text import topic_key
from ranking.entities import Candidate, EffectiveConfig
from ranking.meaning.subjects import subjects_among
from ranking.pool import Pool
from ranking.selectors import config_effective

# The newest items that are looked at: 1,500 take a second.
ITEMS_MAX = 1_500
# Fewer items make no subjects worth choosing, and fewer subjects are no choice.
ITEMS_MIN, SUBJECTS_MIN, SUBJECTS_MAX = 60, 3, 16
HEADLINES = 3
# A subject with more items than this share that the reader wants less of is not offered.
UNWANTED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject: its name, three of its items, and how many it has."""

    name: str
    items: tuple[Item, ...]
    count: int

    @property
    def key(self) -> str:
        """Return the ids of its three items, as a form sends them."""
        return ",".join(str(item.pk) for item in self.items)


def has_subjects(*, reader: Reader) -> bool:
    """Return whether enough of the reader's items have a meaning; one query."""
    mine = ItemVector.objects.filter(item__feed__subscriptions__reader=reader, meaning__isnull=False)
    return len(mine.exclude(meaning=b"").values_list("pk")[:ITEMS_MIN]) == ITEMS_MIN


def subjects_find(*, reader: Reader, now: datetime) -> list[Subject]:
    """Return the subjects of the reader's items of 30 days; none if they are too few to choose from.

    A constant number of queries. Each subject has three headlines that say its name, of different sources if
    there are three. The same items make the same subjects. A subject is left out if words that the reader
    wants less of stand in most of its items, or if its name is one that they never want suggested.
    """
    effective = config_effective(reader_id=reader.pk)
    candidates = items_candidates(reader_id=reader.pk, now=now, days=UNREAD_DAYS, limit=ITEMS_MAX)
    vectors = vectors_for([one.item_id for one in candidates])
    if int(vectors.any(axis=1).sum()) < ITEMS_MIN:
        return []
    unwanted = _unwanted(candidates, effective)
    never = {topic_key(one) for one in effective.config.avoided}
    found = [
        (one.name, chosen, len(one.rows))
        for one in subjects_among(candidates, vectors, SUBJECTS_MAX)
        if len(chosen := _headlines(candidates, one.rows)) == HEADLINES
        and topic_key(one.name) not in never
        and unwanted[[*one.rows]].mean() <= UNWANTED_SHARE
    ]
    if len(found) < SUBJECTS_MIN:
        return []
    ids = [pk for _, chosen, _ in found for pk in chosen]
    items = Item.objects.select_related("source").in_bulk(ids)
    return [Subject(name, tuple(items[pk] for pk in chosen), count) for name, chosen, count in found]


def subjects_name(*, reader: Reader, item_ids: Collection[int], now: datetime) -> int:
    """Name the articles of the chosen subjects. Return how many. Items that the reader may not see are left
    out."""
    count = 0
    for item_id in item_ids:
        try:
            article_name(reader=reader, item_id=item_id, now=now)
        except ItemNotFound:  # its feed was removed meanwhile
            continue
        count += 1
    return count


def _unwanted(candidates: Sequence[Candidate], effective: EffectiveConfig) -> NDArray[np.bool_]:
    """Return which of `candidates` have a word as their subject that the reader wants less of."""
    pool = Pool(candidates)
    less = [word for word, boost in effective.config.keyword_boosts.items() if boost < 0]
    pool.search_all(less)
    found = np.zeros(len(candidates), dtype=np.bool_)
    for word in less:
        found |= pool.matches(word)
    return found


def _headlines(candidates: Sequence[Candidate], rows: Sequence[int]) -> list[int]:
    """Return the ids of the first three of `rows` that have a title. Different sources come first."""
    titles: set[str] = set()
    sources: set[str] = set()
    first: list[int] = []
    others: list[int] = []
    for row in rows:
        one = candidates[row]
        if not one.title or one.title.casefold() in titles:
            continue
        titles.add(one.title.casefold())
        (others if one.source in sources else first).append(one.item_id)
        sources.add(one.source)
    return [*first, *others][:HEADLINES]
