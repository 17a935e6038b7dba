"""When a feed is looked at next: a decision from what happened, apart from doing it."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

INTERVAL: Final = timedelta(hours=1)
WAIT_MAX: Final = timedelta(hours=24)


def next_check_at(*, now: datetime, failures: int, retry_after_s: float | None = None) -> datetime:
    """An hour after a success, doubled with every failure in a row up to a day.

    A server's wish to be left alone longer (`retry_after_s`) is kept, up to a day too.
    """
    doublings = min(max(failures - 1, 0), 10)
    wait = min(INTERVAL * (1 << doublings), WAIT_MAX)
    if retry_after_s is not None:
        wait = max(wait, min(timedelta(seconds=min(retry_after_s, 10**6)), WAIT_MAX))
    return now + wait


def retry_after_seconds(header: str, *, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date; None where it says neither."""
    if re.fullmatch(r"\s*\d{1,9}\s*", header):
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((until - now).total_seconds(), 0.0)
