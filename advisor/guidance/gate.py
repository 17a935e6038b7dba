"""Whether a call gets anything, how loudly, and what is left out. Pure; only rules block, never this.

    base = 0.45 relevance + 0.25 trust + 0.15, times boosts of at most 1.5 together

which is the published gate; its 0.15 stands for all that came before it. A note must also be worth an
interruption: clearly about the call, on three outcomes or a person's review, most of them one way, none older
than a half-life of trust. A warning is for rules that match and for cautions about the very target of a
write, with outcomes or a second source behind them. It stops nobody: it is the first field of the call's
result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.guidance.admission import injection_in
from advisor.guidance.entities import LOUDNESS, Advice, Kind, Level, Phase, Scored, Situation, Tunables, Why
from advisor.guidance.ranking import (
    DAY_S,
    RELEVANCE_WEIGHT,
    TRUST_HALF_LIFE_DAYS,
    TRUST_WEIGHT,
    WILSON_MIN,
)
from advisor.guidance.situations import WRITE
from advisor.guidance.wording import notes_text
from ranking.common.text import fold, topic_key
from suggestions.entities import ADD_TOPIC, REMOVE_TOPIC
from suggestions.rules import weight_parse

BASE, WHISPER_MIN, WHISPERS_MAX, TOOL_COOLDOWN_S = 0.15, 0.30, 3, 10.0
BOOST_MAX, BOOST_RELEVANCE_MIN = 1.5, 0.35
PROFILE_BOOST, NEGATIVE_BOOST, REPAIR_BOOST = 1.4, 1.3, 1.5
EVIDENCE_MIN, CONFIDENCE_MIN, SHARE_MIN, SOURCES_MIN = 3, 0.60, 0.66, 2
WEIGHT_SLACK = 0.005
# What people reviewed needs no outcomes; if it counts some all the same, they must suffice.
REVIEWED = frozenset({Kind.RULE, Kind.INSIGHT})


@dataclass(frozen=True, slots=True)
class Seen:
    """What this reader's runs got before: `shown` memories within `shown_ttl_s` or in this run, the
    signatures of their `texts`, and the `tools` of the last ten seconds. `current` is the config: `topics`,
    and `source_weights` by source."""

    shown: frozenset[int] = frozenset()
    texts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    current: Mapping[str, Any] = field(default_factory=dict)


def gate(
    ranked: Sequence[Scored], *, situation: Situation, tunables: Tunables, seen: Seen, now_s: float
) -> Advice:
    """Return what of `ranked`, best first, this call gets; `now_s` are seconds since the epoch.

    Each memory comes back in `Advice.ranked` with its level, and why it was left out.
    """
    levelled = [replace(one, level=level_of(one, ranked, situation, tunables, now_s)) for one in ranked]
    levelled.sort(key=lambda one: -LOUDNESS.index(one.level))
    judged: list[Scored] = []
    for one in levelled:
        judged.append(replace(one, why=str(_left_out(one, judged, situation, tunables, seen) or "")))
    notes = tuple(one for one in judged if not one.why and _loud(one))
    whispers = tuple(one for one in judged if not one.why and one.level is Level.WHISPER)
    why = Why(judged[0].why or Why.TOO_WEAK) if judged else Why.NOTHING_KNOWN
    return Advice(
        level=notes[0].level if notes else Level.WHISPER if whispers else Level.SILENT,
        why=Why.EMITTED if notes or whispers else why,
        text=notes_text(notes),
        emitted=notes,
        whispers=whispers,
        ranked=tuple(judged),
    )


def score_of(scored: Scored, situation: Situation) -> float:
    """Return how loudly a memory asks to be heard, from 0.15 on."""
    base = RELEVANCE_WEIGHT * scored.relevance + TRUST_WEIGHT * scored.trust + BASE
    return base * boost_of(scored, situation)


def boost_of(scored: Scored, situation: Situation) -> float:
    """Return the boosts of a memory in this phase, multiplied, 1 to 1.5; 1 below a relevance of 0.35."""
    if scored.relevance < BOOST_RELEVANCE_MIN:
        return 1.0
    memory, product = scored.memory, 1.0
    if memory.kind is Kind.PROFILE and situation.phase is Phase.WRITE:
        product *= PROFILE_BOOST
    if memory.polarity < 0:
        product *= NEGATIVE_BOOST * (REPAIR_BOOST if situation.phase is Phase.REPAIR else 1.0)
    return min(product, BOOST_MAX)


def level_of(
    scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables, now_s: float
) -> Level:
    """Return the level a memory reaches by its score and by what it rests on, no louder than its ceiling."""
    score = score_of(scored, situation)
    if score < WHISPER_MIN:
        return Level.SILENT
    if score < tunables.note_min or not worth_a_note(scored, tunables, now_s):
        level = Level.WHISPER
    elif score < tunables.warning_min or not _may_warn(scored, ranked, situation, tunables):
        level = Level.NOTE
    else:
        level = Level.WARNING
    return min(level, scored.memory.ceiling, key=LOUDNESS.index)


def worth_a_note(scored: Scored, tunables: Tunables, now_s: float) -> bool:
    """Return whether a memory is worth an interruption: about the call, clear, borne out, not out of date.

    A rule whose condition holds always is.
    """
    if scored.matched:
        return True
    memory, judged = scored.memory, scored.memory.helpful + scored.memory.unhelpful
    reviewed = memory.kind in REVIEWED and not memory.evidence
    share = memory.helpful / judged if judged >= WILSON_MIN else memory.confidence
    days = (now_s - memory.valid_from.timestamp()) / DAY_S
    return (
        scored.relevance >= tunables.relevance_min
        and share >= CONFIDENCE_MIN
        and (memory.share is None or memory.share >= SHARE_MIN)
        and (reviewed or (memory.evidence >= EVIDENCE_MIN and days <= TRUST_HALF_LIFE_DAYS))
    )


def obvious(scored: Scored, situation: Situation, current: Mapping[str, Any]) -> bool:
    """Return whether a memory says what the call does already, or what the config has already.

    By the values it speaks for, where it names any; else a topic to add that is there, one to remove that is
    not.
    """
    memory, topics = scored.memory, current.get("topics")
    if memory.advises:
        return all(
            any(name in known and _same(known[name], value) for known in (situation.arguments, current))
            for name, value in memory.advises.items()
        )
    if memory.polarity <= 0 or not memory.target_key or not isinstance(topics, list | tuple):
        return False
    present = memory.target_key in {topic_key(str(topic)) for topic in topics}
    kind = memory.suggestion_type
    return present if kind == ADD_TOPIC else kind == REMOVE_TOPIC and not present


def _may_warn(scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables) -> bool:
    memory = scored.memory
    about = bool(memory.target_key) and memory.target_key == situation.target_key and situation.tool == WRITE
    if scored.matched or memory.polarity >= 0 or not about:
        return scored.matched
    if memory.evidence >= EVIDENCE_MIN:
        return True
    agreeing = {
        other.memory.kind
        for other in ranked
        if other.memory.polarity < 0
        and other.memory.target_key == memory.target_key
        and other.memory.suggestion_type == memory.suggestion_type
        and score_of(other, situation) >= tunables.note_min
    }
    return len(agreeing | {memory.kind}) >= SOURCES_MIN


def _left_out(
    one: Scored, earlier: Sequence[Scored], situation: Situation, tunables: Tunables, seen: Seen
) -> Why | None:
    """Return the first filter that leaves a memory out, `None` if none does."""
    if one.level is Level.SILENT:
        return Why.TOO_WEAK
    memory, passed = one.memory, [other for other in earlier if not other.why]
    texts = seen.texts | {other.memory.text_sig for other in passed}
    alike = [other for other in passed if _loud(other) is _loud(one)]
    most = tunables.notes_max if _loud(one) else WHISPERS_MAX * tunables.whispers
    filters: tuple[tuple[Why, Callable[[], bool]], ...] = (
        (Why.SHOWN, lambda: memory.id in seen.shown),
        (Why.COOLDOWN, lambda: one.level is not Level.WARNING and situation.tool in seen.tools),
        (Why.OBVIOUS, lambda: obvious(one, situation, seen.current)),
        (Why.REPEATED, lambda: bool(memory.text_sig) and memory.text_sig in texts),
        (Why.OVER_LIMIT, lambda: len(alike) >= most),
        (Why.UNSAFE, lambda: bool(injection_in(memory.text) or injection_in(memory.title))),
    )
    return next((why for why, holds in filters if holds()), None)


def _loud(one: Scored) -> bool:
    return one.level in (Level.NOTE, Level.WARNING)


def _same(own: object, value: object) -> bool:
    """Return whether two values are one: weights within half a hundredth, texts folded, members of a list."""
    if isinstance(own, list | tuple):
        return any(_same(one, value) for one in own)
    left, right = weight_parse(own), weight_parse(value)
    if left is not None and right is not None:
        return abs(left - right) < WEIGHT_SLACK
    return fold(str(own)) == fold(str(value))
