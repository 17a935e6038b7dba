"""Seed the demo: accounts, feeds (through the real ingest), ratings and first topics.

Each step skips rows that exist, so a second seeding only adds newly published items.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction

from config.demo.people import ACCOUNTS, EMAIL_DOMAIN, PASSWORD, READERS, DemoRating, Person, ratings_of
from config.demo.world import MONTH, PublishedItem, feed_files_write, items_published, world_sources
from digest.days import utc_day
from digest.feeds.fetch_batch import folder_ingest
from digest.items.stories import stories_update
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Subscription
from ranking.config_body import ConfigEdit
from ranking.selectors import config_exists
from ranking.services import config_edit

# The documentation prints the demo's password, so its accounts are allowed only on a private site.
PRIVATE_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class DemoNotAllowed(Exception):
    """The demo is refused: its known password would open a public site, or a real account has its name."""


@dataclass(frozen=True, slots=True)
class SeedReport:
    """The result of a seeding. `thumbs` has each demo reader's number of ratings."""

    feeds: int
    items_seen: int
    items_new: int
    first_time: bool
    thumbs: dict[str, int]
    reader_ids: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)


def demo_seed(*, now: datetime) -> SeedReport:
    """Seed the demo, or bring it up to date.

    1. Create accounts. 2. Write feed files below `VAR_DIR/demo` and read them like `fetch_feeds --from-dir`.
    3. Subscribe all readers to all feeds. 4. Store ratings and topics for readers who have none.
    Raises `DemoNotAllowed` before anything is written.
    """
    demo_check()
    first_time = not Reader.objects.filter(username__in=[person.name for person in ACCOUNTS]).exists()
    readers = _accounts(now)
    anchor = min(reader.date_joined for reader in readers.values())
    urls = [f"file:{path.name}" for path in feed_files_write(feeds_dir(), anchor=anchor, now=now)]
    report = folder_ingest(folder=feeds_dir(), now=now)
    published_items = [
        one for source in world_sources() for one in items_published(source, anchor=anchor, now=now)
    ]
    # Group stories, so that digests show which items several sources report.
    stories_update(now=now)
    with transaction.atomic():
        feed_ids = Feed.objects.filter(url__in=urls).values_list("pk", flat=True)
        Subscription.objects.bulk_create(
            (
                Subscription(reader=reader, feed_id=pk, created_at=anchor - MONTH)
                for reader in readers.values()
                for pk in feed_ids
            ),
            ignore_conflicts=True,
        )
        for person in READERS:
            _history(person, readers[person.name], published_items, now)
    return SeedReport(
        feeds=len(report.per_feed),
        items_seen=sum(result.items_seen for _, result in report.per_feed),
        items_new=sum(result.items_new for _, result in report.per_feed),
        first_time=first_time,
        thumbs={p.name: Feedback.objects.filter(reader=readers[p.name]).count() for p in READERS},
        reader_ids={name: str(reader.pk) for name, reader in readers.items()},
    )


def demo_check() -> None:
    """Raise `DemoNotAllowed` if the site is public, or if a real account has a demo account's name."""
    if public := sorted(set(settings.ALLOWED_HOSTS) - PRIVATE_HOSTS):
        raise DemoNotAllowed(
            f"This site also answers to {', '.join(public)}, and the demo's passwords are no secret. "
            "Seed it where ALLOWED_HOSTS names this machine only."
        )
    names = [person.name for person in ACCOUNTS]
    others = Reader.objects.filter(username__in=names).exclude(email__endswith=f"@{EMAIL_DOMAIN}")
    if taken := sorted(others.values_list("username", flat=True)):
        raise DemoNotAllowed(
            f"There is already an account called {', '.join(taken)} that is not the demo's. "
            "Use another database: set DATABASE_URL or TIDINGS_VAR_DIR."
        )


def feeds_dir() -> Path:
    """Return the folder of the demo's feed files."""
    return Path(settings.VAR_DIR) / "demo" / "feeds"


def _accounts(now: datetime) -> dict[str, Reader]:
    """Return the demo's accounts by name, and create missing ones."""
    names = [person.name for person in ACCOUNTS]
    readers = {reader.username: reader for reader in Reader.objects.filter(username__in=names)}
    for person in ACCOUNTS:
        if person.name not in readers:
            readers[person.name] = Reader.objects.create_user(
                username=person.name,
                email=f"{person.name}@{EMAIL_DOMAIN}",
                password=PASSWORD,
                time_zone=person.time_zone,
                is_staff=person.staff,
                is_superuser=person.staff,
                date_joined=now,
            )
            reader = readers[person.name]
            EmailAddress.objects.create(user=reader, email=reader.email, primary=True, verified=True)
    return readers


def _history(person: Person, reader: Reader, published_items: Iterable[PublishedItem], now: datetime) -> None:
    """Store a month of ratings and the first topics, unless the reader already has some."""
    if person.taste is not None and not Feedback.objects.filter(reader=reader).exists():
        ratings = ratings_of(person.name, person.taste, published_items, now=now)
        _ratings_store(reader, ratings if person.ratings_max is None else ratings[-person.ratings_max :])
    if person.topics and not config_exists(reader_id=reader.pk):
        config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=person.topics), expected_version=0, now=now)


def _ratings_store(reader: Reader, ratings: Sequence[DemoRating]) -> None:
    carried = Item.objects.filter(
        url__in=[rating.url for rating in ratings], feed__subscriptions__reader=reader
    )
    items = {item.url: item for item in carried.only("url", "article")}
    stored = Feedback.objects.bulk_create(
        Feedback(
            reader=reader,
            item=items[rating.url],
            article=items[rating.url].article,
            useful=rating.useful,
            at=rating.at,
            day=utc_day(rating.at),
            has_reason=bool(rating.tags),
        )
        for rating in ratings
    )
    FeedbackTag.objects.bulk_create(
        FeedbackTag(feedback=feedback, tag_id=tag)
        for feedback, rating in zip(stored, ratings, strict=True)
        for tag in rating.tags
    )
