"""Whether a call gets anything, how loudly, and what is left out; only rules block, never this.

    base = 0.45 relevance + 0.25 trust + 0.15, times boosts of at most 1.5 together

which is the published gate; its 0.15 stands for all that came before it. A note must also be worth an
interruption: clearly about the call, on three outcomes or a person's review, most of them one way, none older
than a half-life of trust. A warning is for rules that match and for cautions about the very target of a
write, with outcomes or a second source behind them. It stops nobody: it is the first field of the call's
result.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from advisor.guidance.admission import injection_in
from advisor.guidance.entities import LOUDNESS, WRITE, Level, Phase, Situation, Tunables, Why
from advisor.guidance.ranking import (
    DAY_S,
    RELEVANCE_WEIGHT,
    TRUST_HALF_LIFE_DAYS,
    TRUST_WEIGHT,
    WILSON_MIN,
)
from advisor.guidance.wording import Advice, Kind, Scored, notes_text
from ranking.common.text import topic_key
from suggestions.entities import ADD_TOPIC, REMOVE_TOPIC

BASE, WHISPER_MIN, WHISPERS_MAX, TOOL_COOLDOWN_S = 0.15, 0.30, 3, 10.0
BOOST_MAX, BOOST_RELEVANCE_MIN = 1.5, 0.35
PROFILE_BOOST, NEGATIVE_BOOST, REPAIR_BOOST = 1.4, 1.3, 1.5
EVIDENCE_MIN, CONFIDENCE_MIN, SHARE_MIN, SOURCES_MIN = 3, 0.60, 0.66, 2
# What people reviewed needs no outcomes; if it counts some all the same, they must suffice.
REVIEWED = frozenset({Kind.RULE, Kind.INSIGHT})
LOUD = (Level.NOTE, Level.WARNING)


@dataclass(frozen=True, slots=True)
class Seen:
    """What this reader's runs got before: `shown` memories within `shown_ttl_s` or in this run, the
    signatures of their `texts`, and the `tools` of the last ten seconds; `topics` of the config, if known."""

    shown: frozenset[int] = frozenset()
    texts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    topics: Collection[str] | None = None


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
        judged.append(replace(one, why=_left_out(one, judged, situation, tunables, seen)))
    notes = tuple(one for one in judged if not one.why and one.level in LOUD)
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
    """Return how loudly a memory asks to be heard, from 0.15 on; boosts count from a relevance of 0.35."""
    memory, boost = scored.memory, 1.0
    if memory.kind == Kind.PROFILE and situation.phase is Phase.WRITE:
        boost *= PROFILE_BOOST
    if memory.polarity < 0:
        boost *= NEGATIVE_BOOST * (REPAIR_BOOST if situation.phase is Phase.REPAIR else 1.0)
    base = RELEVANCE_WEIGHT * scored.relevance + TRUST_WEIGHT * scored.trust + BASE
    return base * min(boost, BOOST_MAX) if scored.relevance >= BOOST_RELEVANCE_MIN else base


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
    return min(level, Level(scored.memory.ceiling), key=LOUDNESS.index)


def worth_a_note(scored: Scored, tunables: Tunables, now_s: float) -> bool:
    """Return whether a memory is worth an interruption: about the call, clear, borne out, not out of date.

    A rule whose condition holds always is.
    """
    memory, judged = scored.memory, scored.memory.helpful + scored.memory.unhelpful
    reviewed = memory.kind in REVIEWED and not memory.evidence
    share = memory.helpful / judged if judged >= WILSON_MIN else memory.confidence
    days = (now_s - memory.valid_from.timestamp()) / DAY_S
    return scored.matched or (
        scored.relevance >= tunables.relevance_min
        and share >= CONFIDENCE_MIN
        and (memory.share is None or memory.share >= SHARE_MIN)
        and (reviewed or (memory.evidence >= EVIDENCE_MIN and days <= TRUST_HALF_LIFE_DAYS))
    )


def obvious(scored: Scored, situation: Situation, topics: Collection[str] | None) -> bool:
    """Return whether a memory advises what the call does already, or what the config has already.

    A reader's own pattern does so for its type; other advice for a topic to add that is there, or one to
    remove that is not.
    """
    memory = scored.memory
    if memory.polarity <= 0:
        return False
    if "hits" in memory.data:
        return situation.arguments.get("suggestion_type") == memory.suggestion_type
    if topics is None or not memory.target_key:
        return False
    present, kind = memory.target_key in map(topic_key, topics), memory.suggestion_type
    return present if kind == ADD_TOPIC else kind == REMOVE_TOPIC and not present


def _may_warn(scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables) -> bool:
    memory = scored.memory
    about = bool(memory.target_key) and memory.target_key == situation.target_key and situation.tool == WRITE
    if scored.matched or memory.polarity >= 0 or not about:
        return scored.matched
    agreeing = {
        other.memory.kind
        for other in ranked
        if other.memory.polarity < 0
        and other.memory.target_key == memory.target_key
        and other.memory.suggestion_type == memory.suggestion_type
        and score_of(other, situation) >= tunables.note_min
    }
    return memory.evidence >= EVIDENCE_MIN or len(agreeing | {memory.kind}) >= SOURCES_MIN


def _left_out(
    one: Scored, earlier: Sequence[Scored], situation: Situation, tunables: Tunables, seen: Seen
) -> str:
    """Return the first filter that leaves a memory out, "" if none does."""
    memory, passed = one.memory, [other for other in earlier if not other.why]
    texts = seen.texts | {other.memory.text_sig for other in passed}
    loud = one.level in LOUD
    alike = sum((other.level in LOUD) is loud for other in passed)
    most = tunables.notes_max if loud else WHISPERS_MAX * tunables.whispers
    filters: tuple[tuple[Why, Callable[[], bool]], ...] = (
        (Why.TOO_WEAK, lambda: one.level is Level.SILENT),
        (Why.SHOWN, lambda: memory.id in seen.shown),
        (Why.COOLDOWN, lambda: one.level is not Level.WARNING and situation.tool in seen.tools),
        (Why.OBVIOUS, lambda: obvious(one, situation, seen.topics)),
        (Why.REPEATED, lambda: bool(memory.text_sig) and memory.text_sig in texts),
        (Why.OVER_LIMIT, lambda: alike >= most),
        (Why.UNSAFE, lambda: bool(injection_in(memory.text) or injection_in(memory.title))),
    )
    return next((str(why) for why, holds in filters if holds()), "")
