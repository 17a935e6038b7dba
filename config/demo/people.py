"""Define the demo's accounts and their tastes, and compute their ratings.

A reader opens more items on subjects that they like or dislike, and finds an opened item useful with
probability 1 / (1 + exp(-(base + source + topics))), all in log-odds. The random numbers are seeded with
reader and headline, so the same world always gives the same ratings. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp
from random import Random

from config.demo.world import PublishedItem
from ranking.common.text import fold, term_matches

PASSWORD = "tidings-demo"
# The domain that marks the demo's accounts. It cannot exist (RFC 2606).
EMAIL_DOMAIN = "demo.example"
# The ages of rated items. Newer ones stay unrated, so that today's digest is unread.
RATED_FROM, RATED_UNTIL = timedelta(hours=20), timedelta(days=28)
READ_AFTER_HOURS = (0.5, 9.0)
# The share of items opened: usually, and if the reader likes or dislikes a topic of the item.
OPEN_SHARE, OPEN_SHARE_IF_MOVED = 0.25, 0.95
TAG_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Taste:
    """A reader's preferences in log-odds, and reasons for thumbs by source ("": all other sources).

    `opened` has the share of items opened for sources in which it is not `OPEN_SHARE`.
    """

    base: float
    sources: Mapping[str, float] = field(default_factory=dict)
    topics: Mapping[str, float] = field(default_factory=dict)
    opened: Mapping[str, float] = field(default_factory=dict)
    liked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disliked_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DemoRating:
    """A rating of the item at `url`, with its reason tags."""

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
    """Return the sum that the topics in a headline add to the log-odds of a like."""
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
    """A demo account. `ratings_max` keeps only the newest ratings, for a new reader."""

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
