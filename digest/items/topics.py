"""How many of a reader's items have each of their topics, and which categories could be topics too."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from digest.items.selectors import items_candidates
from ranking.common.categories import EMPTY_CATEGORIES, category_key, topic_categories
from ranking.common.text import TOPIC_MAX_CHARS
from ranking.entities import Candidate
from ranking.scoring import Pool

TOPIC_DAYS = 30
# The newest so many items are looked at: some 100 ms with 20 topics.
ITEMS_MAX = 2_000
OFFERED_MAX = 12
# A category of fewer items is no help to choose by.
OFFERED_ITEMS_MIN = 3


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """How many of `total` items each topic is in, and categories that are no topic yet with theirs."""

    total: int
    topics: tuple[tuple[str, int], ...]
    offered: tuple[tuple[str, int], ...]


def topic_counts(*, reader_id: UUID, topics: Sequence[str], now: datetime) -> TopicCounts:
    """Return the counts among the reader's newest items of 30 days, 2,000 at most; two queries.

    Both are what ranking would find, in words or as a category.
    """
    candidates = items_candidates(reader_id=reader_id, now=now, days=TOPIC_DAYS, limit=ITEMS_MAX)
    pool = Pool(candidates)
    offered = _offered(candidates, topics)
    mine, others = ([(name, int(pool.matches(name).sum())) for name in names] for names in (topics, offered))
    others.sort(key=lambda pair: (-pair[1], pair[0].casefold()))
    return TopicCounts(len(candidates), tuple(mine), tuple(others))


def _offered(candidates: Sequence[Candidate], topics: Sequence[str]) -> list[str]:
    """Return the most frequent categories that are none of `topics`, as most often spelled."""
    known = EMPTY_CATEGORIES.union(*map(topic_categories, topics))
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for candidate in candidates:
        named = {category_key(name): name.strip().lstrip("#").strip() for name in candidate.categories}
        for key, spelling in named.items():
            if key not in known and any(map(str.isalpha, key)) and len(spelling) <= TOPIC_MAX_CHARS:
                spellings[key][spelling] += 1
    frequent = sorted(spellings.items(), key=lambda pair: (-pair[1].total(), pair[0]))
    enough = [counts for _, counts in frequent if counts.total() >= OFFERED_ITEMS_MIN]
    return [counts.most_common(1)[0][0] for counts in enough[:OFFERED_MAX]]
