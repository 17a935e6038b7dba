"""Freshness: how much an item counts for its age, in whole days of the reader or by the hour. Pure.

By whole days, all items since the morning of the day before count in full. So the page at breakfast has the
news of a whole day, no item loses places during the day, and the clock changes an order only at midnight. If
a day lasted from midnight to midnight, the evening's news would count half of the night's at breakfast.
"""

from datetime import datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A news day begins at this hour of the reader's time zone, when most mails of digests are sent.
MORNING = time(7)
# Days that are counted by the reader's own clock. For older items an hour of a clock change says nothing.
EXACT_DAYS = 40
DAY_S = 86_400.0
# Among items of one day and equal interest the newer comes first: an hour takes a millionth of the freshness.
# It is too little to change the order of any others.
NEWER_FIRST = 1e-6


def day_ages(timestamps: Floats, now: datetime) -> Floats:
    """Return the ages in whole news days of items dated at `timestamps` (seconds since 1970).

    0 is since the morning of the day before `now`, 1 the day before that. The time zone of `now` is the
    reader's.
    """
    first = now.date()
    mornings = [
        datetime.combine(first - timedelta(days=n), MORNING, now.tzinfo).timestamp()
        for n in range(1, EXACT_DAYS + 2)
    ]
    days = np.searchsorted(-np.array(mornings), -timestamps).astype(np.float64)
    older = np.floor(np.maximum(0.0, mornings[-1] - timestamps) / DAY_S)
    return days + older


def freshness_by_day(days: Floats, hours: Floats, half_life_hours: float) -> Floats:
    """Return the freshness of items that are `days` news days and `hours` hours old, 0 to 1."""
    fresh: Floats = 0.5 ** (days * 24 / half_life_hours) / (1 + NEWER_FIRST * hours)
    return fresh


def freshness_by_hour(hours: Floats, half_life_hours: float) -> Floats:
    """Return the freshness of items that are `hours` hours old, 0 to 1."""
    fresh: Floats = 0.5 ** (hours / half_life_hours)
    return fresh
