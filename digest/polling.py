"""When a feed is looked at next, and what a series of answers means: decisions, apart from doing them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, sqrt
from typing import Final

from digest.caching import http_date

# The interval of a feed that brings an item an hour, and of one nothing is known of.
INTERVAL: Final = timedelta(hours=1)
MINUTES_MIN, MINUTES_MAX = 5, 24 * 60
WAIT_MAX: Final = timedelta(hours=24)
# Waits grow by up to this share, so that feeds that failed together do not come back together. Never less:
# what a server asked for is a minimum.
JITTER: Final = 0.1
# The newest so many dates tell a feed's rhythm.
RHYTHM_DATES: Final = 20
MISSING_MAX: Final = 10
# A move is believed at the third sighting, and not on the day of the first: a publisher's mistake, or one who
# has the host for an afternoon, takes no feed away. A feed may be asked every 5 minutes.
SIGHTINGS_NEEDED: Final = 3
SIGHTINGS_SPAN: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Move:
    """Where permanent redirects lead, how often in a row they did, and since when (None where nowhere);
    `adopt` once that is believed."""

    url: str = ""
    sightings: int = 0
    since: datetime | None = None
    adopt: bool = False


def success_next_at(*, now: datetime, minutes: int, retry_after_s: float | None, draw: float) -> datetime:
    """After `minutes`, or as late as the server asked for (clamped to a day), plus up to a tenth.

    `draw` is a random number from 0 to 1.
    """
    return now + _jittered(max(timedelta(minutes=minutes), _clamped(retry_after_s)), draw)


def failure_next_at(
    *, now: datetime, failures: int, minutes: int, retry_after_s: float | None, draw: float
) -> datetime:
    """An hour after the first failure, doubled with each further one in a row, up to a day, plus up to a
    tenth (`draw`, from 0 to 1).

    Never sooner than the feed's own interval (`minutes`) or than the server asked for (`retry_after_s`,
    clamped to a day).
    """
    doublings = min(max(failures - 1, 0), 10)
    back_off = min(INTERVAL * (1 << doublings), WAIT_MAX)
    return now + _jittered(max(back_off, timedelta(minutes=minutes), _clamped(retry_after_s)), draw)


def rhythm_minutes(*, gap: timedelta) -> int:
    """The interval for a feed that brings an item every `gap`, 5 minutes to 24 hours.

    Looking costs the publisher a request, not looking costs the reader a delay of half an interval; the sum
    of both is least at an interval that grows with the square root of the gap, here scaled so that an hourly
    feed is asked every hour: an item a day means five hours, an item a month a day.
    """
    minutes = sqrt((INTERVAL / timedelta(minutes=1)) * max(gap / timedelta(minutes=1), 0.0))
    return round(min(max(minutes, MINUTES_MIN), MINUTES_MAX))


def gap_of(dates: Iterable[datetime], *, now: datetime) -> timedelta | None:
    """The mean time between the newest 20 items by when they were published; None where that says nothing.

    Dates in the future do not count. A feed that has fallen silent has at least half its silence as its gap.
    Fewer than three dates, or all of one moment (the date of the build), say nothing.
    """
    newest = sorted({date for date in dates if date <= now}, reverse=True)[:RHYTHM_DATES]
    if len(newest) < 3:
        return None
    mean = (newest[0] - newest[-1]) / (len(newest) - 1)
    return max(mean, (now - newest[0]) / 2)


def check_minutes(
    *,
    before: int,
    gap: timedelta | None,
    last_new_at: datetime | None,
    wishes_s: Iterable[float | None],
    now: datetime,
) -> int:
    """The interval from now on, 5 minutes to 24 hours.

    A document that was read is judged by its rhythm (`gap`). Without one, as after a 304, the interval
    (`before`) only grows with the feed's silence. The server's wishes, in seconds, are a minimum.
    """
    silence = (now - last_new_at) / 2 if last_new_at else timedelta()
    own = max(before, rhythm_minutes(gap=silence)) if gap is None else rhythm_minutes(gap=gap)
    wished = max((_clamped(wish) for wish in wishes_s), default=timedelta()) / timedelta(minutes=1)
    return ceil(min(max(own, wished, MINUTES_MIN), MINUTES_MAX))


def move_seen(*, url: str, noted: Move, now: datetime) -> Move:
    """What a good answer says about a move: `url` is where permanent redirects led this time ("" nowhere),
    `noted` what was seen before. Three times in a row to one place, the last at least 24 hours after the
    first, is believed. A failure in between ends the row: what is noted then is `Move()`.
    """
    if not url:
        return Move()
    if url != noted.url or noted.since is None:
        return Move(url, 1, now)
    count = noted.sightings + 1
    adopt = count >= SIGHTINGS_NEEDED and now - noted.since >= SIGHTINGS_SPAN
    return Move(url, count, noted.since, adopt)


def is_missing(*, missing: int) -> bool:
    """Whether a feed that answered 404 so many times in a row is taken for gone."""
    return missing >= MISSING_MAX


def retry_after_seconds(header: str, *, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date; None where it says neither."""
    if re.fullmatch(r"\s*\d{1,9}\s*", header):
        return float(header)
    until = http_date(header)
    return max((until - now).total_seconds(), 0.0) if until else None


def _clamped(seconds: float | None) -> timedelta:
    """A server's wish, from nothing to a day."""
    return min(timedelta(seconds=min(max(seconds or 0.0, 0.0), 10**6)), WAIT_MAX)


def _jittered(wait: timedelta, draw: float) -> timedelta:
    return wait * (1 + JITTER * min(max(draw, 0.0), 1.0))
