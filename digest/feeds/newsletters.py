"""Newsletters: each reader has a private address, and each list that writes there is a private source."""

import secrets
from base64 import b32encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.feeds.entities import FeedProblem
from digest.feeds.ingest import documents_ingest, source_get_or_create
from digest.feeds.mailbox import MailboxFailed, mailbox_open
from digest.feeds.mails import Letter, letter_from_json
from digest.feeds.private_feeds import PRIVATE_PREFIX
from digest.feeds.sandbox import SANDBOX, WALL_S, sandbox_answer
from digest.feeds.subscriptions import check_room
from digest.models import Feed, Reader, Subscription

# What stands in place of the address of a newsletter's feed, before its list.
NEWSLETTER_PREFIX: Final = "newsletter:"
# 80 bits, in letters and digits that survive any mail server.
TOKEN_BYTES: Final = 10
DOMAIN_MAX_CHARS: Final = 80
# What stands for the reader in NEWSLETTERS_ADDRESS.
PLACE: Final = "*"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class NewslettersReport:
    """What a round brought: mails `stored`, of nobody (`unknown`), `removed` lists, and those `refused`."""

    stored: int = 0
    unknown: int = 0
    removed: int = 0
    refused: int = 0
    failed: bool = False


def newsletters_are_on() -> bool:
    """Return whether the operator set a mailbox."""
    return bool(settings.NEWSLETTERS_URL and settings.NEWSLETTERS_ADDRESS)


def newsletter_address(*, reader: Reader) -> str:
    """Return the reader's address for newsletters; "" where they have none, or there is no mailbox."""
    if not newsletters_are_on() or not reader.newsletter_token:
        return ""
    return str(settings.NEWSLETTERS_ADDRESS).replace(PLACE, reader.newsletter_token)


def newsletter_address_issue(*, reader: Reader) -> str:
    """Give the reader a new address and return it; one they had before reaches nobody any more."""
    reader.newsletter_token = b32encode(secrets.token_bytes(TOKEN_BYTES)).decode().casefold()
    reader.save(update_fields=["newsletter_token"])
    return newsletter_address(reader=reader)


def newsletters_removed(*, reader_id: UUID) -> QuerySet[Feed]:
    """Select the newsletters that the reader removed: what they still send is thrown away."""
    read = Subscription.objects.filter(feed=OuterRef("pk"), reader_id=reader_id)
    mine = Feed.objects.filter(owner_id=reader_id, own_address__startswith=NEWSLETTER_PREFIX)
    return mine.filter(~Exists(read)).order_by("title", "pk")


@transaction.atomic
def newsletter_resume(*, reader: Reader, feed_id: int, now: datetime) -> Feed:
    """Take up a newsletter again that was removed. Raises `FeedNotFound`, `TooManySubscriptions`."""
    feed = newsletters_removed(reader_id=reader.pk).filter(pk__in=[feed_id]).first()
    if feed is None:
        raise FeedNotFound("You have removed no such newsletter.")
    check_room(reader=reader)
    Subscription.objects.create(reader=reader, feed=feed, created_at=now)
    return feed


def newsletters_fetch(*, now: datetime) -> NewslettersReport:
    """Read the unread mails of the mailbox, 200 at most, and store each for the reader whose address it has.

    A mail is marked as seen once it is stored or thrown away; after a crash it is read again, and stored
    once, by its Message-ID. A mailbox that fails is an error in the log; nothing is lost.
    """
    report = NewslettersReport()
    if not newsletters_are_on():
        return report
    try:
        with mailbox_open(settings.NEWSLETTERS_URL) as mailbox:
            for uid, mail in mailbox.mails():
                _mail_store(mail, report, now)
                mailbox.seen(uid)
    except MailboxFailed as error:
        report.failed = True
        log.error("newsletters_failed", problem=str(error))
    return report


def _mail_store(mail: bytes, report: NewslettersReport, now: datetime) -> None:
    """Store one mail and count what became of it; what cannot be read is thrown away."""
    try:
        body = sandbox_answer(mail, url="", server=SANDBOX, wall_s=WALL_S, is_mail=True)
        letter = letter_from_json(body)
    except (FeedProblem, KeyError, TypeError, ValueError) as error:
        report.refused += 1
        log.warning("newsletter_refused", code=getattr(error, "code", type(error).__name__))
        return
    reader = reader_named(recipients=letter.recipients)
    if reader is None:
        report.unknown += 1
        return
    try:
        stored = letter_store(reader=reader, letter=letter, now=now)
    except TooManySubscriptions as error:
        report.refused += 1
        log.warning("newsletter_refused", code=error.code, reader_id=str(reader.pk))
        return
    report.stored += stored
    report.removed += not stored


def reader_named(*, recipients: Iterable[str]) -> Reader | None:
    """Return the reader whose address is the first of these that is one of ours; one query at most."""
    before, _, after = str(settings.NEWSLETTERS_ADDRESS).casefold().partition(PLACE)
    for address in recipients:
        token = address.removeprefix(before).removesuffix(after)
        if address == f"{before}{token}{after}" and token.isascii() and token.isalnum():
            return Reader.objects.filter(newsletter_token=token, is_active=True).first()
    return None


@transaction.atomic
def letter_store(*, reader: Reader, letter: Letter, now: datetime) -> bool:
    """Store a mail as an item of the reader's private feed of its list, both created where they are new.

    Return whether it was: of a list that the reader removed nothing is. Raises `TooManySubscriptions`.
    """
    address = f"{NEWSLETTER_PREFIX}{letter.list_key or 'unknown'}"
    feed = Feed.objects.filter(owner=reader, own_address=address).first()
    if feed is None:
        check_room(reader=reader)
        feed = _feed_create(reader, address, letter.feed.title)
        Subscription.objects.create(reader=reader, feed=feed, created_at=now)
    elif not Subscription.objects.filter(reader=reader, feed=feed).exists():
        return False
    (result,) = documents_ingest(documents=[(feed, letter.feed)], now=now)
    fresh = {"last_new_at": now} if result.items_new else {}
    Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now, **fresh)
    return True


def _feed_create(reader: Reader, address: str, title: str) -> Feed:
    """Create a private feed that is never fetched, with a source of its own: no sender takes a name."""
    domain = address.removeprefix(NEWSLETTER_PREFIX).rpartition("@")[2][:DOMAIN_MAX_CHARS]
    name = uuid4()
    return Feed.objects.create(
        url=f"{PRIVATE_PREFIX}{name}",
        owner=reader,
        own_address=address,
        title=title,
        state=Feed.State.IMPORTED,
        source=source_get_or_create(key=f"{domain or 'mail'}/mail-{name.hex[:12]}", title=title),
    )
