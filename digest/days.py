"""Days: a digest's in its reader's zone, a thumb's age in whole UTC days. Pure."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_day(at: datetime) -> int:
    """`at` as whole UTC days since 1970, as `Feedback.day` stores it."""
    return (at - _EPOCH) // timedelta(days=1)


def day_of(at: datetime, zone: tzinfo) -> date:
    """The calendar day of `at` in `zone`."""
    return at.astimezone(zone).date()


def day_begin(day: date, zone: tzinfo) -> datetime:
    """The first moment of `day` in `zone`, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def day_end(day: date, zone: tzinfo) -> datetime:
    """The first moment after `day` in `zone`, in UTC; days with a clock change have 23 or 25 hours."""
    return day_begin(day + timedelta(days=1), zone)
