"""Frozen data classes and constants of the digest room that other rooms use. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

ITEM_WINDOW_DAYS = 7
DIGEST_SIZE = 30
# How far back an item counts as unread: that something was read is stored for 30 days at least (KEEP_DAYS).
UNREAD_DAYS = 30
# How long a digest of today stays as it is; new settings show at once.
DIGEST_FROZEN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RatedItem:
    """One rating of one reader, with its item. `tags` are slugs of the taxonomy."""

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


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Counts of a reader's ratings. `days` spans the first to the last one, both included."""

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
