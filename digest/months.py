"""A month as a calendar shows it: weeks from Monday, and which of its days can be opened. Pure."""

from calendar import Calendar
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a calendar. `open`: it has a page; `outside`: it fills up another month's week."""

    date: date
    open: bool
    today: bool
    outside: bool


@dataclass(frozen=True, slots=True)
class Month:
    """One month: its first day, its weeks, and the first days of the months one can go to from it."""

    first: date
    weeks: tuple[tuple[Day, ...], ...]
    previous: date | None
    next: date | None


def month_first(typed: str, today: date) -> date:
    """The first day of the month `typed` as "2026-03"; of today's month for anything else, or a later one."""
    try:
        first = date.fromisoformat(f"{typed}-01")
    except ValueError:
        first = today
    return min(first, today).replace(day=1)


def month_of(first: date, today: date, made: Collection[date], oldest: date) -> Month:
    """The month that begins on `first`. `made` are the days with a digest; nothing lies before `oldest`."""
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
