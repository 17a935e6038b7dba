"""Newsletters: each reader has a private address, and each list that writes there is a private source.

Their mails are read from the operator's mailbox. A list that writes for the first time waits for its reader's
yes, because anybody may write who knows the address.
"""

import imaplib
import secrets
import time
from base64 import b32encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.feeds.entities import FeedProblem
from digest.feeds.ingest import documents_ingest
from digest.feeds.mails import HEAD_BYTES, MAIL_MAX_BYTES, Letter, letter_from_json, mail_tokens
from digest.feeds.sandbox import SANDBOX, WALL_S, sandbox_answer
from digest.feeds.selectors import NEWSLETTER_PREFIX
from digest.items.texts import texts_delete
from digest.models import Feed, Item, MailboxState, Reader, Source, Subscription
from digest.sources.mailbox import Mailbox, MailboxFailed, mailbox_open
from digest.sources.private_feeds import private_feed_create
from digest.sources.subscriptions import newsletter_check_room
from ranking.common.isolation import isolate

# 80 bits, in letters and digits that survive any mail server.
TOKEN_BYTES: Final = 10
# The placeholder for the reader in NEWSLETTERS_ADDRESS.
PLACE: Final = "*"
# A run reads mails for the first of these, and parses the mails of one reader for the second, in seconds.
ROUND_S: Final = 60.0
READER_S: Final = 20.0
# After that the mailbox is left, whatever its server still sends: the last mail of a run is read and parsed.
MAILBOX_S: Final = 2 * ROUND_S
# Lists that may wait for a reader's yes, for how long, and with how many mails. The first mail may confirm a
# sign-up, so it has to be shown.
WAITING_MAX: Final = 20
WAITING_FOR: Final = timedelta(days=30)
WAITING_MAILS: Final = 3
# Refused and removed lists that are remembered. A list beyond that waits again with its next mail.
REMOVED_MAX: Final = 100

Stored = Literal["stored", "waiting", "removed"]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class NewslettersReport:
    """The mails of one run: `stored`, of lists that wait for a yes (`waiting`), without a reader (`unknown`),
    of `removed` lists, and `refused`. `left` is 1 if the time ended before the last mail.

    `problem` tells why the mailbox could not be read, or is "".
    """

    stored: int = 0
    waiting: int = 0
    unknown: int = 0
    removed: int = 0
    refused: int = 0
    left: int = 0
    problem: str = ""


def newsletters_are_on() -> bool:
    """Return whether the operator set a mailbox."""
    return bool(settings.NEWSLETTERS_URL and settings.NEWSLETTERS_ADDRESS)


def newsletter_address(*, reader: Reader) -> str:
    """Return the reader's address for newsletters; "" if they have none, or there is no mailbox."""
    if not newsletters_are_on() or not reader.newsletter_token:
        return ""
    return str(settings.NEWSLETTERS_ADDRESS).replace(PLACE, reader.newsletter_token)


def newsletter_address_issue(*, reader: Reader) -> str:
    """Give the reader a new address and return it. Mails to the old one reach nobody any more."""
    reader.newsletter_token = b32encode(secrets.token_bytes(TOKEN_BYTES)).decode().casefold()
    reader.save(update_fields=["newsletter_token"])
    return newsletter_address(reader=reader)


def mailbox_state() -> MailboxState | None:
    """Return the result of the last look into the mailbox; `None` if none is set, or before the first."""
    return MailboxState.objects.first() if newsletters_are_on() else None


def mailbox_problem() -> str:
    """Try the mailbox now. Return why it does not open, or "" if it opens or none is set."""
    try:
        if newsletters_are_on():
            with mailbox_open(settings.NEWSLETTERS_URL):
                pass
    except MailboxFailed as error:
        return str(error)
    return ""


def newsletters_waiting(*, reader_id: UUID) -> QuerySet[Feed]:
    """Select the newsletters that wait for the reader's yes, the latest first."""
    return _own(reader_id).filter(state=Feed.State.WAITING).order_by("-last_fetched_at", "-pk")


def newsletters_removed(*, reader_id: UUID) -> QuerySet[Feed]:
    """Select the newsletters that the reader refused or removed. Their mails are thrown away."""
    read = Subscription.objects.filter(feed=OuterRef("pk"), reader_id=reader_id)
    removed = _own(reader_id).exclude(state=Feed.State.WAITING).filter(~Exists(read))
    return removed.order_by("title", "pk")


def _own(reader_id: UUID) -> QuerySet[Feed]:
    return Feed.objects.filter(owner_id=reader_id, own_address__startswith=NEWSLETTER_PREFIX)


@transaction.atomic
def newsletter_accept(*, reader: Reader, feed_id: int, now: datetime) -> Feed:
    """Read a newsletter that waits or was removed. Its waiting mails become readable.

    Raises `FeedNotFound`, `TooManySubscriptions`.
    """
    Reader.objects.select_for_update().get(pk=reader.pk)
    waiting = list(newsletters_waiting(reader_id=reader.pk))
    feed = _feed_of([*waiting, *newsletters_removed(reader_id=reader.pk)], feed_id)
    newsletter_check_room(reader=reader)
    Feed.objects.filter(pk=feed.pk).update(state=Feed.State.IMPORTED)
    Subscription.objects.get_or_create(reader=reader, feed=feed, defaults={"created_at": now})
    if feed in waiting:  # its first mail is new to the reader, whenever it came
        Reader.objects.filter(pk=reader.pk).update(sources_filled_at=now)
    return feed


@transaction.atomic
def newsletter_refuse(*, reader: Reader, feed_id: int) -> Feed:
    """Delete the mails of a newsletter that waits, and throw away those it still sends.

    Raises `FeedNotFound`.
    """
    Reader.objects.select_for_update().get(pk=reader.pk)
    feed = _feed_of(newsletters_waiting(reader_id=reader.pk), feed_id)
    removed = newsletters_removed(reader_id=reader.pk)
    if removed.count() >= REMOVED_MAX:
        _feeds_delete([feed])
    else:
        _items_delete([feed])
        Feed.objects.filter(pk=feed.pk).update(state=Feed.State.IMPORTED)
    return feed


@transaction.atomic
def newsletters_expire(*, now: datetime) -> int:
    """Delete the newsletters that wait for a yes and brought no mail for thirty days; return how many."""
    old = Feed.objects.filter(
        state=Feed.State.WAITING,
        own_address__startswith=NEWSLETTER_PREFIX,
        last_fetched_at__lte=now - WAITING_FOR,
    )
    feeds = list(old.select_for_update())
    _feeds_delete(feeds)
    return len(feeds)


def _feed_of(feeds: Iterable[Feed], feed_id: int) -> Feed:
    """Return one of these few feeds. Compared here, because a typed id may be beyond any database's."""
    if found := next((feed for feed in feeds if feed.pk == feed_id), None):
        return found
    raise FeedNotFound(gettext("No such newsletter waits, and you have removed none."))


def _items_delete(feeds: Iterable[Feed]) -> None:
    """Delete the items of newsletters without a reader, with the summaries and reasons made from their
    texts."""
    items = Item.objects.filter(feed__in=[feed.pk for feed in feeds])
    texts = list(items.values_list("fingerprint", flat=True))
    items.delete()
    texts_delete(fingerprints=texts)


def _feeds_delete(feeds: Iterable[Feed]) -> None:
    feeds = list(feeds)
    _items_delete(feeds)
    Feed.objects.filter(pk__in=[feed.pk for feed in feeds]).delete()
    sources = [feed.source_id for feed in feeds]
    Source.objects.filter(pk__in=sources, feeds=None, items=None).delete()


def newsletters_fetch(*, now: datetime) -> NewslettersReport:
    """Read unread mails of the mailbox for a minute, and store each for the reader with its address.

    The recipient is read from the first 64 KiB, and mails without a reader are not read further. A reader's
    mails are parsed for at most 20 s per run, so one flooded reader does not delay the others. The rest stays
    unread for the next run.

    A mail is marked as seen once it is stored or dropped. After a crash it is read again, and stored only
    once, by its Message-ID. A mail that breaks something is refused and logged, and the others come in. A
    failing mailbox is logged as an error and shown to operators (`mailbox_state`); nothing is lost.
    """
    report = NewslettersReport()
    if not newsletters_are_on():
        return report
    newsletters_expire(now=now)
    end = time.monotonic() + ROUND_S
    spent: Counter[UUID] = Counter()  # milliseconds
    try:
        with mailbox_open(settings.NEWSLETTERS_URL, seconds=MAILBOX_S) as mailbox:
            for uid in mailbox.unseen():
                if time.monotonic() >= end:
                    report.left = 1
                    break
                if _mail_handle(mailbox, uid, report, spent, now):
                    mailbox.seen(uid)
    except MailboxFailed as error:
        report.problem = str(error)
        log.error("newsletters_failed", problem=report.problem)
    MailboxState.objects.update_or_create(pk=1, defaults={"read_at": now, "problem": report.problem})
    return report


def _mail_handle(
    mailbox: Mailbox, uid: str, report: NewslettersReport, spent: Counter[UUID], now: datetime
) -> bool:
    """Store one mail with any content. Return whether it is finished.

    An exception counts as that mail's fault: it is refused and marked as seen. Only if the database does not
    answer, or the reader's time in this run is over, the mail is left for the next run.
    """
    began = time.monotonic()
    reader: Reader | None = None
    # An error of the mailbox is not this mail's.
    with isolate("mail", uid, "newsletter_failed", but=(OSError, imaplib.IMAP4.error)) as attempt:
        head = mailbox.read(uid, HEAD_BYTES)
        if head is None:
            return True
        reader = reader_named(head=head)
        if reader is None:
            report.unknown += 1
            return True
        if spent[reader.pk] >= READER_S * 1000:
            report.left = 1
            return False
        mail = head if len(head) < HEAD_BYTES else mailbox.read(uid, MAIL_MAX_BYTES)
        _mail_store(mail or head, reader, report, now)
    if reader:
        spent[reader.pk] += round((time.monotonic() - began) * 1000)
    if isinstance(attempt.error, OperationalError | InterfaceError):
        return False
    report.refused += attempt.error is not None
    return True


def _mail_store(mail: bytes, reader: Reader, report: NewslettersReport, now: datetime) -> None:
    """Store one mail and count the result. A mail that cannot be read is thrown away."""
    try:
        body = sandbox_answer(mail, url="", server=SANDBOX, wall_s=WALL_S, is_mail=True)
        letter = letter_from_json(body)
        stored = letter_store(reader=reader, letter=letter, now=now)
    except (FeedProblem, KeyError, TypeError, ValueError, TooManySubscriptions) as error:
        report.refused += 1
        code = getattr(error, "code", type(error).__name__)
        log.warning("newsletter_refused", code=code, reader_id=str(reader.pk))
        return
    setattr(report, stored, getattr(report, stored) + 1)


def reader_named(*, head: bytes) -> Reader | None:
    """Return the reader of the first address of ours in the beginning of a mail. One query at most."""
    before, _, after = str(settings.NEWSLETTERS_ADDRESS).casefold().partition(PLACE)
    tokens = mail_tokens(head, before=before, after=after)
    if not tokens:
        return None
    found = Reader.objects.filter(newsletter_token__in=tokens, is_active=True)
    return min(found, key=lambda reader: tokens.index(str(reader.newsletter_token)), default=None)


@transaction.atomic
def letter_store(*, reader: Reader, letter: Letter, now: datetime) -> Stored:
    """Store a mail as an item of the reader's private feed of its list. Create both if they are new.

    The feed of a new list waits for the reader's yes, with its first three mails. Mails of removed lists are
    not stored. Raises `TooManySubscriptions` if too many lists wait.
    """
    address = f"{NEWSLETTER_PREFIX}{letter.list_key or 'unknown'}"
    feed = Feed.objects.filter(owner=reader, own_address=address).first()
    if feed is None:
        Reader.objects.select_for_update().get(pk=reader.pk)
        if newsletters_waiting(reader_id=reader.pk).count() >= WAITING_MAX:
            raise TooManySubscriptions(gettext("Too many new senders wait for an answer."))
        feed = private_feed_create(
            reader=reader,
            address=address,
            publisher=address.removeprefix(NEWSLETTER_PREFIX).rpartition("@")[2],
            title=letter.feed.title,
            state=Feed.State.WAITING,
        )
    waits = feed.state == Feed.State.WAITING
    if not waits and not Subscription.objects.filter(reader=reader, feed=feed).exists():
        return "removed"
    if waits and Item.objects.filter(feed=feed).count() >= WAITING_MAILS:
        return "waiting"
    (result,) = documents_ingest(documents=[(feed, letter.feed)], now=now)
    fresh = {"last_new_at": now} if result.items_new else {}
    Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now, **fresh)
    return "waiting" if waits else "stored"
