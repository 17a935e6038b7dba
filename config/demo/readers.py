"""Seeding the demo: its accounts, its feeds through the real ingest, its readers' thumbs and first topics.

Every step looks first at what is there, so a second seeding changes nothing but what newly came out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from config.demo.feeds import feeds_render
from config.demo.people import CAST, EMAIL_DOMAIN, PASSWORD, READERS, Person
from config.demo.taste import Thumb, thumbs_given
from config.demo.world import MONTH, Issued, items_issued, world_sources
from digest.days import utc_day
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Subscription
from digest.reports import FetchReport
from digest.services.folders import folder_ingest
from ranking.selectors import config_exists
from ranking.services import ConfigEdit, config_edit

# The demo's passwords are printed in the documentation, so its accounts may only live on a private site.
PRIVATE_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class DemoRefused(Exception):
    """The demo would open a public site with a known password, or take the name of a real account."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """What a seeding did, and how many thumbs each demo reader has now."""

    feeds: int
    items_seen: int
    items_new: int
    first_time: bool
    thumbs: dict[str, int]
    reader_ids: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def demo_seed(*, now: datetime) -> Seeded:
    """Seed the demo, or bring it up to date.

    1. Accounts. 2. Feed files below `VAR_DIR/demo`, read as `fetch_feeds --from-dir` reads them.
    3. Everybody subscribes to everything. 4. Thumbs and topics for readers who have none yet.
    Raises `DemoRefused` before anything is written.
    """
    demo_check()
    first_time = not Reader.objects.filter(username__in=[person.name for person in CAST]).exists()
    readers = _accounts_ensure(now)
    anchor = min(reader.date_joined for reader in readers.values())
    paths = feeds_render(feeds_dir(), anchor=anchor, now=now)
    report = folder_ingest(folder=feeds_dir(), now=now)
    issued = [one for source in world_sources() for one in items_issued(source, anchor=anchor, now=now)]
    with transaction.atomic():
        _subscribe(readers.values(), [f"file:{path.name}" for path in paths], anchor)
        for person in READERS:
            _history_ensure(person, readers[person.name], issued, now)
    return _seeded(report, readers, first_time)


def demo_check() -> None:
    """Raise `DemoRefused` where the demo's well-known accounts would do harm."""
    if public := sorted(set(settings.ALLOWED_HOSTS) - PRIVATE_HOSTS):
        raise DemoRefused(
            f"This site also answers to {', '.join(public)}, and the demo's passwords are no secret. "
            "Seed it where ALLOWED_HOSTS names this machine only."
        )
    names = [person.name for person in CAST]
    others = Reader.objects.filter(username__in=names).exclude(email__endswith=f"@{EMAIL_DOMAIN}")
    if taken := sorted(others.values_list("username", flat=True)):
        raise DemoRefused(
            f"There is already an account called {', '.join(taken)} that is not the demo's. "
            "Use another database: set DATABASE_URL or TIDINGS_VAR_DIR."
        )


def feeds_dir() -> Path:
    """Where the demo's feed files are written and read."""
    return Path(settings.VAR_DIR) / "demo" / "feeds"


def _accounts_ensure(now: datetime) -> dict[str, Reader]:
    """The demo's accounts by name, created where they are missing."""
    names = [person.name for person in CAST]
    readers = {reader.username: reader for reader in Reader.objects.filter(username__in=names)}
    for person in CAST:
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
    return readers


def _subscribe(readers: Iterable[Reader], urls: Sequence[str], at: datetime) -> None:
    feed_ids = Feed.objects.filter(url__in=urls).values_list("pk", flat=True)
    rows = [Subscription(reader=r, feed_id=pk, created_at=at - MONTH) for r in readers for pk in feed_ids]
    Subscription.objects.bulk_create(rows, ignore_conflicts=True)


def _history_ensure(person: Person, reader: Reader, issued: Iterable[Issued], now: datetime) -> None:
    """Give a reader their past month, unless they have already said or set something themselves."""
    if person.taste is not None and not Feedback.objects.filter(reader=reader).exists():
        thumbs = thumbs_given(person.name, person.taste, issued, now=now)
        newest = thumbs if person.thumbs_max is None else thumbs[-person.thumbs_max :]
        _thumbs_store(reader, newest)
    if person.topics and not config_exists(reader_id=reader.pk):
        config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=person.topics), expected_version=0, now=now)


def _thumbs_store(reader: Reader, thumbs: Sequence[Thumb]) -> None:
    ids = dict(Item.objects.filter(url__in=[thumb.url for thumb in thumbs]).values_list("url", "pk"))
    stored = Feedback.objects.bulk_create(_feedback(reader, thumb, ids) for thumb in thumbs)
    FeedbackTag.objects.bulk_create(
        FeedbackTag(feedback=feedback, tag_id=tag)
        for feedback, thumb in zip(stored, thumbs, strict=True)
        for tag in thumb.tags
    )


def _feedback(reader: Reader, thumb: Thumb, ids: Mapping[str, int]) -> Feedback:
    return Feedback(
        reader=reader,
        item_id=ids[thumb.url],
        useful=thumb.useful,
        at=thumb.at,
        day=utc_day(thumb.at),
        has_reason=bool(thumb.tags),
    )


def _seeded(report: FetchReport, readers: Mapping[str, Reader], first_time: bool) -> Seeded:
    return Seeded(
        feeds=len(report.per_feed),
        items_seen=sum(result.items_seen for _, result in report.per_feed),
        items_new=sum(result.items_new for _, result in report.per_feed),
        first_time=first_time,
        thumbs={p.name: Feedback.objects.filter(reader=readers[p.name]).count() for p in READERS},
        reader_ids={name: str(reader.pk) for name, reader in readers.items()},
    )
