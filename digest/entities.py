"""Frozen data classes and constants that the digest room shares with other rooms. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

ITEM_WINDOW_DAYS = 7
DIGEST_SIZE = 30
# No web feed is older. Earlier dates come from unset clocks and empty fields.
PUBLISHED_MIN = datetime(1995, 1, 1, tzinfo=UTC)
# How far back an item counts as unread. Reading marks are kept for at least 30 days (KEEP_DAYS).
UNREAD_DAYS = 30
# How long today's digest stays unchanged. New settings show at once.
DIGEST_FROZEN = timedelta(hours=1)


def counts_unread(*, dated_at: datetime, now: datetime) -> bool:
    """Return True if an item dated `dated_at` counts as unread, and looks so in lists, until it is read."""
    return dated_at > now - timedelta(days=UNREAD_DAYS)


@dataclass(frozen=True, slots=True)
class RatedItem:
    """One reader's rating of one item. `title` is as it was rated, `tags` are slugs of the taxonomy.

    `place` is its place among the items of its source on the page that showed it, from 1; 0 if no page did.
    """

    item_id: int
    url: str
    title: str
    text: str
    source: str
    useful: bool
    tags: tuple[str, ...]
    other_reasons: tuple[str, ...]
    at: datetime
    dated_at: datetime
    article: int = 0
    categories: tuple[str, ...] = ()
    author: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Counts of a reader's ratings. `days` is the span from the first to the last one, both included."""

    total: int
    tagged: int
    days: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TagCount:
    """How often a reader gave one reason; `kind` is "valued" or "disliked"."""

    tag: str
    kind: str
    count: int
