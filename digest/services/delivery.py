"""Mail goes out: claimed before it is made, marked before it is handed over, at most once.

What a row of `Delivery` says while a mail is under way:

| status | sent_at | what it means for the next run |
|---|---|---|
| claimed | empty | the process ended before the mail was handed over: taken up after 15 minutes |
| claimed | set | it ended while the mail server had it: nobody knows, so it is not sent again |
| failed | empty | tried again after 20 minutes, three times in all |

So a reader may, once in a crash, miss a mail whose digest stands on the site all the same; nobody gets one
twice. Only a mail server that takes a message and loses the connection before saying so leads to a second
copy, which carries the same Message-ID.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import datetime, timedelta
from smtplib import SMTPRecipientsRefused, SMTPResponseException, SMTPSenderRefused

import structlog
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction

from digest.delivery import WEEKLY, mail_day
from digest.letters import Draft, draft_daily, draft_weekly
from digest.mail_way import mail_goes_out
from digest.mailing import letter_message
from digest.models import Delivery, Exposure, Reader
from digest.sanitise import one_line, plain
from digest.selectors.deliveries import addresses_confirmed, deliveries_lately, mail_readers
from digest.services.build import digest_current

log = structlog.get_logger(__name__)

ATTEMPTS_MAX = 3
# Greylisting servers ask for a second call within minutes to half an hour (RFC 6647, section 5).
RETRY_AFTER = timedelta(minutes=20)
# Nothing of ours takes longer between claiming a mail and handing it over.
CLAIM_LASTS = timedelta(minutes=15)
# One run's share: the next one, minutes later, goes on where it ended.
MAILS_MAX = 2000
SECONDS_MAX = 600.0
ERROR_CHARS = 300
UNKNOWN_FATE = "The process ended while the mail server had this mail; it is not sent again."


@dataclass(slots=True)
class DeliveryReport:
    """What a run came to. `skipped` have no (confirmed) address; `left` are due and wait for the next run.

    `down` says why no mail server could be reached, and is empty where one could.
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
        """The counts, for reports and scripts."""
        names = ("due", "sent", "empty", "failed", "skipped", "left")
        return {name: getattr(self, name) for name in names}


def digests_deliver(
    *, now: datetime, mails_max: int = MAILS_MAX, seconds_max: float = SECONDS_MAX
) -> DeliveryReport:
    """Send every mail that is due at `now` and was not sent, over one connection.

    A mail server that cannot be reached costs nobody an attempt: the report says so and the next run tries
    again. An address that fails costs the others nothing; what is wrong with it is kept in its row. Where
    EMAIL_URL names no server at all, nothing is due.
    """
    report, until = DeliveryReport(), time.monotonic() + seconds_max
    if not mail_goes_out():
        return report
    waiting = list(_due(now, report))
    report.due = len(waiting)
    if not waiting:
        return report
    post = _Post(get_connection())
    try:
        for done, (reader, day, row) in enumerate(waiting):
            if done >= mails_max or time.monotonic() > until or not post.ready():
                report.left = len(waiting) - done
                break
            if claimed := _claim(reader, day, row, now):
                _deliver(reader, claimed, post, report, now)
    finally:
        post.close()
    report.down = post.down
    log.info("digests_delivered", **report.as_dict(), down=report.down)
    return report


@dataclass(slots=True)
class _Post:
    """The one connection of a run, opened when it is first needed and again where it broke."""

    connection: BaseEmailBackend
    down: str = ""

    def ready(self) -> bool:
        """Whether the mail server answers; `down` says why it does not."""
        if not self.down:
            try:
                self.connection.open()
            except OSError as error:  # SMTP's own errors are OSErrors too
                self.down = _words(error)
        return not self.down

    def send(self, message: EmailMessage) -> None:
        """Hand one message over. Raises what the server or the network said."""
        try:
            self.connection.send_messages([message])
        except SMTPRecipientsRefused:
            raise  # an answer about one address: the connection is as good as before
        except SMTPSenderRefused as error:
            self.down = _words(error)  # ours, so it would be the same for everybody
            raise
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Hang up, whatever state the connection is in."""
        with suppress(OSError):
            self.connection.close()


def _due(now: datetime, report: DeliveryReport) -> Iterator[tuple[Reader, Date, Delivery | None]]:
    """Who is to get a mail, of which day, and the row of an earlier attempt; three queries at most."""
    rows, readers = deliveries_lately(now=now), mail_readers()
    reachable = addresses_confirmed(readers=readers)
    for reader in readers:
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
        row = rows.get((reader.pk, day))
        if row is None or _again(row, now, report):
            yield reader, day, row


def _again(row: Delivery, now: datetime, report: DeliveryReport) -> bool:
    """Whether an earlier attempt is to be repeated; one whose fate is unknown is closed instead."""
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
    """Make the mail ours: of two runs at once one gets the row."""
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
    """Change `row` if it is still as we know it: its attempts are the fence."""
    same = Delivery.objects.filter(pk=row.pk, status=row.status, attempts=row.attempts)
    return bool(same.filter(claimed_at=row.claimed_at).update(**fields))


def _deliver(reader: Reader, row: Delivery, post: _Post, report: DeliveryReport, now: datetime) -> None:
    """Make, mark, hand over, note. Whatever breaks is this reader's row and nobody else's trouble."""
    try:
        draft = _draft(reader, row.date, now)
        if draft is None:
            report.empty += _write(row, status=Delivery.Status.EMPTY)
            return
        message = letter_message(draft.letter, now=now)
        if not _write(row, sent_at=now):
            return
        post.send(message)
    except Exception as error:
        _failed(row, error, report)
        return
    with transaction.atomic():
        report.sent += _write(row, status=Delivery.Status.SENT, items=len(draft.shown), sent_at=now)
        _expose(reader, row.date, draft, now)


def _failed(row: Delivery, error: Exception, report: DeliveryReport) -> None:
    log.warning("delivery_failed", reader_id=str(row.reader_id), exc_info=error)
    words = _words(error)
    attempts = ATTEMPTS_MAX if _for_good(error) else row.attempts
    _write(row, status=Delivery.Status.FAILED, sent_at=None, attempts=attempts, error=words)
    report.failed += 1
    report.errors.append((str(row.reader_id), words))


def _draft(reader: Reader, day: Date, now: datetime) -> Draft | None:
    if reader.mail_rhythm == WEEKLY:
        return draft_weekly(reader=reader, day=day, now=now)
    digest = digest_current(reader=reader, date=day, now=now)
    return draft_daily(reader=reader, digest=digest, now=now) if digest else None


def _expose(reader: Reader, day: Date, draft: Draft, now: datetime) -> None:
    """Log what the mail put before the reader, at the rank it has there; a second mail adds nothing."""
    versions = {row.digest_id: row.digest.config_version for row in draft.shown}
    Exposure.objects.bulk_create(
        [
            Exposure(
                reader=reader,
                item_id=row.item_id,
                date=day,
                door=Exposure.Door.MAIL,
                rank=rank,
                slot=row.slot,
                propensity=row.propensity,
                score=row.score,
                config_version=versions[row.digest_id],
                shown_at=now,
            )
            for rank, row in enumerate(draft.shown, start=1)
        ],
        ignore_conflicts=True,
    )


def _for_good(error: Exception) -> bool:
    """Whether trying again is pointless: every address was refused with a 5xx code."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return False


def _words(error: Exception) -> str:
    """What went wrong, for operators and for the reader's own page; nothing of the message itself."""
    if isinstance(error, SMTPRecipientsRefused):
        said = "; ".join(f"{code} {_text(reason)}" for code, reason in error.recipients.values())
    elif isinstance(error, SMTPResponseException):
        said = f"{error.smtp_code} {_text(error.smtp_error)}"
    else:
        said = f"{type(error).__name__}: {error}"
    return one_line(plain(said), limit=ERROR_CHARS)


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
