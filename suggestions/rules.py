"""What a draft must pass before it may be shown to a reader. Pure: facts in, verdict out, never an error.

The checks run in this order; the first one that fails names the refusal.

| step | codes |
|---|---|
| shape | `unknown_type`, `field_mismatch`, `invalid_topic`, `invalid_weight` |
| the config as it is | `source_not_in_history`, `topic_already_present`, `topic_not_present` |
| permission | `type_declined`, `pinned`, `duplicate_pending`, `on_cooldown`, `run_cap` |
| the step | clamped to ±0.3 and [0.1, 2.0] with a note; `wrong_direction`, `no_change` |
| evidence | `evidence_not_grounded`, `insufficient_evidence`, `evidence_off_target`, \
`evidence_wrong_polarity`, `too_few_sources` |
| strength (`weigh`) | `evidence_contradicts`, `weak_evidence` |

Whatever a draft says about the current value is ignored: facts come from the database alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from digest.entities import RatedItem
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN, EffectiveConfig
from ranking.matching import TOPIC_MAX_CHARS, fold, term_matches, topic_key
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    EVIDENCE_MIN,
    FIELD_OF_TYPE,
    LIKED_TYPES,
    SOURCE_WEIGHTS,
    SUGGESTIONS_PER_RUN_MAX,
    TOPIC_SOURCES_MIN,
    TOPICS,
    WEIGHT_STEP_MAX,
    Draft,
    Refusal,
)
from suggestions.values import topic_clean, topic_in_config, weight_clamp, weight_parse, weight_text

# One slot each for sources and topics and one for either: never more than two of a kind.
PER_FIELD_MAX = 2
# Weights are proposed in hundredths; a smaller step is no change a reader could notice.
STEP_MIN = 0.01
# So many decisions on a type without a yes, and it is not brought up again.
DECLINED_MIN = 6
CONFIDENCES = ("low", "medium", "high")

Target = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the database says about the reader, read before the rules run.

    `rated` holds the reader's own thumbs on the evidence by URL; `waiting` the (field, target) of pending and
    put-aside suggestions; `cooling` when each recent target may be suggested again; `written` the fields of
    this run's suggestions so far; `declined` the types of suggestion this reader always turns down.
    """

    effective: EffectiveConfig
    sources: frozenset[str]
    rated: Mapping[str, RatedItem] = field(default_factory=dict)
    waiting: frozenset[Target] = frozenset()
    cooling: Mapping[Target, datetime] = field(default_factory=dict)
    written: Sequence[str] = ()
    declined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A draft that keeps every rule, in normal form. `weight` is `None` for topics."""

    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str
    suggested_value: str
    weight: float | None
    evidence: tuple[RatedItem, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strength:
    """How the reader's thumbs speak for a change: `p_overall` over all of them, `confidence` in words."""

    p_overall: float
    confidence: str


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message


def check(draft: Draft, facts: Facts) -> Accepted | Refusal:
    """`draft` in normal form, or the first rule it breaks with words to mend it by. Raises nothing."""
    return _checked(draft, facts, whole=True)


def change_of(draft: Draft, facts: Facts) -> Accepted | Refusal:
    """The change that `draft` means, without evidence and whether or not it may be made now; for tests."""
    return _checked(draft, facts, whole=False)


def _checked(draft: Draft, facts: Facts, *, whole: bool) -> Accepted | Refusal:
    target = str(draft.target_key or draft.suggested_value or "")[:TOPIC_MAX_CHARS]
    try:
        kind, field_name = _shape(draft)
        key, label = _topic_target(draft, kind, facts) if field_name == TOPICS else _source(draft, facts)
        target = key
        wanted = _number(draft.suggested_value) if field_name == SOURCE_WEIGHTS else None
        if whole:
            _type_check(kind, facts)
            _permission_check((field_name, key), facts)
        weight, notes = (None, ()) if wanted is None else _step(kind, wanted, facts.effective.weight(key))
        evidence = _evidence(draft, kind, key, label, facts) if whole else ()
    except _Refused as refused:
        return Refusal(refused.code, refused.message, target)
    if weight is None:
        current, suggested = ("" if kind == ADD_TOPIC else label), label
    else:
        current, suggested = weight_text(facts.effective.weight(key)), weight_text(weight)
    return Accepted(kind, field_name, key, label, current, suggested, weight, evidence, notes)


def weigh(accepted: Accepted, strength: Strength, minimum: str) -> Refusal | None:
    """The refusal of a draft that the reader's thumbs speak against or too softly for, else `None`."""
    if strength.p_overall < 0.5:
        return Refusal(
            "evidence_contradicts",
            f"All this reader's thumbs taken together speak against {accepted.suggestion_type} "
            f"for “{accepted.label}”. Drop it.",
            accepted.target_key,
        )
    if CONFIDENCES.index(strength.confidence) < CONFIDENCES.index(minimum):
        return Refusal(
            "weak_evidence",
            f"Confidence in {accepted.suggestion_type} for “{accepted.label}” is {strength.confidence}; "
            f"{minimum} is needed. This may well be chance: choose another hypothesis.",
            accepted.target_key,
        )
    return None


def target_pinned(target: Target, effective: EffectiveConfig) -> bool:
    """Whether the reader locked this target or never wants to hear of it again."""
    name, key = target
    pins = (*effective.config.locked, *effective.config.avoided)
    return key in ((topic_key(pin) for pin in pins) if name == TOPICS else pins)


def concerns(item: RatedItem, field_name: str, key: str, label: str) -> bool:
    """Whether a rated item is about the target: of its source, or with the topic in its title."""
    return item.source == key if field_name == SOURCE_WEIGHTS else term_matches(label, fold(item.title))


def permission_refusal(target: Target, facts: Facts) -> Refusal | None:
    """Why this target may not be suggested now, or `None` if it may: pins, waiting, cooldown, caps."""
    try:
        _permission_check(target, facts)
    except _Refused as refused:
        return Refusal(refused.code, refused.message, target[1])
    return None


def _permission_check(target: Target, facts: Facts) -> None:
    field_name, key = target
    if target_pinned(target, facts.effective):
        raise _Refused("pinned", f"The reader keeps “{key}” as it is. Choose another target.")
    if target in facts.waiting:
        raise _Refused("duplicate_pending", f"A suggestion about “{key}” already waits for the reader.")
    if target in facts.cooling:
        raise _Refused(
            "on_cooldown", f"“{key}” was suggested or decided lately; again from {facts.cooling[target]:%F}."
        )
    if len(facts.written) >= SUGGESTIONS_PER_RUN_MAX:
        raise _Refused("run_cap", f"This run has written its {SUGGESTIONS_PER_RUN_MAX} suggestions. Finish.")
    if list(facts.written).count(field_name) >= PER_FIELD_MAX:
        raise _Refused(
            "run_cap",
            f"This run has written {PER_FIELD_MAX} suggestions on {field_name}. Try the other kind.",
        )


def types_declined(answers: Mapping[str, tuple[int, int]]) -> frozenset[str]:
    """The types turned down so often without a yes that asking again would be a nuisance.

    `answers` holds (accepted, rejected) by type.
    """
    return frozenset(kind for kind, (yes, no) in answers.items() if yes == 0 and no >= DECLINED_MIN)


def _type_check(kind: str, facts: Facts) -> None:
    if kind in facts.declined:
        raise _Refused(
            "type_declined",
            f"This reader turned down each of {DECLINED_MIN} or more {kind} so far. Choose another type.",
        )


def _shape(draft: Draft) -> tuple[str, str]:
    kind = draft.suggestion_type
    wanted = FIELD_OF_TYPE.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise _Refused("unknown_type", f"The type must be one of {', '.join(FIELD_OF_TYPE)}.")
    if draft.field != wanted:
        raise _Refused("field_mismatch", f"{kind} changes the field {wanted}. Set field to {wanted}.")
    return kind, wanted


def _topic_target(draft: Draft, kind: str, facts: Facts) -> tuple[str, str]:
    """The topic's key and spelling. An empty target means the topic in `suggested_value`, and vice versa."""
    named = [value for value in (draft.suggested_value, draft.target_key) if value not in (None, "")]
    cleaned = [topic_clean(value) for value in named]
    topics = [topic for topic in cleaned if topic is not None]
    if not topics or len(topics) < len(cleaned):
        raise _Refused(
            "invalid_topic",
            f"A topic is one line of 1 to {TOPIC_MAX_CHARS} visible characters with a letter or digit.",
        )
    keys = {topic_key(topic) for topic in topics}
    if len(keys) > 1:
        raise _Refused("field_mismatch", "target_key and suggested_value name different topics. Name one.")
    key, present = keys.pop(), facts.effective.config.topics
    own = topic_in_config(key, present)
    if kind == ADD_TOPIC and own:
        raise _Refused("topic_already_present", f"“{own}” is already one of the reader's topics.")
    if kind != ADD_TOPIC and not own:
        raise _Refused("topic_not_present", f"“{topics[0]}” is not one of the reader's topics.")
    return key, own or topics[0]


def _source(draft: Draft, facts: Facts) -> tuple[str, str]:
    key = fold(draft.target_key) if isinstance(draft.target_key, str) else ""
    if key not in facts.sources:
        raise _Refused(
            "source_not_in_history", "The target is not a source of this reader. Use a key from the feedback."
        )
    return key, key


def _number(value: object) -> float:
    number = weight_parse(value)
    if number is None:
        raise _Refused("invalid_weight", "The suggested weight must be a plain number such as 1.3.")
    return number


def _step(kind: str, wanted: float, current: float) -> tuple[float, tuple[str, ...]]:
    shown, weight = weight_text(current), weight_clamp(wanted, current)
    changes = abs(weight - current) >= STEP_MIN - 1e-9
    if changes and (weight > current) is not (kind == BOOST_SOURCE):
        side = "above" if kind == BOOST_SOURCE else "below"
        raise _Refused("wrong_direction", f"{kind} needs a weight {side} the current {shown}.")
    if not changes:
        raise _Refused("no_change", f"The weight is already {shown}; there is nothing to change.")
    if abs(weight - wanted) < STEP_MIN:
        return weight, ()
    limit = f"at most {WEIGHT_STEP_MAX} from {shown}, within {WEIGHT_MIN} and {WEIGHT_MAX}"
    return weight, (f"Weight clamped from {wanted:g} to {weight_text(weight)} ({limit}).",)


def _evidence(draft: Draft, kind: str, key: str, label: str, facts: Facts) -> tuple[RatedItem, ...]:
    urls = list(dict.fromkeys(url for url in draft.evidence_urls if isinstance(url, str) and url))
    unknown = [url for url in urls if url not in facts.rated]
    if unknown:
        raise _Refused(
            "evidence_not_grounded",
            f"{len(unknown)} of {len(urls)} evidence items are not rated by this reader. "
            "Use URLs exactly as the feedback lists them.",
        )
    items = tuple(facts.rated[url] for url in urls)
    if len({item.url for item in items}) < EVIDENCE_MIN:
        raise _Refused(
            "insufficient_evidence", f"Need at least {EVIDENCE_MIN} different items, got {len(items)}."
        )
    if off := sum(not concerns(item, FIELD_OF_TYPE[kind], key, label) for item in items):
        raise _Refused(
            "evidence_off_target",
            f"{off} evidence items are not about “{label}”: a source needs its own items, "
            "a topic must stand in the title as whole words.",
        )
    polarity = kind in LIKED_TYPES
    if wrong := sum(item.useful is not polarity for item in items):
        word = "liked" if polarity else "disliked"
        raise _Refused(
            "evidence_wrong_polarity", f"{kind} rests on {word} items; {wrong} of these are not {word}."
        )
    sources = {item.source for item in items}
    if FIELD_OF_TYPE[kind] == TOPICS and len(sources) < TOPIC_SOURCES_MIN:
        raise _Refused(
            "too_few_sources",
            f"A topic needs evidence from {TOPIC_SOURCES_MIN} sources; this is all from one.",
        )
    return items
