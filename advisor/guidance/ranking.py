"""What a memory is worth to the call at hand: relevance, quality and trust, blended.

    score = (0.45 relevance + 0.30 quality + 0.25 trust) × penalty of noise

    relevance = 0.40 target + 0.25 same type or tool + 0.10 same phase + 0.25 words
    quality   = half its text, half its source
    trust     = lower bound of its helpfulness, once readers decided often enough; before, its confidence,
                halved each 90 days

The blend is the published engine's (vibeship-spark-intelligence, 2026-02). Relevance has a floor of its own
here, and a memory about another target or another type of suggestion is no candidate at all. A memory about
no target in particular is about each of them by half, if it is this reader's own.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from math import log
from typing import Any

from advisor.guidance.conditions import predicate_holds
from advisor.guidance.entities import Situation, phase_of
from advisor.guidance.wording import Scored
from advisor.models import Memory
from ranking.common.text import FUNCTION_WORDS, fold, term_matches
from ranking.learning import wilson
from suggestions.outcomes.search import terms_of

Kind = Memory.Kind
RELEVANCE_WEIGHT, QUALITY_WEIGHT, TRUST_WEIGHT = 0.45, 0.30, 0.25
TARGET_SHARE, TYPE_SHARE, PHASE_SHARE, WORDS_SHARE = 0.40, 0.25, 0.10, 0.25
# Parts of these shares: of a reader's own memory about no target, and of the right type for another tool.
GENERAL_OWN, OTHER_TOOL = 0.5, 0.6
RANK_MIN, ITEMS_MAX = 0.35, 8
# What is known of all readers has this part of the score that the same has of the reader at hand.
SHARED_PART = 0.9
TRUST_HALF_LIFE_DAYS, WILSON_MIN, DAY_S = 90.0, 5, 86_400.0
# How far a source is trusted; the published engine's tiers of those we have.
TIERS: Mapping[str, float] = {
    Kind.PATTERN: 0.90, Kind.REPLAY: 0.85, Kind.PROFILE: 0.80, Kind.RULE: 0.75,
    Kind.INSIGHT: 0.65, Kind.PEER: 0.60, Kind.BANK: 0.40,
}  # fmt: skip
# BM25: its two constants, the score worth half the share of words, and the least corpus a store counts as.
K1, B, BM25_HALF, CORPUS_LEAST = 1.5, 0.75, 5.0, 100
QUERY_WORDS_MAX, SIGNED_CHARS = 32, 180
_KINDS = Kind.values
_FIGURE, _FIGURES = re.compile(r"\d+(?:[.,:/]\d+)*"), re.compile(r"#(?: ?#)+")
_VOWEL, _NO_WORD = re.compile("[aeiouy]"), re.compile(r"[^\w#]+|_")
# The published engine's penalties: what is left of the score of a text of each sort.
_NOISE = tuple(
    (re.compile(pattern), share)
    for pattern, share in (
        (r"\bstruggl(?:es?|ed|ing)\b|\bexpressed (?:satisfaction|frustration)\b|\bcycle summary\b", 0.05),
        (r"^\s*(?:user|assistant|human|reader|agent|model)\s*(?:>|:|said\b|asked\b)|^(?:ok|sure|hi)\b", 0.40),
        (r"\b(?:run|trace|session|request|event|step)[-_ ]?id\b|\b[0-9a-f]{24,64}\b", 0.60),
    )
)


def rank(
    situation: Situation,
    memories: Sequence[Memory],
    *,
    now: datetime,
    relevance_min: float,
    values: Mapping[str, Any] | None = None,
) -> list[Scored]:
    """Return the memories worth weighing for this call, best first, at most eight of them.

    A rule with a condition counts where it holds by `values`, and is then as relevant as can be.
    """
    scores = bm25(query_words(situation), [memory.tokens for memory in memories], least=CORPUS_LEAST)
    scored = []
    for memory, score in zip(memories, scores, strict=True):
        if memory.predicate:
            relevance = float(predicate_holds(memory.predicate, values or {}))
        else:
            relevance = relevance_of(situation, memory, score / (score + BM25_HALF))
        one = scored_from(memory, relevance, now=now)
        if relevance >= relevance_min and one.score >= RANK_MIN and not elsewhere(situation, memory):
            scored.append(one)
    scored.sort(key=lambda one: (-one.score, _KINDS.index(one.memory.kind), one.memory.id))
    return scored[:ITEMS_MAX]


def scored_from(memory: Memory, relevance: float, *, now: datetime) -> Scored:
    """Return a memory of known relevance (0 to 1) with its three factors and its score; no floor applies."""
    quality, trust = (memory.unified + TIERS[memory.kind]) / 2, trust_of(memory, now=now)
    blend = RELEVANCE_WEIGHT * relevance + QUALITY_WEIGHT * quality + TRUST_WEIGHT * trust
    matched = bool(memory.predicate)
    part = SHARED_PART if memory.shared and not matched else 1.0
    return Scored(memory, relevance, quality, trust, blend * penalty_of(memory.text) * part, matched=matched)


def relevance_of(situation: Situation, memory: Memory, words: float) -> float:
    """Return how much a memory is about this call, 0 to 1; `words` is the share of words in common."""
    if not memory.target_key:
        target = GENERAL_OWN if situation.suggestion_type and not memory.shared else 0.0
    elif situation.target_key:
        target = float(situation.target_key == memory.target_key)
    else:
        target = float(term_matches(memory.target_key, fold(situation.words)))
    other_tool = bool(memory.tool) and memory.tool != situation.tool
    if memory.suggestion_type:
        same = memory.suggestion_type == situation.suggestion_type
        type_match = (OTHER_TOOL if other_tool else 1.0) if same else 0.0
    else:
        type_match = float(bool(memory.tool) and not other_tool)
    phase = memory.phase in {"", str(situation.phase), str(phase_of(situation.tool, 0))}
    shares = (TARGET_SHARE * target, TYPE_SHARE * type_match, PHASE_SHARE * phase, WORDS_SHARE * words)
    return sum(shares)


def elsewhere(situation: Situation, memory: Memory) -> bool:
    """Return whether a memory is about another target, or another type of suggestion, than this call."""
    pairs = (
        (memory.target_key, situation.target_key),
        (memory.suggestion_type, situation.suggestion_type),
    )
    return not memory.predicate and any(own and asked and own != asked for own, asked in pairs)


def trust_of(memory: Memory, *, now: datetime) -> float:
    """Return how far it is believed, 0 to 1: by readers' decisions from five on, else by its confidence."""
    judged = memory.helpful + memory.unhelpful
    if judged >= WILSON_MIN:
        return wilson(memory.helpful, judged)[0]
    days = max(0.0, (now - memory.valid_from).total_seconds() / DAY_S)
    return float(memory.confidence * 0.5 ** (days / TRUST_HALF_LIFE_DAYS))


@lru_cache(maxsize=8192)
def penalty_of(text: str) -> float:
    """Return what noise in `text` leaves of its score; each sort of noise takes its own part."""
    plain, left = text.casefold(), 1.0
    for pattern, share in _NOISE:
        left *= share if pattern.search(plain) else 1.0
    return left


def query_words(situation: Situation) -> tuple[str, ...]:
    """Return the words of a call that memories are compared with: those that carry meaning, each once."""
    words = terms_of(f"{situation.target_key} {situation.words}")
    return tuple(dict.fromkeys(stem(word) for word in words if word not in FUNCTION_WORDS))[:QUERY_WORDS_MAX]


def bm25(query: Sequence[str], texts: Sequence[Sequence[str]], *, least: int = 0) -> list[float]:
    """Return how well each of `texts` answers `query`, both as words; 0 for no word in common.

    Robertson and Zaragoza (2009). Fewer than `least` texts count as so many: that little is known makes no
    word a common one.
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


def text_signature(text: str) -> str:
    """Return 40 hex digits, equal for texts with the same words: folded, no punctuation, figures as `#`.

    Only the first 180 characters of that form count, as in the published engine.
    """
    words = " ".join(_NO_WORD.sub(" ", _FIGURE.sub("#", fold(text))).split())
    plain = _FIGURES.sub("#", words)
    return hashlib.sha1(plain[:SIGNED_CHARS].encode(), usedforsecurity=False).hexdigest()


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of `text` as BM25 compares them: folded, in one form, as often as they occur."""
    return tuple(map(stem, terms_of(text)))


def stem(word: str) -> str:
    """Return a folded word without the endings of English verbs, so that "rated" and "rating" are one.

    Step 1b of Porter (1980), "An algorithm for suffix stripping", and its step 5a for a last e.
    """
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
