"""Tell a stored time that a wrong clock wrote. Pure."""

from datetime import datetime, timedelta
from typing import Final

# Clocks of several machines may differ by so much without harm.
SKEW: Final = timedelta(minutes=5)


def is_ahead(at: datetime, now: datetime) -> bool:
    """Return whether `at`, which was the present when it was stored, lies in the future of `now`."""
    return at > now + SKEW


def age_s(at: datetime, now: datetime) -> float | None:
    """Return the seconds since `at`, never below 0, or `None` if a wrong clock wrote it."""
    return None if is_ahead(at, now) else max(0.0, (now - at).total_seconds())


def future_words(what: str, at: datetime) -> str:
    """Return that `what` lies in the future, for operators."""
    return f"{what} ({at:%Y-%m-%d %H:%M} UTC) lies in the future: the clock was wrong"
