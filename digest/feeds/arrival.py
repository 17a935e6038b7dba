"""Arrival: the date that an item counts from, by when its publisher dated it and when it came. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from digest.entities import ITEM_WINDOW_DAYS, PUBLISHED_MIN
from digest.feeds.identity import PUBLISHED_AHEAD_MAX, age_date, has_usable_date, undated_age

# A post with an older date would be in no digest.
LATE_AFTER: Final = timedelta(days=ITEM_WINDOW_DAYS)
# More posts of one document with old dates are an archive that the publisher opened, and no news.
LATE_MAX: Final = 5
# A post that is dated ahead is often about that day. It is neither fresh nor lost: it counts as so old.
AHEAD_AGE: Final = LATE_AFTER - timedelta(days=1)


def arrival_dates(
    published: Sequence[datetime | None], *, is_first: bool, gap: timedelta | None, now: datetime
) -> list[datetime]:
    """Return for each new entry of a document the date its age counts from.

    On the first fetch (`is_first`) old entries arrive together, so undated ones are placed one `gap` apart.
    On later fetches an undated entry counts from now. So do up to five entries with old dates, because the
    reader has never seen them.
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


def came_late(published: datetime, *, dated: datetime, first_seen: datetime) -> bool:
    """Return whether an item counts from its arrival because its publisher's date was old by then."""
    return not is_undated(published, first_seen) and dated - published >= LATE_AFTER


def corrected_dates(
    published: datetime | None, *, stored: datetime, dated: datetime, first_seen: datetime
) -> tuple[datetime, datetime] | None:
    """Return the corrected dates (published, counted from) of a stored item, or None if nothing changes.

    A correction replaces a date that was missing, unusable or far off by a good one. The new date is never
    later than the item's arrival. If it is old, the age stays: no correction makes an item new again or takes
    it out of the digest. A date that was right is never changed, so each item is corrected at most once.
    """
    is_published = not is_undated(stored, first_seen) and stored < first_seen + PUBLISHED_AHEAD_MAX
    if is_published and not is_late(stored, first_seen):
        return None
    if published is None or not has_usable_date(published, first_seen):
        return None
    if is_late(published, first_seen):
        return None if is_published else (published, dated)
    return published, age_date(published, first_seen)
