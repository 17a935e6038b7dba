"""Which calls of late a rule or an insight would have touched, had it been there, and how loudly."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from advisor.guidance.entities import LOUDNESS, Facts, Level, Phase, Remembered, Scored, Situation
from advisor.guidance.figures import Tunables
from advisor.guidance.gate import Seen, gate
from advisor.guidance.predicates import predicate_holds
from advisor.guidance.ranking import elsewhere, rank, relevance_of, scored_from
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent

DAYS, EVENTS_MAX, NEWEST = 30, 5_000, 20
FIELDS = (
    "pk",
    "at",
    "run_id",
    "reader_id",
    "tool",
    "phase",
    "suggestion_type",
    "target_key",
    "level",
    "facts",
)


class Call(NamedTuple):
    """One past call as it was stored; `facts` are what rules were asked with."""

    pk: int
    at: datetime
    run_id: UUID | None
    reader_id: UUID
    tool: str
    phase: str
    suggestion_type: str
    target_key: str
    level: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Touched:
    """A call that would have been touched, and the level it would have been told at."""

    call: Call
    level: Level


@dataclass(frozen=True, slots=True)
class Preview:
    """Of `looked_at` calls since `since`, how many would have been touched at each level, and the newest.

    `more` says that there were older calls in that time which were not looked at; `at_most`, that it would
    have been told only where the words of a call fit.
    """

    since: datetime
    looked_at: int
    more: bool
    at_most: bool
    levels: Mapping[Level, int]
    newest: tuple[Touched, ...]

    @property
    def touched(self) -> int:
        """The calls that would have been told something."""
        return sum(self.levels.values())


def memory_preview(memory: Remembered, *, now: datetime) -> Preview:
    """What `memory` alone would have done to the newest 5,000 calls of the last 30 days; one query.

    Levels are what it reaches by itself on a call that was told nothing of late. The words of calls are not
    kept: a memory without a condition is shown as it would be told at most, where its words fit wholly.
    """
    since = now - timedelta(days=DAYS)
    rows = GuidanceEvent.objects.filter(at__gt=since, at__lte=now, n__gt=0).order_by("-at", "-id")
    calls = [Call(*row) for row in rows.values_list(*FIELDS)[: EVENTS_MAX + 1]]
    weigh = partial(_level, memory, now=now, wanted=tunables(), known={})
    touched = [
        Touched(call, level) for call in calls[:EVENTS_MAX] if (level := weigh(call)) is not Level.SILENT
    ]
    counts = Counter(one.level for one in touched)
    return Preview(
        since=since,
        looked_at=min(len(calls), EVENTS_MAX),
        more=len(calls) > EVENTS_MAX,
        at_most=not memory.predicate,
        levels={level: counts[level] for level in reversed(LOUDNESS) if counts[level]},
        newest=tuple(touched[:NEWEST]),
    )


def _level(
    memory: Remembered, call: Call, *, now: datetime, wanted: Tunables, known: dict[Any, Level]
) -> Level:
    """How loudly it would have been told. Equal situations are weighed once."""
    facts = Facts(call.facts if isinstance(call.facts, dict) else {})
    if memory.predicate and not predicate_holds(memory.predicate, facts):
        return Level.SILENT
    if memory.predicate and memory.ceiling is Level.BLOCK:
        return Level.BLOCK
    situation = (call.tool, call.phase, call.suggestion_type, call.target_key)
    if situation not in known:
        known[situation] = _gated(memory, call, facts, now, wanted)
    return known[situation]


def _gated(memory: Remembered, call: Call, facts: Facts, now: datetime, wanted: Tunables) -> Level:
    phase = Phase(call.phase) if call.phase in tuple(Phase) else Phase.EXPLORE
    situation = Situation(
        reader_id=call.reader_id,
        tool=call.tool,
        phase=phase,
        suggestion_type=call.suggestion_type,
        target_key=call.target_key,
    )
    if memory.predicate:
        ranked = rank(situation, [memory], now=now, tunables=wanted, facts=facts)
    else:
        ranked = _fitting(memory, situation, now, wanted)
    untold = Seen(shown={}, tools={}, texts={}, run_told=frozenset(), current={})
    return gate(ranked, situation=situation, tunables=wanted, seen=untold, now_s=now.timestamp()).level


def _fitting(memory: Remembered, situation: Situation, now: datetime, wanted: Tunables) -> list[Scored]:
    """The memory as it ranks where all its words are in the call: the most that it can be worth there."""
    relevance = relevance_of(situation, memory, 1.0)
    scored = scored_from(memory, relevance, now=now, tunables=wanted)
    worth = scored.score >= wanted.rank_min and relevance >= wanted.relevance_min
    return [scored] if worth and not elsewhere(situation, memory) else []
