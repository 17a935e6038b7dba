"""The nouns of the digest room that travel to other rooms, frozen."""

from dataclasses import dataclass
from datetime import datetime, timedelta

ITEM_WINDOW_DAYS = 7
DIGEST_SIZE = 30
# How long a digest keeps its order while its day lasts; new settings show at once.
DIGEST_FROZEN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RatedItem:
    """One thumb of one reader, with the item it is about. `tags` are slugs of the taxonomy."""

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


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """How much a reader has said so far. `days` spans the first to the last thumb, both included."""

    total: int
    tagged: int
    days: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TagCount:
    """How often a reader gave one reason, by source where asked."""

    tag: str
    kind: str
    count: int
