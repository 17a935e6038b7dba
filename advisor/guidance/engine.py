"""Guidance inside a run: what it is told at its start, before each tool call, and what it then did.

Never in the way: whatever breaks in here is counted and the run goes on without; only a run that another
worker has taken over is told so. Rules stop calls, memories only advise, and the tools keep their own checks.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings

from advisor.entities import ToolContext, ToolOutcome
from advisor.guidance.blocking import block_of
from advisor.guidance.entities import Advice, Level, Phase, Situation, Why
from advisor.guidance.events import Ledger, calls_looked_at, event_acknowledged, event_followed
from advisor.guidance.facts import facts_of
from advisor.guidance.following import Awaiting, awaiting_of, done_anyway, followed_by, never_written
from advisor.guidance.opening import opening_of
from advisor.guidance.situations import WRITE, ack_of, hold_key, situation_of
from advisor.guidance.standing import Standing
from advisor.guidance.state import RunState, state_keep, state_load
from advisor.guidance.synthesis import Writer, writer_for
from advisor.guidance.tunables import Tunables, tunables
from advisor.guidance.weighing import Clock, Look, weigh
from advisor.kpis import NOT_FAILURES
from advisor.models import Run
from advisor.services.guidance_memories import memories_refresh
from digest.llm.entities import ToolCall
from digest.llm.ledger import advisor_account
from suggestions.entities import FenceLost

if TYPE_CHECKING:
    from uuid import UUID

MEASURED = (Why.TOLD, Why.HELD)


@dataclass(slots=True)
class Guide:
    """Guidance of one run. `moment` gives the time of day, `calls_max` the run's cap on calls, if any."""

    run_id: "UUID"
    reader_id: "UUID"
    moment: Callable[[], datetime]
    ledger: Ledger
    state: RunState = field(default_factory=RunState)
    writer: Writer | None = None
    calls_max: int | None = None
    tunables: Tunables = field(default_factory=Tunables)
    clock: Clock = time.monotonic
    awaiting: list[Awaiting] = field(default_factory=list)
    standing: Standing = field(init=False)

    def __post_init__(self) -> None:
        self.standing = Standing(self.reader_id, self.run_id)

    def start(self) -> str:
        """What the run is told before its first call, "" for nothing. The reader's memories are renewed."""
        look = self._look("")
        try:
            with look.stage("refresh"):
                memories_refresh(reader_id=self.reader_id, now=look.now)
        except Exception as error:
            self.ledger.failed(look, error)
        look = self._look("")
        try:
            look.situation = Situation(self.reader_id, "", Phase.EXPLORE)
            with look.stage("retrieve"):
                self.standing.renew(now=look.now, tunables=look.tunables)
                advice = opening_of(situation=look.situation, standing=self.standing, now=look.now)
            self.ledger.add(look, advice)
        except FenceLost:
            raise
        except Exception as error:
            self.ledger.failed(look, error)
            return ""
        # What speaks of one target was told in general only: a write about that target may still be held.
        self.state.told += [scored.memory.id for scored in advice.told if not scored.memory.target_key]
        return advice.text

    def before(self, call: ToolCall) -> Advice:
        """What to tell, hold or stop before `call`; stores one event. Raises only `FenceLost`."""
        self.state.called(call.name, recent_max=self.tunables.recent_tools)
        look = self._look(call.name)
        try:
            look.situation = situation_of(
                call, reader_id=self.reader_id, failed_writes=self.state.failed_writes
            )
            advice = self._advice(look, look.situation)
            self._told(look, advice, self.ledger.add(look, advice))
        except FenceLost:
            raise
        except Exception as error:
            self.ledger.failed(look, error)
            return Advice(Level.SILENT, Why.FAILED)
        return advice

    def after(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Note how `call` ended: writes that failed in a row, and whether advice beside it was followed."""
        look = self._look(call.name)
        code = outcome.error_code
        try:
            self.state.ended(call.name, failed=bool(code) and outcome.counted and code not in NOT_FAILURES)
            if call.name == WRITE and not code:
                self._settle(lambda one: done_anyway(one) if one.asked else None)
            state_keep(run_id=self.run_id, state=self.state, tunables=look.tunables)
        except Exception as error:
            self.ledger.failed(look, error)

    def close(self) -> None:
        """The run is over: what it was advised against and never wrote, it followed."""
        try:
            self._settle(never_written)
            self.standing.shelf.store(now=self.moment())
        except Exception as error:
            self.ledger.failed(self._look(""), error)

    def _look(self, tool: str) -> Look:
        return Look(self.state.calls if tool else 0, tool, self.moment(), self.tunables, self.clock)

    def _advice(self, look: Look, situation: Situation) -> Advice:
        """A block, a held write, or what memories say."""
        with look.stage("facts"):
            self.standing.renew(now=look.now, tunables=look.tunables)
            look.known = known = facts_of(
                situation=situation, state=self.state, standing=self.standing, calls_max=self.calls_max
            )
        look.situation = situation = known.situation
        if situation.tool == WRITE:
            self._settle(lambda one: followed_by(one, situation))
        if blocked := block_of(known.facts, self.standing.rules):
            return replace(blocked, repeated=self.state.repeated(f"{blocked.rule}|{situation.target_key}"))
        if situation.tool == WRITE and (answered := self._held_before(situation)):
            return answered
        tunables()  # Figures that make no sense raise here: memories then say nothing, and rules still stop.
        advice = weigh(look, known, standing=self.standing, state=self.state, writer=self.writer)
        return self._held(look, situation, advice)

    def _held(self, look: Look, situation: Situation, advice: Advice) -> Advice:
        """A write that is warned about is held, once; anything else goes on."""
        if situation.tool != WRITE or advice.level is not Level.WARNING or not situation.suggestion_type:
            return advice
        guidance_id = f"g{look.n}-{secrets.token_hex(3)}"
        self.state.holds[hold_key(situation)] = [guidance_id, advice.text]
        return replace(advice, why=Why.HELD, guidance_id=guidance_id)

    def _held_before(self, situation: Situation) -> Advice | None:
        """A write held before: let through by its own id, else held again; `None` if it never was."""
        key = hold_key(situation)
        if key not in self.state.holds:
            return None
        guidance_id, text = self.state.holds[key]
        if ack_of(situation) != guidance_id:
            return Advice(Level.WARNING, Why.HELD, text, guidance_id=guidance_id, repeated=True)
        del self.state.holds[key]
        event_acknowledged(run_id=self.run_id, n=int(guidance_id[1:].partition("-")[0]))
        return Advice(Level.SILENT, Why.ACKNOWLEDGED)

    def _told(self, look: Look, advice: Advice, event_id: int) -> None:
        """Remember what was told, so that it is not told twice and its following can be seen."""
        named = (*advice.told, *advice.whispers)
        self.state.told += [scored.memory.id for scored in named]
        if advice.why in MEASURED and advice.told and look.situation:
            writes = look.tool == WRITE
            if open_advice := awaiting_of(event_id, look.situation, advice.told, writes=writes):
                self.awaiting.append(open_advice)

    def _settle(self, verdict: Callable[[Awaiting], bool | None]) -> None:
        """Store whether advice was followed, where `verdict` can say; the rest stays open."""
        still = []
        for one in self.awaiting:
            followed = verdict(one)
            if followed is None:
                still.append(one)
            else:
                event_followed(event_id=one.event_id, followed=followed)
        self.awaiting = still


def guide_for(
    *, run: Run, context: ToolContext, moment: Callable[[], datetime], clock: Clock = time.monotonic
) -> Guide | None:
    """Guidance for `run`, as far as an earlier attempt at it came; `None` where it is switched off.

    A manual session has no cap on its calls and spends nothing, so that no model words its notes.
    """
    if not settings.ADVISOR_GUIDANCE:
        return None
    ledger = Ledger(run_id=run.pk, reader_id=run.reader_id, fence=context.fence)
    manual = run.trigger == Run.Trigger.MCP
    guide = Guide(run.pk, run.reader_id, moment, ledger, clock=clock)
    guide.calls_max = None if manual else settings.ADVISOR_MAX_TOOL_CALLS
    try:
        guide.tunables = tunables()
        guide.state = state_load(run_id=run.pk)
        guide.state.calls = max(guide.state.calls, calls_looked_at(run_id=run.pk))
        if not manual:
            account = advisor_account(
                reader_id=run.reader_id, run_id=run.pk, now=context.now, purpose="guidance"
            )
            guide.writer = writer_for(reader_id=run.reader_id, ledger=account, tunables=guide.tunables)
    except Exception as error:
        ledger.failed(Look(0, "", moment(), guide.tunables, clock), error)
    return guide
