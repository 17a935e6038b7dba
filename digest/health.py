"""How a feed is doing, and how fetching as a whole does, from what is stored. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

# A feed that brought nothing for so long is worth a look, although nothing is wrong with it.
QUIET_AFTER: Final = timedelta(days=60)
# Fewer failing feeds than this may well be a coincidence.
FAILED_ALL_MIN: Final = 5


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
    """What is stored of a feed that says how it does. Times are UTC."""

    state: str
    failures: int = 0
    fetched_at: datetime | None = None
    last_new_at: datetime | None = None


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


@dataclass(frozen=True, slots=True)
class Standing:
    """How the polled feeds of one reader stand, counted: `waiting` were never tried, `failing` failed at the
    last try."""

    polled: int
    waiting: int
    failing: int

    @property
    def none_answers(self) -> bool:
        """Whether every feed failed, several of them: then the way out is likelier at fault than they are."""
        return self.failing == self.polled > 1


def feeds_standing(facts: Iterable[FeedFacts], *, now: datetime) -> Standing:
    """Count the feeds that are polled; those given up, paused or imported from files are left out."""
    fixed = (Condition.GONE, Condition.PAUSED, Condition.IMPORTED)
    found = [one for one in (feed_condition(fact, now=now) for fact in facts) if one not in fixed]
    return Standing(len(found), found.count(Condition.NEW), found.count(Condition.FAILING))


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """How fetching went lately, over all active feeds: `overdue` have been due for the whole time, `read`
    were fetched well in it, `failed` were tried in it without success."""

    overdue: int
    read: int
    failed: int


def stalled_words(facts: RoundFacts, *, minutes: int) -> str:
    """Why a person should look after `minutes` without one good fetch, or "" where all is well.

    A few feeds that fail are their publishers' affair; five that fail while none succeeds speak of a way out
    that is closed.
    """
    if facts.read:
        return ""
    if facts.overdue:
        return (
            f"{facts.overdue} feeds have been due for {minutes} minutes and none was fetched. "
            "Is a worker running (manage.py work, or Celery with its beat)?"
        )
    if facts.failed >= FAILED_ALL_MIN:
        return (
            f"All {facts.failed} feeds tried in the last {minutes} minutes failed. "
            "Can this machine reach the network and resolve names?"
        )
    return ""
