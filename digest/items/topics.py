"""Count how many of a reader's items each topic matches, and suggest labels as topics."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import UUID

from digest.items.meanings import topics_about
from digest.items.selectors import items_candidates
from digest.places import articles_shared
from ranking.common.categories import EMPTY_CATEGORIES, author_names, category_key, topic_categories
from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.entities import Candidate
from ranking.meaning.words import Z_MIN, words_apart, words_of_items
from ranking.pool import Mask, Pool

TOPIC_DAYS = 30
# How many of the newest items are read: about 100 ms with 20 topics.
ITEMS_MAX = 2_000
OFFERED_MAX = 12
# A category or author with fewer items is no help in choosing.
OFFERED_ITEMS_MIN = 3
_PART = re.compile(r"[^\W_]+")
NO_NAMES: Mapping[str, Sequence[str]] = {}
# Limits for words that may be other names of a topic: how many are proposed, how many characters of the text
# are read beside the title, and how many times as frequent they must be in the topic's items as in others.
NAMES_PROPOSED, TEXT_CHARS, LIFT_MIN = 5, 400, 5.0
# An author of more than this share of a source is better chosen through the source's weight.
AUTHOR_SHARE_MAX = 0.8


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """How many of `total` items each topic matches, and categories and authors that are not topics yet.

    `topics` counts matches by words, another name or a label. `meanings` has the topics that also match by
    meaning, and how many more items each matches so. `names` has for each topic words that could be other
    names of it: they set its items apart from the others.
    """

    total: int
    topics: tuple[tuple[str, int], ...]
    meanings: tuple[tuple[str, int], ...]
    categories: tuple[tuple[str, int], ...]
    authors: tuple[tuple[str, int], ...]
    names: tuple[tuple[str, tuple[str, ...]], ...]


def topic_counts(
    *,
    reader_id: UUID,
    topics: Sequence[str],
    now: datetime,
    names: Mapping[str, Sequence[str]] = NO_NAMES,
    words: Sequence[str] = (),
) -> TopicCounts:
    """Return the counts over the reader's newest items of 30 days, at most 2,000; four queries.

    They count the items that ranking would match, by words, another name or a label. `names` has the other
    names of topics, by the key of the topic. Of boosted `words` only what they match by meaning is counted.
    """
    candidates = items_candidates(reader_id=reader_id, now=now, days=TOPIC_DAYS, limit=ITEMS_MAX)
    pool = Pool(candidates, topics_about, in_steps=articles_shared)
    pool.search_meanings([*topics, *words])
    known = EMPTY_CATEGORIES.union(*map(topic_categories, topics))
    categories = _frequent_labels((one.categories for one in candidates), known)
    authors = _authors(candidates, known.union(map(category_key, categories)))
    says = {topic: pool.says(topic, tuple(names.get(topic_key(topic), ()))) for topic in topics}
    mine = [(topic, int(found.sum())) for topic, found in says.items()]
    others = [[(name, int(pool.matches(name).sum())) for name in labels] for labels in (categories, authors)]
    for rows in others:
        rows.sort(key=lambda pair: (-pair[1], pair[0].casefold()))
    meanings = [
        (term, int((pool.about(term) & ~says.get(term, pool.matches(term))).sum()))
        for term in dict.fromkeys((*topics, *words))
        if pool.has_meaning(term)
    ]
    texts = words_of_items(f"{one.title}\n{one.text[:TEXT_CHARS]}" for one in candidates)
    known_names = {topic_key(name) for name in (*topics, *chain(*names.values()))}
    proposed = [(topic, names_proposed(texts, found, known_names)) for topic, found in says.items()]
    return TopicCounts(
        total=len(candidates),
        topics=tuple(mine),
        meanings=tuple(meanings),
        categories=tuple(others[0]),
        authors=tuple(others[1]),
        names=tuple(proposed),
    )


def names_proposed(items: Sequence[dict[str, str]], says: Mask, known: Collection[str]) -> tuple[str, ...]:
    """Return up to five words that set the items of a topic apart and are no part of a `known` name's key.

    `items` come from `words_of_items`. `says` (rows,) tells for each whether it says the topic.
    """
    parts = {topic_key(part) for key in known for part in _PART.findall(key)}
    found = words_apart(items, says) if says.any() and not says.all() else []
    clear = (one.word for one in found if one.z > Z_MIN and one.lift >= LIFT_MIN)
    return tuple(word for word in clear if topic_key(word) not in parts)[:NAMES_PROPOSED]


def _authors(candidates: Sequence[Candidate], known: frozenset[str]) -> list[str]:
    """Return the most frequent authors, without those who write most of a source."""
    by_source: defaultdict[str, Counter[str]] = defaultdict(Counter)
    names = [author_names(one.author) if one.author else () for one in candidates]
    for one, named in zip(candidates, names, strict=True):
        by_source[one.source].update({category_key(name) for name in named})
    totals = Counter(one.source for one in candidates)
    whole = {
        key
        for source, counts in by_source.items()
        for key, count in counts.items()
        if count >= AUTHOR_SHARE_MAX * totals[source]
    }
    return _frequent_labels(names, known | whole)


def _frequent_labels(labels: Iterable[Sequence[str]], known: frozenset[str] | set[str]) -> list[str]:
    """Return the most frequent labels whose keys are not `known`, in their most frequent spelling."""
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for of_item in labels:
        named = {category_key(name): name.strip().lstrip("#").strip() for name in of_item}
        for key, spelling in named.items():
            if key not in known and any(map(str.isalpha, key)) and len(spelling) <= TOPIC_MAX_CHARS:
                spellings[key][spelling] += 1
    frequent = sorted(spellings.items(), key=lambda pair: (-pair[1].total(), pair[0]))
    enough = [counts for _, counts in frequent if counts.total() >= OFFERED_ITEMS_MIN]
    return [counts.most_common(1)[0][0] for counts in enough[:OFFERED_MAX]]
