"""Reduce a model's reading of a reader's words to wishes that the grammar can read. Pure.

Each change is put into words that mean one thing and read like a reader's own, so that a model can ask for
nothing that a sentence could not. What it names must be the reader's, or stand in their words.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, Field

from ranking.common.text import fold, fold_lightly, term_finder
from suggestions.changes.change import ADD, FRESHER, NONE, OLDER
from suggestions.wishes.reading import SAYS, SAYS_AMOUNT, Lookup, plain, wishes_read
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

# What a model is shown of a reader; more would be dearer than the question is worth.
SOURCES_SHOWN, TOPICS_SHOWN, AUTHORS_SHOWN = 150, 100, 60


class ModelChange(BaseModel):
    """One change as a model says it."""

    direction: Literal["more", "less", "none", "add", "remove", "fresher", "older"]
    kind: Literal["source", "topic", "word", "author", "freshness"]
    name: str = Field(default="", max_length=200)
    amount: Literal["small", "usual", "big"] = "usual"
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
    """Return at most three wishes of a model's `changes`, without targets that are not the reader's."""
    lookup = Lookup(names)
    found: dict[tuple[str, str], Wish] = {}
    for change in changes:
        if wish := _wish_of(change, words, lookup, today):
            found.setdefault((wish.target.kind, wish.target.key), wish)
    return Reading(tuple(found.values())[:WISHES_MAX])


def _wish_of(change: ModelChange, words: str, lookup: Lookup, today: date) -> Wish | None:
    """Return the wish that the change means in plain words; `None` if it means none, or several."""
    sentence, target = f"{SAYS_AMOUNT[change.amount]} ", None
    if change.direction in (FRESHER, OLDER):
        sentence += "newer" if change.direction == FRESHER else "older"
    else:
        target = _target_of(change, words, lookup)
        if target is None:
            return None
        # A mute hides words or a category, be they an interest or not.
        is_text = target.kind in (TOPIC, WORD) and change.direction == NONE
        kind = lookup.mute_kinds(target.key)[0] if is_text else target.kind
        sentence += f'{SAYS[change.direction]} {kind} "{plain(target.label)}"'
    if change.until:
        sentence += f" until {change.until.isoformat()}"
    reading = wishes_read(sentence.strip(), lookup.names, today)
    if len(reading.wishes) != 1 or reading.question or reading.notes:
        return None
    [wish] = reading.wishes
    meant = (FRESHNESS,) if target is None else (fold(target.key), fold(target.label))
    return wish if fold(wish.target.key) in meant else None


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
