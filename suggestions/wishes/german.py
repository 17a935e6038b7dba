"""German wishes: replace their words by those of the English grammar, and keep the rest as typed. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ranking.common.text import fold
from suggestions.wishes.lexicon import APART_OF, FILLERS, FILLING, PHRASES, phrase_at, words_read

# Each German phrase with the English one for it. "Please" has no meaning for the wish.
_READ = words_read("german.txt")
# Subjects that are interests of many, in the other language.
OTHER_LANGUAGE: dict[str, list[str]] = {}
for _pair in (fold(word).partition("=") for row in _READ.pop("subjects") for word in row):
    for _one, _other in (_pair[::2], _pair[::-2]):
        OTHER_LANGUAGE.setdefault(_one, []).append(_other)
# Verbs of two halves, "blende … aus": the second one, at the end of a part, says what is meant.
_SPLIT = {
    (fold(verb), half): name.removeprefix(APART_OF)
    for name in [name for name in _READ if name.startswith(APART_OF)]
    for verb, _, half in _READ.pop(name)
}
GERMAN = {(fold(word),): ("please",) for row in _READ.pop(FILLING) for word in row} | {
    tuple(map(fold, typed)): tuple(english.split()) for english, row in _READ.items() for typed in row
}
GERMAN |= {
    ("am", *typed): ("on", *day)
    for typed, day in GERMAN.items()
    if day[0].endswith("day") and len(day[0]) > 3
}
GERMAN |= {
    (f"{half}{verb}n" if verb.endswith("e") else f"{half}{verb}en",): (meant,)
    for (verb, half), meant in _SPLIT.items()
    if half not in ("ein", "ab", "gäbe")
}
GERMAN_WORDS = {word for phrase in GERMAN for word in phrase}
_ENGLISH = (FILLERS | {word for phrase in PHRASES for word in phrase}) - {"a"}
_NEGATIVE = {"no", "nothing", "without"}
_ENDS = {"and", "but", "or", "und", "aber", "oder", ",", ";", ".", "!", "?"}


def umlauts(text: str) -> str:
    """Return `text` with umlauts in the place of two letters each: "ü" for "ue"."""
    for two, one in (("ae", "ä"), ("oe", "ö"), ("ue", "ü")):
        text = text.replace(two, one)
    return text


@dataclass(frozen=True, slots=True)
class Word:
    """A word for the grammar, with the words that were typed for it."""

    text: str
    own: str


def is_german(words: Iterable[str]) -> bool:
    """Return whether as many of `words` are German words of wishes as are English ones, and any is."""
    found = [word for word in words if word[:1].isalpha()]
    german = sum(word in GERMAN_WORDS and word not in _ENGLISH for word in found)
    return german > 0 and german >= sum(word in _ENGLISH and word not in GERMAN_WORDS for word in found)


def german_words(words: Sequence[str]) -> list[tuple[list[Word], int]]:
    """Return rows of (words for the grammar, number of `words` they stand for), in order; "" is a name."""
    rows: list[tuple[list[Word], int]] = []
    at, negative, neither = 0, False, False
    while at < len(words):
        english, read = phrase_at(GERMAN, words, at) or ((words[at],), 1)
        typed = " ".join(words[at : at + read])
        if english[0] in _ENDS:
            negative = False
        elif english == ("more",) and negative:
            # "Keine … mehr" is no more than "keine …".
            english = ("please",)
        elif meant := _second_half(words[:at], typed, words[at + read :]):
            english = tuple(meant.split())
        elif typed == "noch" and neither:
            english, neither = ("nor",), False
        elif typed in ("gern", "gerne", "ja", "nein") and _is_end(words[at + read :]):
            english = ("no",) if typed == "nein" else ("yes",)
        elif any((typed, later) in _SPLIT for later in words[at + 1 :]):
            english = ("please",)
        elif typed == "lang":
            _span(rows)
            english = ("please",)
        negative = negative or english[0] in _NEGATIVE
        neither = neither or typed == "weder"
        rows.append(([Word(word, typed if n == 0 else "") for n, word in enumerate(english)], read))
        at += read
    return rows


def _second_half(before: Sequence[str], typed: str, after: Sequence[str]) -> str:
    """Return the meaning of `typed` as the second half of a verb that stands before it, or ""."""
    return next((_SPLIT[verb, typed] for verb in before if (verb, typed) in _SPLIT and _is_end(after)), "")


def _is_end(after: Sequence[str]) -> bool:
    return all(word in _ENDS or GERMAN.get((word,)) == ("please",) for word in after)


def _span(rows: list[tuple[list[Word], int]]) -> None:
    """Put "for" before the last two words: "eine Woche lang" is for a week."""
    if len(rows) > 1:
        words, read = rows[-2]
        rows[-2] = ([Word("for", ""), *(replace(word) for word in words)], read)
