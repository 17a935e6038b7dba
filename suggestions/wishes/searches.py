"""Saved searches in a reader's own words: save one, remove one, make one a topic. Pure.

"Save a search for harbour in Gazette", "lösche die Suche nach Hafen", "make my search harbour a topic". Each
sentence is read by itself. Sentences about no search are left to the grammar of settings.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from ranking.common.text import fold
from suggestions.wishes.lexicon import SETS

SAVE, REMOVE, TOPIC = "save", "remove", "topic"


_FOR = "(?:for|of|about|called|named|nach|zu|zum|über|namens|mit)"
_NOUN = "(?:search|searches|suchen?)"
_SAVES = "save|keep|store|remember|add|create|make|lege?|speichere?|merke?|behalte"
_REMOVES = "remove|delete|forget|drop|lösche?|entferne?|vergiss"
# "the saved search for harbour": the words before the noun and after it say that a search is meant.
_SEARCH = (
    "(?P<lead>(?:(?:an?|the|this|that|my|die|der|das|einer?|meiner?|diese|aus|from|saved|new|neuen?|"
    f"gespeicherten?|gemerkten?|please|bitte|me|mir|dir) )*){_NOUN}(?P<colon>:?)(?P<about>(?: {_FOR}:?)?)"
    " (?P<query>.+?)"
)
_SAVED = (
    "and (?:save|keep|remember) (?:it|that|the search)|und (?:speichere|merke?)(?: dir)? (?:sie|das|es)"
    "(?: dir)?"
)
_PATTERNS = [
    (deed, re.compile(rf"\A(?:(?:please|bitte) )?{pattern}", re.IGNORECASE))
    for deed, pattern in (
        (SAVE, f"(?:{_NOUN}|such) {_FOR} (?P<query>.+) (?:{_SAVED})"),
        (TOPIC, f"(?:make|turn|mache?) {_SEARCH} (?:(?:into |to )?(?:one of my topics|an? topic|my topic)|"
                "(?:zu )?(?:einem|zum|ein) thema)"),
        (SAVE, f"(?:{_SAVES}) (?P<query>.+) (?:as (?:a|a saved|my)? ?search|als suche)"),
        (REMOVE, f"(?:{_REMOVES}) (?P<query>.+) (?:from my (?:saved )?searches|aus meinen suchen)"),
        (SAVE, f"(?:{_SAVES}) {_SEARCH}(?: an| ab)?"),
        (REMOVE, f"(?:{_REMOVES}) {_SEARCH}"),
    )
]  # fmt: skip
_WHERE = frozenset(["in", "from", "bei", "aus", "von"])
_ARTICLES = SETS["articles"]
_SENTENCES = re.compile(r"[;\n]|[.!?](?:\s|$)")


@dataclass(frozen=True, slots=True)
class SearchWish:
    """A wish about a saved search: `SAVE`, `REMOVE` or `TOPIC`, and the words of the search.

    `is_named` is false if the sentence may be about something else, such as "remove search engines". `typed`
    is the whole sentence.
    """

    deed: str
    query: str
    is_named: bool
    typed: str = ""


def searches_read(text: str) -> tuple[list[SearchWish], str]:
    """Return the wishes of `text` about saved searches, and the rest of it."""
    wishes, rest = [], []
    for sentence in _SENTENCES.split(text):
        if not sentence.strip():
            continue
        wish = _sentence_read(" ".join(sentence.split()))
        if wish and wish.query:
            wishes.append(replace(wish, typed=sentence.strip()))
        else:
            rest.append(sentence.strip())
    return wishes, "; ".join(rest)


def source_last(query: str, named: Collection[str]) -> tuple[str, str]:
    """Return the words to search for, and the source's name after "in", "" for none.

    `named` are the folded names of the reader's sources.
    """
    words = query.split()
    for at in range(len(words) - 1, 0, -1):
        if words[at - 1].lower() in _WHERE and at > 1:
            name = words[at + 1 :] if words[at].lower() in _ARTICLES and words[at + 1 :] else words[at:]
            for typed in (" ".join(words[at:]), " ".join(name)):
                if fold(typed) in named:
                    return " ".join(words[: at - 1]), typed
    return query, ""


def _sentence_read(sentence: str) -> SearchWish | None:
    for deed, pattern in _PATTERNS:
        if found := pattern.fullmatch(sentence):
            groups = found.groupdict()
            is_named = "lead" not in groups or bool(groups["lead"] or groups["colon"] or groups["about"])
            return SearchWish(deed, groups["query"], is_named) if is_named or deed != SAVE else None
    return None
