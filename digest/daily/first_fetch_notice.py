"""The notice on a page while new feeds are fetched: how far they are, and how many items came since."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from digest.daily.selectors import items_newer
from digest.entities import DIGEST_FROZEN
from digest.feeds.first_fetch import FirstFetch, feeds_overdue, first_fetch_of, reader_first_fetch
from digest.models import Digest, Reader, Subscription

Place = Literal["today", "all", "sources"]


@dataclass(frozen=True, slots=True)
class FirstFetchNotice:
    """The progress of fetching new feeds, and the number of items that came after today's digest was built.

    `watched`: the page keeps polling the notice. `overdue` feeds wait although nobody has just added them,
    and the digest is empty.
    """

    place: Place
    progress: FirstFetch | None
    watched: bool
    newer: int = 0
    overdue: int = 0


def notice_today(
    reader: Reader, digest: Digest, now: datetime, is_empty: bool = False
) -> FirstFetchNotice | None:
    """Return the notice above today's `digest`, or None if nothing is being fetched and no item came
    since."""
    progress = reader_first_fetch(reader_id=reader.pk, now=now)
    # An older digest was compared with the items a moment ago, and stayed as it was.
    newer = items_newer(digest=digest, now=now) if digest.built_at > now - DIGEST_FROZEN else 0
    if progress or newer or not is_empty:
        return notice_of("today", progress, newer, now) if progress or newer else None
    return notice_overdue(reader, now)


def notice_overdue(reader: Reader, now: datetime) -> FirstFetchNotice | None:
    """Return the notice that feeds have waited too long; None if no feed has."""
    overdue = feeds_overdue(reader_id=reader.pk, now=now)
    return FirstFetchNotice("today", None, watched=True, overdue=overdue) if overdue else None


def notice_sources(subscriptions: Sequence[Subscription], now: datetime) -> FirstFetchNotice | None:
    """Return the notice on the sources page; None if no feed waits."""
    progress = first_fetch_of(subscriptions=subscriptions, now=now)
    return notice_of("sources", progress, 0, now) if progress else None


def notice_list(reader: Reader, now: datetime) -> FirstFetchNotice | None:
    """Return the notice above a list of items; None if no feed waits. One query if none does."""
    progress = reader_first_fetch(reader_id=reader.pk, now=now)
    return notice_of("all", progress, 0, now) if progress else None


def notice_import(reader: Reader, now: datetime) -> FirstFetchNotice | None:
    """Return the notice after an import; None if no feed waits."""
    progress = reader_first_fetch(reader_id=reader.pk, now=now)
    return notice_of("sources", progress, 0, now) if progress else None


def notice_of(place: Place, progress: FirstFetch | None, newer: int, now: datetime) -> FirstFetchNotice:
    """Return the notice of `place`: how far the fetch is, and how many items are newer than the digest."""
    return FirstFetchNotice(place, progress, progress is not None and progress.is_watched(now), newer)
