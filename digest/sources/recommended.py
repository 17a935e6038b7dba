"""Starter feeds: the interests on offer at a first visit (`recommended.toml`), and the reader's choice."""

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from django.db import transaction

from digest.feeds.addresses import feed_address
from digest.feeds.identity import FILE_PREFIX, source_key
from digest.feeds.selectors import subscriptions_left
from digest.models import Feed, Reader, Source, Subscription
from ranking.language import gettext_noop

# Nobody can own a name below `.example` (RFC 2606): a file with such a site is one of the demo's.
DEMO_SITE: Final = r"^https?://[^/]+\.example/?$"
DEMO_NAME: Final = gettext_noop("The demo’s sources, without a network")
FILE: Final = Path(__file__).parent / "recommended.toml"


@dataclass(frozen=True, slots=True)
class StarterFeed:
    """A feed on offer; `title` is its publisher's name, or "publisher: part" for one of several."""

    title: str
    url: str

    @property
    def publisher(self) -> str:
        """Return the publisher alone: the title of the feed's source."""
        return self.title.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Interest:
    """A few feeds under one heading; `language` is that of their articles."""

    key: str
    name: str
    feeds: tuple[StarterFeed, ...]
    language: str = "en"


@dataclass(frozen=True, slots=True)
class WelcomeResult:
    """How many feeds are new to the reader, and the titles of those that their publishers took down.

    `waiting` counts the new ones that nobody has fetched yet.
    """

    added: int
    gone: tuple[str, ...]
    waiting: int


@cache
def starter_interests() -> tuple[Interest, ...]:
    """Return the interests of the file, in its order."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["interest"]
    return tuple(
        Interest(
            row["key"],
            row["name"],
            tuple(StarterFeed(*feed) for feed in row["feeds"]),
            row.get("language", "en"),
        )
        for row in listed
    )


def interests_offered(language: str = "") -> list[Interest]:
    """Return all interests on offer: the demo's feeds, if they are here, then those in `language`. One query.

    The demo's feeds are files of this machine, so they can be read where no network is.
    """
    here = Feed.objects.filter(owner=None, url__startswith=FILE_PREFIX, site_url__regex=DEMO_SITE)
    demo = tuple(StarterFeed(*row) for row in here.order_by("title").values_list("title", "url"))
    listed = sorted(starter_interests(), key=lambda one: one.language != language.partition("-")[0])
    return [*([Interest("demo", DEMO_NAME, demo)] if demo else ()), *listed]


def starter_feeds_chosen(*, interests: Collection[str], urls: Collection[str]) -> list[StarterFeed]:
    """Return the feeds of `interests` (keys) and those at single `urls`, each once, in their order."""
    feeds = {
        feed.url: feed
        for interest in interests_offered()
        for feed in interest.feeds
        if interest.key in interests or feed.url in urls
    }
    return list(feeds.values())


def welcome_answer(*, reader: Reader, feeds: Sequence[StarterFeed], now: datetime) -> WelcomeResult:
    """Subscribe the reader to `feeds` and do not ask again; feeds given up are left out.

    No `feeds` is an answer too. Nothing is fetched here: feeds that nobody read before are due at once. A
    constant number of statements, apart from SQLite's limit of parameters. Doing it again changes nothing
    but the time of the answer.
    """
    wanted = {feed_address(feed.url) or feed.url: feed for feed in feeds}
    keys = {url: source_key(url) or "unknown" for url in wanted}
    sources = [Source(key=keys[url], title=feed.publisher) for url, feed in wanted.items()]
    rows = [Feed(url=url, source_id=keys[url], title=wanted[url].title, next_check_at=now) for url in wanted]
    with transaction.atomic():
        Source.objects.bulk_create(sources, ignore_conflicts=True)
        Feed.objects.bulk_create(rows, ignore_conflicts=True)
        mine = Subscription.objects.filter(reader=reader, feed__url__in=wanted)
        had = set(mine.values_list("feed_id", flat=True))
        found = [feed for feed in Feed.objects.filter(url__in=wanted) if feed.pk not in had]
        alive = [feed for feed in found if feed.state != Feed.State.GONE]
        alive = alive[: subscriptions_left(reader_id=reader.pk)]
        Subscription.objects.bulk_create(
            [Subscription(reader=reader, feed=feed, created_at=now) for feed in alive], ignore_conflicts=True
        )
        reader.welcomed_at = now
        reader.save(update_fields=["welcomed_at"])
        gone = tuple(sorted(wanted[feed.url].title for feed in found if feed.state == Feed.State.GONE))
        waiting = sum(feed.last_fetched_at is None for feed in alive)
        return WelcomeResult(mine.count() - len(had), gone, waiting)
