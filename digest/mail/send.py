"""Send the mails that are due, each at most once.

A run claims the row of `Delivery` before it builds the mail, and sets `sent_at` before it hands the mail to
the server. The next run reads such a row like this:

| status | sent_at | meaning for the next run |
|---|---|---|
| claimed | empty | the process ended before it handed the mail over: take it up after 15 minutes |
| claimed | set | the process ended during the hand-over: the result is unknown, so do not send again |
| failed | empty | try again after 20 minutes, three attempts in all |

After a crash a reader may miss a mail (the digest is still on the site), but gets none twice. There is one
exception: if a mail server accepts a message and the connection breaks before it says so, a second copy with
the same Message-ID goes out.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import datetime, timedelta
from smtplib import SMTPRecipientsRefused, SMTPResponseException, SMTPSenderRefused

import structlog
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext_noop

from digest.daily.services import digest_current
from digest.daily.store import exposure_make
from digest.feeds.sanitise import clean_text, one_line
from digest.mail.content import MailDraft, draft_daily, draft_weekly
from digest.mail.due import WEEKLY, addresses_confirmed, deliveries_recent, mail_day, mail_readers
from digest.mail.render import mail_goes_out, mail_message
from digest.models import Delivery, Exposure, Reader
from ranking.common.isolation import READER, isolate

log = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
# Greylisting servers accept a second attempt after minutes to half an hour (RFC 6647, section 5).
RETRY_AFTER = timedelta(minutes=20)
# A claim older than this was left by a dead process, because no hand-over takes as long.
CLAIM_LASTS = timedelta(minutes=15)
# Limits of one run. The next run, minutes later, sends the rest.
MAILS_MAX = 2000
SECONDS_MAX = 600.0
ERROR_CHARS = 300
UNKNOWN_FATE = gettext_noop("The process ended while the mail server had this mail; it is not sent again.")


@dataclass(slots=True)
class DeliveryReport:
    """The counts of one run.

    `empty` mails had no item to show. `skipped` readers have no confirmed address. `left` mails are due and
    wait for the next run. `down` says why the mail server cannot be used, or is empty. `errors` pairs reader
    ids with error texts.
    """

    due: int = 0
    sent: int = 0
    empty: int = 0
    failed: int = 0
    skipped: int = 0
    left: int = 0
    down: str = ""
    errors: list[tuple[str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Return the counts by name, for reports and scripts."""
        names = ("due", "sent", "empty", "failed", "skipped", "left")
        return {name: getattr(self, name) for name in names}


def digests_deliver(
    *, now: datetime, mails_max: int = MAILS_MAX, seconds_max: float = SECONDS_MAX
) -> DeliveryReport:
    """Send the mails that are due at `now` over one connection, and return the counts.

    If the mail server cannot be reached, no mail loses an attempt: the report says so and the next run tries
    again. If one address fails, its row keeps the error and the other mails still go out. If EMAIL_URL names
    no mail server, nothing is due.
    """
    report, until = DeliveryReport(), time.monotonic() + seconds_max
    if not mail_goes_out():
        return report
    waiting = list(_due_mails(now, report))
    report.due = len(waiting)
    if not waiting:
        return report
    server = _Connection(get_connection())
    try:
        for done, (reader, day, row) in enumerate(waiting):
            if done >= mails_max or time.monotonic() > until or not server.ready():
                report.left = len(waiting) - done
                break
            with _apart(reader, report):
                if claimed := _claim(reader, day, row, now):
                    _deliver(reader, claimed, server, report, now)
    finally:
        server.close()
    report.down = server.down
    log.info("digests_delivered", **report.as_dict(), down=report.down)
    return report


@dataclass(slots=True)
class _Connection:
    """The connection of a run. It opens at the first mail, and again after it broke."""

    connection: BaseEmailBackend
    down: str = ""

    def ready(self) -> bool:
        """Open the connection if necessary. Return whether that worked; if not, `down` says why."""
        if not self.down:
            try:
                self.connection.open()
            except OSError as error:  # SMTP's own errors are OSErrors too
                self.down = _error_words(error)
        return not self.down

    def send(self, message: EmailMessage) -> None:
        """Hand one message to the server. Raises the error of the server or the network."""
        try:
            self.connection.send_messages([message])
        except SMTPRecipientsRefused:
            raise  # only this recipient was refused, so the connection can be used again
        except SMTPSenderRefused as error:
            self.down = _error_words(error)  # our own address was refused, so every mail would fail
            raise
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection in any state, without raising an error."""
        with suppress(OSError):
            self.connection.close()


def _due_mails(now: datetime, report: DeliveryReport) -> Iterator[tuple[Reader, Date, Delivery | None]]:
    """Yield each due mail: its reader, its day, and the row of an earlier attempt or `None`.

    Count readers without a confirmed address in `report`. Three queries, and one for each closed row.
    """
    rows, readers = deliveries_recent(now=now), mail_readers()
    reachable = addresses_confirmed(readers=readers)
    for reader in readers:
        day = None
        with _apart(reader, report):
            day = mail_day(
                rhythm=reader.mail_rhythm,
                hour=reader.mail_hour,
                weekday=reader.mail_weekday,
                zone=reader.zone,
                now=now,
            )
        if day is None:
            continue
        if reader.pk not in reachable:
            report.skipped += 1
            continue
        row, is_due = rows.get((reader.pk, day)), False
        with _apart(reader, report):
            is_due = row is None or _is_due_again(row, now, report)
        if is_due:
            yield reader, day, row


@contextmanager
def _apart(reader: Reader, report: DeliveryReport) -> Iterator[None]:
    """Count an error of the block as this reader's failure, also if no row of a mail can store it."""
    with isolate(READER, reader.pk, "delivery_broke") as attempt:
        yield
    if attempt.error:
        report.failed += 1
        report.errors.append((str(reader.pk), _error_words(attempt.error)))


def _is_due_again(row: Delivery, now: datetime, report: DeliveryReport) -> bool:
    """Return whether to repeat an earlier attempt. If its result is unknown, close it as failed instead."""
    waited = now - row.claimed_at
    if row.status == Delivery.Status.FAILED:
        return row.attempts < ATTEMPTS_MAX and waited >= RETRY_AFTER
    if row.status != Delivery.Status.CLAIMED or waited < CLAIM_LASTS:
        return False
    if row.sent_at is None:
        return row.attempts < ATTEMPTS_MAX
    if _write(row, status=Delivery.Status.FAILED, sent_at=None, attempts=ATTEMPTS_MAX, error=UNKNOWN_FATE):
        report.failed += 1
        report.errors.append((str(row.reader_id), UNKNOWN_FATE))
    return False


def _claim(reader: Reader, day: Date, row: Delivery | None, now: datetime) -> Delivery | None:
    """Return the claimed row, or `None` if another run claimed it first."""
    if row is None:
        claimed, first = Delivery.objects.get_or_create(
            reader=reader, date=day, defaults={"attempts": 1, "claimed_at": now}
        )
        return claimed if first else None
    attempts = row.attempts + 1
    if not _write(
        row, status=Delivery.Status.CLAIMED, attempts=attempts, claimed_at=now, sent_at=None, error=""
    ):
        return None
    row.status, row.attempts, row.claimed_at, row.sent_at = Delivery.Status.CLAIMED, attempts, now, None
    return row


def _write(row: Delivery, **fields: object) -> bool:
    """Update `row` unless another process changed it since we read it. Return whether it was updated."""
    same = Delivery.objects.filter(pk=row.pk, status=row.status, attempts=row.attempts)
    return bool(same.filter(claimed_at=row.claimed_at).update(**fields))


def _deliver(
    reader: Reader, row: Delivery, server: _Connection, report: DeliveryReport, now: datetime
) -> None:
    """Build one mail, mark its row, send it and store the result. An error affects only this row."""
    try:
        with translation.override(reader.language_of_mails):
            draft = _draft(reader, row.date, now)
            message = mail_message(draft.content, now=now) if draft else None
        if draft is None or message is None:
            report.empty += _write(row, status=Delivery.Status.EMPTY)
            return
        if not _write(row, sent_at=now):
            return
        server.send(message)
    except Exception as error:
        _store_failure(row, error, report)
        return
    with transaction.atomic():
        report.sent += _write(row, status=Delivery.Status.SENT, items=len(draft.shown), sent_at=now)
        shown = [
            exposure_make(
                impression,
                digest=impression.digest,
                date=row.date,
                door=Exposure.Door.MAIL,
                rank=rank,
                now=now,
            )
            for rank, impression in enumerate(draft.shown, start=1)
        ]
        Exposure.objects.bulk_create(shown, ignore_conflicts=True)  # a second mail adds nothing


def _store_failure(row: Delivery, error: Exception, report: DeliveryReport) -> None:
    log.warning("delivery_failed", reader_id=str(row.reader_id), exc_info=error)
    words = _error_words(error)
    attempts = ATTEMPTS_MAX if _is_permanent(error) else row.attempts
    _write(row, status=Delivery.Status.FAILED, sent_at=None, attempts=attempts, error=words)
    report.failed += 1
    report.errors.append((str(row.reader_id), words))


def _draft(reader: Reader, day: Date, now: datetime) -> MailDraft | None:
    if reader.mail_rhythm == WEEKLY:
        return draft_weekly(reader=reader, day=day, now=now)
    digest = digest_current(reader=reader, date=day, now=now)
    return draft_daily(reader=reader, digest=digest, now=now) if digest else None


def _is_permanent(error: Exception) -> bool:
    """Return whether a retry is pointless, because the server refused every address with a 5xx code."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return False


def _error_words(error: Exception) -> str:
    """Return the error for operators and for the reader's page, without any part of the mail."""
    if isinstance(error, SMTPRecipientsRefused):
        words = "; ".join(f"{code} {_text(reason)}" for code, reason in error.recipients.values())
    elif isinstance(error, SMTPResponseException):
        words = f"{error.smtp_code} {_text(error.smtp_error)}"
    else:
        words = f"{type(error).__name__}: {error}"
    return one_line(clean_text(words), limit=ERROR_CHARS)


def _text(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
