"""What the sources pages show, put together: selectors asked, words found."""

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from digest.addresses import DOUBT
from digest.health import FeedFacts, feeds_standing
from digest.models import Feed, Reader, Subscription
from digest.presenters import feed_health, href_of
from digest.selectors.ratings import Tally, ratings_by_source
from digest.selectors.subscriptions import subscriptions_of
from ranking.entities import EffectiveConfig
from ranking.presenters import weight_words
from ranking.selectors import config_effective


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One subscription as the sources page shows it; `address` is "" where nothing is fetched from one."""

    subscription: Subscription
    address: str
    health: str
    failing: bool
    weight: str
    figure: str
    rated: str = ""

    @property
    def name(self) -> str:
        """What the feed calls itself, else its source."""
        return self.subscription.feed.title or str(self.subscription.feed.source)

    @property
    def remarks(self) -> str:
        """What is unusual about it, in a few words each."""
        weight = "" if self.weight == "as usual" else self.weight
        models = "" if self.subscription.ai_enabled else "no models"
        return " · ".join(part for part in (weight, self.rated, models) if part)

    @property
    def folder(self) -> str:
        """Where the reader has filed it, "" for nowhere."""
        return self.subscription.folder


@dataclass(frozen=True, slots=True)
class Folder:
    """The subscriptions of one folder; `name` is "" for those in none."""

    name: str
    lines: tuple[SourceLine, ...]


def sources_page(reader: Reader, now: datetime) -> dict[str, Any]:
    """The reader’s subscriptions, flat (`sources`) and by folder; as many queries for 500 as for one."""
    lines = sources_of(reader, now)
    feeds = [line.subscription.feed for line in lines]
    facts = [FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at) for feed in feeds]
    standing = feeds_standing(facts, now=now)
    if standing.none_answers:
        lines = [replace(line, health=line.health.replace(f" {DOUBT}", "")) for line in lines]
    folders = folders_of(lines)
    return {
        "sources": lines,
        "folders": folders,
        "filed": any(folder.name for folder in folders),
        "failing": sum(line.failing for line in lines),
        "standing": standing,
    }


def sources_of(reader: Reader, now: datetime) -> list[SourceLine]:
    """The reader's subscriptions by name, with each feed's health, and its source's weight and thumbs."""
    effective, rated = config_effective(reader_id=reader.pk), ratings_by_source(reader_id=reader.pk)
    lines = [_line(row, effective, rated, now) for row in subscriptions_of(reader_id=reader.pk)]
    return sorted(lines, key=lambda line: (line.name.casefold(), line.subscription.feed.url))


def folders_of(lines: list[SourceLine]) -> list[Folder]:
    """The lines by folder: those in none first, then by the folder's name."""
    ordered = sorted(lines, key=lambda line: (line.folder.casefold(), line.folder))
    return [Folder(name, tuple(rows)) for name, rows in groupby(ordered, key=lambda line: line.folder)]


def rated_words(tally: Tally | None) -> str:
    """A reader's thumbs on a source, in words: "you found 8 of 10 useful"."""
    return f"you found {tally.likes} of {tally.n} useful" if tally else ""


def _line(
    row: Subscription, effective: EffectiveConfig, rated: dict[str, Tally], now: datetime
) -> SourceLine:
    feed, weight = row.feed, effective.weight(row.feed.source_id)
    health = feed_health(
        feed.state,
        feed.error_message,
        feed.failures,
        feed.last_fetched_at,
        now,
        last_new=feed.last_new_at,
        next_check=feed.next_check_at,
        every_minutes=feed.check_minutes,
    )
    return SourceLine(
        row,
        href_of(feed.url),
        health,
        feed.failures > 0 or feed.state == Feed.State.GONE,
        weight_words(weight),
        f"{weight:.2f}",
        rated_words(rated.get(feed.source_id)),
    )
