"""Whether a call is told something, how loudly, and what is kept back. Pure; only rules block, never this.

    base = 0.45 relevance + 0.25 trust + 0.15, times boosts of at most 1.5 together

which is the published gate; its 0.15 stands for all that came before it. By score alone nearly everything
that ranks is a note, and what rests on one outcome is told as loudly as what rests on ten. So a note must
also be worth an interruption: clearly about the call, on three outcomes or a person's review, most of them
one way, none older than a half-life of trust. Base alone ends at 0.85, so that in practice a warning (0.80)
takes a boost; and as it holds a write back, it is for rules that match and for cautions about the very
target of a write, with outcomes or a second source behind them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.guidance.entities import LOUDNESS, Advice, Kind, Level, Phase, Scored, Situation, Why
from advisor.guidance.figures import Tunables
from advisor.guidance.injections import injection_in
from advisor.guidance.situations import WRITE
from advisor.guidance.wording import told
from ranking.matching import fold, topic_key
from suggestions.entities import ADD_TOPIC, REMOVE_TOPIC
from suggestions.values import weight_parse

# What reached the gate was admitted and ranked; the published gate's own constant.
BASE = 0.15
BOOSTS, CEILING, EVIDENCE, WHISPERS = "boosts", "ceiling", "evidence", "whispers"
# What `without` switches off, one name for each: the filters in their order, then the other steps.
FILTERS = (Why.SHOWN, Why.COOLDOWN, Why.OBVIOUS, Why.REPEATED, Why.OVER_LIMIT, Why.UNSAFE)
STEPS = (*(str(why) for why in FILTERS), BOOSTS, CEILING, EVIDENCE, WHISPERS)
WEIGHT_SLACK = 0.005
# What people reviewed needs no outcomes; if it counts some all the same, they must suffice.
REVIEWED = frozenset({Kind.RULE, Kind.INSIGHT})
DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What this reader's runs were told before, in seconds since the epoch.

    `shown` by memory, `texts` by signature; `tools` when each tool was last told something; `run_told` the
    memories this run was told. `current` is the config as it is: `topics`, and `source_weights` by source.
    """

    shown: Mapping[int, float] = field(default_factory=dict)
    tools: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, float] = field(default_factory=dict)
    run_told: frozenset[int] = frozenset()
    current: Mapping[str, Any] = field(default_factory=dict)


def gate(
    ranked: Sequence[Scored],
    *,
    situation: Situation,
    tunables: Tunables,
    seen: Seen,
    now_s: float,
    without: Collection[str] = frozenset(),
) -> Advice:
    """What of `ranked`, best first, this call is told. `without` names steps of `STEPS` to leave out.

    `ranked` comes back with each memory's level, and why it was kept back.
    """
    levelled = [
        replace(one, level=level_of(one, ranked, situation, tunables, now_s, without)) for one in ranked
    ]
    levelled.sort(key=lambda one: -LOUDNESS.index(one.level))
    judged: list[Scored] = []
    for one in levelled:
        why = _kept_back(one, judged, situation, tunables, seen, now_s, without)
        judged.append(replace(one, why="" if why is None else str(why)))
    notes = tuple(one for one in judged if not one.why and _loud(one))
    whispers = tuple(_whispered(judged, tunables, without))
    return Advice(
        level=notes[0].level if notes else Level.WHISPER if whispers else Level.SILENT,
        why=_why(judged, bool(notes or whispers)),
        text=told(notes, tunables),
        told=notes,
        whispers=whispers,
        ranked=tuple(judged),
    )


def score_of(
    scored: Scored, situation: Situation, tunables: Tunables, without: Collection[str] = frozenset()
) -> float:
    """How loudly a memory asks to be told, from 0.15 on; 0.30, 0.48 and 0.80 are the levels' floors."""
    base = tunables.relevance_weight * scored.relevance + tunables.trust_weight * scored.trust + BASE
    return base * (1.0 if BOOSTS in without else boost_of(scored, situation, tunables))


def boost_of(scored: Scored, situation: Situation, tunables: Tunables) -> float:
    """The boosts of a memory in this phase, multiplied, 1 to `boost_max`; 1 below `boost_relevance_min`."""
    if scored.relevance < tunables.boost_relevance_min:
        return 1.0
    memory, product = scored.memory, 1.0
    if memory.kind is Kind.PROFILE and situation.phase is Phase.WRITE:
        product *= tunables.profile_boost
    if memory.polarity < 0:
        product *= tunables.negative_boost
        if situation.phase is Phase.REPAIR:
            product *= tunables.caution_boost
    return min(product, tunables.boost_max)


def level_of(
    scored: Scored,
    ranked: Sequence[Scored],
    situation: Situation,
    tunables: Tunables,
    now_s: float,
    without: Collection[str] = frozenset(),
) -> Level:
    """The level a memory reaches by its score and by what it rests on, no louder than it may be."""
    score = score_of(scored, situation, tunables, without)
    if score < tunables.whisper_min:
        return Level.SILENT
    unproven = EVIDENCE not in without
    if score < tunables.note_min or (unproven and not worth_telling(scored, tunables, now_s)):
        level = Level.WHISPER
    elif score < tunables.warning_min or (unproven and not _may_warn(scored, ranked, situation, tunables)):
        level = Level.NOTE
    else:
        level = Level.WARNING
    ceiling = Level.WARNING if CEILING in without else scored.memory.ceiling
    return min(level, ceiling, key=LOUDNESS.index)


def worth_telling(scored: Scored, tunables: Tunables, now_s: float) -> bool:
    """Whether a memory is worth an interruption: about the call, clear, borne out, and not out of date.

    What is shared must be a little more about the call than the reader's own: on the development seeds of
    `evaluate_guidance` 18 of 22 needless notes were shared ones just above the other floor, and 2 of 170
    deserved ones. A rule whose condition holds always is worth it. `now_s` are seconds since the epoch.
    """
    if scored.matched:
        return True
    memory, judged = scored.memory, scored.memory.helpful + scored.memory.unhelpful
    reviewed = memory.kind in REVIEWED and not memory.evidence
    share = memory.helpful / judged if judged >= tunables.wilson_min else memory.confidence
    agreed = memory.share is None or memory.share >= tunables.note_share_min
    days = (now_s - memory.valid_from.timestamp()) / DAY_S
    relevance_min = tunables.note_shared_relevance_min if memory.shared else tunables.note_relevance_min
    return (
        scored.relevance >= relevance_min
        and share >= tunables.note_confidence_min
        and agreed
        and (reviewed or memory.evidence >= tunables.note_evidence_min)
        and (reviewed or days <= tunables.trust_half_life_days)
    )


def obvious(scored: Scored, situation: Situation, current: Mapping[str, Any]) -> bool:
    """Whether a memory tells a call what it does already, or what the config has already.

    By the values it speaks for, where it names any; else a topic to add that is there, one to remove that is
    not.
    """
    memory, given = scored.memory, situation.arguments
    if memory.advises:
        return all(
            any(name in known and _same(known[name], value) for known in (given, current))
            for name, value in memory.advises.items()
        )
    topics = current.get("topics")
    if (
        memory.polarity <= 0
        or not memory.target_key
        or not isinstance(topics, list | tuple | set | frozenset)
    ):
        return False
    there = memory.target_key in {topic_key(str(topic)) for topic in topics}
    return (
        there if memory.suggestion_type == ADD_TOPIC else memory.suggestion_type == REMOVE_TOPIC and not there
    )


def _may_warn(scored: Scored, ranked: Sequence[Scored], situation: Situation, tunables: Tunables) -> bool:
    """A matched rule may; of a write's own target, a caution on outcomes or on sources that agree."""
    memory = scored.memory
    about = bool(memory.target_key) and memory.target_key == situation.target_key and situation.tool == WRITE
    if scored.matched or memory.polarity >= 0 or not about:
        return scored.matched
    if memory.evidence >= tunables.warning_evidence_min:
        return True
    agreeing = {
        other.memory.kind
        for other in ranked
        if other.memory.polarity < 0
        and (other.memory.target_key, other.memory.suggestion_type)
        == (memory.target_key, memory.suggestion_type)
        and score_of(other, situation, tunables) >= tunables.note_min
    }
    return len(agreeing | {memory.kind}) >= tunables.warning_sources_min


def _kept_back(
    one: Scored,
    earlier: Sequence[Scored],
    situation: Situation,
    tunables: Tunables,
    seen: Seen,
    now_s: float,
    without: Collection[str],
) -> Why | None:
    """The first filter that keeps a memory back, `None` if none does."""
    if one.level is Level.SILENT:
        return Why.TOO_WEAK
    memory, passed = one.memory, [other for other in earlier if not other.why]
    warning = one.level is Level.WARNING
    again_s = tunables.shown_ttl_s if _loud(one) else tunables.advice_repeat_s
    filters: tuple[tuple[Why, Callable[[], bool]], ...] = (
        (Why.SHOWN, lambda: memory.id in seen.run_told or _recent(seen.shown, memory.id, again_s, now_s)),
        (
            Why.COOLDOWN,
            lambda: not warning and _recent(seen.tools, situation.tool, tunables.tool_cooldown_s, now_s),
        ),
        (Why.OBVIOUS, lambda: obvious(one, situation, seen.current)),
        (
            Why.REPEATED,
            lambda: (
                bool(memory.text_sig)
                and (
                    _recent(seen.texts, memory.text_sig, tunables.text_repeat_s, now_s)
                    or memory.text_sig in {other.memory.text_sig for other in passed}
                )
            ),
        ),
        (Why.OVER_LIMIT, lambda: _loud(one) and sum(map(_loud, passed)) >= tunables.told_max),
        (Why.UNSAFE, lambda: bool(injection_in(memory.text) or injection_in(memory.title))),
    )
    return next((why for why, holds in filters if str(why) not in without and holds()), None)


def _whispered(judged: Sequence[Scored], tunables: Tunables, without: Collection[str]) -> list[Scored]:
    """The memories that are only named."""
    if not tunables.whispers or WHISPERS in without:
        return []
    return [one for one in judged if not one.why and one.level is Level.WHISPER][: tunables.whispers_max]


def _loud(one: Scored) -> bool:
    return one.level in (Level.NOTE, Level.WARNING)


def _why(judged: Sequence[Scored], said: bool) -> Why:
    """Why the call was told what it was; of nothing, why the best memory was kept back."""
    if said:
        return Why.TOLD
    return Why(judged[0].why or Why.TOO_WEAK) if judged else Why.NOTHING_KNOWN


def _recent(times: Mapping[Any, float], key: object, within_s: float, now_s: float) -> bool:
    at = times.get(key)
    return at is not None and now_s - at < within_s


def _same(own: object, value: object) -> bool:
    """Whether two values are one: weights within half a hundredth, texts folded, members of a list."""
    if isinstance(own, list | tuple | set | frozenset):
        return any(_same(one, value) for one in own)
    left, right = weight_parse(own), weight_parse(value)
    if left is not None and right is not None:
        return abs(left - right) < WEIGHT_SLACK
    return fold(str(own)) == fold(str(value))
