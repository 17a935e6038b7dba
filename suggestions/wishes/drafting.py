"""Reduce a model's reading of a reader's words to wishes that the grammar can read. Pure.

Each change is worded with a single meaning, like a reader's own words, so a model can ask for nothing that a
sentence could not. Its targets must be the reader's, or stand in their words.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, Field

from ranking.common.text import fold, fold_lightly, term_finder
from suggestions.changes.change import ADD, FRESHER, NONE, OLDER
from suggestions.wishes.left import left_note
from suggestions.wishes.lookup import Lookup
from suggestions.wishes.questions import SAYS_AMOUNT
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.ways import OUT, PLAIN_WAYS, WAYS, wish_words
from suggestions.wishes.wish import (
    AUTHOR,
    FRESHNESS,
    SOURCE,
    TOPIC,
    WISHES_MAX,
    WORD,
    Names,
    Reading,
    Target,
    Wish,
)

# The most names of a reader that a model sees. More would cost more than the question is worth.
SOURCES_SHOWN, TOPICS_SHOWN, AUTHORS_SHOWN = 150, 100, 60


class ModelChange(BaseModel):
    """One change as a model says it; its direction is one of `WAYS`."""

    direction: str
    kind: Literal["source", "topic", "word", "author", "freshness"]
    name: str = Field(default="", max_length=200)
    amount: Literal["small", "usual", "big"] = "usual"
    number: int | None = Field(default=None, ge=1)
    until: date | None = None


class ModelReading(BaseModel):
    """A model's answer: the changes that it read in the words."""

    changes: list[ModelChange] = Field(max_length=10)


def wish_material(words: str, names: Names, today: date) -> dict[str, Any]:
    """Return the input for a model: the words and the reader's own names, as plain JSON values."""
    authors = sorted(Lookup(names).authors.values())
    return {
        "words": words,
        "today": today.isoformat(),
        "sources": dict(list(names.sources.items())[:SOURCES_SHOWN]),
        "interests": list(names.topics[:TOPICS_SHOWN]),
        "authors": authors[:AUTHORS_SHOWN],
    }


def wishes_of(changes: Sequence[ModelChange], words: str, names: Names, today: date) -> Reading:
    """Return at most three wishes of a model's `changes`, without targets that are not the reader's.

    A note says where the switch is that keeps a source out of Today.
    """
    lookup = Lookup(names)
    found: dict[tuple[str, str], tuple[Wish, str]] = {}
    notes: list[str] = []
    for change in changes:
        reading = _reading_of(change, words, lookup, today)
        notes += reading.notes
        for wish in reading.wishes:
            found.setdefault((wish.target.kind, wish.target.key), (wish, reading.left))
    wishes, sentences = [wish for wish, _ in found.values()], [plain for _, plain in found.values()]
    if beyond := wishes[WISHES_MAX:]:
        notes.append(left_note([wish.target.label for wish in beyond]))
    left = "; ".join(sentences[WISHES_MAX:])
    return Reading(tuple(wishes[:WISHES_MAX]), None, tuple(dict.fromkeys(notes)), left)


def _reading_of(change: ModelChange, words: str, lookup: Lookup, today: date) -> Reading:
    """Return what the grammar reads in the change, and as `left` its plain words.

    Nothing if it reads none, or several.
    """
    way = WAYS.get(change.direction)
    is_fresh = change.direction in (FRESHER, OLDER)
    target = None if is_fresh else _target_of(change, words, lookup)
    if way is None or (target is None and not is_fresh) or way.has_number != (change.number is not None):
        return Reading()
    sentence = way.words
    if target:
        # A mute hides words or a category, be they an interest or not.
        is_text = target.kind in (TOPIC, WORD) and change.direction == NONE
        kind = lookup.mute_kind(target.key) if is_text else target.kind
        sentence = wish_words(change.direction, kind, target.label, change.number)
    if is_fresh or change.direction in PLAIN_WAYS:
        sentence = f"{SAYS_AMOUNT[change.amount]} {sentence}".strip()
    if change.until:
        sentence += f" until {change.until.isoformat()}"
    reading = wishes_read(sentence, lookup.names, today)
    meant = (FRESHNESS,) if target is None else (fold(target.key), fold(target.label))
    is_of_it = all(fold(wish.target.key) in meant for wish in reading.wishes)
    parts = len(reading.wishes), len(reading.notes)
    wanted = (0, 1) if change.direction == OUT else (1, 0)
    if parts != wanted or not is_of_it or reading.question:
        return Reading()
    return replace(reading, left=sentence)


def _target_of(change: ModelChange, words: str, lookup: Lookup) -> Target | None:
    """Return the target of the change, if the reader has it or said it."""
    name = fold(change.name)
    if change.kind == SOURCE:
        keys = [key for key in lookup.names.sources if fold(key) == name] or lookup.titles.get(name, [])
        return lookup.source(keys[0]) if len(set(keys)) == 1 else None
    if change.kind == AUTHOR:
        author = lookup.authors.get(name)
        return Target(AUTHOR, author, author) if author else None
    if (own := lookup.topic(change.name)) is not None:
        return own
    spoken = bool(name) and term_finder(change.name)(fold_lightly(words))
    kind = TOPIC if change.direction == ADD else WORD
    return Target(kind, name, name) if spoken else None
