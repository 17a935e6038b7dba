"""Which tip a page shows, and what it says: a reader's own answers summed up, and what to do. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, FIELD_OF_TYPE, REDUCE_SOURCE, REMOVE_TOPIC

ACCEPTED, EFFECTS = "accepted", "effects"
# What a type of suggestion is about, alone and with its target's name.
ABOUT = {
    ADD_TOPIC: ("new topics", "the topic “{}”"),
    REMOVE_TOPIC: ("dropping topics", "dropping the topic “{}”"),
    BOOST_SOURCE: ("more from a source", "more from {}"),
    REDUCE_SOURCE: ("less from a source", "less from {}"),
}
RULES = (
    "You see at most one new tip a day. Put away, it stays away for 30 days; nothing changes by reading it."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of the reader's own that may be shown, and what became of it as a tip so far."""

    memory_id: int
    worth: float
    shown_at: datetime | None = None
    dismissed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The memory to show, and whether that is the first time, or the first since it was put away."""

    memory_id: int
    new: bool


@dataclass(frozen=True, slots=True)
class TipWords:
    """A tip in words: what is so, what to do about it (a page's name and words), and why it is shown."""

    sentence: str
    page: str
    action: str
    why: str


def choose(
    candidates: Sequence[Candidate],
    *,
    now: datetime,
    last_at: datetime | None,
    gap: timedelta,
    away: timedelta,
) -> Choice | None:
    """A new tip if none was new within `gap`, the worthiest first; else the newest not put away; else none.

    `last_at`: when the reader was last shown a new one, whatever became of it. One put away may come back
    after `away`.
    """
    rested = last_at is None or now - last_at >= gap
    fresh = [one for one in candidates if _fresh(one, now, away)]
    if rested and fresh:
        best = max(fresh, key=lambda one: (one.worth, -one.memory_id))
        return Choice(best.memory_id, new=True)
    waiting = [one for one in candidates if one.shown_at and one.dismissed_at is None]
    if waiting:
        return Choice(max(waiting, key=lambda one: (one.shown_at, one.memory_id)).memory_id, new=False)
    return None


def tip_words(
    *, key: str, suggestion_type: str, polarity: int, data: Mapping[str, Any], target: str, last: datetime
) -> TipWords | None:
    """A pattern in the reader's answers as a tip; `None` for one that leads to nothing a reader can do.

    `target` is its name as the reader knows it, empty for none; `last` when the newest answer came.
    """
    hits, total, statistic = data.get("hits"), data.get("of"), key.partition(":")[0]
    counted = isinstance(hits, int) and isinstance(total, int) and 0 <= hits <= total and total > 0
    if not counted or not polarity or suggestion_type not in FIELD_OF_TYPE:
        return None
    form, named = ABOUT[suggestion_type]
    about = named.format(target) if target else form
    found = _sentence(statistic, polarity > 0, int(str(hits)), int(str(total)), about)
    if found is None:
        return None
    sentence, page, action = found
    answers = "answers" if statistic == ACCEPTED else "changes"
    why = (
        f"It sums up {total} {answers} of yours from the last 180 days, the newest of {last:%d %B %Y}. "
        f"Nobody else’s are in it. {RULES}"
    )
    return TipWords(sentence, page, action, why)


def _sentence(statistic: str, good: bool, hits: int, total: int, about: str) -> tuple[str, str, str] | None:
    """What is so, the page that helps, and what to do there."""
    if statistic == ACCEPTED and good:
        said = f"You accepted {hits} of {total} suggestions for {about}."
        return said, "suggestions:list", "See what is suggested now"
    if statistic == ACCEPTED:
        said = f"You turned down {total - hits} of {total} suggestions for {about}."
        return said, "ranking:config", "Choose what may be suggested at all"
    if statistic == EFFECTS and good:
        said = f"{hits} of {total} changes you accepted for {about} made your digest one you liked more."
        return said, "suggestions:list", "See what is suggested now"
    if statistic == EFFECTS:
        said = f"{total - hits} of {total} changes you accepted for {about} did not serve you."
        return said, "suggestions:history", "Look at them, and put back what you like"
    return None


def _fresh(one: Candidate, now: datetime, away: timedelta) -> bool:
    return one.shown_at is None or (one.dismissed_at is not None and now - one.dismissed_at >= away)
