"""Whether a text meant for all names a reader or a feed: looked up by the text's own words, never by lists.

How many queries there are, and how much they ask for, depends on the text alone.
"""

import re

from django.db.models import Q
from django.db.models.functions import Lower

from advisor.guidance.qualities import VERBS
from advisor.guidance.substance import signs, telling
from digest.models import Feed, Reader

# A shorter name is too often a word or an abbreviation.
NAME_CHARS_MIN = 4
TITLE_WORDS_MIN, TITLE_WORDS_MAX = 2, 6
FOUND_MAX = 20
# What Django's usernames are made of, between letters: "ada.lovelace" is one, a full stop after it none.
_NAME = re.compile(r"\w(?:[\w.@+-]*\w)?")
_WORD = re.compile(r"\w+")


def reader_named(text: str) -> bool:
    """Whether `text` holds a reader's username as a whole word; one query, or none.

    Usernames of fewer than four characters, and those that are everyday words of guidance, are not looked
    for: a reader may be called "source". Names are found as typed, in small letters, capitalised or in
    capitals.
    """
    words = {word.removesuffix("'s") for word in _NAME.findall(text)}
    words |= set(_WORD.findall(text))
    sought = {word for word in words if len(word) >= NAME_CHARS_MIN and not everyday(word.casefold())}
    forms = {form for word in sought for form in (word, word.lower(), word.capitalize(), word.upper())}
    return bool(forms) and Reader.objects.filter(username__in=forms).exists()


def feed_titles_in(text: str) -> list[str]:
    """Titles of feeds, of two to six words, that stand in `text`; one query, or none.

    Titles made of everyday words alone, such as "Top stories", are not looked for.
    """
    spans = {span for span in _spans(text) if not all(map(everyday, _WORD.findall(span.casefold())))}
    if not spans:
        return []
    small = {span.lower() for span in spans}
    rows = Feed.objects.annotate(small=Lower("title")).filter(Q(title__in=spans) | Q(small__in=small))
    return sorted(set(rows.values_list("title", flat=True)[:FOUND_MAX]))


def everyday(word: str) -> bool:
    """Whether `word`, in small letters, is one that any advice may hold: it names nobody and nothing."""
    return word.isalpha() and (not telling(word) or signs(word) > 0 or word in VERBS)


def _spans(text: str) -> set[str]:
    """Every run of two to six words of `text`, as it is written but for spaces."""
    flat = " ".join(text.split())
    words = [found.span() for found in _WORD.finditer(flat)]
    return {
        flat[start : words[last][1]]
        for first, (start, _) in enumerate(words)
        for last in range(first + TITLE_WORDS_MIN - 1, min(first + TITLE_WORDS_MAX, len(words)))
    }
