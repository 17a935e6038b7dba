"""What a reader decides about their account."""

from collections import Counter
from datetime import datetime, timedelta

from django.db import transaction

from digest.errors import LastOperator
from digest.models import Reader
from digest.selectors.readers import operators_without

# How long "Not now" holds.
NUDGE_QUIET = timedelta(days=7)


def reader_update(
    *, reader: Reader, time_zone: str, ai_enabled: bool, peers_enabled: bool, suggestions_enabled: bool
) -> None:
    """Keep the reader's time zone (an IANA name), whether models and other readers' sums may use their
    feedback, and whether suggestions are worked out; the switches hold from the next use on.

    Raises `ValidationError` for a zone that does not exist.
    """
    reader.time_zone, reader.ai_enabled, reader.peers_enabled = time_zone, ai_enabled, peers_enabled
    reader.suggestions_enabled = suggestions_enabled
    reader.clean_fields(exclude=["username", "password", "email"])
    reader.save(update_fields=["time_zone", "ai_enabled", "peers_enabled", "suggestions_enabled"])


def reader_nudge_quiet(*, reader: Reader, now: datetime) -> None:
    """Say nothing of suggestions that wait on today's page for seven days, on whatever device."""
    reader.nudge_quiet_until = now + NUDGE_QUIET
    reader.save(update_fields=["nudge_quiet_until"])


def reader_mail_update(*, reader: Reader, rhythm: str, hour: int, weekday: int) -> None:
    """Keep how often the digest comes by mail (off, daily, weekly), from which hour of the reader's day on
    (0 to 23), and on which weekday where it is weekly (0 is Monday).

    Raises `ValueError` for anything else.
    """
    if not (0 <= hour <= 23 and 0 <= weekday <= 6):
        raise ValueError(f"no time of the week: day {weekday}, hour {hour}")
    reader.mail_rhythm, reader.mail_hour, reader.mail_weekday = Reader.MailRhythm(rhythm), hour, weekday
    reader.save(update_fields=["mail_rhythm", "mail_hour", "mail_weekday"])


def reader_delete(*, reader: Reader) -> Counter[str]:
    """Delete the account with all rows about the reader in every room; the count of rows by the name of
    their kind.

    Rows of model spend stay without the reader, for the books have to add up; feeds and items are shared
    and stay. Raises `LastOperator` for the only active operator who may do everything.
    """
    with transaction.atomic():
        # Locked together, so that the last two cannot go at the same time.
        list(Reader.objects.select_for_update().filter(is_superuser=True, is_active=True))
        if reader.is_superuser and reader.is_active and not operators_without(readers=[reader]):
            raise LastOperator(
                "You are the only operator here. Make somebody else a superuser in the admin, then come back."
            )
        _, by_label = Reader.objects.filter(pk=reader.pk).delete()
    return Counter(by_label)
