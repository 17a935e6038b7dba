"""Whose word a memory's credit rests on: the reader's alone. Pure.

Whether a run did as it was told says nothing of whether it was told well. So a memory is credited by what the
reader made of the suggestion that its run wrote about the same change: a no, or a change taken back, at once;
a yes once it has stood for 14 days, as long as the outcome check waits. Advice, and what points neither way,
is borne out by a yes that stood, a caution by a no. A suggestion that was never written, or never answered,
leaves the credit as it is: nobody knows what the reader would have said.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from suggestions.profile import ACCEPTED, REJECTED

STANDING = timedelta(days=14)
REVERTED, WITHHELD, UNANSWERED, OPEN = "reverted", "withheld", "unanswered", ""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a suggestion: `decision` is its outcome, empty while it waits; `waits` whether an answer
    may still come."""

    decision: str
    decided_at: datetime | None = None
    reverted_at: datetime | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Emission:
    """What one call was told about one change: the memories' ids, best first; none of it where held out."""

    event_id: int
    told: tuple[int, ...]
    held_out: bool


@dataclass(slots=True)
class Verdicts:
    """What a round of credit comes to: events by (outcome, helpful), and what each memory gains."""

    events: dict[tuple[str, bool | None], list[int]] = field(default_factory=dict)
    helpful: Counter[int] = field(default_factory=Counter)
    unhelpful: Counter[int] = field(default_factory=Counter)


def outcome_of(fates: Sequence[Fate], *, run_over: bool, now: datetime) -> str:
    """What became of the suggestions about one change of a run: the newest answer, `OPEN` for none yet."""
    if not fates:
        return WITHHELD if run_over else OPEN
    answered = [fate for fate in fates if fate.decision in (ACCEPTED, REJECTED)]
    if not answered:
        return OPEN if any(fate.waits for fate in fates) else UNANSWERED
    last = max(answered, key=lambda fate: (fate.decided_at or now, fate.decision))
    if last.decision == REJECTED:
        return REJECTED
    if last.reverted_at is not None:
        return REVERTED
    stood = last.decided_at is not None and now - last.decided_at >= STANDING
    return ACCEPTED if stood else OPEN


def borne_out(polarity: int, outcome: str) -> bool | None:
    """Whether the reader's answer bears out a memory of that polarity; `None` where there is no answer."""
    if outcome not in (ACCEPTED, REJECTED, REVERTED):
        return None
    return (outcome == ACCEPTED) is (polarity >= 0)


def judge(
    units: Iterable[tuple[Sequence[Emission], str]], polarity: Mapping[int, int], verdicts: Verdicts
) -> None:
    """Add to `verdicts` what the outcomes of some changes mean for what was told about them.

    `units` are the emissions about one change of one run each, with what became of it; however often a memory
    was told there, it is credited once. The event follows its first memory. Held-out ones get the outcome
    alone.
    """
    for emissions, outcome in units:
        if outcome == OPEN:
            continue
        credited: set[int] = set()
        for emission in emissions:
            known = [] if emission.held_out else [one for one in emission.told if one in polarity]
            helpful = borne_out(polarity[known[0]], outcome) if known else None
            verdicts.events.setdefault((outcome, helpful), []).append(emission.event_id)
            credited.update(known)
        for memory in credited:
            if (good := borne_out(polarity[memory], outcome)) is not None:
                (verdicts.helpful if good else verdicts.unhelpful)[memory] += 1
