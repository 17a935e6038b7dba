"""Feed conditions: how one feed does, how a reader's feeds do, and whether fetching works at all. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from digest.feeds.entities import UNREACHABLE

# A feed that brought nothing for so long is worth a look, although nothing is wrong with it.
QUIET_AFTER: Final = timedelta(days=60)
# Fewer failing feeds than this may well be a coincidence.
FAILED_ALL_MIN: Final = 5
NETWORK_TO_DO: Final = (
    "Mend this machine’s network or its names (DNS). The feeds are tried again by themselves."
)


class FeedCondition(StrEnum):
    """The condition of a feed, as readers and operators see it."""

    FINE = "fine"
    NEW = "new"
    DOUBTFUL = "doubtful"
    QUIET = "quiet"
    FAILING = "failing"
    GONE = "gone"
    REFUSED = "refused"
    MOVED = "moved"
    PAUSED = "paused"
    IMPORTED = "imported"
    WAITING = "waiting"


_NOT_POLLED: Final = (
    FeedCondition.GONE,
    FeedCondition.REFUSED,
    FeedCondition.MOVED,
    FeedCondition.PAUSED,
    FeedCondition.IMPORTED,
    FeedCondition.WAITING,
)


@dataclass(frozen=True, slots=True)
class FeedFacts:
    """The stored facts that a feed's condition follows from. Times are UTC.

    `moving`: its address redirects for good, or another domain answers in its place. `note`: what is odd
    about its last answer.
    """

    state: str
    failures: int = 0
    fetched_at: datetime | None = None
    last_new_at: datetime | None = None
    moving: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class FeedCounts:
    """Counts of a reader's polled feeds: `waiting` were never tried, `failing` failed at the last try."""

    polled: int
    waiting: int
    failing: int

    @property
    def none_answers(self) -> bool:
        """Return whether every feed failed, of several: the network is likelier at fault than they are."""
        return self.failing == self.polled > 1


@dataclass(frozen=True, slots=True)
class FetchFacts:
    """Counts of active feeds in a time: `overdue` all the time, `fetched` well, or `failed`."""

    overdue: int
    fetched: int
    failed: int


def feed_condition(facts: FeedFacts, *, now: datetime) -> FeedCondition:
    """Return the feed's condition: a fixed state first, then failing, new, doubtful, quiet, fine."""
    if facts.state in _NOT_POLLED:
        return FeedCondition(facts.state)
    if facts.failures:
        return FeedCondition.FAILING
    if facts.fetched_at is None:
        return FeedCondition.NEW
    if facts.note:
        return FeedCondition.DOUBTFUL
    quiet = facts.last_new_at is not None and now - facts.last_new_at > QUIET_AFTER
    return FeedCondition.QUIET if quiet else FeedCondition.FINE


def feed_trouble(facts: FeedFacts, *, now: datetime) -> str:
    """Return the trouble that a reader should look at: `gone`, `refused`, `failing`, `moved`,
    `empty`, or ""."""
    condition = feed_condition(facts, now=now)
    if condition in (FeedCondition.GONE, FeedCondition.REFUSED, FeedCondition.FAILING):
        return condition.value
    if condition in _NOT_POLLED or facts.fetched_at is None:
        return ""
    if facts.moving:
        return "moved"
    return "" if facts.last_new_at else "empty"


def feed_counts(facts: Iterable[FeedFacts], *, now: datetime) -> FeedCounts:
    """Count the feeds that are polled, without those gone, moved, paused or imported from files."""
    conditions = [feed_condition(fact, now=now) for fact in facts]
    polled = [condition for condition in conditions if condition not in _NOT_POLLED]
    return FeedCounts(len(polled), polled.count(FeedCondition.NEW), polled.count(FeedCondition.FAILING))


def mostly_failed(*, feeds: int, failed: int) -> bool:
    """Return whether more than half of the feeds that were fetched failed."""
    return 2 * failed > feeds


def round_message(*, feeds: int, failed: int, error: str) -> str:
    """Return why a person should look after a round in which most feeds failed, `error` most often, or ""."""
    if failed < FAILED_ALL_MIN or not mostly_failed(feeds=feeds, failed=failed):
        return ""
    return (
        f"{failed} of {feeds} feeds failed, most often with “{error}”. "
        "Can this machine reach the network and resolve names?"
    )


def outage_message(began_at: datetime) -> str:
    """Return the sentence for operators about an outage of this machine's own network."""
    return (
        f"This machine has had no network since {began_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: no name is "
        "resolved, or no route found. Nothing counts against any feed meanwhile."
    )


def network_message(counts: Mapping[str, int]) -> str:
    """Return one sentence if most feeds get no answer from any server, or "".

    `counts` are those of feeds that were tried, by error code; "" is for those without an error.
    """
    failed, feeds = sum(counts.get(code, 0) for code in UNREACHABLE), sum(counts.values())
    if failed < FAILED_ALL_MIN or not mostly_failed(feeds=feeds, failed=failed):
        return ""
    return (
        f"{failed:,} of {feeds:,} feeds fail for one reason: no server answers. "
        "Can this machine reach the network and resolve names?"
    )


def stall_message(facts: FetchFacts, *, minutes: int) -> str:
    """Return why an operator should look after `minutes` without one good fetch, or "" if all is well.

    A few failing feeds are their publishers' problem. Five that fail while none succeeds point to this
    machine's network.
    """
    if facts.fetched:
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
