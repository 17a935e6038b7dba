"""Starter sources by interest, for a reader's first visit. They are data: `starters.toml`.

Addresses are those publishers announce; a third stand in the lists of plenaryapp/awesome-rss-feeds, which are
in the public domain (CC0 1.0). None is fetched before somebody chose it.
"""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "starters.toml"


@dataclass(frozen=True, slots=True)
class StarterFeed:
    """A feed on offer; `title` is its publisher's name, or "publisher: part" for one of several."""

    title: str
    url: str

    @property
    def publisher(self) -> str:
        """The publisher alone: what the feed's source is called."""
        return self.title.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Interest:
    """A few sources under one heading."""

    key: str
    name: str
    feeds: tuple[StarterFeed, ...]


@cache
def starters() -> tuple[Interest, ...]:
    """All interests on offer, in the order of the file."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["interest"]
    return tuple(
        Interest(row["key"], row["name"], tuple(StarterFeed(*feed) for feed in row["feeds"]))
        for row in listed
    )


def starters_chosen(*, interests: Collection[str], urls: Collection[str]) -> list[StarterFeed]:
    """The feeds of whole `interests` (keys) and those at single `urls`, each once, in the file's order."""
    feeds = {
        feed.url: feed
        for interest in starters()
        for feed in interest.feeds
        if interest.key in interests or feed.url in urls
    }
    return list(feeds.values())
