"""One hostile row in each loop over strangers' material, in the first, the middle and the last place.

Hostile is a row for which a function of the loop raises. The loop runs as a step of the night, or as the
command that an operator types. The other two rows must be served. The operator must see it: a count and an
alert of the night, or the exit code and the report of the command, and a line of the log.
"""

import io
import json
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Model
from django.test import override_settings
from django.utils import timezone

from advisor.guidance.store import memories_refresh_active
from config.jobs.nightly import nightly_run
from config.tasks import _news_make
from digest.articles.favicons import favicons_update
from digest.articles.full_text import full_texts_update
from digest.daily.services import digests_build, digests_build_missing
from digest.feedback.services import cycles_run
from digest.feeds.fetch_batch import feeds_fetch
from digest.items.stories import stories_update
from digest.items.vectors import item_vectors_update
from digest.mail.send import digests_deliver
from digest.models import (
    Delivery,
    Destination,
    Digest,
    Favicon,
    Feed,
    FullText,
    Item,
    ItemVector,
    Notification,
    NotificationSettings,
    Reader,
    Subscription,
    Summary,
)
from digest.notifications.send import notifications_send
from digest.sources.newsletters import newsletter_address_issue, newsletters_fetch
from digest.sources.subscriptions import opml_import
from digest.summaries.services import extracts_make
from ranking.models import WeightSnapshot
from tests.lab.bench.publisher import address, publishers
from tests.lab.faults.boundaries import Json
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
    confirmed,
)
from tests.support.poison import poison

PLACES: Final = ("first", "middle", "last")
WORDS: Final = ("alpha", "bravo", "charlie")
CONTROL_S: Final = 20.0
DAY: Final = timedelta(days=1)
HELPER: Final = "ranking.common.isolation"
Row = Model | str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: the function that makes three rows, the one that breaks, the one that runs it, and the check of
    a row."""

    rows: Callable[[datetime, int], Sequence[Row]]
    breaks: str
    run: Callable[[datetime], object]
    served: Callable[[Row], bool]
    # The command that an operator types, instead of a step of the night.
    command: tuple[str, ...] = ()


def run(name: str, full: bool) -> Json:
    """Return the figures; without `full` each loop has its hostile row in one place, in turn."""
    refused: list[str] = []
    unseen: list[str] = []
    tried = control = 0
    with publishers() as port, settings_of(port):
        for n, (loop_name, loop) in enumerate(LOOPS.items()):
            for place in range(3) if full else (n % 3,):
                tried += 1
                others, seen = poisoned(loop, place, port)
                refused += [] if others else [f"{loop_name}, {PLACES[place]}"]
                unseen += [] if seen else [f"{loop_name}, {PLACES[place]}"]
        with pytest.MonkeyPatch.context() as without:
            without.setattr(f"{HELPER}.isolate.__exit__", lambda *_: False)
            control = sum(not served_in_time(loop, port) for loop in LOOPS.values())
    return {
        "loops": len(LOOPS),
        "rows": tried,
        "refused": len(refused),
        "refused_at": refused,
        "unseen": len(unseen),
        "unseen_at": unseen,
        "control_found": control,
    }


def served_in_time(loop: Loop, port: int) -> bool:
    """Return whether the others are served: a loop without the helper ends by the error, or waits for
    ever."""

    def end(number: int, frame: object) -> None:
        raise TimeoutError("the loop waits for a row that broke")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, CONTROL_S)
    try:
        return poisoned(loop, 0, port)[0]
    except Exception:  # the row's, which the helper would have kept, or the one from above
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def settings_of(port: int) -> Iterator[None]:
    """Use the settings of a site whose publishers are on `port`, with mail, alerts and full texts."""
    with override_settings(
        FETCH_ALLOW_HOSTS=[address(n) for n in range(3)],
        FETCH_PORTS=[80, 443, port],
        FETCH_HOST_GAP_S=0.0,
        FULL_TEXT=True,
        EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
        EMAIL_URL="smtp://mail.example:25",
        ALERT_EMAILS=["olga@example.org"],
        NEWSLETTERS_URL="imap://box.example/INBOX",
        NEWSLETTERS_ADDRESS="letters+*@example.org",
        NIGHTLY_HOUR=0,
    ):
        yield


def poisoned(loop: Loop, place: int, port: int) -> tuple[bool, bool]:
    """Return whether the other rows were served and whether the operator saw the fault. Nothing is stored."""
    now = timezone.now()
    with transaction.atomic(), pytest.MonkeyPatch.context() as patched, heard() as lines:
        rows = loop.rows(now, port)
        poison(patched, loop.breaks, rows[place])
        mail.outbox = []
        cache.clear()
        seen = told_by_command(loop) if loop.command else told_by_night(loop, now)
        others = all(loop.served(row) for n, row in enumerate(rows) if n != place)
        transaction.set_rollback(True)
    return others, seen and bool(lines)


def told_by_night(loop: Loop, now: datetime) -> bool:
    """Return whether the night is done, counts one failure, and an alert says so."""

    def step(now: datetime) -> dict[str, object]:
        loop.run(now)
        return {}

    row = nightly_run(now=now, steps={"poison": step}).steps["poison"]
    failed = [n for name, n in row["counts"].items() if name.endswith("s_failed")]
    alerts = [one for one in mail.outbox if "failed_poison" in one.subject]
    return row["status"] == "done" and failed == [1] and len(alerts) == 1


def told_by_command(loop: Loop) -> bool:
    """Return whether the command ends with 1 and its report has one failure."""
    out = io.StringIO()
    code = 0
    try:
        call_command(*loop.command, stdout=out)
    except (CommandError, SystemExit) as error:
        code = getattr(error, "returncode", None) or getattr(error, "code", 0)
    with suppress(ValueError):
        return code == 1 and json.loads(out.getvalue())["failed"] == 1
    return code == 1


@contextmanager
def heard() -> Iterator[list[str]]:
    """Yield the lines that the helper writes into the log."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger(HELPER)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.ERROR)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def readers(now: datetime, port: int) -> list[Reader]:
    """Three readers with a source, items of today, thumbs, a mail that is due and a webhook."""
    found = []
    for n, word in enumerate(WORDS):
        reader = ReaderFactory(pk=UUID(int=n + 1), username=word, time_zone="UTC")
        reader.mail_rhythm, reader.mail_hour = "daily", 0
        reader.save()
        confirmed(reader)
        source = SourceFactory(key=f"{word}.example")
        feed = FeedFactory(source=source)
        SubscriptionFactory(reader=reader, feed=feed)
        for hours in range(1, 6):
            item = ItemFactory(source=source, feed=feed, published_at=now - timedelta(hours=hours))
            if hours > 3:
                FeedbackFactory(reader=reader, item=item, useful=hours > 4, at=now - DAY)
        Destination.objects.create(
            reader=reader, kind="webhook", address="https://127.0.0.1/", created_at=now
        )
        NotificationSettings.objects.create(
            reader=reader, events=["digest"], since=now - DAY, quiet_from=0, quiet_until=0
        )
        found.append(reader)
    return found


def readers_with_news(now: datetime, port: int) -> list[Reader]:
    """Create readers with news: their digests are built."""
    found = readers(now - timedelta(minutes=1), port)
    digests_build(now=now - timedelta(minutes=1))
    return found


def destinations(now: datetime, port: int) -> list[Row]:
    """Return the destinations of three readers, with a notification each."""
    for reader in readers(now, port):
        Notification.objects.create(
            reader=reader,
            destination=reader.destinations.get(),
            news=[{"event": "digest", "words": "Ready", "path": "/"}],
            next_at=now - timedelta(minutes=3 - int(reader.pk)),
            created_at=now,
        )
    return list(Destination.objects.order_by("reader_id"))


def feeds(now: datetime, port: int) -> list[Feed]:
    """Create three due feeds of different publishers."""
    reader = ReaderFactory(username="ada")
    found = []
    for n, word in enumerate(WORDS):
        url = f"http://{address(n)}:{port}/good/{word}"
        feed = Feed.objects.create(
            url=url, source=SourceFactory(key=f"{word}.example"), next_check_at=now - timedelta(minutes=3 - n)
        )
        SubscriptionFactory(reader=reader, feed=feed, full_text=True)
        found.append(feed)
    return found


def fetched(now: datetime, port: int) -> list[Feed]:
    """Three feeds that were fetched, an item of today each."""
    found = feeds(now, port)
    for n, feed in enumerate(found):
        Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now - DAY, next_check_at=now + DAY)
        ItemFactory(
            feed=feed,
            source=feed.source,
            title=f"{WORDS[n]} harbour council",
            url=f"{feed.url}/{n}",
            published_at=now - timedelta(minutes=10 * (n + 1)),
        )
    return found


def titles(now: datetime, port: int) -> list[str]:
    """Return the first words of three items' titles."""
    fetched(now, port)
    return list(WORDS)


def lines(now: datetime, port: int) -> list[str]:
    """Three addresses of a list to import."""
    ReaderFactory(username="ada")
    return [f"https://{word}.example/feed" for word in WORDS]


def import_list(now: datetime) -> None:
    """Import the list."""
    outlines = "".join(f'<outline text="{w}" xmlUrl="https://{w}.example/feed"/>' for w in WORDS)
    document = f'<opml version="2.0"><body>{outlines}</body></opml>'.encode()
    opml_import(reader=Reader.objects.get(), document=document, now=now)


class Box:
    """A mailbox of three mails, one to each reader, in the order of the readers."""

    def __init__(self) -> None:
        self.unread = list(WORDS)

    def unseen(self) -> list[str]:
        """Return the names of the mails."""
        return list(self.unread)

    def read(self, uid: str, most: int) -> bytes:
        """Return a mail."""
        to = str(Reader.objects.get(username=uid).newsletter_token)
        head = f"From: {uid} <news@{uid}.example>\r\nTo: letters+{to}@example.org\r\nSubject: {uid} news\r\n"
        return f"{head}List-Id: <{uid}.example>\r\nMessage-ID: <1@{uid}>\r\n\r\nHello.\r\n".encode()[:most]

    def seen(self, uid: str) -> None:
        """Mark a mail as read."""
        self.unread.remove(uid)


def written_to(now: datetime, port: int) -> list[Row]:
    """Three readers with an address for newsletters."""
    found = readers(now, port)
    for reader in found:
        newsletter_address_issue(reader=reader)
    return found


def read_mailbox(now: datetime) -> None:
    """Read all mails, including the hostile one."""
    box = Box()

    @contextmanager
    def opened(url: str, *, seconds: float) -> Iterator[Box]:
        yield box

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("digest.sources.newsletters.mailbox_open", opened)
        newsletters_fetch(now=now)
    assert not box.unread, "a mail that stays unread is read again in each round"


def _of(lookup: Callable[[Any], Any]) -> Callable[[Row], bool]:
    return lambda row: bool(lookup(row).exists())


_learned = _of(lambda reader: WeightSnapshot.objects.filter(reader_id=reader.pk))
_built = _of(lambda reader: Digest.objects.filter(reader=reader))
_fetched = _of(lambda feed: Item.objects.filter(feed=feed))
LOOPS: Final[dict[str, Loop]] = {
    "learning": Loop(
        readers,
        "digest.feedback.services.weights_decided_many",
        lambda now: cycles_run(reader_ids=[UUID(int=n) for n in (1, 2, 3)], now=now),
        _learned,
    ),
    "digests": Loop(readers, "digest.daily.services.ranked_day", lambda now: digests_build(now=now), _built),
    "digests of days that begin": Loop(
        readers,
        "digest.daily.services.config_effective_many",
        lambda now: digests_build_missing(now=now),
        _built,
    ),
    "mails": Loop(
        readers,
        "digest.mail.send._claim",
        lambda now: digests_deliver(now=now),
        _of(lambda reader: Delivery.objects.filter(reader=reader, status="sent")),
    ),
    "news": Loop(
        readers_with_news,
        "digest.notifications.news._store_for_reader",
        _news_make,
        _of(lambda reader: Notification.objects.filter(reader=reader)),
    ),
    "notifications": Loop(
        destinations,
        "digest.notifications.send.message_post",
        lambda now: notifications_send(now=now),
        # Nothing is sent to an inner address: that it was refused shows that it had its turn.
        _of(lambda place: Notification.objects.filter(destination=place, code="forbidden_address")),
    ),
    "memories": Loop(
        readers,
        "advisor.guidance.store.memories_refresh",
        lambda now: memories_refresh_active(now=now),
        lambda reader: True,
    ),
    "feeds that are asked": Loop(
        feeds, "digest.feeds.fetch_batch.fetch", lambda now: feeds_fetch(now=now), _fetched
    ),
    "feeds that are read": Loop(
        feeds, "digest.feeds.fetch_batch.parse_document", lambda now: feeds_fetch(now=now), _fetched
    ),
    "feeds that are stored": Loop(
        feeds, "digest.feeds.fetch_batch.answers_store", lambda now: feeds_fetch(now=now), _fetched
    ),
    "stories": Loop(
        titles,
        "digest.items.stories.cluster_items",
        lambda now: stories_update(now=now),
        _of(lambda word: Item.objects.filter(title__startswith=word, clustered_at__isnull=False)),
    ),
    "vectors": Loop(
        titles,
        "digest.items.vectors.term_counts",
        lambda now: item_vectors_update(now=now),
        _of(lambda word: ItemVector.objects.filter(item__title__startswith=word)),
    ),
    "extracts": Loop(
        titles,
        "digest.summaries.services.reasons_offline",
        lambda now: extracts_make(now=now),
        _of(
            lambda word: Summary.objects.filter(
                fingerprint__in=Item.objects.filter(title__startswith=word).values("fingerprint")
            )
        ),
    ),
    "full texts": Loop(
        titles,
        "digest.articles.full_text.page_get",
        lambda now: full_texts_update(now=now),
        _of(lambda word: FullText.objects.filter(item__title__startswith=word)),
    ),
    "icons": Loop(
        fetched,
        "digest.articles.favicons._fetch_icon",
        lambda now: favicons_update(now=now),
        _of(lambda feed: Favicon.objects.filter(source=feed.source_id)),
    ),
    "newsletters": Loop(
        written_to,
        "digest.sources.newsletters._mail_store",
        read_mailbox,
        _of(lambda reader: Feed.objects.filter(owner=reader)),
    ),
    "lists that are imported": Loop(
        lines,
        "digest.sources.subscriptions.source_key",
        import_list,
        _of(lambda url: Subscription.objects.filter(feed__url=url)),
    ),
    "update_weights": Loop(
        readers,
        "digest.management.commands.update_weights.weights_update",
        lambda now: None,
        _learned,
        ("update_weights", "--all-users", "--json"),
    ),
    "build_digest": Loop(
        readers,
        "digest.management.commands.build_digest.digest_build",
        lambda now: None,
        _built,
        ("build_digest", "--all-users", "--json"),
    ),
    "export_records": Loop(
        readers,
        "digest.management.commands.export_records.records_export",
        lambda now: None,
        lambda reader: True,
        ("export_records", "--all-users", "--history", "1"),
    ),
}
