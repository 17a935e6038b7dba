"""Days in UTC and in a reader's time zone, and calendar months. Pure."""

from calendar import Calendar
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_day(at: datetime) -> int:
    """Return `at` as whole UTC days since 1970, as `Feedback.day` stores it."""
    return (at - _EPOCH) // timedelta(days=1)


def utc_day_begin(day: int) -> datetime:
    """Return the first moment of a UTC day, given as `utc_day` returns it."""
    return _EPOCH + timedelta(days=day)


def day_of(at: datetime, zone: tzinfo) -> date:
    """Return the calendar day of `at` in `zone`."""
    return at.astimezone(zone).date()


def day_begin(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of `day` in `zone`, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def day_end(day: date, zone: tzinfo) -> datetime:
    """Return the first moment after `day` in `zone`, in UTC.

    Clock changes make days of 23 or 25 hours.
    """
    return day_begin(day + timedelta(days=1), zone)


def moment_in_day(at: datetime, day: date, zone: tzinfo) -> datetime:
    """Return `at` in `zone`, or the last moment of `day` if the day is over by then."""
    local = at.astimezone(zone)
    return local if local.date() <= day else datetime.combine(day, time.max, zone)


@dataclass(frozen=True, slots=True)
class Day:
    """One day in a calendar. `open`: it has a page. `outside`: it belongs to a neighbouring month."""

    date: date
    open: bool
    today: bool
    outside: bool


@dataclass(frozen=True, slots=True)
class Month:
    """One calendar month: its first day, its weeks from Monday on, and the first days of its neighbours.

    `previous` and `next` are `None` at the ends of the calendar.
    """

    first: date
    weeks: tuple[tuple[Day, ...], ...]
    previous: date | None
    next: date | None


def month_first(typed: str, today: date) -> date:
    """Return the first day of the month in `typed` ("2026-03").

    If it is invalid or later than today, use today's month.
    """
    try:
        first = date.fromisoformat(f"{typed}-01")
    except ValueError:
        first = today
    return min(first, today).replace(day=1)


def month_of(first: date, today: date, made: Collection[date], oldest: date) -> Month:
    """Return the calendar month that begins on `first`.

    `made` are the days with a digest. No month before that of `oldest` is linked.
    """
    weeks = tuple(
        tuple(Day(day, day in made or day == today, day == today, day.month != first.month) for day in week)
        for week in Calendar().monthdatescalendar(first.year, first.month)
    )
    before = (first - timedelta(days=1)).replace(day=1)
    after = (first + timedelta(days=31)).replace(day=1)
    return Month(
        first=first,
        weeks=weeks,
        previous=before if before >= oldest.replace(day=1) else None,
        next=after if after <= today else None,
    )
