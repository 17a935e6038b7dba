"""Mail so far: who wants it, what was sent, what it brought; each reader's rows alone."""

from collections.abc import Collection, Sequence
from datetime import date as Date
from datetime import datetime, timedelta
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import Q

from digest.models import Delivery, Exposure, Feedback, Impression, Reader, Reading

# A delivery older than this can be neither retried nor due again.
DELIVERIES_KEPT = timedelta(days=10)
MAILED = (Reader.MailRhythm.DAILY, Reader.MailRhythm.WEEKLY)


def mail_readers() -> list[Reader]:
    """The active readers who want mail, addresses or not, in order of id; one query."""
    return list(Reader.objects.filter(is_active=True, mail_rhythm__in=MAILED).order_by("pk"))


def addresses_confirmed(*, readers: Sequence[Reader]) -> set[UUID]:
    """The readers who have confirmed the address their mail goes to; one query.

    Where the site asks for no confirmation (ACCOUNT_EMAIL_VERIFICATION is none), all who gave one.
    """
    if settings.ACCOUNT_EMAIL_VERIFICATION == "none":
        return {reader.pk for reader in readers if reader.email}
    rows = EmailAddress.objects.filter(verified=True, user__mail_rhythm__in=MAILED)
    known = {(user_id, email.casefold()) for user_id, email in rows.values_list("user_id", "email")}
    return {reader.pk for reader in readers if (reader.pk, reader.email.casefold()) in known}


def deliveries_lately(*, now: datetime) -> dict[tuple[UUID, Date], Delivery]:
    """The deliveries of the last days by reader and day; one query."""
    rows = Delivery.objects.filter(date__gte=(now - DELIVERIES_KEPT).date())
    return {(row.reader_id, row.date): row for row in rows}


def deliveries_waiting(*, since: datetime, attempts_max: int) -> int:
    """How many mails failed after `since` and have a try left of `attempts_max`; one query."""
    failed = Delivery.objects.filter(status=Delivery.Status.FAILED, attempts__lt=attempts_max)
    return failed.filter(claimed_at__gt=since).count()


def delivery_trouble(*, reader_id: UUID) -> str:
    """What went wrong with the reader's newest mail, in a sentence for the reader; "" where nothing did."""
    row = Delivery.objects.filter(reader_id=reader_id).order_by("-date").first()
    if row is None or row.status != Delivery.Status.FAILED:
        return ""
    return f"The mail of {row.date:%A}, {row.date.day} {row.date:%B}, could not be delivered: {row.error}"


def items_mailed(*, reader_id: UUID, item_ids: Collection[int], before: Date) -> set[int]:
    """Which of the items a mail of an earlier day brought this reader; one query."""
    rows = Exposure.objects.filter(
        reader_id=reader_id, door=Exposure.Door.MAIL, item_id__in=item_ids, date__lt=before
    )
    return set(rows.values_list("item_id", flat=True))


def items_dealt_with(*, reader_id: UUID, item_ids: Collection[int]) -> set[int]:
    """Which of the items the reader has rated, or read; two queries."""
    rated = Feedback.objects.filter(reader_id=reader_id, item_id__in=item_ids)
    read = Reading.objects.filter(reader_id=reader_id, item_id__in=item_ids, read_at__isnull=False)
    return {*rated.values_list("item_id", flat=True), *read.values_list("item_id", flat=True)}


def week_impressions(*, reader_id: UUID, since: Date, until: Date) -> Sequence[Impression]:
    """What the reader's digests of those days (both included) held, oldest first; one query."""
    rows = Impression.objects.filter(digest__reader_id=reader_id)
    within = rows.filter(Q(digest__date__gte=since), Q(digest__date__lte=until))
    return list(within.select_related("item__source", "digest").order_by("digest__date", "rank"))
