"""Whether a run did as it was told, by its next write; and what is left out at random. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from advisor.guidance.entities import Kind, Scored, Situation
from advisor.guidance.situations import hold_key

CAUTION, ADVICE = -1, 1
BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Awaiting:
    """Advice whose following is still open: the event, which way it pointed, and what it was about.

    `asked` is the held or noted write itself, by `hold_key`; "" for advice beside another tool. `step` is the
    change of weight it asked for.
    """

    event_id: int
    polarity: int
    suggestion_type: str
    target_key: str
    asked: str = ""
    step: float | None = None


def awaiting_of(
    event_id: int, situation: Situation, told: Sequence[Scored], *, writes: bool
) -> Awaiting | None:
    """What there is to follow in the first of `told` that points one way; `None` where none does.

    A memory about no target and no type is about those of the call it was told to.
    """
    memory = next((scored.memory for scored in told if scored.memory.polarity), None)
    if memory is None:
        return None
    general = not memory.suggestion_type and not memory.target_key
    kind = situation.suggestion_type if general else memory.suggestion_type
    target = situation.target_key if general else memory.target_key
    if not (kind or target):
        return None
    asked, step = (hold_key(situation), situation.step) if writes else ("", None)
    return Awaiting(event_id, memory.polarity, kind, target, asked, step)


def followed_by(awaiting: Awaiting, write: Situation) -> bool:
    """Whether `write`, the next one after the advice, does as it was told.

    A caution is followed by another target or type, or by a smaller step; advice by what it spoke for.
    """
    same = awaiting.suggestion_type in ("", write.suggestion_type)
    same = same and awaiting.target_key in ("", write.target_key)
    if awaiting.polarity == ADVICE:
        return same
    if not same or not awaiting.asked:
        return not same
    if hold_key(write) == awaiting.asked or awaiting.step is None or write.step is None:
        return False
    return abs(write.step) < abs(awaiting.step)


def done_anyway(awaiting: Awaiting) -> bool:
    """Whether advice told beside a write that went through was followed by that very write."""
    return awaiting.polarity == ADVICE


def never_written(awaiting: Awaiting) -> bool:
    """Whether advice was followed by a run that ended without another write: a caution was."""
    return awaiting.polarity == CAUTION


def held_out(*, run_id: UUID, n: int, told: Sequence[Scored], share: float) -> bool:
    """Whether an emission is left out to measure by: `share` of them, always the same ones.

    Drawn by the run, the call and the best memory. What an operator's rule says is never left out: it is no
    experiment.
    """
    if not told or any(scored.memory.kind is Kind.RULE for scored in told):
        return False
    drawn = hashlib.sha1(f"{run_id}:{n}:{told[0].memory.id}".encode(), usedforsecurity=False).hexdigest()
    return int(drawn[:8], 16) % BUCKETS < share * BUCKETS
