"""Polling: decide when a feed is fetched next, respect the pauses of servers, and decide when a move counts.
Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil, sqrt
from typing import Final

# The poll interval of a feed that brings an item an hour, and of one nothing is known of.
INTERVAL: Final = timedelta(hours=1)
MINUTES_MIN, MINUTES_MAX = 5, 24 * 60
WAIT_MAX: Final = timedelta(hours=24)
# No check is planned for later than this, a tenth of jitter and the claim of a round included.
WAIT_LIMIT: Final = timedelta(hours=30)
# The wait after a first failed connection: most outages are short, and no server was asked for anything.
UNREACHABLE_WAIT: Final = timedelta(minutes=10)
# Waits grow by up to this share, so feeds that failed together do not come back together. They never shrink,
# because a server's pause is a minimum.
JITTER: Final = 0.1
# The mean gap between items comes from this many of the newest dates.
GAP_DATES: Final = 20
# A feed is gone after this many 404 answers in a row.
MISSING_MAX: Final = 10
# A move counts at the third sighting, and not on the day of the first: a publisher's mistake, or one who has
# the host for an afternoon, takes no feed away. A feed may be fetched every 5 minutes.
SIGHTINGS_NEEDED: Final = 3
SIGHTINGS_SPAN: Final = timedelta(hours=24)

# A feed describes itself before its first entry, within this many characters.
HEAD_CHARS: Final = 64 * 1024
TTL_MINUTES_MAX: Final = 60 * 24 * 366
# Of the syndication module (web.resource.org/rss/1.0/modules/syndication): a period, divided by a frequency.
PERIOD_MINUTES: Final = {
    "hourly": 60,
    "daily": 60 * 24,
    "weekly": 60 * 24 * 7,
    "monthly": 60 * 24 * 30,
    "yearly": 60 * 24 * 365,
}
_ENTRY: Final = re.compile(r"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_TTL: Final = re.compile(r"<ttl>\s*(\d{1,6})\s*</ttl>", re.IGNORECASE)
_PERIOD: Final = re.compile(r"<\w+:updatePeriod>\s*(\w{5,7})\s*</", re.IGNORECASE)
_FREQUENCY: Final = re.compile(r"<\w+:updateFrequency>\s*(\d{1,4})\s*</", re.IGNORECASE)
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Move:
    """The target of permanent redirects, the number of sightings in a row, and the first one's time.

    `adopt` is true once the move counts.
    """

    url: str = ""
    sightings: int = 0
    since: datetime | None = None
    adopt: bool = False


def success_next_at(*, now: datetime, minutes: int, retry_after_s: float | None, jitter: float) -> datetime:
    """Return when to fetch again after a success: after `minutes`, or as late as the server asked for.

    That is at most a day, plus up to a tenth by `jitter`, a random number from 0 to 1.
    """
    return now + _jitter(max(timedelta(minutes=minutes), _clamp(retry_after_s)), jitter)


def failure_next_at(
    *,
    now: datetime,
    failures: int,
    minutes: int,
    retry_after_s: float | None,
    jitter: float,
    unreachable: bool = False,
) -> datetime:
    """Return when to fetch again after `failures` in a row: after an hour, doubled each time, up to a day.

    It is never sooner than the feed's own interval (`minutes`) or the server's pause (`retry_after_s`, at
    most a day). `jitter`, a random number from 0 to 1, adds up to a tenth. If no server was reached, ten
    minutes are doubled instead, and the feed's own interval does not count.
    """
    doublings = min(max(failures - 1, 0), 10)
    back_off = min((UNREACHABLE_WAIT if unreachable else INTERVAL) * (1 << doublings), WAIT_MAX)
    own = timedelta() if unreachable else timedelta(minutes=minutes)
    return now + _jitter(max(back_off, own, _clamp(retry_after_s)), jitter)


def server_pause_until(
    *, code: str, retry_after_s: float | None, next_at: datetime, now: datetime
) -> datetime | None:
    """Return until when the server asked not to be asked again, at most for a day, or None.

    `code` is the answer's problem, "" for a good one. A server that was asked too often and names no time
    gets ours: until `next_at`.
    """
    if code == "http_429":
        return next_at
    wait = _clamp(retry_after_s)
    return now + wait if wait else None


def next_interval_minutes(
    *,
    before: int,
    gap: timedelta | None,
    last_new_at: datetime | None,
    wishes_s: Iterable[float | None],
    now: datetime,
) -> int:
    """Return the poll interval from now on, 5 minutes to 24 hours.

    The `gap` between a document's items decides. Without one, as after a 304, the interval (`before`) only
    grows, with the time since the last new item. The server's wishes, in seconds, are a minimum.
    """
    silence = (now - last_new_at) / 2 if last_new_at else timedelta()
    own = max(before, gap_interval_minutes(gap=silence)) if gap is None else gap_interval_minutes(gap=gap)
    wished = max((_clamp(wish) for wish in wishes_s), default=timedelta()) / timedelta(minutes=1)
    return ceil(min(max(own, wished, MINUTES_MIN), MINUTES_MAX))


def gap_interval_minutes(*, gap: timedelta) -> int:
    """Return the poll interval for a feed with an item every `gap`, from 5 minutes to 24 hours.

    A fetch costs the publisher a request, and a missing fetch costs the reader half an interval of delay.
    Their sum is smallest if the interval grows with the square root of the gap. It is scaled so that an
    hourly feed is fetched every hour: an item a day means five hours, an item a month a day.
    """
    minutes = sqrt((INTERVAL / timedelta(minutes=1)) * max(gap / timedelta(minutes=1), 0.0))
    return round(min(max(minutes, MINUTES_MIN), MINUTES_MAX))


def mean_gap(dates: Iterable[datetime], *, now: datetime) -> timedelta | None:
    """Return the mean time between the newest 20 items by their dates of publication, or None.

    Dates in the future do not count. A feed without new items for a time has at least half that time as its
    gap. None for fewer than three dates, or all of one moment (the date of the build).
    """
    newest = sorted({date for date in dates if date <= now}, reverse=True)[:GAP_DATES]
    if len(newest) < 3:
        return None
    mean = (newest[0] - newest[-1]) / (len(newest) - 1)
    return max(mean, (now - newest[0]) / 2)


def _clamp(seconds: float | None) -> timedelta:
    """Return a server's wish, from nothing to a day."""
    return min(timedelta(seconds=min(max(seconds or 0.0, 0.0), 10**6)), WAIT_MAX)


def _jitter(wait: timedelta, jitter: float) -> timedelta:
    return wait * (1 + JITTER * min(max(jitter, 0.0), 1.0))


def count_sighting(*, url: str, previous: Move, now: datetime) -> Move:
    """Return the move after a good answer whose permanent redirects led to `url` ("" if there were none).

    A move counts after three sightings of one address in a row, the last at least 24 hours after the first. A
    failure in between starts again: `previous` is `Move()` then.
    """
    if not url:
        return Move()
    if url != previous.url or previous.since is None:
        return Move(url, 1, now)
    count = previous.sightings + 1
    adopt = count >= SIGHTINGS_NEEDED and now - previous.since >= SIGHTINGS_SPAN
    return Move(url, count, previous.since, adopt)


def document_ttl_minutes(text: str) -> int | None:
    """Return the minutes between fetches a document asks for (RSS `ttl`, else `sy:updatePeriod`), or None."""
    if not text.startswith("<"):
        return None
    entry = _ENTRY.search(text, 0, HEAD_CHARS)
    head = text[: entry.start() if entry else HEAD_CHARS]
    if ttl := _TTL.search(head):
        return min(int(ttl.group(1)), TTL_MINUTES_MAX) or None
    period = _PERIOD.search(head)
    if not period or period.group(1).lower() not in PERIOD_MINUTES:
        return None
    found = _FREQUENCY.search(head)
    return max(PERIOD_MINUTES[period.group(1).lower()] // max(int(found.group(1)) if found else 1, 1), 1)


def fresh_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return for how many seconds an answer is fresh (RFC 9111, 4.2.1), or None if it does not tell.

    `headers` have lower-case names. `Cache-Control: max-age` beats `Expires`, and the time already spent in a
    cache (`Age`) is subtracted. `no-cache` and `no-store` ask for nothing.
    """
    control = headers.get("cache-control", "")
    if re.search(r"no-cache|no-store", control, re.IGNORECASE):
        return None
    if age := _MAX_AGE.search(control):
        spent = headers.get("age", "").strip()
        return max(float(age.group(1)) - (float(spent) if re.fullmatch(r"\d{1,9}", spent) else 0.0), 0.0)
    expires, date = _http_date(headers.get("expires", "")), _http_date(headers.get("date", ""))
    return max((expires - (date or now)).total_seconds(), 0.0) if expires else None


def retry_after_seconds(header: str, *, now: datetime) -> float | None:
    """Return the seconds to wait by a Retry-After header (seconds or a date), or None."""
    if re.fullmatch(r"\s*\d{1,9}\s*", header):
        return float(header)
    until = _http_date(header)
    return max((until - now).total_seconds(), 0.0) if until else None


def _http_date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        return None
