"""Guidance inside a run: at its start, before each tool call, and after it.

Never in the way: whatever breaks in here is counted and the run goes on without; only a run that another
worker has taken over ends. Rules stop calls, memories only advise, and the tools keep their own checks.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Q

from advisor.audit.kpis import NOT_FAILURES
from advisor.entities import ToolContext, ToolOutcome
from advisor.guidance.admission import injection_in
from advisor.guidance.conditions import block_of
from advisor.guidance.entities import (
    WRITE,
    CallFacts,
    Level,
    Phase,
    ReaderFacts,
    Situation,
    Tunables,
    Why,
    situation_of,
)
from advisor.guidance.events import Clock, Ledger, Look
from advisor.guidance.facts import RunContext, call_facts, reader_facts
from advisor.guidance.figures import EXPORT_FAILED
from advisor.guidance.notes import export_folder, packets_write
from advisor.guidance.packets import EXACT, PacketCache
from advisor.guidance.ranking import ITEMS_MAX, TOOL_COOLDOWN_S, Seen, gate, rank
from advisor.guidance.sources import memories_refresh
from advisor.guidance.synthesis import PURPOSE, Writer, synthesise, writer_for
from advisor.guidance.tunables import tunables
from advisor.guidance.wording import START_ROWS, Advice, Kind, Scored, start_text
from advisor.models import GuidanceEvent, Memory, Run, Step
from digest.llm.entities import ToolCall
from digest.llm.ledger import advisor_account
from suggestions.entities import FenceLost

BUCKETS, RECENT_MAX, WRITES_MAX = 10_000, 200, 10


@dataclass(slots=True)
class Guide:
    """Guidance of one run. `moment` gives the time of day, `calls_max` the run's cap on calls, if any."""

    context: RunContext
    moment: Callable[[], datetime]
    ledger: Ledger
    writer: Writer | None = None
    calls_max: int | None = None
    tunables: Tunables = field(default_factory=Tunables)
    clock: Clock = time.monotonic
    calls: int = 0
    failed_writes: int = 0
    blocks: set[str] = field(default_factory=set)
    reader: ReaderFacts | None = None
    packets: PacketCache = field(init=False)

    def __post_init__(self) -> None:
        self.packets = PacketCache(self.context.reader_id)

    def reader_facts(self) -> ReaderFacts:
        """Return what planner and model both know of the reader, read once."""
        if self.reader is None:
            self.reader = ReaderFacts()
            try:
                self.reader = reader_facts(reader_id=self.context.reader_id, now=self.moment())
            except Exception as error:
                self.ledger.failed(self._look(""), error)
        return self.reader

    def start(self) -> str:
        """Return what the run reads before its first call, "" for nothing. The memories are renewed first."""
        look = self._look("")
        try:
            memories_refresh(reader_id=self.context.reader_id, now=look.now)
        except Exception as error:
            self.ledger.failed(look, error)
        look = self._look("")
        look.situation = Situation(self.context.reader_id, "", Phase.EXPLORE)
        return self._stored(look, self._opening).text

    def before(self, call: ToolCall) -> Advice:
        """Return what a call gets, or the rule that stops it; stores an event. Raises `FenceLost`."""
        self.calls += 1
        look = self._look(call.name)
        return self._stored(look, lambda: self._advice(look, call))

    def after(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Count the writes that failed in a row."""
        if call.name == WRITE:
            code = outcome.error_code
            failed = bool(code) and outcome.counted and code not in NOT_FAILURES
            self.failed_writes = self.failed_writes + 1 if failed else 0

    def close(self) -> None:
        """Store the packets of the run, and their notes where notes are written."""
        now = self.moment()
        try:
            packets = self.packets.store(self.context, now=now)
            if packets and self.tunables.export:
                packets_write(export_folder(), packets, now)
        except Exception as error:
            code = EXPORT_FAILED if isinstance(error, OSError) else ""
            self.ledger.failed(self._look(""), error, code)

    def _look(self, tool: str) -> Look:
        return Look(self.calls if tool else 0, tool, self.moment(), self.tunables, self.clock)

    def _stored(self, look: Look, advise: Callable[[], Advice]) -> Advice:
        """Return and store what `advise` returns; silence where it breaks."""
        try:
            advice = advise()
            self.ledger.add(look, advice)
        except FenceLost:
            raise
        except Exception as error:
            self.ledger.failed(look, error)
            return Advice(Level.SILENT, Why.FAILED)
        return advice

    def _advice(self, look: Look, call: ToolCall) -> Advice:
        """Return a block, or what memories advise. May ask a model: no transaction."""
        reader_id = self.context.reader_id
        look.situation = situation_of(call, reader_id=reader_id, failed_writes=self.failed_writes)
        with look.stage("facts"):
            self.context.renew(look.now)
            look.facts = facts = call_facts(
                situation=look.situation,
                context=self.context,
                failed_writes=self.failed_writes,
                calls_left=None if self.calls_max is None else max(0, self.calls_max - self.calls),
                now=look.now,
            )
        if blocked := block_of(facts, self.context.blocking):
            key = f"{blocked.rule}|{look.situation.target_key}"
            repeated = key in self.blocks
            self.blocks.add(key)
            return replace(blocked, repeated=repeated)
        tunables()  # Values that cannot be raise here: memories are then silent, and rules still stop.
        if not self.context.memories or look.left_ms <= 0:
            late = Why.OUT_OF_TIME if self.context.memories else Why.NOTHING_KNOWN
            return Advice(Level.SILENT, late)
        if not (ranked := self._ranked(look, facts)):
            return Advice(Level.SILENT, Why.BELOW_FLOOR)
        with look.stage("gate"):
            seen, now_s = _seen(look, facts, self.context), look.now.timestamp()
            advice = gate(ranked, situation=facts.situation, tunables=look.tunables, seen=seen, now_s=now_s)
        run_id, share = self.context.run_id, look.tunables.holdout
        if drawn_for_holdout(run_id=run_id, n=look.n, emitted=advice.emitted, share=share):
            return _withheld(advice)
        if self.writer is not None and advice.emitted:
            with look.stage("synthesis"):
                text, look.error_code = synthesise(
                    text=advice.text, emitted=advice.emitted, writer=self.writer, left_ms=look.left_ms
                )
            advice = replace(advice, text=text)
        return advice

    def _ranked(self, look: Look, facts: CallFacts) -> list[Scored]:
        """Return what is worth weighing, best first, from a packet or afresh; rules are asked anew."""
        situation, context, now = facts.situation, self.context, look.now
        floor = look.tunables.relevance_min
        with look.stage("packet"):
            found = self.packets.find(situation, context, now=now)
        if found is not None:
            look.packet = EXACT
            rules = [memory for memory in context.memories if memory.predicate]
            both = found + rank(situation, rules, now=now, relevance_min=floor, values=facts.values)
            return sorted(both, key=lambda scored: -scored.score)[:ITEMS_MAX]
        with look.stage("rank"):
            ranked = rank(situation, context.memories, now=now, relevance_min=floor, values=facts.values)
        self.packets.add(situation, context, ranked, now=now, ttl_s=look.tunables.packet_ttl_s)
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


def drawn_for_holdout(*, run_id: UUID, n: int, emitted: Sequence[Scored], share: float) -> bool:
    """Return whether an emission is left out to measure by: `share` of them, always the same ones.

    Drawn by the run, the call and the best memory. An operator's rule is never left out: it is no experiment.
    """
    if not emitted or any(scored.memory.kind == Kind.RULE for scored in emitted):
        return False
    drawn = hashlib.sha1(f"{run_id}:{n}:{emitted[0].memory.id}".encode(), usedforsecurity=False).hexdigest()
    return int(drawn[:8], 16) % BUCKETS < share * BUCKETS


def guide_for(
    *, run: Run, context: ToolContext, moment: Callable[[], datetime], clock: Clock = time.monotonic
) -> Guide | None:
    """Return guidance for `run`, as far as an earlier attempt at it came; `None` where it is switched off.

    A manual session has no cap on its calls and spends nothing, so that no model words its notes.
    """
    if not settings.ADVISOR_GUIDANCE:
        return None
    ledger = Ledger(run_id=run.pk, reader_id=run.reader_id, fence=context.fence)
    guide = Guide(RunContext(run.reader_id, run.pk), moment, ledger, clock=clock)
    manual = run.trigger == Run.Trigger.MCP
    guide.calls_max = None if manual else settings.ADVISOR_MAX_TOOL_CALLS
    try:
        guide.tunables = tunables()
        guide.calls, guide.failed_writes, guide.blocks = _progress(run.pk)
        if not manual:
            account = advisor_account(
                reader_id=run.reader_id, run_id=run.pk, now=context.now, purpose=PURPOSE
            )
            guide.writer = writer_for(reader_id=run.reader_id, ledger=account, tunables=guide.tunables)
    except Exception as error:
        ledger.failed(Look(0, "", moment(), guide.tunables, clock), error)
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


def _seen(look: Look, facts: CallFacts, context: RunContext) -> Seen:
    """Return what this reader's runs got within `shown_ttl_s`, and this run at any time; one query."""
    since = look.now - timedelta(seconds=look.tunables.shown_ttl_s)
    rows = GuidanceEvent.objects.filter(
        Q(at__gt=since) | Q(run_id=context.run_id), reader_id=context.reader_id
    )
    rows = rows.filter(level__in=(Level.WARNING, Level.NOTE, Level.WHISPER)).order_by("-at")
    targeted = {memory.id for memory in context.memories if memory.target_key}
    shown: set[int] = set()
    tools: set[str] = set()
    for n, tool, at, emitted, ranked in rows.values_list("n", "tool", "at", "emitted_ids", "candidates")[
        :RECENT_MAX
    ]:
        named = {one["id"] for one in ranked if one["level"] == Level.WHISPER and not one["why"]}
        shown |= {*emitted, *named} - (set() if n else targeted)
        if emitted and (look.now - at).total_seconds() < TOOL_COOLDOWN_S:
            tools.add(tool)
    texts = {memory.text_sig for memory in context.memories if memory.id in shown} - {""}
    topics = facts.rules.effective.config.topics if facts.rules else None
    return Seen(frozenset(shown), frozenset(texts), frozenset(tools), topics)


def _best(memories: Sequence[Memory], kind: Kind) -> list[Memory]:
    """Return the memories of one kind with the most behind them; conditions need a call to hold."""
    fit = (one for one in memories if one.kind == kind and not one.predicate and not injection_in(one.text))
    return sorted(fit, key=lambda one: (-one.confidence * one.unified, -one.evidence, one.id))[:START_ROWS]


def _withheld(advice: Advice) -> Advice:
    """Return the same for nobody: what would have been emitted is named in the audit."""
    ids = {scored.memory.id for scored in advice.emitted}
    ranked = tuple(
        replace(scored, why=str(Why.HOLDOUT)) if scored.memory.id in ids else scored
        for scored in advice.ranked
    )
    return Advice(Level.SILENT, Why.HOLDOUT, ranked=ranked, holdout=True)
