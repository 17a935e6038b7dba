"""Mail that is due: for whom, of which day, and what the mail of a week shows.

A reader's day and hour are the reader's own: the moment is made from the calendar day, the wall clock and
the zone, so that a night with a clock change has one such moment like any other.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from uuid import UUID

from allauth.account.models import EmailAddress
from django.db.models import Exists, OuterRef
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from digest.days import day_of
from digest.models import Delivery, Exposure, Feedback, Impression, Item, Reader, Reading
from ranking.language import stored_text

DAILY, WEEKLY = "daily", "weekly"
MAILED = (Reader.MailRhythm.DAILY, Reader.MailRhythm.WEEKLY)
# What a mail shows: half a digest, so that it is read to its end and stays below the 102 KB at which
# Gmail cuts a message off (measured in `tests/digest/mail/test_render.py`).
MAIL_ITEMS = 15
WEEK = timedelta(days=7)
# A worker that was down catches up within this time after midnight; later, yesterday's digest is history.
LATE_DAILY = timedelta(hours=6)
LATE_WEEKLY = timedelta(days=2)
# Of a week's mail no source fills more than a fifth.
WEEK_PER_SOURCE = 3
# A delivery older than this can be neither retried nor due again.
DELIVERIES_RECENT = timedelta(days=10)


def mail_day(*, rhythm: str, hour: int, weekday: int, zone: tzinfo, now: datetime) -> date | None:
    """Return the day in `zone` whose mail is due at `now`, or `None`.

    From `hour` on until the day is over; where that hour was missed, up to 6 hours into the next day, or
    two days after the weekday (0 is Monday) of a weekly mail. The same day comes back at every call, so
    the sender stores one row per day. An hour that the clock skips is the one after it; of an hour that
    comes twice the first counts.
    """
    today = day_of(now, zone)
    if rhythm == DAILY:
        if now >= _moment(today, hour, zone):
            return today
        yesterday = today - timedelta(days=1)
        until_late = timedelta(hours=24 - min(hour, 23)) + LATE_DAILY
        return yesterday if now - _moment(yesterday, hour, zone) <= until_late else None
    if rhythm != WEEKLY:
        return None
    day = today - timedelta(days=(today.weekday() - weekday) % 7)
    if now < _moment(day, hour, zone):
        day -= WEEK
    return day if now - _moment(day, hour, zone) <= LATE_WEEKLY else None


def _moment(day: date, hour: int, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(min(hour, 23)), zone).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class WeekItem:
    """One item as one of a week's digests showed it, of a `story` or an article of its own.

    `value` is its score without its age.
    """

    item_id: int
    source: str
    story: int
    value: float
    dated_at: datetime


def week_best(shown: Iterable[WeekItem], *, size: int = MAIL_ITEMS) -> list[int]:
    """Return the ids of the best `size` items of a week's digests, best first.

    Age does not count: in a week's mail Monday's news is as good as Sunday's. Of each story the best item
    stays; no source fills more than three places. Ties: newest, then id.
    """
    best: dict[int, WeekItem] = {}
    for item in shown:
        known = best.get(item.item_id)
        if known is None or item.value > known.value:
            best[item.item_id] = item
    taken: list[int] = []
    sources: Counter[str] = Counter()
    stories: set[int] = set()
    for item in sorted(best.values(), key=lambda i: (-i.value, -i.dated_at.timestamp(), i.item_id)):
        if len(taken) == size:
            break
        if sources[item.source] >= WEEK_PER_SOURCE or item.story in stories:
            continue
        sources[item.source] += 1
        stories.add(item.story)
        taken.append(item.item_id)
    return taken


def mail_readers() -> list[Reader]:
    """Return the active readers who want mail, with an address or without, in order of id; one query."""
    return list(Reader.objects.filter(is_active=True, mail_rhythm__in=MAILED).order_by("pk"))


def addresses_confirmed(*, readers: Sequence[Reader]) -> set[UUID]:
    """Return the readers who have confirmed the address their mail goes to; one query.

    Whatever ACCOUNT_EMAIL_VERIFICATION says: titles are strangers' words, and would go to anybody's address.
    """
    rows = EmailAddress.objects.filter(verified=True, user__mail_rhythm__in=MAILED)
    known = {(user_id, email.casefold()) for user_id, email in rows.values_list("user_id", "email")}
    return {reader.pk for reader in readers if (reader.pk, reader.email.casefold()) in known}


def address_is_confirmed(*, reader: Reader) -> bool:
    """Return whether the reader has confirmed the address their mail goes to; one query."""
    rows = EmailAddress.objects.filter(user=reader, verified=True).values_list("email", flat=True)
    return reader.email.casefold() in {email.casefold() for email in rows}


def deliveries_recent(*, now: datetime) -> dict[tuple[UUID, date], Delivery]:
    """Return the deliveries of the last ten days by reader and day; one query."""
    rows = Delivery.objects.filter(date__gte=(now - DELIVERIES_RECENT).date())
    return {(row.reader_id, row.date): row for row in rows}


def deliveries_waiting(*, since: datetime, attempts_max: int) -> int:
    """Count the mails that failed after `since` and have a try left of `attempts_max`; one query."""
    failed = Delivery.objects.filter(status=Delivery.Status.FAILED, attempts__lt=attempts_max)
    return failed.filter(claimed_at__gt=since).count()


def delivery_trouble(*, reader_id: UUID) -> str:
    """Return why the reader's newest mail failed, in a sentence for the reader; "" where it did not."""
    row = Delivery.objects.filter(reader_id=reader_id).order_by("-date").first()
    if row is None or row.status != Delivery.Status.FAILED:
        return ""
    return _("The mail of {date} could not be delivered: {error}").format(
        date=date_format(row.date, _("l, j F")), error=stored_text(row.error)
    )


def items_mailed(*, reader_id: UUID, item_ids: Collection[int], before: date) -> set[int]:
    """Return those of the items that were in a mail of an earlier day to this reader; one query."""
    rows = Exposure.objects.filter(
        reader_id=reader_id, door=Exposure.Door.MAIL, item_id__in=item_ids, date__lt=before
    )
    return set(rows.values_list("item_id", flat=True))


def items_rated_or_read(*, reader_id: UUID, item_ids: Collection[int]) -> set[int]:
    """Return those of the items whose article the reader has rated, or read; one query."""
    same = {"reader_id": reader_id, "article": OuterRef("article")}
    done = Exists(Feedback.objects.filter(**same)) | Exists(
        Reading.objects.filter(**same, read_at__isnull=False)
    )
    return set(Item.objects.filter(done, pk__in=item_ids).values_list("pk", flat=True))


def week_impressions(*, reader_id: UUID, since: date, until: date) -> Sequence[Impression]:
    """Return what the reader's digests of those days (both included) showed, oldest first; one query."""
    rows = Impression.objects.filter(
        digest__reader_id=reader_id, digest__date__gte=since, digest__date__lte=until
    )
    return list(rows.select_related("item__source", "digest").order_by("digest__date", "rank"))
