"""What a run is told before its first call: who the reader is, what decisions taught, what is refused now."""

from datetime import datetime

from advisor.guidance.entities import Advice, Kind, Level, Remembered, Scored, Situation, Why
from advisor.guidance.injections import injection_in
from advisor.guidance.standing import Standing
from advisor.guidance.wording import START_FLAGS, START_PATTERNS, start_packet
from suggestions.rules import types_declined

DECLINED = "{kind}: this reader turned down every one of {no}. Choose another type."


def opening_of(*, situation: Situation, standing: Standing, now: datetime) -> Advice:
    """The start packet as advice; silent where nothing is known. Three queries at most."""
    known = standing.memories.about(situation, now=now)
    flags = _best(known, Kind.PROFILE, START_FLAGS)
    patterns = _best(known, Kind.PATTERN, START_PATTERNS)
    answers = standing.answers
    refused = [DECLINED.format(kind=kind, no=answers[kind][1]) for kind in sorted(types_declined(answers))]
    written = [rule.reason for rule in standing.rules]
    text = start_packet(flags=flags, patterns=patterns, blocks=[*refused, *written])
    told = tuple(_scored(memory) for memory in (*flags, *patterns) if memory.text in text)
    if not text:
        return Advice(Level.SILENT, Why.BELOW_FLOOR if known else Why.NOTHING_KNOWN)
    return Advice(Level.NOTE, Why.TOLD, text, told=told, ranked=told)


def _best(known: list[Remembered], kind: Kind, count: int) -> list[Remembered]:
    """The memories of one kind with the most behind them; operators' conditions need a call to hold."""
    fit = (m for m in known if m.kind is kind and not m.predicate and not injection_in(m.text))
    return sorted(fit, key=lambda m: (-m.confidence * m.unified, -m.evidence, m.id))[:count]


def _scored(memory: Remembered) -> Scored:
    """A memory told without a call to weigh it for: only its own worth counts."""
    return Scored(memory, 0.0, memory.unified, memory.confidence, memory.unified, Level.NOTE)
