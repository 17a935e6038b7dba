"""Tell a stored time that a wrong clock wrote. Pure."""

from datetime import datetime, timedelta
from typing import Final

# Clocks of several machines may differ by so much without harm.
SKEW: Final = timedelta(minutes=5)


def is_ahead(at: datetime, now: datetime) -> bool:
    """Return whether `at`, which was the present when it was stored, lies in the future of `now`."""
    return at > now + SKEW
