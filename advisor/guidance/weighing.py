"""From a call to what it is told: found, ranked, gated, claimed, and left out at random; each step timed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from advisor.guidance.entities import Advice, Level, Scored, Situation, Why
from advisor.guidance.facts import CallFacts
from advisor.guidance.following import held_out
from advisor.guidance.gate import Seen, gate
from advisor.guidance.packets import Ask
from advisor.guidance.ranking import rank
from advisor.guidance.standing import Standing
from advisor.guidance.state import SHOWN, TEXT, TOOL, CacheLost, RunState, claim, histories_read, tool_cooling
from advisor.guidance.synthesis import Writer, synthesise
from advisor.guidance.tunables import Tunables
from advisor.guidance.wording import told

Clock = Callable[[], float]


@dataclass(slots=True)
class Look:
    """One call on its way through guidance: what is known of it, and the milliseconds of each stage.

    `n` is its number within the run; `packet` how what is told was found; `error_code` what went wrong
    without stopping it.
    """

    n: int
    tool: str
    now: datetime
    tunables: Tunables
    clock: Clock = time.monotonic
    known: CallFacts | None = None
    situation: Situation | None = None
    stages: dict[str, float] = field(default_factory=dict)
    packet: str = ""
    error_code: str = ""
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def ms(self) -> float:
        """Milliseconds since the call came."""
        return (self.clock() - self.began) * 1000

    @property
    def left_ms(self) -> float:
        """What is left of the time for guidance."""
        return self.tunables.budget_ms - self.ms

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, also one that breaks."""
        started = self.clock()
        try:
            yield
        finally:
            self.stages[name] = round((self.clock() - started) * 1000, 2)


def weigh(
    look: Look, known: CallFacts, *, standing: Standing, state: RunState, writer: Writer | None
) -> Advice:
    """What memories say to a call that no rule stops. May ask a model, so never inside a transaction.

    Cheap reasons for silence come first: no time left, or a tool that was told something a moment ago, unless
    the call is about a change: those may be warned at any time.
    """
    situation, tunables = known.situation, look.tunables
    if look.left_ms <= 0:
        return Advice(Level.SILENT, Why.OUT_OF_TIME)
    now_s, reader_id = look.now.timestamp(), situation.reader_id
    if not situation.suggestion_type and tool_cooling(
        reader_id=reader_id, tool=situation.tool, now_s=now_s, tunables=tunables
    ):
        return Advice(Level.SILENT, Why.COOLDOWN)
    ranked, any_known = _found(look, known, standing)
    if not ranked:
        return Advice(Level.SILENT, Why.BELOW_FLOOR if any_known else Why.NOTHING_KNOWN)
    with look.stage("gate"):
        seen = _seen(known, ranked, state)
        advice = gate(ranked, situation=situation, tunables=tunables, seen=seen, now_s=now_s)
    if held_out(run_id=standing.run_id, n=look.n, told=advice.told, share=tunables.holdout):
        return _left_out(advice)
    advice = _claimed(look, situation, advice)
    if writer is not None and advice.told:
        with look.stage("synthesis"):
            worded = synthesise(
                text=advice.text,
                level=advice.level,
                told=advice.told,
                writer=writer,
                left_ms=look.left_ms,
                tunables=tunables,
            )
        advice, look.error_code = replace(advice, text=worded.text), look.error_code or worded.problem
    return advice


def _found(look: Look, known: CallFacts, standing: Standing) -> tuple[list[Scored], bool]:
    """What is worth weighing, best first, from a packet or afresh; and whether there was anything at all."""
    situation, now = known.situation, look.now
    memories = standing.memories
    if not memories.any_there:
        return [], False
    ask = Ask(situation, known.facts, standing.versions, memories, now, look.tunables)
    with look.stage("packet"):
        found = standing.shelf.find(ask, marked=standing.stamp.packets)
    if found is not None:
        look.packet = found.how
        return found.ranked, True
    with look.stage("retrieve"):
        about = memories.about(situation, now=now)
    with look.stage("rank"):
        ranked = rank(situation, about, now=now, tunables=look.tunables, facts=known.facts)
    if about:
        standing.shelf.keep(ask, ranked, stages=dict(look.stages))
    return ranked, bool(about)


def _seen(known: CallFacts, ranked: Sequence[Scored], state: RunState) -> Seen:
    """What this reader's runs were told of these memories before, and the config the call meets."""
    histories = histories_read(
        reader_id=known.situation.reader_id,
        memories=[scored.memory.id for scored in ranked],
        texts=[scored.memory.text_sig for scored in ranked],
        tool=known.situation.tool,
    )
    config = known.effective.config
    current: dict[str, Any] = {"topics": config.topics, "source_weights": known.effective.weights()}
    return Seen(
        shown=histories.shown,
        tools=histories.tools,
        texts=histories.texts,
        run_told=frozenset(state.told),
        current=current,
    )


def _left_out(advice: Advice) -> Advice:
    """The same told to nobody: what would have been told says so in the audit."""
    ids = {scored.memory.id for scored in advice.told}
    ranked = tuple(
        replace(scored, why=str(Why.HELD_OUT)) if scored.memory.id in ids else scored
        for scored in advice.ranked
    )
    return Advice(Level.SILENT, Why.HELD_OUT, ranked=ranked, held_out=True)


def _claimed(look: Look, situation: Situation, advice: Advice) -> Advice:
    """What of the advice no other run of this reader told in the same moment; the tool rests after that."""
    kept, lost = [], {}
    for scored in advice.told:
        if why := _claim_refused(look, situation, scored):
            lost[scored.memory.id] = str(why)
        else:
            kept.append(scored)
    if kept:
        _claim(look, situation, TOOL, situation.tool, look.tunables.tool_cooldown_s)
    if not lost:
        return advice
    ranked = tuple(replace(scored, why=lost.get(scored.memory.id, scored.why)) for scored in advice.ranked)
    silent = Level.WHISPER if advice.whispers else Level.SILENT
    level = kept[0].level if kept else silent
    why = Why.TOLD if kept or advice.whispers else Why(next(iter(lost.values())))
    return replace(
        advice, level=level, why=why, text=told(kept, look.tunables), told=tuple(kept), ranked=ranked
    )


def _claim_refused(look: Look, situation: Situation, scored: Scored) -> Why | None:
    tunables, memory = look.tunables, scored.memory
    if not _claim(look, situation, SHOWN, str(memory.id), tunables.shown_ttl_s):
        return Why.SHOWN
    if memory.text_sig and not _claim(look, situation, TEXT, memory.text_sig, tunables.text_repeat_s):
        return Why.REPEATED
    return None


def _claim(look: Look, situation: Situation, kind: str, name: str, ttl_s: float) -> bool:
    """A claim that goes on in this process, and is counted, where the cache is lost."""
    try:
        return claim(
            reader_id=situation.reader_id, kind=kind, name=name, now_s=look.now.timestamp(), ttl_s=ttl_s
        )
    except CacheLost as error:
        look.error_code = type(error).__name__
        return True
