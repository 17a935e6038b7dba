"""The demo's cast: who they are, what they like and why they say so. Pure data.

The log-odds are chosen so that about 55 % of the first two readers' thumbs are up, and so that each has a
source or two and a topic that their thumbs speak about clearly enough to be noticed.
"""

from dataclasses import dataclass

from config.demo.taste import Taste

PASSWORD = "tidings-demo"
# Accounts are told from real ones by this domain, which cannot exist (RFC 2606).
EMAIL_DOMAIN = "demo.example"


@dataclass(frozen=True, slots=True)
class Person:
    """One demo account. `thumbs_max` keeps only the newest thumbs of a reader who has hardly begun."""

    name: str
    time_zone: str
    taste: Taste | None = None
    topics: tuple[str, ...] = ()
    thumbs_max: int | None = None
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
    thumbs_max=3,
)

OLGA = Person("olga", "UTC", staff=True)

CAST = (ADA, BEN, CLEO, OLGA)
READERS = (ADA, BEN, CLEO)
