"""Score memories for a tool call, and decide which of them it gets and at which level.

    score = (0.45 relevance + 0.30 quality + 0.25 trust) × penalty of noise

    relevance = 0.40 target + 0.25 same type or tool + 0.10 same phase + 0.25 words
    quality   = half its text, half its source
    trust     = lower bound of its helpfulness, once readers decided often enough; before, its confidence,
                halved each 90 days

    gate = (0.45 relevance + 0.25 trust + 0.15) × boosts of at most 1.5 together

Blend and gate are the published engine's (vibeship-spark-intelligence, 2026-02). Relevance has a floor here,
and a memory about another target or type is no candidate. A note must be worth an interruption. A warning is
only for rules that match and for cautions about the very target of a proposal. Neither stops a call.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import log
from typing import Any

from advisor.guidance.admission import injection_in, predicate_holds, stem
from advisor.guidance.situations import LOUDNESS, WRITE, Level, Phase, Situation, Tunables, Why, phase_of
from advisor.guidance.wording import Advice, Kind, Scored, notes_text
from advisor.models import Memory
from ranking.common.text import FUNCTION_WORDS, fold, search_terms, term_matches, topic_key
from ranking.learning import wilson
from suggestions.changes.change import Field
from suggestions.changes.registry import KINDS

RELEVANCE_WEIGHT, QUALITY_WEIGHT, TRUST_WEIGHT = 0.45, 0.30, 0.25
TARGET_SHARE, TYPE_SHARE, PHASE_SHARE, WORDS_SHARE = 0.40, 0.25, 0.10, 0.25
# Parts of these shares: of a reader's own memory about no target, and of the right type for another tool.
GENERAL_OWN, OTHER_TOOL = 0.5, 0.6
RANK_MIN, ITEMS_MAX = 0.35, 8
# A memory of all readers has this share of the score that this reader's own memory would have.
SHARED_PART = 0.9
TRUST_HALF_LIFE_DAYS, WILSON_MIN, DAY_S = 90.0, 5, 86_400.0
# How far a source is trusted; the published engine's tiers of those we have.
TIERS: Mapping[str, float] = {
    Kind.PATTERN: 0.90, Kind.REPLAY: 0.85, Kind.PROFILE: 0.80, Kind.RULE: 0.75,
    Kind.INSIGHT: 0.65, Kind.PEER: 0.60, Kind.BANK: 0.40,
}  # fmt: skip
# BM25: its two constants, the score worth half the share of words, and the least corpus a store counts as.
K1, B, BM25_HALF, CORPUS_LEAST = 1.5, 0.75, 5.0, 100
QUERY_WORDS_MAX = 32
_KINDS = Kind.values
BASE, TOOL_COOLDOWN_S = 0.15, 10.0
BOOST_MAX, BOOST_RELEVANCE_MIN = 1.5, 0.35
PROFILE_BOOST, NEGATIVE_BOOST, REPAIR_BOOST = 1.4, 1.3, 1.5
EVIDENCE_MIN, CONFIDENCE_MIN, SHARE_MIN, SOURCES_MIN = 3, 0.60, 0.66, 2
# Memories reviewed by people need no outcomes. If outcomes exist all the same, they must suffice.
REVIEWED = frozenset({Kind.RULE, Kind.INSIGHT})
LOUD = (Level.NOTE, Level.WARNING)
OLD_CEILING = "whisper"
# The published engine's penalties: the remaining share of the score, by sort of text.
_NOISE = (
    (r"\bstruggl(?:es?|ed|ing)\b|\bexpressed (?:satisfaction|frustration)\b|\bcycle summary\b", 0.05),
    (r"^\s*(?:user|assistant|human|reader|agent|model)\s*(?:>|:|said\b|asked\b)|^(?:ok|sure|hi)\b", 0.40),
    (r"\b(?:run|trace|session|request|event|step)[-_ ]?id\b|\b[0-9a-f]{24,64}\b", 0.60),
)


def rank(
    situation: Situation,
    memories: Sequence[Memory],
    *,
    now: datetime,
    relevance_min: float,
    values: Mapping[str, Any] | None = None,
) -> list[Scored]:
    """Return the memories worth weighing for this call, best first, at most eight.

    A rule with a condition counts if it holds by `values`, and then has full relevance.
    """
    scores = bm25(query_words(situation), [memory.tokens for memory in memories], least=CORPUS_LEAST)
    scored = []
    for memory, score in zip(memories, scores, strict=True):
        if memory.predicate:
            relevance = float(predicate_holds(memory.predicate, values or {}))
        else:
            relevance = relevance_of(situation, memory, score / (score + BM25_HALF))
        one = score_memory(memory, relevance, now=now)
        if relevance >= relevance_min and one.score >= RANK_MIN and not elsewhere(situation, memory):
            scored.append(one)
    scored.sort(key=lambda one: (-one.score, _KINDS.index(one.memory.kind), one.memory.id))
    return scored[:ITEMS_MAX]


def score_memory(memory: Memory, relevance: float, *, now: datetime) -> Scored:
    """Return a memory of known relevance (0 to 1) with its three factors and its score; no floor applies."""
    quality, trust = (memory.unified + TIERS[memory.kind]) / 2, trust_of(memory, now=now)
    blend = RELEVANCE_WEIGHT * relevance + QUALITY_WEIGHT * quality + TRUST_WEIGHT * trust
    matched = bool(memory.predicate)
    part = SHARED_PART if memory.shared and not matched else 1.0
    return Scored(memory, relevance, quality, trust, blend * penalty_of(memory.text) * part, matched=matched)


def relevance_of(situation: Situation, memory: Memory, words: float) -> float:
    """Return the relevance of a memory for this call, 0 to 1. `words` is the share of words in common.

    A memory about the write is also relevant for the calls that lead to it.
    """
    if not memory.target_key:
        target = GENERAL_OWN if situation.suggestion_type and not memory.shared else 0.0
    elif situation.target_key:
        target = float(situation.target_key == memory.target_key)
    else:
        target = float(term_matches(memory.target_key, fold(situation.words)))
    other_tool = memory.tool not in ("", situation.tool, WRITE)
    if memory.suggestion_type:
        same = memory.suggestion_type == situation.suggestion_type
        type_match = (OTHER_TOOL if other_tool else 1.0) if same else 0.0
    else:
        type_match = float(bool(memory.tool) and not other_tool)
    phase = memory.phase in {"", str(situation.phase), str(phase_of(situation.tool, 0)), str(Phase.WRITE)}
    shares = (TARGET_SHARE * target, TYPE_SHARE * type_match, PHASE_SHARE * phase, WORDS_SHARE * words)
    return sum(shares)


def elsewhere(situation: Situation, one: Memory) -> bool:
    """Return whether a memory is about another target, or another type of suggestion, than this call."""
    about = ({one.target_key, situation.target_key}, {one.suggestion_type, situation.suggestion_type})
    return not one.predicate and any(len(names - {""}) > 1 for names in about)


def trust_of(memory: Memory, *, now: datetime) -> float:
    """Return how far it is believed, 0 to 1: by readers' decisions from five on, else by its confidence."""
    judged = memory.helpful + memory.unhelpful
    if judged >= WILSON_MIN:
        return wilson(memory.helpful, judged)[0]
    days = max(0.0, (now - memory.valid_from).total_seconds() / DAY_S)
    return float(memory.confidence * 0.5 ** (days / TRUST_HALF_LIFE_DAYS))


@lru_cache(maxsize=8192)
def penalty_of(text: str) -> float:
    """Return the factor, 0 to 1, by which noise in `text` lowers its score, each kind by its own share."""
    plain, left = text.casefold(), 1.0
    for pattern, share in _NOISE:
        left *= share if re.search(pattern, plain) else 1.0
    return left


def query_words(situation: Situation) -> tuple[str, ...]:
    """Return the words of a call to compare memories with: those that carry meaning, each once."""
    words = search_terms(f"{situation.target_key} {situation.words}")
    return tuple(dict.fromkeys(stem(word) for word in words if word not in FUNCTION_WORDS))[:QUERY_WORDS_MAX]


def bm25(query: Sequence[str], texts: Sequence[Sequence[str]], *, least: int = 0) -> list[float]:
    """Return how well each of `texts` answers `query`, both as words. 0 means no word in common.

    Robertson and Zaragoza (2009). Fewer than `least` texts count as `least`, so that with little knowledge no
    word counts as common.
    """
    wanted = frozenset(query)
    found = [{word: text.count(word) for word in wanted & set(text)} for text in texts]
    holding = Counter(word for counts in found for word in counts)
    if not holding:
        return [0.0] * len(texts)
    total, mean = max(least, len(texts)), sum(map(len, texts)) / len(texts)
    rarity = {word: log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    return [
        sum(rarity[word] * n / (n + K1 * (1 - B + B * len(text) / mean)) for word, n in counts.items())
        for counts, text in zip(found, texts, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Seen:
    """The earlier guidance of this reader's runs: `shown` memories within `shown_ttl_s` or in this run, the
    signatures of their `texts`, and the `tools` of the last ten seconds; `topics` of the config, if known."""

    shown: frozenset[int] = frozenset()
    texts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    topics: Collection[str] | None = None


def gate(
    ranked: Sequence[Scored], *, situation: Situation, tunables: Tunables, seen: Seen, now_s: float
) -> Advice:
    """Return the memories of `ranked`, best first, that this call gets; `now_s` in seconds since 1970.

    Each memory comes back in `Advice.ranked` with its level, and why it was left out.
    """
    levelled = [replace(one, level=level_of(one, ranked, situation, tunables, now_s)) for one in ranked]
    levelled.sort(key=lambda one: -LOUDNESS.index(one.level))
    judged: list[Scored] = []
    for one in levelled:
        judged.append(replace(one, why=_filter_of(one, judged, situation, tunables, seen)))
    notes = tuple(one for one in judged if not one.why and one.level in LOUD)
    why = Why(judged[0].why or Why.TOO_WEAK) if judged else Why.NOTHING_KNOWN
    return Advice(
        level=notes[0].level if notes else Level.SILENT,
        why=Why.EMITTED if notes else why,
        text=notes_text(notes),
        emitted=notes,
        ranked=tuple(judged),
    )


def score_of(scored: Scored, situation: Situation) -> float:
    """Return how loudly a memory asks to be heard, from 0.15 on; boosts count from a relevance of 0.35."""
    memory, boost = scored.memory, 1.0
    if memory.kind == Kind.PROFILE and situation.suggestion_type:
        boost *= PROFILE_BOOST
    if memory.polarity < 0:
        boost *= NEGATIVE_BOOST * (REPAIR_BOOST if situation.phase is Phase.REPAIR else 1.0)
    base = RELEVANCE_WEIGHT * scored.relevance + TRUST_WEIGHT * scored.trust + BASE
    return base * min(boost, BOOST_MAX) if scored.relevance >= BOOST_RELEVANCE_MIN else base


def level_of(
    scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables, now_s: float
) -> Level:
    """Return a memory's level by its score and evidence, at most its ceiling."""
    score = score_of(scored, situation)
    memory, judged = scored.memory, scored.memory.helpful + scored.memory.unhelpful
    reviewed = memory.kind in REVIEWED and not memory.evidence
    share = memory.helpful / judged if judged >= WILSON_MIN else memory.confidence
    days = (now_s - memory.valid_from.timestamp()) / DAY_S
    # Worth an interruption: about the call, clear, borne out, not out of date.
    worthy = scored.matched or (
        scored.relevance >= tunables.relevance_min
        and share >= CONFIDENCE_MIN
        and (memory.share is None or memory.share >= SHARE_MIN)
        and (reviewed or (memory.evidence >= EVIDENCE_MIN and days <= TRUST_HALF_LIFE_DAYS))
    )
    if score < tunables.note_min or not worthy:
        level = Level.SILENT
    elif score < tunables.warning_min or not _may_warn(scored, ranked, situation, tunables):
        level = Level.NOTE
    else:
        level = Level.WARNING
    # Rows of earlier versions may have the ceiling "whisper": today's quietest words are a note.
    ceiling = Level.NOTE if memory.ceiling == OLD_CEILING else Level(memory.ceiling)
    return min(level, ceiling, key=LOUDNESS.index)


def obvious(scored: Scored, situation: Situation, topics: Collection[str] | None) -> bool:
    """Return whether the call or the config already does what a memory advises."""
    memory = scored.memory
    if memory.polarity <= 0:
        return False
    if "hits" in memory.data:
        return situation.arguments.get("suggestion_type") == memory.suggestion_type
    if topics is None or not memory.target_key:
        return False
    present, kind = memory.target_key in map(topic_key, topics), KINDS.get(memory.suggestion_type)
    return kind is not None and kind.field is Field.TOPICS and present is kind.liked


def _may_warn(scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables) -> bool:
    memory = scored.memory
    about = bool(memory.target_key) and memory.target_key == situation.target_key
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


def _filter_of(
    one: Scored, earlier: Sequence[Scored], situation: Situation, tunables: Tunables, seen: Seen
) -> str:
    """Return the first filter that leaves a memory out, "" if none does."""
    memory, passed = one.memory, [other for other in earlier if not other.why]
    texts = seen.texts | {other.memory.text_sig for other in passed}
    filters: tuple[tuple[Why, Callable[[], object]], ...] = (
        (Why.TOO_WEAK, lambda: one.level is Level.SILENT),
        (Why.SHOWN, lambda: memory.id in seen.shown),
        (Why.COOLDOWN, lambda: one.level is not Level.WARNING and situation.tool in seen.tools),
        (Why.OBVIOUS, lambda: obvious(one, situation, seen.topics)),
        (Why.REPEATED, lambda: memory.text_sig and memory.text_sig in texts),
        (Why.OVER_LIMIT, lambda: len(passed) >= tunables.notes_max),
        (Why.UNSAFE, lambda: injection_in(memory.text) or injection_in(memory.title)),
    )
    return next((str(why) for why, holds in filters if holds()), "")
