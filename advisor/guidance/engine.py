"""Guidance inside a run: at its start, before each tool call, and after it.

Never in the way: whatever breaks in here is counted and the run goes on without; only a run that another
worker has taken over ends. Rules stop calls, memories only advise, and the tools keep their own checks.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q

from advisor.audit.kpis import NOT_FAILURES
from advisor.entities import BYTES_PER_TOKEN, ToolContext, ToolOutcome, json_bytes
from advisor.guidance.admission import injection_in, predicate_holds
from advisor.guidance.entities import (
    LOUDNESS,
    WRITE,
    CallFacts,
    Level,
    Phase,
    ReaderFacts,
    Tunables,
    Why,
    situation_of,
)
from advisor.guidance.ranking import ITEMS_MAX, TOOL_COOLDOWN_S, Seen, gate, rank
from advisor.guidance.run_context import EXACT, RunContext, call_facts, packet_add, packet_find, reader_facts
from advisor.guidance.store import memories_refresh
from advisor.guidance.tunables import tunables
from advisor.guidance.wording import (
    PURPOSE,
    START_ROWS,
    Advice,
    Kind,
    Scored,
    Writer,
    start_text,
    synthesise,
    writer_for,
)
from advisor.models import GuidanceEvent, Memory, Run, Step
from digest.llm.entities import ToolCall, preview
from digest.llm.ledger import advisor_account
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)
TEXT_CHARS, RULE_CHARS, CODE_CHARS = 600, 120, 60
BUCKETS, RECENT_MAX, WRITES_MAX = 10_000, 200, 10


@dataclass(slots=True)
class Guide:
    """Guidance of one run. `moment` gives the time of day, `calls_max` the run's cap on calls, if any."""

    context: RunContext
    moment: Callable[[], datetime]
    fence: Callable[[], None]
    writer: Writer | None = None
    calls_max: int | None = None
    tunables: Tunables = field(default_factory=Tunables)
    calls: int = 0
    failed_writes: int = 0
    blocks: set[str] = field(default_factory=set)
    reader: ReaderFacts | None = None
    began: float = 0.0

    def reader_facts(self) -> ReaderFacts:
        """Return what planner and model both know of the reader, read once."""
        if self.reader is None:
            self.reader = ReaderFacts()
            try:
                self.reader = reader_facts(reader_id=self.context.reader_id, now=self.moment())
            except Exception as error:
                self._failed(self._event(), error)
        return self.reader

    def start(self) -> str:
        """Return what the run reads before its first call, "" for nothing. The memories are renewed first."""
        event = self._event()
        try:
            memories_refresh(reader_id=self.context.reader_id, now=event.at)
        except Exception as error:
            self._failed(event, error)
        event = self._event()
        event.phase = Phase.EXPLORE.value
        return self._stored(event, self._opening).text

    def before(self, call: ToolCall) -> Advice:
        """Return what a call gets, or the rule that stops it; stores an event. Raises `FenceLost`."""
        self.calls += 1
        event = self._event(call.name)
        return self._stored(event, lambda: self._advice(event, call))

    def after(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Count the writes that failed in a row."""
        if call.name == WRITE:
            code = outcome.error_code
            failed = bool(code) and outcome.counted and code not in NOT_FAILURES
            self.failed_writes = self.failed_writes + 1 if failed else 0

    def _event(self, tool: str = "") -> GuidanceEvent:
        """Return the event of a call that comes now, or of the run's start, to be filled and stored."""
        self.began = time.monotonic()
        known = {"run_id": self.context.run_id, "reader_id": self.context.reader_id}
        return GuidanceEvent(n=self.calls if tool else 0, tool=tool, at=self.moment(), **known)

    @property
    def _ms(self) -> float:
        """Return the milliseconds since the call came."""
        return (time.monotonic() - self.began) * 1000

    def _stored(self, event: GuidanceEvent, advise: Callable[[], Advice]) -> Advice:
        """Return and store what `advise` returns; silence where it breaks."""
        try:
            advice = advise()
            self._store(event, advice)
        except FenceLost:
            raise
        except Exception as error:
            self._failed(event, error)
            return Advice(Level.SILENT, Why.FAILED)
        return advice

    def _store(self, event: GuidanceEvent, advice: Advice) -> None:
        """Store what became of one call. Raises `FenceLost`."""
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

    def _failed(self, event: GuidanceEvent, error: Exception) -> None:
        """Store that guidance broke; where not even that can be stored, log it. Raises `FenceLost`."""
        run_id = str(self.context.run_id)
        log.warning("guidance_failed", run_id=run_id, tool=event.tool, exc_info=error)
        event.error_code = type(error).__name__
        try:
            self._store(event, Advice(Level.SILENT, Why.FAILED))
        except FenceLost:
            raise
        except Exception as broken:
            log.warning("guidance_event_lost", run_id=run_id, error=type(broken).__name__)

    def _advice(self, event: GuidanceEvent, call: ToolCall) -> Advice:
        """Return a block, or what memories advise. May ask a model: no transaction."""
        context, failed_writes = self.context, self.failed_writes
        situation = situation_of(call, reader_id=context.reader_id, failed_writes=failed_writes)
        event.phase, event.suggestion_type = situation.phase.value, situation.suggestion_type
        event.target_key = situation.target_key
        context.renew(event.at)
        facts = call_facts(
            situation=situation,
            context=context,
            failed_writes=failed_writes,
            calls_left=None if self.calls_max is None else max(0, self.calls_max - self.calls),
            now=event.at,
        )
        event.facts = dict(facts.values)
        if blocked := block_of(facts, context.blocking):
            key = f"{blocked.rule}|{situation.target_key}"
            repeated = key in self.blocks
            self.blocks.add(key)
            return replace(blocked, repeated=repeated)
        wanted = self.tunables
        tunables()  # Values that cannot be raise here: memories are then silent, and rules still stop.
        if not context.memories or self._ms >= wanted.budget_ms:
            late = Why.OUT_OF_TIME if context.memories else Why.NOTHING_KNOWN
            return Advice(Level.SILENT, late)
        if not (ranked := self._ranked(event, facts)):
            return Advice(Level.SILENT, Why.BELOW_FLOOR)
        seen = _seen(facts, context, now=event.at, shown_ttl_s=wanted.shown_ttl_s)
        now_s = event.at.timestamp()
        advice = gate(ranked, situation=situation, tunables=wanted, seen=seen, now_s=now_s)
        emitted = advice.emitted
        if drawn_for_holdout(run_id=context.run_id, n=event.n, emitted=emitted, share=wanted.holdout):
            ranked = [replace(one, why=str(Why.HOLDOUT)) if one in emitted else one for one in advice.ranked]
            return Advice(Level.SILENT, Why.HOLDOUT, ranked=tuple(ranked), holdout=True)
        if self.writer is not None and emitted:
            text, event.error_code = synthesise(
                text=advice.text, emitted=emitted, writer=self.writer, left_ms=wanted.budget_ms - self._ms
            )
            advice = replace(advice, text=text)
        return advice

    def _ranked(self, event: GuidanceEvent, facts: CallFacts) -> list[Scored]:
        """Return what is worth weighing, best first, from a packet or afresh; rules are asked anew."""
        situation, context = facts.situation, self.context
        ranking = partial(
            rank, situation, now=event.at, relevance_min=self.tunables.relevance_min, values=facts.values
        )
        if (found := packet_find(situation, context)) is not None:
            event.packet = EXACT
            rules = [memory for memory in context.memories if memory.predicate]
            return sorted(found + ranking(rules), key=lambda scored: -scored.score)[:ITEMS_MAX]
        ranked = ranking(context.memories)
        packet_add(situation, context, ranked, self.tunables.packet_ttl_s)
        return ranked

    def _opening(self) -> Advice:
        """Return what a run starts with: the reader's facts, flags, patterns, rules that block."""
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


def block_of(call: CallFacts, rules: Iterable[Memory]) -> Advice | None:
    """Return the block of a call by the first of the operators' `rules` that holds, or `None`.

    The rules of suggestions are not asked here: the tool answers with them itself, by their own code.
    """
    rule = next((rule for rule in rules if predicate_holds(rule.predicate, call.values)), None)
    return Advice(Level.BLOCK, Why.BLOCKED, rule.text, rule=f"rule-{rule.id}") if rule else None


def drawn_for_holdout(*, run_id: UUID, n: int, emitted: Sequence[Scored], share: float) -> bool:
    """Return whether an emission is left out to measure by: `share` of them, always the same ones.

    Drawn by the run, the call and the best memory. An operator's rule is never left out: it is no experiment.
    """
    if not emitted or any(scored.memory.kind == Kind.RULE for scored in emitted):
        return False
    drawn = hashlib.sha1(f"{run_id}:{n}:{emitted[0].memory.id}".encode(), usedforsecurity=False).hexdigest()
    return int(drawn[:8], 16) % BUCKETS < share * BUCKETS


def guide_for(*, run: Run, context: ToolContext, moment: Callable[[], datetime]) -> Guide | None:
    """Return guidance for `run`, as far as an earlier attempt at it came; `None` where it is switched off.

    A manual session has no cap on its calls and spends nothing, so that no model words its notes.
    """
    if not settings.ADVISOR_GUIDANCE:
        return None
    guide = Guide(RunContext(run.reader_id, run.pk), moment, context.fence)
    manual = run.trigger == Run.Trigger.MCP
    guide.calls_max = None if manual else settings.ADVISOR_MAX_TOOL_CALLS
    try:
        guide.tunables = tunables()
        guide.calls, guide.failed_writes, guide.blocks = _progress(run.pk)
        if not manual:
            reader_id = run.reader_id
            spent = advisor_account(reader_id=reader_id, run_id=run.pk, now=context.now, purpose=PURPOSE)
            guide.writer = writer_for(reader_id=reader_id, ledger=spent, tunables=guide.tunables)
    except Exception as error:
        guide._failed(guide._event(), error)
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


def _seen(facts: CallFacts, context: RunContext, *, now: datetime, shown_ttl_s: float) -> Seen:
    """Return what this reader's runs got within `shown_ttl_s`, and this run at any time; one query."""
    since = now - timedelta(seconds=shown_ttl_s)
    own = GuidanceEvent.objects.filter(reader_id=context.reader_id).order_by("-at")
    rows = own.filter(Q(at__gt=since) | Q(run_id=context.run_id), level__in=LOUDNESS[1:4])
    targeted = {memory.id for memory in context.memories if memory.target_key}
    shown, tools = set[int](), set[str]()
    values = ("n", "tool", "at", "emitted_ids", "candidates")
    for n, tool, at, emitted, ranked in rows.values_list(*values)[:RECENT_MAX]:
        named = {one["id"] for one in ranked if one["level"] == Level.WHISPER and not one["why"]}
        shown |= {*emitted, *named} - (set() if n else targeted)
        if emitted and (now - at).total_seconds() < TOOL_COOLDOWN_S:
            tools.add(tool)
    texts = {memory.text_sig for memory in context.memories if memory.id in shown} - {""}
    topics = facts.rules.effective.config.topics if facts.rules else None
    return Seen(frozenset(shown), frozenset(texts), frozenset(tools), topics)


def _best(memories: Sequence[Memory], kind: Kind) -> list[Memory]:
    """Return the memories of one kind with the most behind them; conditions need a call to hold."""
    fit = (one for one in memories if one.kind == kind and not one.predicate and not injection_in(one.text))
    return sorted(fit, key=lambda one: (-one.confidence * one.unified, -one.evidence, one.id))[:START_ROWS]
