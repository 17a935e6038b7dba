"""The names that publishers give their feeds, without what only says that they are feeds. Pure."""

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Final

from ranking.common.text import FUNCTION_WORDS, fold

# Signs between the parts of a title. Of those that are also a part of words, only lone ones count.
SEPARATORS: Final = "|｜»«·•:–—-‐>/~,;"
_ATTACHED: Final = "|｜»·•:–—"
_FORMATS: Final = frozenset(["rss", "atom"])
_FEEDS: Final = _FORMATS | {"feed", "feeds"}
# Words that go with them behind a separator: "Harbour: The Full Feed", "Harbour - Public RSS".
_FILLERS: Final = frozenset(["the", "full", "public", "main", "official", "all", "news", "of"])


def title_clean(title: str) -> str:
    """Return a feed's title without signs at its ends and without "RSS", "Feed" and the like behind its name.

    "Harbour -" and "Harbour » RSS Feed" are "Harbour". A title that has nothing else stays as it is. Applying
    it twice changes nothing.
    """
    words = title.split()
    while words != (shorter := _shorter(words)):
        words = shorter
    return " ".join(words) if _says("".join(words)) else title


def title_agreed(titles: Collection[str]) -> str:
    """Return the words that all titles begin with ("BBC News" of "BBC News - Sport"), or "" if they share
    none."""
    words = [title.split() for title in titles]
    shared = [same[0] for same in takewhile(lambda same: len({*same}) == 1, zip(*words, strict=False))]
    name = title_clean(" ".join(shared))
    return name[:200] if {*map(fold, name.split())} - {*FUNCTION_WORDS, ""} and _says(name) else ""


def _says(text: str) -> bool:
    return any(map(str.isalnum, text))


def _shorter(words: Sequence[str]) -> list[str]:
    """Return the words without one thing that is too much at an end, or all of them."""
    if words and not words[0].strip(SEPARATORS):
        return [*words[1:]]
    if words and not words[-1].strip(SEPARATORS):
        return [*words[:-1]]
    if end := _feed_words(words):
        return [*words[:-end]]
    if not words or ("«" in "".join(words) and words[-1].endswith("»")):  # a quotation
        return [*words]
    return [*words[:-1], words[-1].rstrip(_ATTACHED)]


def _feed_words(words: Sequence[str]) -> int:
    """Return how many of the last words only say that this is a feed; never all of them."""
    plain = [word.strip("()[]").casefold() for word in words]
    feeds = len([*takewhile(_FEEDS.__contains__, reversed(plain))])
    if not feeds or feeds == len(words):
        return 0
    more = len([*takewhile((_FEEDS | _FILLERS).__contains__, reversed(plain))])
    if more < len(words) and words[-more - 1][-1] in SEPARATORS:
        return more
    if _FORMATS & {*plain[-feeds:]} and more < len(words):
        return feeds
    return 1 if len(words) > 2 and plain[-2] == "news" else 0
