"""Values of tastes: levels, examples, reasons. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any


class TasteLevel(StrEnum):
    """How much a reader's taste may change the order. The setting `taste` has one of these."""

    OFF = "off"
    ON = "on"
    STRONG = "strong"


# The largest factor of each level; the smallest is one through it. On 40 simulated readers of 250 real feeds
# 1.5 lost .02 of the articles to their taste among the first 15, 3 gained .01, both within chance.
BOUNDS = {TasteLevel.OFF: 1.0, TasteLevel.ON: 2.0, TasteLevel.STRONG: 3.0}
# The strength of leans and likeness in the exponent. .75 and 3 are within chance of it.
STRENGTH = 1.5
# How much a named article weighs, in thumbs.
NAMED_WEIGHT = 3.0
# The way of a decision on a source that the reader took back: the loop waits, and taste counts as before.
TAKEN_BACK = 2
# No source that the reader decided on lately, by the way of the decision.
NO_HOLD: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Example:
    """One piece of evidence of a reader's taste: an article that they liked, or did not, at a time.

    A thumb weighs 1. A `named` article, one that the reader picked to see more of its kind, weighs
    `NAMED_WEIGHT`, and says nothing about how much the reader likes in general. `tags` are the slugs of the
    reasons given. `meaning` is the item's packed vector (`ranking.meaning`), `terms` its packed TF-IDF vector
    (`ranking.similarity`), which is needed only if there is no meaning.
    """

    item_id: int
    source: str
    liked: bool
    at: datetime
    title: str = ""
    categories: Sequence[str] = ()
    author: str = ""
    tags: Sequence[str] = ()
    weight: float = 1.0
    named: bool = False
    meaning: bytes = b""
    terms: bytes = b""


# The kinds of reasons, as stored with a score.
SOURCE, TOPIC, CATEGORY, AUTHOR, ARTICLE = "source", "topic", "category", "author", "article"


@dataclass(frozen=True, slots=True)
class TasteReason:
    """A part of an item's taste: a target, the likes among the thumbs on it, and its lean in log-odds.

    For an `ARTICLE` the label is the title of the most similar example, "" if none is similar enough to name.
    `likes` says whether the reader liked it (1) or not (0), and `thumbs` whether they rated it (1) or named
    it (0).
    """

    kind: str
    label: str
    likes: int
    thumbs: int
    lean: float

    def as_list(self) -> list[str | int | float]:
        """Return it as JSON values."""
        return [self.kind, self.label, self.likes, self.thumbs, round(self.lean, 4)]

    def target(self, source: str) -> tuple[str, str]:
        """Return what its counts are about, in the score of an item of `source` (a key)."""
        return self.kind, source if self.kind == SOURCE else self.label


Counts = dict[tuple[str, str], tuple[int, int]]


def taste_counts(scored: Iterable[tuple[str, Mapping[str, Any]]]) -> Counts:
    """Return the likes and thumbs of each target in some scores, each given as its source and its parts.

    The last of two scores counts. Examples have no counts.
    """
    return {
        reason.target(source): (reason.likes, reason.thumbs)
        for source, parts in scored
        for reason in (TasteReason(*one) for one in parts.get("tastes", ()))
        if reason.kind != ARTICLE
    }


def taste_counted(parts: Mapping[str, Any], source: str, counts: Counts) -> dict[str, Any]:
    """Return a score's parts with these `counts` in its reasons; all else is as it was."""
    if "tastes" not in parts:
        return dict(parts)
    found = []
    for reason in (TasteReason(*one) for one in parts["tastes"]):
        likes, thumbs = counts.get(reason.target(source), (reason.likes, reason.thumbs))
        found.append(replace(reason, likes=likes, thumbs=thumbs).as_list())
    return {**parts, "tastes": found}
