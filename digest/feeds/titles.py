"""The names that publishers give their feeds, without what only says that they are feeds. Pure."""

import re
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

# The parts of an address: up to a sign or the next capital letter. So much of them tells two feeds apart.
_PARTS: Final = re.compile(r"[A-Z]?[^/._\-?=&A-Z]*[/._\-?=&]?")
TAIL_CHARS: Final = 24


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


def tails_of(names: Sequence[str], addresses: Sequence[str]) -> list[str]:
    """Return for each feed what tells it apart from others of the same name, "" if nothing needs to.

    It is the part of its address from where these differ: "atom" and "rss" of two addresses that end on
    "/feed.atom" and "/feed.rss". Of equal or missing addresses it is a number.
    """
    alike: dict[str, list[int]] = {}
    for n, name in enumerate(names):
        alike.setdefault(name.casefold(), []).append(n)
    tails = [""] * len(names)
    for rows in alike.values():
        if len(rows) > 1:
            made = _differing([_bare(addresses[n]) for n in rows])
            for place, (n, tail) in enumerate(zip(rows, made, strict=True), 1):
                tails[n] = tail if tail and made.count(tail) == 1 else str(place)
    return tails


def _bare(address: str) -> str:
    """Return an address without scheme, "www." and a slash at its end."""
    return address.partition("://")[2].removeprefix("www.").rstrip("/")


def _differing(addresses: Sequence[str]) -> list[str]:
    """Return what is left of each address without the parts that all begin with, at most `TAIL_CHARS`."""
    parts = [_PARTS.findall(address) for address in addresses]
    shared = sum(1 for _ in takewhile(lambda same: len({*same}) == 1, zip(*parts, strict=False)))
    tails = ["".join(one[shared:]).lstrip("/._-?=&") for one in parts]
    return [tail if len(tail) <= TAIL_CHARS else f"{tail[: TAIL_CHARS - 1]}…" for tail in tails]


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
