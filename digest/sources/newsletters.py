"""Newsletters: each reader has a private address, and each list that writes there is a private source.

Their mails are read from the operator's mailbox.
"""

import imaplib
import re
import secrets
from base64 import b32encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.feeds.entities import FeedProblem
from digest.feeds.ingest import documents_ingest
from digest.feeds.mails import MAIL_MAX_BYTES, Letter, letter_from_json
from digest.feeds.sandbox import SANDBOX, WALL_S, sandbox_answer
from digest.models import Feed, MailboxState, Reader, Subscription
from digest.sources.private_feeds import private_feed_create
from digest.sources.subscriptions import check_room

# The beginning of a newsletter feed's address, before its list.
NEWSLETTER_PREFIX: Final = "newsletter:"
# 80 bits, in letters and digits that survive any mail server.
TOKEN_BYTES: Final = 10
# The placeholder for the reader in NEWSLETTERS_ADDRESS.
PLACE: Final = "*"
# --- The mailbox, by IMAP (RFC 3501); the operator names it, so it may be anywhere ---
PORTS: Final = {"imaps": 993, "imap": 143}
FOLDER: Final = "INBOX"
TIMEOUT_S: Final = 20.0
MAILS_MAX: Final = 200
_UIDS: Final = re.compile(rb"\d{1,10}")

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class NewslettersReport:
    """The mails of one run: `stored`, of nobody (`unknown`), of `removed` lists, and `refused`.

    `problem` says why the mailbox could not be read, or is "".
    """

    stored: int = 0
    unknown: int = 0
    removed: int = 0
    refused: int = 0
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
    """Give the reader a new address and return it; one they had before reaches nobody any more."""
    reader.newsletter_token = b32encode(secrets.token_bytes(TOKEN_BYTES)).decode().casefold()
    reader.save(update_fields=["newsletter_token"])
    return newsletter_address(reader=reader)


def newsletters_removed(*, reader_id: UUID) -> QuerySet[Feed]:
    """Select the newsletters that the reader removed. Their mails are thrown away."""
    read = Subscription.objects.filter(feed=OuterRef("pk"), reader_id=reader_id)
    mine = Feed.objects.filter(owner_id=reader_id, own_address__startswith=NEWSLETTER_PREFIX)
    return mine.filter(~Exists(read)).order_by("title", "pk")


@transaction.atomic
def newsletter_resume(*, reader: Reader, feed_id: int, now: datetime) -> Feed:
    """Take up a newsletter again that was removed. Raises `FeedNotFound`, `TooManySubscriptions`."""
    # Few, and an id that no database holds is none of theirs.
    feed = next((one for one in newsletters_removed(reader_id=reader.pk) if one.pk == feed_id), None)
    if feed is None:
        raise FeedNotFound(gettext("You have removed no such newsletter."))
    check_room(reader=reader)
    Subscription.objects.create(reader=reader, feed=feed, created_at=now)
    return feed


def newsletters_fetch(*, now: datetime) -> NewslettersReport:
    """Read the unread mails of the mailbox, 200 at most, and store each for the reader whose address it has.

    A mail is marked as seen once it is stored or thrown away; after a crash it is read again, and stored
    once, by its Message-ID. A mail that breaks something is refused and in the log, and the others come in. A
    mailbox that fails is an error in the log, and shown to operators
    (`mailbox_state`); nothing is lost.
    """
    report = NewslettersReport()
    if not newsletters_are_on():
        return report
    try:
        with mailbox_open(settings.NEWSLETTERS_URL) as mailbox:
            for uid, mail in mailbox.mails():
                if _mail_handle(mail, report, now):
                    mailbox.seen(uid)
    except MailboxFailed as error:
        report.problem = str(error)
        log.error("newsletters_failed", problem=report.problem)
    MailboxState.objects.update_or_create(pk=1, defaults={"read_at": now, "problem": report.problem})
    return report


def mailbox_state() -> MailboxState | None:
    """Return the result of the last look into the mailbox; `None` if none is set, or before the first."""
    return MailboxState.objects.first() if newsletters_are_on() else None


def mailbox_problem() -> str:
    """Try the mailbox now. Return why it does not open; "" if it does or none is set."""
    try:
        if newsletters_are_on():
            with mailbox_open(settings.NEWSLETTERS_URL):
                pass
    except MailboxFailed as error:
        return str(error)
    return ""


def _mail_handle(mail: bytes, report: NewslettersReport, now: datetime) -> bool:
    """Store one mail, whatever is in it; return whether it is done with.

    An exception is that mail's: it is counted as refused, and seen. Only if the database does not answer is
    the mail left for the next round.
    """
    try:
        _mail_store(mail, report, now)
    except (OperationalError, InterfaceError):
        log.exception("newsletter_left")
        return False
    except Exception:
        report.refused += 1
        log.exception("newsletter_failed", bytes=len(mail))
    return True


def _mail_store(mail: bytes, report: NewslettersReport, now: datetime) -> None:
    """Store one mail and count the result. A mail that cannot be read is thrown away."""
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
    """Store a mail as an item of the reader's private feed of its list. Create both if they are new.

    Return whether it was stored: mails of removed lists are not. Raises `TooManySubscriptions`.
    """
    address = f"{NEWSLETTER_PREFIX}{letter.list_key or 'unknown'}"
    feed = Feed.objects.filter(owner=reader, own_address=address).first()
    if feed is None:
        check_room(reader=reader)
        feed = private_feed_create(
            reader=reader,
            address=address,
            publisher=address.removeprefix(NEWSLETTER_PREFIX).rpartition("@")[2],
            title=letter.feed.title,
            state=Feed.State.IMPORTED,
        )
        Subscription.objects.create(reader=reader, feed=feed, created_at=now)
    elif not Subscription.objects.filter(reader=reader, feed=feed).exists():
        return False
    (result,) = documents_ingest(documents=[(feed, letter.feed)], now=now)
    fresh = {"last_new_at": now} if result.items_new else {}
    Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now, **fresh)
    return True


class MailboxFailed(Exception):
    """A mailbox that does not answer, does not let us in, or speaks no IMAP; a sentence says which."""


class Mailbox:
    """An open mailbox: see `mailbox_open`."""

    def __init__(self, connection: imaplib.IMAP4) -> None:
        self._connection = connection

    def mails(self) -> Iterator[tuple[str, bytes]]:
        """Yield the number and the first 2 MiB of each mail nobody has seen, oldest first, 200 at most."""
        _, found = self._connection.uid("SEARCH", "UNSEEN")
        for uid in _UIDS.findall(found[0] or b"")[:MAILS_MAX]:
            _, parts = self._connection.uid("FETCH", uid.decode(), f"(BODY.PEEK[]<0.{MAIL_MAX_BYTES}>)")
            body = next((part[1] for part in parts or () if isinstance(part, tuple)), None)
            if body is not None:
                yield uid.decode(), bytes(body)

    def seen(self, uid: str) -> None:
        """Mark a mail as seen, so that the next round leaves it out."""
        self._connection.uid("STORE", uid, "+FLAGS.SILENT", r"(\Seen)")


@contextmanager
def mailbox_open(url: str) -> Iterator[Mailbox]:
    """Open the mailbox at `imaps://name:password@host[:port][/folder]`, with its certificate checked.

    Raises `MailboxFailed`, whose words repeat nothing of the address or of the server's answer.
    """
    connection = _connect(urlsplit(url))
    try:
        yield Mailbox(connection)
    except (OSError, imaplib.IMAP4.error) as error:
        raise MailboxFailed(f"The mailbox broke off ({type(error).__name__}).") from error
    finally:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.logout()


def _connect(parts: SplitResult) -> imaplib.IMAP4:
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 993)
    kind = imaplib.IMAP4 if parts.scheme == "imap" else imaplib.IMAP4_SSL
    folder = unquote(parts.path.strip("/")) or FOLDER
    with _failing("The mailbox’s server speaks no IMAP"):
        connection = kind(host, port, timeout=TIMEOUT_S)
    try:
        with _failing("The mailbox does not take the user name and password"):
            connection.login(unquote(parts.username or ""), unquote(parts.password or ""))
        with _failing("The mailbox has no such folder"):
            status, _ = connection.select('"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"')
            if status != "OK":
                raise imaplib.IMAP4.error("no such folder")
    except BaseException:
        with suppress(OSError, imaplib.IMAP4.error):
            connection.shutdown()
        raise
    return connection


@contextmanager
def _failing(words: str) -> Iterator[None]:
    """Raise `MailboxFailed`: with these words if the server refuses, with others if it does not answer."""
    try:
        yield
    except (imaplib.IMAP4.abort, OSError) as error:
        raise MailboxFailed(f"The mailbox’s server does not answer ({type(error).__name__}).") from error
    except imaplib.IMAP4.error as error:
        raise MailboxFailed(f"{words}.") from error
