"""What the demo's readers like, and the thumbs that follow from it. Pure.

A reader opens an item more readily when its subject moves them, and finds it useful with probability
1 / (1 + exp(-(base + source + topics))), all in log-odds. The chance is seeded with the reader and the
headline: it is noise, but always the same noise, so the same world gives the same thumbs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp
from random import Random

from config.demo.world import Issued
from ranking.matching import fold, term_matches

# Thumbs lie between these ages; the last hours stay unrated, so that today's digest is still to be read.
RATED_FROM, RATED_UNTIL = timedelta(hours=20), timedelta(days=28)
READ_AFTER_HOURS = (0.5, 9.0)
# The share of items opened: usually, and where a topic moves the reader either way.
OPENED, OPENED_IF_MOVED = 0.25, 0.95
TAGGED = 0.7


@dataclass(frozen=True, slots=True)
class Taste:
    """A reader's leanings in log-odds, and the reasons they give by source ("" for the others).

    `opened` is the share of a source's items they open where it is not the usual one.
    """

    base: float
    sources: Mapping[str, float] = field(default_factory=dict)
    topics: Mapping[str, float] = field(default_factory=dict)
    opened: Mapping[str, float] = field(default_factory=dict)
    liked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disliked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Thumb:
    """One thumb to be given: on which item, which way, when, and for which reasons."""

    url: str
    useful: bool
    tags: tuple[str, ...]
    at: datetime


def thumbs_given(reader: str, taste: Taste, issued: Iterable[Issued], *, now: datetime) -> list[Thumb]:
    """The thumbs `reader` gives on `issued` items up to `now`, oldest first."""
    old_enough = (one for one in issued if RATED_FROM <= now - one.published <= RATED_UNTIL)
    thumbs = [_thumb(Random(f"{reader}: {one.item.headline}"), taste, one) for one in old_enough]
    return sorted((t for t in thumbs if t is not None), key=lambda thumb: (thumb.at, thumb.url))


def _thumb(chance: Random, taste: Taste, one: Issued) -> Thumb | None:
    topics = taste_of_topics(taste, one.item.headline)
    usually = taste.opened.get(one.source.key, OPENED)
    if chance.random() > (OPENED_IF_MOVED if topics else usually):
        return None
    log_odds = taste.base + taste.sources.get(one.source.key, 0.0) + topics
    useful = chance.random() < 1 / (1 + exp(-log_odds))
    reasons = taste.liked_for if useful else taste.disliked_for
    at = one.published + timedelta(hours=chance.uniform(*READ_AFTER_HOURS))
    return Thumb(one.url, useful, _tags(chance, reasons, one.source.key), at.replace(microsecond=0))


def taste_of_topics(taste: Taste, headline: str) -> float:
    """What the topics in a headline add to the log-odds of a like."""
    folded = fold(headline)
    return sum(weight for topic, weight in taste.topics.items() if term_matches(topic, folded))


def _tags(chance: Random, reasons: Mapping[str, tuple[str, ...]], source: str) -> tuple[str, ...]:
    if chance.random() > TAGGED:
        return ()
    choice = reasons.get(source, reasons[""])
    first = chance.choice(choice)
    second = chance.choice(choice) if chance.random() < 0.25 else first
    return tuple(dict.fromkeys((first, second)))
