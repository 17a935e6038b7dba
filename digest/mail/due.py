"""Decide which mails are due, and choose the items of a weekly mail.

Days and hours are those of the reader's time zone. A due time is built from the calendar day and the hour on
the wall clock, so it comes exactly once a day, also on the days when clocks change.
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
# Items in a mail. Half a digest stays below the 102 KB at which Gmail cuts a message off (measured in
# `tests/digest/mail/test_render.py`), and people read it to the end.
MAIL_ITEMS = 15
WEEK = timedelta(days=7)
# A worker that was down sends yesterday's mail up to six hours after midnight. Later it is old news.
LATE_DAILY = timedelta(hours=6)
LATE_WEEKLY = timedelta(days=2)
# The most items of one source in a weekly mail: a fifth of it.
WEEK_PER_SOURCE = 3
# No delivery older than this is retried or due again.
DELIVERIES_RECENT = timedelta(days=10)


def mail_day(*, rhythm: str, hour: int, weekday: int, zone: tzinfo, now: datetime) -> date | None:
    """Return the day in `zone` whose mail is due at `now`, or `None` if no mail is due.

    A daily mail is due from `hour` until six hours into the next day. A weekly mail is due for two days from
    `hour` on its `weekday` (0 is Monday). Every call in that time returns the same day, so the sender can
    store one row per day. If the clock skips `hour`, the next hour counts. If `hour` comes twice, the first
    counts.
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
    """An item in one of a week's digests.

    `value` is its score without the effect of its age. Items of one story share `story`; without a story it
    is the item's own article.
    """

    item_id: int
    source: str
    story: int
    value: float
    dated_at: datetime


def week_best(shown: Iterable[WeekItem], *, size: int = MAIL_ITEMS) -> list[int]:
    """Return the ids of the best `size` items of a week's digests, best first.

    Ignore the age, because Monday's news is as good as Sunday's in a weekly mail. Keep only the best item of
    a story and at most three items of a source. On equal values the newest comes first, then the lowest id.
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
    """Return the active readers who want mail, by id; some may have no address. One query."""
    return list(Reader.objects.filter(is_active=True, mail_rhythm__in=MAILED).order_by("pk"))


def addresses_confirmed(*, readers: Sequence[Reader]) -> set[UUID]:
    """Return the ids of the `readers` who confirmed the address of their mails. One query.

    Mail needs a confirmed address with any value of ACCOUNT_EMAIL_VERIFICATION. Otherwise anybody could have
    strangers' texts sent to somebody else's address.
    """
    rows = EmailAddress.objects.filter(verified=True, user__mail_rhythm__in=MAILED)
    known = {(user_id, email.casefold()) for user_id, email in rows.values_list("user_id", "email")}
    return {reader.pk for reader in readers if (reader.pk, reader.email.casefold()) in known}


def address_is_confirmed(*, reader: Reader) -> bool:
    """Return whether the reader confirmed the address that their mail goes to. One query."""
    rows = EmailAddress.objects.filter(user=reader, verified=True).values_list("email", flat=True)
    return reader.email.casefold() in {email.casefold() for email in rows}


def deliveries_recent(*, now: datetime) -> dict[tuple[UUID, date], Delivery]:
    """Return the deliveries of the last ten days, keyed by reader id and day. One query."""
    rows = Delivery.objects.filter(date__gte=(now - DELIVERIES_RECENT).date())
    return {(row.reader_id, row.date): row for row in rows}


def deliveries_waiting(*, since: datetime, attempts_max: int) -> int:
    """Count the mails that failed after `since` in fewer than `attempts_max` attempts. One query."""
    failed = Delivery.objects.filter(status=Delivery.Status.FAILED, attempts__lt=attempts_max)
    return failed.filter(claimed_at__gt=since).count()


def delivery_trouble(*, reader_id: UUID) -> str:
    """Return a sentence for the reader on why the newest mail failed, or "" if it did not fail."""
    row = Delivery.objects.filter(reader_id=reader_id).order_by("-date").first()
    if row is None or row.status != Delivery.Status.FAILED:
        return ""
    return _("The mail of {date} could not be delivered: {error}").format(
        date=date_format(row.date, _("l, j F")), error=stored_text(row.error)
    )


def items_mailed(*, reader_id: UUID, item_ids: Collection[int], before: date) -> set[int]:
    """Return the ids of items that an earlier day's mail to this reader contained. One query."""
    rows = Exposure.objects.filter(
        reader_id=reader_id, door=Exposure.Door.MAIL, item_id__in=item_ids, date__lt=before
    )
    return set(rows.values_list("item_id", flat=True))


def items_rated_or_read(*, reader_id: UUID, item_ids: Collection[int]) -> set[int]:
    """Return the ids of items whose article the reader has rated or read. One query."""
    same = {"reader_id": reader_id, "article": OuterRef("article")}
    done = Exists(Feedback.objects.filter(**same)) | Exists(
        Reading.objects.filter(**same, read_at__isnull=False)
    )
    return set(Item.objects.filter(done, pk__in=item_ids).values_list("pk", flat=True))


def week_impressions(*, reader_id: UUID, since: date, until: date) -> Sequence[Impression]:
    """Return the impressions of the reader's digests, oldest first. Both days are included. One query."""
    rows = Impression.objects.filter(
        digest__reader_id=reader_id, digest__date__gte=since, digest__date__lte=until
    )
    return list(rows.select_related("item__source", "digest").order_by("digest__date", "rank"))
