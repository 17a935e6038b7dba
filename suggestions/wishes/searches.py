"""Saved searches in a reader's own words: save one, remove one, make one a topic. Pure.

"Save a search for harbour in Gazette", "lösche die Suche nach Hafen", "make my search harbour a topic". Each
sentence is read by itself. Sentences about no search are left to the grammar of settings.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ranking.common.text import fold

SAVE, REMOVE, TOPIC = "save", "remove", "topic"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SAVES = _words("save keep store remember add create make lege leg speichere speicher merke merk behalte")
_REMOVES = _words("remove delete forget drop lösche lösch entferne entfern vergiss")
_VERBS = {**dict.fromkeys(_SAVES, SAVE), **dict.fromkeys(_REMOVES, REMOVE)}
_MAKES = _words("make turn mach mache")
_NOUNS = _words("search searches suche suchen")
_FILLERS = _words("please bitte me mir dir")
_ARTICLES = _words("a an the this that my die der das eine einer meine meiner diese aus from")
_KINDS = _words("saved new gespeicherte gespeicherten gemerkte gemerkten neue neuen")
_BEFORE = _words("for of about called named nach zu zum über namens mit")
_TAILS = {
    SAVE: ("as a saved search", "as a search", "as my search", "as search", "als suche"),
    REMOVE: ("from my saved searches", "from my searches", "aus meinen suchen"),
    TOPIC: (
        "into one of my topics", "one of my topics", "into a topic", "to a topic", "a topic", "my topic",
        "zu einem thema", "zum thema", "ein thema",
    ),
}  # fmt: skip
# The endings of "Search for harbour and save it".
_SAVED = (
    "and save it", "and save that", "and save the search", "and keep it", "and remember it",
    "und speichere sie", "und speichere das", "und speichere es", "und merke sie dir", "und merk dir das",
)  # fmt: skip
_WHERE = _words("in from bei aus von")
_SENTENCES = re.compile(r"[;\n]|[.!?](?:\s|$)")
_COLON = ":"


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
        wish = _sentence_read(sentence.split())
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


def _sentence_read(words: Sequence[str]) -> SearchWish | None:
    words = [word for n, word in enumerate(words) if n > 2 or word.lower() not in _FILLERS]
    low = [word.lower().replace("’", "'") for word in words]
    if not low:
        return None
    if low[0] in _NOUNS | {"such"} and len(low) > 1 and low[1] in _BEFORE:
        ends = _ending(low, _SAVED)
        return SearchWish(SAVE, " ".join(words[2:-ends]), True) if ends else None
    makes_topic = low[0] in _MAKES and (ends := _ending(low, _TAILS[TOPIC]))
    deed = TOPIC if makes_topic else _VERBS.get(low[0], "")
    if not deed:
        return None
    end = len(words) - (ends if makes_topic else 0)
    if not makes_topic and (ends := _ending(low, _TAILS[deed])):
        return SearchWish(deed, " ".join(words[1:-ends]), True)
    if not makes_topic and low[0] in ("lege", "leg") and low[-1] in ("an", "ab"):
        end -= 1
    return _after_noun(deed, words[:end], low[:end])


def _after_noun(deed: str, words: Sequence[str], low: Sequence[str]) -> SearchWish | None:
    """Return the wish of "save the search harbour": a verb, perhaps an article, the noun, the words."""
    at = 1
    while at < len(low) and low[at] in _ARTICLES | _KINDS | _FILLERS:
        at += 1
    is_named = at > 1
    if at >= len(low) or low[at].rstrip(_COLON) not in _NOUNS:
        return None
    is_named = is_named or low[at].endswith(_COLON)
    at += 1
    if at < len(low) and low[at].rstrip(_COLON) in _BEFORE:
        at, is_named = at + 1, True
    if deed == SAVE and not is_named:
        return None
    return SearchWish(deed, " ".join(words[at:]), is_named)


def _ending(low: Sequence[str], tails: Sequence[str]) -> int:
    """Return how many words of the longest of `tails` end the sentence; 0 for none."""
    sentence = " ".join(low)
    return max((len(tail.split()) for tail in tails if sentence.endswith(f" {tail}")), default=0)
