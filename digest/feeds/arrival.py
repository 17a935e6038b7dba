"""Arrival: the date that an item counts from, by when its publisher dated it and when it came. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from digest.entities import ITEM_WINDOW_DAYS
from digest.feeds.identity import PUBLISHED_AHEAD_MAX, PUBLISHED_MIN, age_date, has_usable_date, undated_age

# A post with an older date would be in no digest.
LATE_AFTER: Final = timedelta(days=ITEM_WINDOW_DAYS)
# More posts of one document with old dates are an archive that the publisher opened, and no news.
LATE_MAX: Final = 5
# A post that is dated ahead is often about that day. It is neither fresh nor lost: it counts as so old.
AHEAD_AGE: Final = LATE_AFTER - timedelta(days=1)


def arrival_dates(
    published: Sequence[datetime | None], *, is_first: bool, gap: timedelta | None, now: datetime
) -> list[datetime]:
    """Return the date that the age of each new entry of a document counts from.

    What a feed brought before anybody watched it (`is_first`) was not all published this moment: its undated
    entries are a `gap` apart. Later ones came since the last fetch and count from now; so do up to five with
    old dates, which are new to the reader.
    """
    late = [one for one in published if is_late(one, now)]
    is_news = not is_first and len(late) <= LATE_MAX
    dates, undated = [], 0
    for one in published:
        age = timedelta()
        if one is not None and one > now + PUBLISHED_AHEAD_MAX:
            age = AHEAD_AGE
        elif is_first and not has_usable_date(one, now):
            age, undated = undated_age(undated, gap), undated + 1
        dates.append(now if is_news and is_late(one, now) else age_date(one, now, undated_age=age))
    return dates


def is_late(published: datetime | None, seen: datetime) -> bool:
    """Return whether a usable date is so old that the post would have been in no digest when it was seen."""
    return published is not None and has_usable_date(published, seen) and published < seen - LATE_AFTER


def is_undated(stored: datetime, first_seen: datetime) -> bool:
    """Return whether an item's stored date is none of its publisher's: it gave none, or one before 1995."""
    return stored in (PUBLISHED_MIN, first_seen)


def corrected_dates(
    published: datetime | None, *, stored: datetime, dated: datetime, first_seen: datetime
) -> tuple[datetime, datetime] | None:
    """Return what an item is published at and counts from once its publisher corrected its date, else None.

    Corrected is a date that was missing, no date or far off, by one that is none of these. It is never after
    the item came, and an old one leaves the item where it was: no correction makes an item new again, or
    takes it out of the digest. A date that was right stays, so that each item's is corrected once.
    """
    is_published = not is_undated(stored, first_seen) and stored < first_seen + PUBLISHED_AHEAD_MAX
    if is_published and not is_late(stored, first_seen):
        return None
    if published is None or not has_usable_date(published, first_seen):
        return None
    if is_late(published, first_seen):
        return None if is_published else (published, dated)
    return published, age_date(published, first_seen)
