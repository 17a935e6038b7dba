"""Which mail is due, and what a week's mail holds. Pure.

A reader's day and hour are the reader's own: the moment is made from the calendar day, the wall clock and
the zone, so that a night with a clock change has one such moment like any other.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from digest.days import day_of

DAILY, WEEKLY = "daily", "weekly"
# What a mail shows: half a digest, so that it is read to its end and stays below the 102 KB at which
# Gmail cuts a message off (measured in `tests/digest/test_mailing.py`).
MAIL_ITEMS = 15
WEEK = timedelta(days=7)
# A worker that was down catches up within this time after midnight; later, yesterday's paper is history.
LATE_DAILY = timedelta(hours=6)
LATE_WEEKLY = timedelta(days=2)
# Of a week's mail no source fills more than a fifth.
WEEK_PER_SOURCE = 3


def mail_day(*, rhythm: str, hour: int, weekday: int, zone: tzinfo, now: datetime) -> date | None:
    """The day in `zone` whose mail is due at `now`, or `None`.

    From `hour` on until the day is over; where that hour was missed, up to 6 hours into the next day, or
    two days after the weekday (0 is Monday) of a weekly mail. The same day comes back at every call, so
    whoever sends keeps one row per day. An hour that the clock skips is the one after it; of an hour that
    comes twice the first counts.
    """
    today = day_of(now, zone)
    if rhythm == DAILY:
        if now >= _moment(today, hour, zone):
            return today
        yesterday = today - timedelta(days=1)
        return yesterday if now - _moment(yesterday, hour, zone) <= _kept(hour) else None
    if rhythm != WEEKLY:
        return None
    day = today - timedelta(days=(today.weekday() - weekday) % 7)
    if now < _moment(day, hour, zone):
        day -= WEEK
    return day if now - _moment(day, hour, zone) <= LATE_WEEKLY else None


def _moment(day: date, hour: int, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(min(hour, 23)), zone).astimezone(UTC)


def _kept(hour: int) -> timedelta:
    """How long after its hour a daily mail still goes out: to midnight, and `LATE_DAILY` beyond."""
    return timedelta(hours=24 - min(hour, 23)) + LATE_DAILY


@dataclass(frozen=True, slots=True)
class Told:
    """One item as one of a week's digests showed it. `value` is its score without its age."""

    item_id: int
    source: str
    story: int | None
    value: float
    dated_at: datetime


def value_of(parts: dict[str, float]) -> float:
    """An item's worth apart from its age: effective weight times interest, of an impression's parts."""
    return parts["source_weight"] * parts["interest"]


def week_best(shown: Iterable[Told], *, size: int = MAIL_ITEMS) -> list[int]:
    """The ids of the best `size` items of a week's digests, best first.

    Age does not count: in a week's mail Monday's news is as good as Sunday's. Of a story that several
    sources told, the best telling stays; no source fills more than three places. Ties: newest, then id.
    """
    best: dict[int, Told] = {}
    for told in shown:
        known = best.get(told.item_id)
        if known is None or told.value > known.value:
            best[told.item_id] = told
    taken: list[int] = []
    sources: Counter[str] = Counter()
    stories: set[int] = set()
    for told in sorted(best.values(), key=lambda t: (-t.value, -t.dated_at.timestamp(), t.item_id)):
        if len(taken) == size:
            break
        if sources[told.source] >= WEEK_PER_SOURCE or (told.story is not None and told.story in stories):
            continue
        sources[told.source] += 1
        if told.story is not None:
            stories.add(told.story)
        taken.append(told.item_id)
    return taken
