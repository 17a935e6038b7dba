"""Categories that publishers name, and whether an item has a topic by its words or a category. Pure."""

from collections.abc import Iterable
from functools import lru_cache

from ranking.common.text import fold, known_topic, term_matches, topic_key

# Categories that name nothing: what publishing programs call entries that nobody sorted.
EMPTY_CATEGORIES = frozenset(
    {"uncategorized", "uncategorised", "allgemein", "general", "article", "blog", "post", "misc", "other"}
)
# What stands for a space in categories made for addresses: hyphens, dashes, underscores.
_SPACES = str.maketrans(dict.fromkeys("-_\u2010\u2013", " "))
# Few texts need more rounds until another one changes nothing.
_ROUNDS = 4


@lru_cache(maxsize=16384)
def category_key(category: str) -> str:
    """Return a category's identity: folded, without hyphens and a leading "#", its last word singular.

    The key of a key is itself. "" for a category of signs alone, which equals no other.
    """
    for _ in range(_ROUNDS):
        before = category
        category = topic_key(fold(category).translate(_SPACES).lstrip("# "))
        if category == before:
            break
    return category


def category_keys(categories: Iterable[str]) -> frozenset[str]:
    """Return the keys of an item's categories."""
    return frozenset(map(category_key, categories)) - {""}


@lru_cache(maxsize=4096)
def topic_categories(topic: str) -> frozenset[str]:
    """Return the keys of the categories that are the whole of `topic`, or of another name of it."""
    known = known_topic(topic, topic_key)
    return category_keys((topic, *(known.match if known else ())))


def topic_matches(topic: str, folded: str, categories: frozenset[str]) -> bool:
    """Return whether an item is about `topic`: a category of these keys is it, or folded text has it."""
    return not topic_categories(topic).isdisjoint(categories) or term_matches(topic, folded)


def topics_in_categories(topics: Iterable[str], categories: Iterable[str]) -> tuple[str, ...]:
    """Return those of `topics` that one of an item's categories is."""
    keys = category_keys(categories)
    return tuple(topic for topic in topics if not topic_categories(topic).isdisjoint(keys))
