"""Subjects in a reader's own feeds, to choose from: groups by meaning, each with three headlines.

Choosing a subject names its three articles. On 30 readers with known tastes and 50 real feeds, of the tenth
ranked first by that .35 was to their taste, after twenty answers .26, and before anything .16.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from digest.entities import UNREAD_DAYS
from digest.errors import ItemNotFound
from digest.feedback.naming import article_name
from digest.items.meanings import vectors_for
from digest.items.selectors import items_candidates
from digest.models import Item, ItemVector, Reader
from ranking.common.categories import category_key
from ranking.entities import Candidate
from ranking.meaning.groups import groups_of
from ranking.meaning.table import TEXT_CHARS
from ranking.meaning.topics import Mask
from ranking.meaning.words import words_apart, words_of_items

# The newest items that are looked at: 1,500 take half a second.
ITEMS_MAX = 1_500
# Fewer items make no subjects worth choosing. About twenty make one.
ITEMS_MIN, ITEMS_EACH, SUBJECTS_MAX = 60, 20, 24
HEADLINES = 3
# A category names a subject if this share of its items have it, and three times the share of all items.
CATEGORY_SHARE, CATEGORY_LIFT = 0.3, 3
# Of the words that set a subject apart those name it that are this many times as frequent there.
NAME_WORDS, WORD_LIFT = 3, 5


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject: its name ("" if no word sets it apart), three of its items, and how many it has."""

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
    """Return the subjects of the reader's items of 30 days; a constant number of queries.

    Those whose items are most alike come first. Each has three headlines of different sources; what has
    fewer is left out. The same items make the same subjects.
    """
    candidates = items_candidates(reader_id=reader.pk, now=now, days=UNREAD_DAYS, limit=ITEMS_MAX)
    vectors = vectors_for([one.item_id for one in candidates])
    known = int(vectors.any(axis=1).sum())
    if known < ITEMS_MIN:
        return []
    labels, likeness = groups_of(vectors, min(SUBJECTS_MAX, known // ITEMS_EACH))
    words = words_of_items(f"{one.title} {one.text[:TEXT_CHARS]}" for one in candidates)
    found: list[tuple[str, list[int], int]] = []
    groups = range(int(labels.max()) + 1)
    for group in sorted(groups, key=lambda group: -float(likeness[labels == group].mean())):
        inside = labels == group
        rows = np.flatnonzero(inside)
        chosen = _headlines(candidates, rows[np.argsort(-likeness[rows], kind="stable")].tolist())
        if len(chosen) == HEADLINES:
            found.append((group_name(candidates, words, inside), chosen, len(rows)))
    ids = [pk for _, chosen, _ in found for pk in chosen]
    items = Item.objects.select_related("source").in_bulk(ids)
    return [Subject(name, tuple(items[pk] for pk in chosen), count) for name, chosen, count in found]


def subjects_name(*, reader: Reader, item_ids: Collection[int], now: datetime) -> int:
    """Name the articles of the chosen subjects; return how many. What the reader may not see is left out."""
    count = 0
    for item_id in item_ids:
        try:
            article_name(reader=reader, item_id=item_id, now=now)
        except ItemNotFound:  # its feed was removed meanwhile
            continue
        count += 1
    return count


def group_name(candidates: Sequence[Candidate], words: Sequence[dict[str, str]], inside: Mask) -> str:
    """Return a name for the items `inside`: their category, if one sets them apart, and their own words."""
    apart = [one.word for one in words_apart(words, inside) if one.lift >= WORD_LIFT][:NAME_WORDS]
    category = _category_apart(candidates, inside)
    names = [category, *(word for word in apart if word not in category.casefold())] if category else apart
    return ", ".join(names[:NAME_WORDS])


def _category_apart(candidates: Sequence[Candidate], inside: Mask) -> str:
    within: Counter[str] = Counter()
    everywhere: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for one, is_inside in zip(candidates, inside.tolist(), strict=True):
        for key, name in {category_key(name): name for name in one.categories}.items():
            everywhere[key] += 1
            if is_inside:
                within[key] += 1
                spelling.setdefault(key, name.strip())
    size, total = int(inside.sum()), len(candidates)
    for key, count in within.most_common():
        share = count / size
        if share < CATEGORY_SHARE:
            break
        if share >= CATEGORY_LIFT * everywhere[key] / total:
            return spelling[key]
    return ""


def _headlines(candidates: Sequence[Candidate], rows: Sequence[int]) -> list[int]:
    """Return the ids of the first three of `rows` that have a title, of different sources and titles."""
    chosen: list[int] = []
    seen: set[str] = set()
    for row in rows:
        one = candidates[row]
        if not one.title or {one.source, one.title.casefold()} & seen:
            continue
        seen |= {one.source, one.title.casefold()}
        chosen.append(one.item_id)
        if len(chosen) == HEADLINES:
            break
    return chosen
