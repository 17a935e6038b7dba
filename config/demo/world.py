"""The fictional world as written in `world/*.txt`, and when each of its items comes out. Pure.

A file is blocks between blank lines: first `name: value` lines about the source, then the items, newest
first, each a headline line and a line of text. The items of a source spread evenly over a month that
repeats: once the month is over the oldest comes out again under a new date, so the demo never runs dry.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

WORLD_DIR = Path(__file__).parent / "world"
MONTH = timedelta(days=30)
# Nobody publishes between these hours (UTC); what falls there comes out the evening before.
NIGHT_ENDS, NIGHT_SHIFT = 5, timedelta(hours=6)
SLUG_WORDS = 7


@dataclass(frozen=True, slots=True)
class WorldItem:
    """One item as written: a headline that no other item of the world has, and a few sentences."""

    headline: str
    text: str

    @property
    def slug(self) -> str:
        """The headline's first words as they stand in a web address."""
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in self.headline.lower()).split()
        return "-".join(words[:SLUG_WORDS])


@dataclass(frozen=True, slots=True)
class WorldSource:
    """A fictional publisher with its items, newest first. `form` is the format its feed comes in."""

    title: str
    site: str
    form: str
    cadence: str
    voice: str
    items: tuple[WorldItem, ...]

    @property
    def key(self) -> str:
        """The source's key: the domain of its site."""
        return urlsplit(self.site).netloc


@dataclass(frozen=True, slots=True)
class Issued:
    """An item at the moment it came out, at its address."""

    item: WorldItem
    source: WorldSource
    url: str
    published: datetime


@cache
def world_sources() -> tuple[WorldSource, ...]:
    """Every source of the world, in order of its file's name."""
    return tuple(_source(path.read_text(encoding="utf-8")) for path in sorted(WORLD_DIR.glob("*.txt")))


def _source(text: str) -> WorldSource:
    head, *blocks = text.strip().split("\n\n")
    about = dict(line.split(": ", 1) for line in head.splitlines())
    items = tuple(WorldItem(*block.split("\n", 1)) for block in blocks)
    return WorldSource(
        about["title"], about["site"], about["format"], about["cadence"], about["voice"], items
    )


def items_issued(source: WorldSource, *, anchor: datetime, now: datetime) -> list[Issued]:
    """Each item of `source` as it last came out before `now`, newest first.

    `anchor` is the moment at which the file's first item is the newest: when the demo was first seeded.
    """
    issued = []
    for position, item in enumerate(source.items):
        published = _first_out(source, position, anchor)
        published += MONTH * ((now - published) // MONTH)
        url = f"{source.site}/{published:%Y/%m/%d}/{item.slug}"
        issued.append(Issued(item, source, url, published))
    return sorted(issued, key=lambda one: one.published, reverse=True)


def _first_out(source: WorldSource, position: int, anchor: datetime) -> datetime:
    chance = Random(f"{source.key}/{position}")
    share = (position + chance.uniform(0.1, 0.9)) / len(source.items)
    published = (anchor - share * MONTH * 0.99).replace(second=0, microsecond=0)
    return published - NIGHT_SHIFT if published.hour < NIGHT_ENDS else published
