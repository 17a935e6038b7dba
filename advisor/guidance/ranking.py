"""What a memory is worth to the call at hand: relevance, quality and trust, blended. Pure.

    score = (0.45 relevance + 0.30 quality + 0.25 trust) × penalty of noise

    relevance = 0.40 same target + 0.25 same type or tool + 0.10 same phase + 0.25 words
    quality   = half its text, half its source
    trust     = lower bound of its helpfulness, once readers decided often enough; before, its confidence,
                halved each 90 days

The blend is the published engine's (vibeship-spark-intelligence, 2026-02), whose quality and trust were the
better of two figures, so that nothing said against a memory ever lowered it; and whose sum let a memory of a
good source through the floor without any relevance. Here relevance has a floor of its own, and a memory
about another target or another type of suggestion is no candidate at all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

from advisor.guidance.bm25 import bm25, bm25_together
from advisor.guidance.entities import Facts, Kind, Remembered, Scored, Situation
from advisor.guidance.figures import Tunables
from advisor.guidance.noise import penalty_of
from advisor.guidance.phases import phase_of
from advisor.guidance.predicates import predicate_holds
from advisor.guidance.signature import stem, tokens_of
from ranking.function_words import FUNCTION_WORDS
from ranking.matching import fold, term_matches
from ranking.posterior import wilson
from suggestions.search import terms_of

Profile = Literal["ours", "seed"]
# How far a source is trusted to say something worth hearing; the published engine's tiers of those we have.
TIERS: Mapping[Kind, float] = {
    Kind.PATTERN: 0.90,
    Kind.REPLAY: 0.85,
    Kind.PROFILE: 0.80,
    Kind.RULE: 0.75,
    Kind.INSIGHT: 0.65,
    Kind.PEER: 0.60,
    Kind.BANK: 0.40,
}
TARGET_SHARE, TYPE_SHARE, PHASE_SHARE, WORDS_SHARE = 0.40, 0.25, 0.10, 0.25
# What a memory of the right type, but for another tool, has of the whole share.
OTHER_TOOL = 0.6
# The BM25 score that is worth half the share of words.
BM25_HALF = 5.0
# The same of all that stands under one heading: to rank, where a wrong one costs a title, and to be told. On
# development seeds these leave nine in ten calls about nothing known empty.
GROUP_HALF, TOLD_HALF = 7.5, 9.0
# A store of fewer memories is judged as one of so many.
CORPUS_LEAST = 100
# What is known of all readers has this part of the score that the same has of the reader at hand.
SHARED_PART = 0.9
# Of how many memories others are kin, and the BM25 score that makes them so by half.
KIN_OF, KIN_HALF = 2, 10.0
ROWS_MAX = 500
QUERY_WORDS_MAX = 32
# What the published engine takes for the success of something nobody has judged.
EFFECTIVENESS_UNKNOWN = 0.5
_KINDS = tuple(Kind)
# What a heading says of a type of change that it is about as a whole.
_AS_A_WHOLE = frozenset(
    terms_of("general generally overall whole all any every each type kind change changes")
)
_GRAMMAR = frozenset(map(stem, FUNCTION_WORDS))


def rank(
    situation: Situation,
    memories: Sequence[Remembered],
    *,
    now: datetime,
    tunables: Tunables,
    facts: Facts | None = None,
    profile: Profile = "ours",
) -> list[Scored]:
    """The memories worth weighing for this call, best first, at most `items_max` of them.

    Only the first 500 are looked at. A rule with a condition counts where it holds by `facts`, and is then as
    relevant as can be. What resembles the two most relevant memories ranks with them, and so does what stands
    under a heading that answers the call, or is about its type as a whole; their own relevance stays what it
    was, so that they are named and not told. Behind the reader's own stands what is shared. `profile="seed"`
    blends by the published formula, to be compared with: it has no floor of relevance and takes other targets
    for candidates.
    """
    known = memories[:ROWS_MAX]
    texts = [memory.tokens for memory in known]
    scores = bm25(query_words(situation), texts, least=CORPUS_LEAST)
    headed = [0.0] * len(known) if profile == "seed" else _by_heading(situation, known)
    told = [
        _relevance(situation, memory, max(score / (score + BM25_HALF), group / (group + TOLD_HALF)), facts)
        for memory, score, group in zip(known, scores, headed, strict=True)
    ]
    kin = told if profile == "seed" else _with_kin(situation, known, told, headed, tunables)
    scored = []
    for memory, relevance, near in zip(known, told, kin, strict=True):
        if relevance is None or near is None or (profile == "ours" and near < tunables.relevance_min):
            continue
        matched = bool(memory.predicate)
        one = scored_from(memory, near, now=now, tunables=tunables, profile=profile, matched=matched)
        if _above_floors(one, situation, tunables, profile):
            part = SHARED_PART if memory.shared and profile == "ours" and not matched else 1.0
            scored.append(replace(one, relevance=relevance, score=one.score * part))
    scored.sort(key=lambda one: (-one.score, _KINDS.index(one.memory.kind), one.memory.id))
    return scored[: tunables.items_max]


def scored_from(
    memory: Remembered,
    relevance: float,
    *,
    now: datetime,
    tunables: Tunables,
    profile: Profile = "ours",
    matched: bool = False,
) -> Scored:
    """A memory of known relevance (0 to 1) with its three factors and its score, no floor applied."""
    quality, trust = (
        quality_of(memory, profile),
        trust_of(memory, now=now, tunables=tunables, profile=profile),
    )
    score = blended(relevance, quality, trust, tunables) * penalty_of(memory.text)
    return Scored(memory, relevance, quality, trust, score, matched=matched)


def blended(relevance: float, quality: float, trust: float, tunables: Tunables) -> float:
    """The weighted sum of the three factors."""
    return (
        tunables.relevance_weight * relevance
        + tunables.quality_weight * quality
        + tunables.trust_weight * trust
    )


def query_words(situation: Situation) -> tuple[str, ...]:
    """The words of a call that memories are compared with: those that carry meaning, each once."""
    words = terms_of(f"{situation.target_key} {situation.words}")
    return tuple(dict.fromkeys(stem(word) for word in words if word not in FUNCTION_WORDS))[:QUERY_WORDS_MAX]


def relevance_of(situation: Situation, memory: Remembered, words: float) -> float:
    """How much a memory is about this call, 0 to 1; `words` is the share its words have in common with it."""
    target = bool(memory.target_key) and _about_target(situation, memory.target_key)
    phases = {str(situation.phase), str(phase_of(situation.tool, 0))}
    phase = not memory.phase or memory.phase in phases
    return (
        TARGET_SHARE * target
        + TYPE_SHARE * _type_match(situation, memory)
        + PHASE_SHARE * phase
        + WORDS_SHARE * words
    )


def elsewhere(situation: Situation, memory: Remembered) -> bool:
    """Whether a memory is about another target, or another type of suggestion, than this call."""
    pairs = (
        (memory.target_key, situation.target_key),
        (memory.suggestion_type, situation.suggestion_type),
    )
    return any(own and asked and own != asked for own, asked in pairs)


def quality_of(memory: Remembered, profile: Profile = "ours") -> float:
    """The worth of its text and of its source, half and half; the better of both by the published formula."""
    tier = TIERS[memory.kind]
    return max(memory.unified, tier) if profile == "seed" else (memory.unified + tier) / 2


def trust_of(memory: Remembered, *, now: datetime, tunables: Tunables, profile: Profile = "ours") -> float:
    """How far it is believed, 0 to 1; by the published formula, the better of confidence and success."""
    judged = memory.helpful + memory.unhelpful
    if profile == "seed":
        return max(memory.confidence, memory.helpful / judged if judged else EFFECTIVENESS_UNKNOWN)
    if judged >= tunables.wilson_min:
        return wilson(memory.helpful, judged)[0]
    days = max(0.0, (now - memory.valid_from).total_seconds() / 86400)
    return float(memory.confidence * 0.5 ** (days / tunables.trust_half_life_days))


def _about_target(situation: Situation, target_key: str) -> bool:
    """Whether the call is about the target; one that takes no target may name it."""
    if situation.target_key:
        return situation.target_key == target_key
    return term_matches(target_key, fold(situation.words))


def _by_heading(situation: Situation, known: Sequence[Remembered]) -> list[float]:
    """How well all that stands under the heading of each memory, and the heading, answers the call."""
    texts = [(*_heading(memory.title), *memory.tokens) for memory in known]
    titles = [memory.title for memory in known]
    return bm25_together(query_words(situation), texts, titles, least=CORPUS_LEAST)


@lru_cache(maxsize=8192)
def _heading(title: str) -> tuple[str, ...]:
    """The words of a title; the same memories are ranked at each call of a run."""
    return tokens_of(title)


@lru_cache(maxsize=8192)
def _of_type_alone(title: str, suggestion_type: str) -> bool:
    """Whether a heading names a type of change and nothing in particular."""
    return not set(terms_of(title)) - set(terms_of(suggestion_type)) - FUNCTION_WORDS - _AS_A_WHOLE


def _relevance(situation: Situation, memory: Remembered, words: float, facts: Facts | None) -> float | None:
    """The relevance of a memory, `None` for a rule whose condition does not hold."""
    if not memory.predicate:
        return relevance_of(situation, memory, words)
    return 1.0 if facts is not None and predicate_holds(memory.predicate, facts) else None


def _with_kin(
    situation: Situation,
    known: Sequence[Remembered],
    told: Sequence[float | None],
    headed: Sequence[float],
    tunables: Tunables,
) -> list[float | None]:
    """The relevance of each memory, raised where it resembles the two most relevant or its heading answers.

    Memories of one fact are worded in different ways, and a call may share words with only some of them
    (pseudo-relevance feedback: Rocchio, 1971; Lavrenko and Croft, 2001).
    """
    best = sorted(
        (n for n, value in enumerate(told) if value is not None and tunables.relevance_min <= value < 1),
        key=lambda n: (-(told[n] or 0.0), known[n].id),
    )
    counts = Counter(word for n in best[:KIN_OF] for word in set(known[n].tokens) - _GRAMMAR)
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    texts = [memory.tokens for memory in known]
    alike = bm25(words[:QUERY_WORDS_MAX], texts, least=CORPUS_LEAST)
    return [
        value
        if value is None
        else max(
            value,
            relevance_of(situation, memory, kin / (kin + KIN_HALF)),
            relevance_of(situation, memory, group / (group + GROUP_HALF)),
            _general(situation, memory, tunables),
        )
        for memory, value, kin, group in zip(known, told, alike, headed, strict=True)
    ]


def _general(situation: Situation, memory: Remembered, tunables: Tunables) -> float:
    """What is about a type of change as a whole is just about every call of that type, else 0."""
    same = memory.suggestion_type and memory.suggestion_type == situation.suggestion_type
    whole = same and not memory.target_key and _of_type_alone(memory.title, memory.suggestion_type)
    return tunables.relevance_min if whole else 0.0


def _type_match(situation: Situation, memory: Remembered) -> float:
    """1 for the same type, or for the same tool where no type is named; less where the tool is another."""
    other_tool = bool(memory.tool) and memory.tool != situation.tool
    if memory.suggestion_type:
        same = memory.suggestion_type == situation.suggestion_type
        return (OTHER_TOOL if other_tool else 1.0) if same else 0.0
    return float(bool(memory.tool) and not other_tool)


def _above_floors(one: Scored, situation: Situation, tunables: Tunables, profile: Profile) -> bool:
    if one.score < tunables.rank_min:
        return False
    if profile == "seed" or one.matched:
        return True
    return not elsewhere(situation, one.memory)
