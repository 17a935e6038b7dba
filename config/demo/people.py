"""The demo's accounts, their tastes, and the ratings that follow from them.

A reader opens an item more readily when its subject moves them, and finds it useful with probability
1 / (1 + exp(-(base + source + topics))), all in log-odds. The random numbers are seeded with the reader and
the headline, so that the same world gives the same ratings. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp
from random import Random

from config.demo.world import PublishedItem
from ranking.common.text import fold, term_matches

PASSWORD = "tidings-demo"
# The domain marks the demo's accounts; it cannot exist (RFC 2606).
EMAIL_DOMAIN = "demo.example"
# Ratings lie between these ages; the last hours stay unrated, so that today's digest is unread.
RATED_FROM, RATED_UNTIL = timedelta(hours=20), timedelta(days=28)
READ_AFTER_HOURS = (0.5, 9.0)
# The share of items opened: usually, and where a topic moves the reader either way.
OPEN_SHARE, OPEN_SHARE_IF_MOVED = 0.25, 0.95
TAG_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Taste:
    """A reader's preferences in log-odds, and their reasons by source ("": any other source).

    `opened` is the share of a source's items that they open, where it is not `OPEN_SHARE`.
    """

    base: float
    sources: Mapping[str, float] = field(default_factory=dict)
    topics: Mapping[str, float] = field(default_factory=dict)
    opened: Mapping[str, float] = field(default_factory=dict)
    liked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disliked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DemoRating:
    """One rating of the item at `url`, with its reasons."""

    url: str
    useful: bool
    tags: tuple[str, ...]
    at: datetime


def ratings_of(
    reader: str, taste: Taste, items: Iterable[PublishedItem], *, now: datetime
) -> list[DemoRating]:
    """Return the ratings of `reader` for published `items` up to `now`, oldest first."""
    old_enough = (one for one in items if RATED_FROM <= now - one.published <= RATED_UNTIL)
    ratings = [_rating(Random(f"{reader}: {one.item.headline}"), taste, one) for one in old_enough]
    return sorted((r for r in ratings if r is not None), key=lambda rating: (rating.at, rating.url))


def _rating(chance: Random, taste: Taste, one: PublishedItem) -> DemoRating | None:
    topics = topics_log_odds(taste, one.item.headline)
    usually = taste.opened.get(one.source.key, OPEN_SHARE)
    if chance.random() > (OPEN_SHARE_IF_MOVED if topics else usually):
        return None
    log_odds = taste.base + taste.sources.get(one.source.key, 0.0) + topics
    useful = chance.random() < 1 / (1 + exp(-log_odds))
    reasons = taste.liked_for if useful else taste.disliked_for
    at = one.published + timedelta(hours=chance.uniform(*READ_AFTER_HOURS))
    return DemoRating(one.url, useful, _tags(chance, reasons, one.source.key), at.replace(microsecond=0))


def topics_log_odds(taste: Taste, headline: str) -> float:
    """Return what the topics in a headline add to the log-odds of a like."""
    folded = fold(headline)
    return sum(weight for topic, weight in taste.topics.items() if term_matches(topic, folded))


def _tags(chance: Random, reasons: Mapping[str, tuple[str, ...]], source: str) -> tuple[str, ...]:
    if chance.random() > TAG_SHARE:
        return ()
    choice = reasons.get(source, reasons[""])
    first = chance.choice(choice)
    second = chance.choice(choice) if chance.random() < 0.25 else first
    return tuple(dict.fromkeys((first, second)))


@dataclass(frozen=True, slots=True)
class Person:
    """One demo account; `ratings_max` limits a new reader to their newest ratings."""

    name: str
    time_zone: str
    taste: Taste | None = None
    topics: tuple[str, ...] = ()
    ratings_max: int | None = None
    staff: bool = False


_LIKED = ("clarity", "original", "on-topic", "surprising")
_DISLIKED = ("off-topic", "shallow", "known")
_HYPE = ("hype", "hype", "clickbait", "shallow")
_PAYWALL = ("paywall", "paywall", "paywall", "off-topic")
_SHARED_DISLIKED = {
    "": _DISLIKED,
    "gigawow.example": _HYPE,
    "ledgerandline.example": _PAYWALL,
    "southstandsiren.example": ("off-topic",),
}

ADA = Person(
    "ada",
    "Europe/Berlin",
    Taste(
        base=-0.6,
        sources={
            "quietport.example": 3.6,
            "upstreamnotes.example": 2.4,
            "solderandsaw.example": 1.2,
            "gigawow.example": -4.0,
            "ledgerandline.example": -2.0,
            "southstandsiren.example": -0.8,
        },
        topics={"repair": 4.5, "open data": 4.5, "passkeys": 4.0, "self-hosted": 3.0, "transfer": -1.0},
        opened={"quietport.example": 0.8, "gigawow.example": 0.75, "ledgerandline.example": 0.35},
        liked_for={
            "": _LIKED,
            "quietport.example": ("depth", "depth", "practical", "clarity"),
            "upstreamnotes.example": ("depth", "original", "on-topic"),
            "solderandsaw.example": ("practical", "practical", "depth"),
            "lumenweekly.example": ("clarity", "surprising", "depth"),
        },
        disliked_for=_SHARED_DISLIKED,
    ),
    topics=("Kubernetes", "self-hosted"),
)

BEN = Person(
    "ben",
    "America/New_York",
    Taste(
        base=-0.3,
        sources={
            "tideline.example": 2.4,
            "thelongspoke.example": 2.6,
            "lumenweekly.example": 1.6,
            "southstandsiren.example": -2.4,
            "gigawow.example": -1.6,
            "ledgerandline.example": -1.0,
        },
        topics={"night train": 4.5, "heat pumps": 4.0, "transfer": -2.5, "passkeys": -1.0},
        opened={"thelongspoke.example": 0.6, "tideline.example": 0.5, "southstandsiren.example": 0.5},
        liked_for={
            "": _LIKED,
            "tideline.example": ("depth", "clarity", "practical"),
            "thelongspoke.example": ("practical", "practical", "original"),
            "lumenweekly.example": ("clarity", "surprising", "depth"),
        },
        disliked_for=_SHARED_DISLIKED,
    ),
    topics=("gravel bikes",),
)

CLEO = Person(
    "cleo",
    "Europe/Lisbon",
    Taste(base=0.6, liked_for={"": _LIKED}, disliked_for={"": _DISLIKED}),
    ratings_max=3,
)

OLGA = Person("olga", "UTC", staff=True)

ACCOUNTS = (ADA, BEN, CLEO, OLGA)
READERS = (ADA, BEN, CLEO)
