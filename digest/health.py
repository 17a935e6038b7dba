"""How a feed is doing, from what is stored of it: one condition, and the facts behind it. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

# A feed that brought nothing for so long is worth a look, although nothing is wrong with it.
QUIET_AFTER: Final = timedelta(days=60)


class Condition(StrEnum):
    """What a reader or an operator would call it."""

    FINE = "fine"
    NEW = "new"
    QUIET = "quiet"
    FAILING = "failing"
    GONE = "gone"
    PAUSED = "paused"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class FeedFacts:
    """What is stored of a feed, apart from its address. Times are UTC, `check_minutes` its interval."""

    state: str
    failures: int = 0
    error: str = ""
    fetched_at: datetime | None = None
    next_check_at: datetime | None = None
    last_new_at: datetime | None = None
    check_minutes: int | None = None
    moved_url: str = ""


def feed_condition(facts: FeedFacts, *, now: datetime) -> Condition:
    """The one word for it: a fixed state first, then failing, new, quiet, fine."""
    if facts.state in (Condition.GONE, Condition.PAUSED, Condition.IMPORTED):
        return Condition(facts.state)
    if facts.failures:
        return Condition.FAILING
    if facts.fetched_at is None:
        return Condition.NEW
    quiet = facts.last_new_at is not None and now - facts.last_new_at > QUIET_AFTER
    return Condition.QUIET if quiet else Condition.FINE
