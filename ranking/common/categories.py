"""Compare the labels of items (categories and authors), and tell whether an item has a topic. Pure."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from ranking.common.text import fold, known_topic, subject_finder, topic_key

# Default categories of publishing programs, which say nothing about an item.
EMPTY_CATEGORIES = frozenset(
    {"uncategorized", "uncategorised", "allgemein", "general", "article", "blog", "post", "misc", "other"}
)
# Default authors of publishing programs and newsrooms. These are keys, so they are singular.
EMPTY_AUTHORS = frozenset(
    {"admin", "administrator", "anonymous", "author", "editor", "guest", "newsroom", "redaktion", "root"}
    | {"staff", "team", "unknown", "user", "webmaster"}
)
# Separators between the names of several authors.
_BETWEEN_NAMES = re.compile(r" ?[,;/|&] ?| (?:and|und|et) ", re.IGNORECASE)
_BY = re.compile(r"^\s*(?:by|von)\s+", re.IGNORECASE)
# Categories made for addresses have hyphens, dashes or underscores in place of spaces.
_SPACES = str.maketrans(dict.fromkeys("-_\u2010\u2013", " "))
# Folding is repeated until nothing changes. Few texts need more repeats than this.
_ROUNDS = 4


@lru_cache(maxsize=16384)
def category_key(category: str) -> str:
    """Return a category's identity: folded, without hyphens and a leading "#", with its last word singular.

    The key of a key is itself. A category of signs only has the key "", which equals no other category.
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


@lru_cache(maxsize=16384)
def author_names(author: str) -> tuple[str, ...]:
    """Return the names in an item's author: "By Ada Hill and Ben Low" has two, "Hill, Ada" is one.

    Names such as "admin" are left out, and single letters ("M.").
    """
    whole = " ".join(_BY.sub("", author).split())
    parts = [part for part in _BETWEEN_NAMES.split(whole) if part]
    names = parts if any(" " in part for part in parts) else [whole]
    known = (name for name in names if category_key(name) not in {"", *EMPTY_AUTHORS})
    return tuple(name for name in known if sum(map(str.isalnum, name)) > 1)


def label_keys(categories: Iterable[str], author: str) -> frozenset[str]:
    """Return the keys of an item's labels, which are its categories and the names of its authors."""
    return category_keys((*categories, *author_names(author))) if author else category_keys(categories)


@lru_cache(maxsize=4096)
def topic_categories(topic: str) -> frozenset[str]:
    """Return the keys of categories that equal `topic` or another name of it."""
    known = known_topic(topic, topic_key)
    return category_keys((topic, *(known.match if known else ())))


def topic_matches(topic: str, folded: str, labels: frozenset[str]) -> bool:
    """Return whether an item has `topic`: as one of its labels (`label_keys`), or as its subject.

    `folded` is its title, a new line and its text, after `fold_lightly` (see `subject_finder`).
    """
    return topic_finder(topic)(folded, labels)


def topic_finder(topic: str) -> Callable[[str, frozenset[str]], bool]:
    """Return a function like `topic_matches` for one topic, fast for many items."""
    named, finds = topic_categories(topic), subject_finder(topic)
    return lambda folded, labels: not named.isdisjoint(labels) or finds(folded)


def named_finder(topic: str, names: Iterable[str]) -> Callable[[str, frozenset[str]], bool]:
    """Return a function like `topic_finder` that also finds the other `names` of the topic."""
    finders = [topic_finder(one) for one in (topic, *names)]
    return lambda folded, labels: any(finds(folded, labels) for finds in finders)


def topics_among(topics: Iterable[str], keys: frozenset[str]) -> tuple[str, ...]:
    """Return the topics that equal one of an item's labels, given as `keys`."""
    return tuple(topic for topic in topics if not topic_categories(topic).isdisjoint(keys))
