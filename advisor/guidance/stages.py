"""Which stages a call should have gone through, and which of them are missing. Pure.

The one definition that the page of figures, the dashboard and the health check go by.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.guidance.entities import Why

# In their order. `synthesis` comes last, only where a model words notes, and so is never missing.
FACTS, PACKET, RETRIEVE, RANK, GATE = STAGES = ("facts", "packet", "retrieve", "rank", "gate")
# The share of the calls that should have gone through a stage, below which it is missing.
MISSING_SHARE = 0.5
# Why a call may end before anything is looked for. Nothing is where a reader has no memories at all.
EARLY = frozenset(
    {Why.BLOCKED, Why.COOLDOWN, Why.OUT_OF_TIME, Why.FAILED, Why.SWITCHED_OFF, Why.NOTHING_KNOWN}
    | {Why.HELD, Why.ACKNOWLEDGED}
)


@dataclass(frozen=True, slots=True)
class Passed:
    """One call: the milliseconds of each stage, why it ended so, how a packet was found, what was weighed."""

    stages: Mapping[str, float]
    why: str
    packet: str
    weighed: bool


def passed(stages: Any, why: str, packet: str, candidates: Any) -> Passed:
    """A call from the columns of its event."""
    return Passed(stages or {}, why, packet, bool(candidates))


def due(call: Passed) -> set[str]:
    """The stages this call should have gone through.

    The facts always; the packets unless it ended early; search and ranking where no packet was found; the
    gate where something was left to weigh.
    """
    if call.why in EARLY:
        return {FACTS}
    searched = set() if call.packet else {RETRIEVE, RANK}
    return {FACTS, PACKET} | searched | ({GATE} if call.weighed else set())


def stages_missing(calls: Iterable[Passed]) -> tuple[str, ...]:
    """The stages that ran in fewer than half of the calls that should have gone through them, in order."""
    wanted, ran = Counter[str](), Counter[str]()
    for call in calls:
        names = due(call)
        wanted.update(names)
        ran.update(names & call.stages.keys())
    return tuple(name for name in STAGES if ran[name] < MISSING_SHARE * wanted[name])
