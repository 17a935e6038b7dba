"""Give guidance in a run: at its start, before each tool call, and in results before a proposal.

Guidance never breaks a run: its failures are counted, and the run goes on without it. Only a run that another
worker has taken over ends. Rules stop calls, memories only advise, and the tools keep their own checks. Facts
about a proposal come before it is made: with the feedback, a test, a critique or a refusal, never with a
stored write.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q

from advisor.audit.kpis import NOT_FAILURES
from advisor.conversation import json_object_or_empty
from advisor.guidance.admission import injection_in, predicate_holds
from advisor.guidance.ranking import TOOL_COOLDOWN_S, Seen, gate, rank
from advisor.guidance.run_context import RunContext, call_facts, reader_facts
from advisor.guidance.situations import (
    AHEAD,
    FEEDBACK,
    LOUDNESS,
    WRITE,
    CallFacts,
    Level,
    Phase,
    ReaderFacts,
    Situation,
    Tunables,
    Why,
    acts_of,
    situation_of,
)
from advisor.guidance.store import memories_refresh
from advisor.guidance.tunables import tunables
from advisor.guidance.wording import START_ROWS, Advice, Kind, Scored, start_text
from advisor.models import GuidanceEvent, Memory, Run, Step
from advisor.result_size import BYTES_PER_TOKEN, json_bytes
from advisor.run_values import ToolContext, ToolOutcome
from digest.llm.entities import ToolCall, preview
from ranking.selectors import config_effective
from suggestions.proposals import Facts, FenceLost

log = structlog.get_logger(__name__)
TEXT_CHARS, RULE_CHARS, CODE_CHARS = 600, 120, 60
BUCKETS, RECENT_MAX, WRITES_MAX = 10_000, 200, 10


@dataclass(slots=True)
class _Call:
    """A call under way: its facts, its event to be stored, and the milliseconds that guidance took so far."""

    facts: CallFacts
    event: GuidanceEvent
    ms: float


@dataclass(slots=True)
class Guide:
    """Guidance of one run. `moment` gives the time of day, `calls_max` the run's cap on calls, if any.

    `is_read`: a model reads the words. Without a model there are no words, but rules still stop calls.
    """

    context: RunContext
    moment: Callable[[], datetime]
    fence: Callable[[], None]
    calls_max: int | None = None
    is_read: bool = True
    tunables: Tunables = field(default_factory=Tunables)
    calls: int = 0
    failed_writes: int = 0
    blocks: set[str] = field(default_factory=set)
    reader: ReaderFacts | None = None
    call: _Call | None = None
    began: float = 0.0

    def reader_facts(self) -> ReaderFacts:
        """Return the reader's facts for both planner and model. They are read once."""
        if self.reader is None:
            self.reader = ReaderFacts()
            try:
                self.reader = reader_facts(reader_id=self.context.reader_id, now=self.moment())
            except Exception as error:
                self._store_failure(self._event(), error)
        return self.reader

    def start(self) -> str:
        """Refresh the memories and return the text for a model before its first call; "" for none."""
        if not self.is_read:
            return ""
        event = self._event()
        try:
            memories_refresh(reader_id=self.context.reader_id, now=event.at)
        except Exception as error:
            self._store_failure(event, error)
        event = self._event()
        event.phase = Phase.EXPLORE.value
        return self._store_advice(event, self._opening).text

    def before(self, call: ToolCall) -> Advice:
        """Return the block of a call by a rule, which is stored; else silence. Raises `FenceLost`."""
        self.calls += 1
        self.call, event = None, self._event(call.name)
        try:
            facts = self._facts(event, call)
            if blocked := block_of(facts, self.context.blocking):
                key = f"{blocked.rule}|{facts.situation.target_key}"
                blocked = replace(blocked, repeated=key in self.blocks)
                self.blocks.add(key)
                self._count(call, failed=blocked.repeated)
                self._store(event, blocked)
                return blocked
        except FenceLost:
            raise
        except Exception as error:
            self._store_failure(event, error)
        else:
            self.call = _Call(facts, event, self._ms)
        return Advice(Level.SILENT, Why.NO_ACT)

    def after(self, call: ToolCall, outcome: ToolOutcome) -> Advice:
        """Return the words for the result of a call that went ahead; store its event. Raises `FenceLost`."""
        self._count(call, failed=bool(outcome.error_code) and outcome.counted)
        if (known := self.call) is None:
            return Advice(Level.SILENT, Why.FAILED)
        self.call, self.began = None, time.monotonic() - known.ms / 1000
        if call.name == WRITE and not outcome.error_code:
            return self._store_advice(known.event, lambda: Advice(Level.SILENT, Why.NO_ACT))
        return self._store_advice(known.event, lambda: self._advice(known.event, known.facts, outcome))

    @property
    def facts(self) -> Facts | None:
        """Return the facts that were read for the current write; `None` for any other call."""
        return self.call.facts.rules if self.call else None

    def _count(self, call: ToolCall, *, failed: bool) -> None:
        """Count the writes that failed in a row."""
        if call.name == WRITE:
            self.failed_writes = self.failed_writes + 1 if failed else 0

    def _event(self, tool: str = "") -> GuidanceEvent:
        """Return the event of a call that comes now, or of the run's start, to be filled and stored."""
        self.began = time.monotonic()
        known = {"run_id": self.context.run_id, "reader_id": self.context.reader_id}
        return GuidanceEvent(n=self.calls if tool else 0, tool=tool, at=self.moment(), **known)

    @property
    def _ms(self) -> float:
        """Return the milliseconds that guidance took for this call."""
        return (time.monotonic() - self.began) * 1000

    def _store_advice(self, event: GuidanceEvent, advise: Callable[[], Advice]) -> Advice:
        """Store and return the result of `advise`. If it raises, return silence."""
        try:
            advice = advise()
            self._store(event, advice)
        except FenceLost:
            raise
        except Exception as error:
            self._store_failure(event, error)
            return Advice(Level.SILENT, Why.FAILED)
        return advice

    def _store(self, event: GuidanceEvent, advice: Advice) -> None:
        """Store the event of one call. Raises `FenceLost`."""
        event.tool, event.target_key = preview(event.tool)[:64], preview(event.target_key)
        event.level, event.why, event.holdout = advice.level.value, advice.why.value, advice.holdout
        event.rule, event.text = advice.rule[:RULE_CHARS], preview(advice.text)[:TEXT_CHARS]
        event.tokens = round(json_bytes(advice.text) / BYTES_PER_TOKEN) if advice.text else 0
        event.emitted_ids = [scored.memory.id for scored in advice.emitted]
        event.candidates = [scored.audit for scored in advice.ranked]
        event.error_code, event.ms = event.error_code[:CODE_CHARS], round(self._ms)
        with transaction.atomic():
            self.fence()
            event.save(force_insert=True)

    def _store_failure(self, event: GuidanceEvent, error: Exception) -> None:
        """Store that guidance broke, or log it if not even that can be stored. Raises `FenceLost`."""
        run_id = str(self.context.run_id)
        log.warning("guidance_failed", run_id=run_id, tool=event.tool, exc_info=error)
        event.error_code = type(error).__name__
        try:
            self._store(event, Advice(Level.SILENT, Why.FAILED))
        except FenceLost:
            raise
        except Exception as broken:
            log.warning("guidance_event_lost", run_id=run_id, error=type(broken).__name__)

    def _facts(self, event: GuidanceEvent, call: ToolCall) -> CallFacts:
        """Return the facts of a call, which its event keeps. The memories are renewed first."""
        context, failed_writes = self.context, self.failed_writes
        situation = situation_of(call, reader_id=context.reader_id, failed_writes=failed_writes)
        _name(event, situation)
        context.renew(event.at)
        facts = call_facts(
            situation=situation,
            context=context,
            failed_writes=failed_writes,
            calls_left=None if self.calls_max is None else max(0, self.calls_max - self.calls),
            now=event.at,
        )
        event.facts = dict(facts.values)
        return facts

    def _advice(self, event: GuidanceEvent, facts: CallFacts, outcome: ToolOutcome) -> Advice:
        """Return the advice about the first coming proposal for which a memory is relevant."""
        memories, situation = self._memories(facts), facts.situation
        wanted = self.tunables
        tunables()  # Values that cannot be raise here: memories are then silent, and rules still stop.
        if why := self._silence(memories):
            return Advice(Level.SILENT, why)
        if situation.tool == WRITE:
            words = f"{situation.words} {outcome.error_code}"
            situation = replace(situation, phase=Phase.REPAIR, words=words)
        result = json_object_or_empty(outcome.content) if situation.tool == FEEDBACK else {}
        advice, seen = Advice(Level.SILENT, Why.BELOW_FLOOR), None
        for act in acts_of(situation, result):
            ranked = rank(
                act, memories, now=event.at, relevance_min=wanted.relevance_min, values=facts.values
            )
            if not ranked:
                continue
            seen = seen or _advice_seen(facts, self.context, now=event.at, shown_ttl_s=wanted.shown_ttl_s)
            now_s = event.at.timestamp()
            found = gate(ranked, situation=act, tunables=wanted, seen=seen, now_s=now_s)
            if found.emitted or not advice.ranked:
                advice = found
                _name(event, act)
            if found.emitted:
                break
        return self._without_advice(event, advice)

    def _silence(self, memories: Sequence[Memory]) -> Why | None:
        """Return why nothing is looked up for a call about which these memories may speak."""
        if not self.is_read:
            return Why.NO_MODEL
        if not memories:
            return Why.NO_ACT if self.context.memories else Why.NOTHING_KNOWN
        return Why.OUT_OF_TIME if self._ms >= self.tunables.budget_ms else None

    def _memories(self, facts: CallFacts) -> Sequence[Memory]:
        """Return the memories that may speak: all if a proposal is ahead, else operators' rules alone."""
        tool = facts.situation.tool
        memories = self.context.memories
        return memories if tool in AHEAD or tool == WRITE else [one for one in memories if one.predicate]

    def _without_advice(self, event: GuidanceEvent, advice: Advice) -> Advice:
        """Return the advice, or silence if chance leaves it out."""
        emitted, share = advice.emitted, self.tunables.holdout
        if not is_in_holdout(run_id=self.context.run_id, n=event.n, emitted=emitted, share=share):
            return advice
        ranked = [replace(one, why=str(Why.HOLDOUT)) if one in emitted else one for one in advice.ranked]
        return Advice(Level.SILENT, Why.HOLDOUT, ranked=tuple(ranked), holdout=True)

    def _opening(self) -> Advice:
        """Return the opening advice: the reader's facts, flags, patterns, rules that block."""
        self.context.renew(self.moment())
        memories = self.context.memories
        flags, patterns = (_best(memories, kind) for kind in (Kind.PROFILE, Kind.PATTERN))
        rules = [rule.text for rule in self.context.blocking]
        text = start_text(self.reader_facts(), flags=flags, patterns=patterns, rules=rules)
        if not text:
            return Advice(Level.SILENT, Why.BELOW_FLOOR if memories else Why.NOTHING_KNOWN)
        emitted = tuple(
            Scored(memory, 0.0, memory.unified, memory.confidence, memory.unified, Level.NOTE)
            for memory in (*flags, *patterns)
            if memory.text in text
        )
        return Advice(Level.NOTE, Why.EMITTED, text, emitted=emitted, ranked=emitted)


def _name(event: GuidanceEvent, situation: Situation) -> None:
    """Store the subject of the call, or of the coming proposal, in its event."""
    event.phase, event.suggestion_type = situation.phase.value, situation.suggestion_type
    event.target_key = situation.target_key


def block_of(call: CallFacts, rules: Iterable[Memory]) -> Advice | None:
    """Return the block of a call by the first of the operators' `rules` that holds, or `None`.

    The rules of suggestions are not asked here: the tool answers with them itself, by their own code.
    """
    rule = next((rule for rule in rules if predicate_holds(rule.predicate, call.values)), None)
    return Advice(Level.BLOCK, Why.BLOCKED, rule.text, rule=f"rule-{rule.id}") if rule else None


def is_in_holdout(*, run_id: UUID, n: int, emitted: Sequence[Scored], share: float) -> bool:
    """Return whether an emission is left out to measure by: `share` of them, always the same ones.

    Drawn by the run, the call and the best memory. An operator's rule is never left out: it is no experiment.
    """
    if not emitted or any(scored.memory.kind == Kind.RULE for scored in emitted):
        return False
    drawn = hashlib.sha1(f"{run_id}:{n}:{emitted[0].memory.id}".encode(), usedforsecurity=False).hexdigest()
    return int(drawn[:8], 16) % BUCKETS < share * BUCKETS


def guide_for(*, run: Run, context: ToolContext, moment: Callable[[], datetime]) -> Guide | None:
    """Return guidance for `run`, as far as an earlier attempt at it came; `None` if it is switched off.

    A manual session has no cap on its calls.
    """
    if not settings.ADVISOR_GUIDANCE:
        return None
    guide = Guide(RunContext(run.reader_id, run.pk), moment, context.fence)
    guide.calls_max = None if run.trigger == Run.Trigger.MCP else settings.ADVISOR_MAX_TOOL_CALLS
    try:
        guide.tunables = tunables()
        if run.is_resumed:
            guide.calls, guide.failed_writes, guide.blocks = _progress(run.pk)
    except Exception as error:
        guide._store_failure(guide._event(), error)
    return guide


def _progress(run_id: UUID) -> tuple[int, int, set[str]]:
    """Return a run's calls so far, its writes that failed in a row, and its blocks as `rule|target`."""
    rows = GuidanceEvent.objects.filter(run_id=run_id)
    calls = rows.aggregate(last=Max("n"))["last"] or 0
    writes = Step.objects.filter(run_id=run_id, kind=Step.Kind.TOOL, tool=WRITE).order_by("-n")
    failed_writes = 0
    for code in writes.values_list("error_code", flat=True)[:WRITES_MAX]:
        if not code or code in NOT_FAILURES:
            break
        failed_writes += 1
    blocks = rows.filter(level=Level.BLOCK).values_list("rule", "target_key")
    return calls, failed_writes, {f"{rule}|{target}" for rule, target in blocks}


def _advice_seen(facts: CallFacts, context: RunContext, *, now: datetime, shown_ttl_s: float) -> Seen:
    """Return the advice that this reader's runs got within `shown_ttl_s`, and this run at any time."""
    since = now - timedelta(seconds=shown_ttl_s)
    own = GuidanceEvent.objects.filter(reader_id=context.reader_id).order_by("-at")
    rows = own.filter(Q(at__gt=since) | Q(run_id=context.run_id), level__in=LOUDNESS[1:3])
    targeted = {memory.id for memory in context.memories if memory.target_key}
    shown, tools = set[int](), set[str]()
    for n, tool, at, emitted in rows.values_list("n", "tool", "at", "emitted_ids")[:RECENT_MAX]:
        shown |= set(emitted) - (set() if n else targeted)
        if emitted and (now - at).total_seconds() < TOOL_COOLDOWN_S:
            tools.add(tool)
    texts = {memory.text_sig for memory in context.memories if memory.id in shown} - {""}
    effective = facts.rules.effective if facts.rules else config_effective(reader_id=context.reader_id)
    return Seen(frozenset(shown), frozenset(texts), frozenset(tools), effective.config.topics)


def _best(memories: Sequence[Memory], kind: Kind) -> list[Memory]:
    """Return the memories of one kind with the most behind them; conditions need a call to hold."""
    fit = (one for one in memories if one.kind == kind and not one.predicate and not injection_in(one.text))
    return sorted(fit, key=lambda one: (-one.confidence * one.unified, -one.evidence, one.id))[:START_ROWS]
