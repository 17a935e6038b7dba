"""The rules of a suggestion, each a function with a stable code: facts in, a refusal or nothing out.

`check` reads what a draft means and asks `RULES` in order; the first rule it breaks names the refusal. Others
ask a rule early by calling it with the `Intent` they know.

| step | codes |
|---|---|
| meaning (`intent_of`) | `unknown_type`, `field_mismatch`, `invalid_topic`, `topic_already_present`, \
`topic_not_present`, `source_not_in_history`, `invalid_weight` |
| permission | `type_declined`, `pinned`, `duplicate_pending`, `on_cooldown`, `run_cap` |
| the step | clamped to ±0.3 and [0.1, 2.0] with a note; `wrong_direction`, `no_change` |
| evidence | `evidence_not_grounded`, `insufficient_evidence`, `evidence_off_target`, \
`evidence_wrong_polarity`, `too_few_sources` |
| strength (`strength_refusal`) | `evidence_contradicts`, `weak_evidence` |
| effect (`visibility_refusal`) | `moves_nothing` |

Whatever a draft says about the current value is ignored: facts come from the database alone. Pure.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil, floor, isfinite

from digest.entities import RatedItem
from ranking.common.categories import label_keys, topic_matches, topics_among
from ranking.common.text import TOPIC_MAX_CHARS, fold, topic_key
from ranking.config_body import effective_with_topic, effective_with_weight
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN, EffectiveConfig
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    EVIDENCE_MIN,
    FIELD_OF_TYPE,
    LIKED_TYPES,
    REDUCE_SOURCE,
    SOURCE_WEIGHTS,
    SUGGESTIONS_PER_RUN_MAX,
    TOPIC_SOURCES_MIN,
    TOPICS,
    WEIGHT_STEP_MAX,
    Draft,
    Preview,
    Refusal,
)

# One slot each for sources and topics and one for either: never more than two of a kind.
PER_FIELD_MAX = 2
# Weights are proposed in hundredths; a smaller step is no change a reader could notice.
STEP_MIN = 0.01
# Unrated items on a page, and their share of it, below which its standing still says nothing.
FREE_MIN, FREE_SHARE = 5, 0.5
# So many decisions on a type without a yes, and it is not brought up again.
DECLINED_MIN = 6
CONFIDENCES = ("low", "medium", "high")
# Weights travel as decimal text, so bounds are compared with this much slack.
_SLACK = 1e-9
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?")
# Control, format (bidi and zero-width), surrogate, private-use and unassigned characters; line breaks.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

Target = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the reader in the database, read before the rules run.

    `sources` are those of the drafts' targets that are the reader's; `rated` their ratings of the evidence
    by URL; `waiting` what open suggestions are about; `cooling` the end of the cooldown of each target that
    has one; `written` the fields of this run's suggestions; `declined` the types always turned down.
    """

    effective: EffectiveConfig
    sources: frozenset[str]
    rated: Mapping[str, RatedItem] = field(default_factory=dict)
    waiting: frozenset[Target] = frozenset()
    cooling: Mapping[Target, datetime] = field(default_factory=dict)
    written: Sequence[str] = ()
    declined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Intent:
    """The change a draft means, as far as it is known: what every rule is asked about.

    `weight` is the wanted weight of a source, `cited` the evidence among the reader's ratings, `ungrounded`
    the number of cited URLs that the reader never rated.
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str = ""
    weight: float | None = None
    cited: tuple[RatedItem, ...] = ()
    ungrounded: int = 0

    def refusal(self, code: str, message: str) -> Refusal:
        """Return the refusal of this change."""
        return Refusal(code, message, self.target_key)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A draft that passes every rule, in normal form. `weight` is `None` for topics."""

    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str
    suggested_value: str
    weight: float | None
    evidence: tuple[RatedItem, ...]
    notes: tuple[str, ...]


Rule = Callable[[Intent, Facts], Refusal | None]


def check(draft: Draft, facts: Facts) -> Accepted | Refusal:
    """Return `draft` in normal form, or the refusal of the first rule it breaks. Raises nothing."""
    return _checked(draft, facts, RULES)


def change_parse(draft: Draft, facts: Facts) -> Accepted | Refusal:
    """Return the change that `draft` means, without evidence and whether or not it may be made now."""
    return _checked(draft, facts, STEP_RULES)


def permission_refusal(target: Target, facts: Facts, kind: str = "") -> Refusal | None:
    """Return why this target (with `kind`: this type of change) may not be suggested now, or `None`."""
    return first_refusal(PERMISSION_RULES, Intent(kind, *target), facts)


def first_refusal(rules: Iterable[Rule], intent: Intent, facts: Facts) -> Refusal | None:
    """Return the answer of the first of `rules` that refuses, or `None`."""
    return next((refusal for rule in rules if (refusal := rule(intent, facts))), None)


def strength_refusal(
    change: Accepted, *, p_overall: float, supported: bool, confidence: str, minimum: str
) -> Refusal | None:
    """Refuse a change that all ratings contradict (`p_overall` below one half) or support too weakly.

    `supported` says whether the ratings lean its way clearly enough, and holdout ratings do not contradict.
    """
    about = f"{change.suggestion_type} for “{change.label}”"
    if p_overall < 0.5:
        message = f"All ratings of this reader together contradict {about}. Drop it."
        return Refusal("evidence_contradicts", message, change.target_key)
    if not supported:
        message = f"The ratings for {about} may well be chance. Choose another hypothesis."
        return Refusal("weak_evidence", message, change.target_key)
    if CONFIDENCES.index(confidence) < CONFIDENCES.index(minimum):
        message = f"Confidence in {about} is {confidence}; {minimum} is needed. Choose another hypothesis."
        return Refusal("weak_evidence", message, change.target_key)
    return None


def visibility_refusal(change: Accepted, preview: Preview) -> Refusal | None:
    """Refuse a change that moves nothing of today's page: nobody could see what they agree to.

    It is put off, not lost: a later run may propose it. A page on which most is rated, and so keeps its
    place, shows little of any change, and refuses none.
    """
    if not preview.is_still or preview.free < max(FREE_MIN, FREE_SHARE * preview.shown):
        return None
    about = f"{change.suggestion_type} for “{change.label}”"
    message = f"{about} would move nothing on this reader's page of today. Choose another hypothesis."
    return Refusal("moves_nothing", message, change.target_key)


def _checked(draft: Draft, facts: Facts, rules: Iterable[Rule]) -> Accepted | Refusal:
    intent = intent_of(draft, facts)
    if isinstance(intent, Refusal):
        return intent
    if refusal := first_refusal(rules, intent, facts):
        return refusal
    evidence = intent.cited if rules is RULES else ()
    kind, key, label = intent.suggestion_type, intent.target_key, intent.label
    if intent.weight is None:
        current = "" if kind == ADD_TOPIC else label
        return Accepted(kind, intent.field, key, label, current, label, None, evidence, ())
    current = weight_text(facts.effective.weight(key))
    weight = weight_clamp(intent.weight, facts.effective.weight(key))
    notes: tuple[str, ...] = ()
    if abs(weight - intent.weight) >= STEP_MIN:
        limit = f"at most {WEIGHT_STEP_MAX} from {current}, within {WEIGHT_MIN} and {WEIGHT_MAX}"
        notes = (f"Weight clamped from {intent.weight:g} to {weight_text(weight)} ({limit}).",)
    return Accepted(kind, intent.field, key, label, current, weight_text(weight), weight, evidence, notes)


def intent_of(draft: Draft, facts: Facts) -> Intent | Refusal:
    """Return what `draft` means for the reader's config as it is; refuse one that means no change."""
    named = str(draft.target_key or draft.suggested_value or "")[:TOPIC_MAX_CHARS]
    kind = draft.suggestion_type
    wanted = FIELD_OF_TYPE.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        return Refusal("unknown_type", f"The type must be one of {', '.join(FIELD_OF_TYPE)}.", named)
    if draft.field != wanted:
        message = f"{kind} changes the field {wanted}. Set field to {wanted}."
        return Refusal("field_mismatch", message, named)
    target = _topic_target(draft, named, facts) if wanted == TOPICS else _source_target(draft, named, facts)
    if isinstance(target, Refusal):
        return target
    key, label = target
    weight = weight_parse(draft.suggested_value) if wanted == SOURCE_WEIGHTS else None
    if wanted == SOURCE_WEIGHTS and weight is None:
        return Refusal("invalid_weight", "The suggested weight must be a plain number such as 1.3.", key)
    urls = list(dict.fromkeys(url for url in draft.evidence_urls if isinstance(url, str) and url))
    cited = tuple(facts.rated[url] for url in urls if url in facts.rated)
    return Intent(kind, wanted, key, label, weight, cited, len(urls) - len(cited))


def _topic_target(draft: Draft, named: str, facts: Facts) -> Target | Refusal:
    """Return the topic's key and spelling.

    An empty target means the topic in `suggested_value`, and the other way round.
    """
    given = [value for value in (draft.suggested_value, draft.target_key) if value not in (None, "")]
    topics = [topic for value in given if (topic := topic_clean(value)) is not None]
    if not topics or len(topics) < len(given):
        message = f"A topic is one line of 1 to {TOPIC_MAX_CHARS} visible characters with a letter or digit."
        return Refusal("invalid_topic", message, named)
    keys = {topic_key(topic) for topic in topics}
    if len(keys) > 1:
        message = "target_key and suggested_value name different topics. Name one."
        return Refusal("field_mismatch", message, named)
    key = keys.pop()
    own = topic_in_config(key, facts.effective.config.topics)
    if draft.suggestion_type == ADD_TOPIC and own:
        return Refusal("topic_already_present", f"“{own}” is already one of the reader's topics.", named)
    if draft.suggestion_type != ADD_TOPIC and not own:
        return Refusal("topic_not_present", f"“{topics[0]}” is not one of the reader's topics.", named)
    return key, own or topics[0]


def _source_target(draft: Draft, named: str, facts: Facts) -> Target | Refusal:
    key = fold(draft.target_key) if isinstance(draft.target_key, str) else ""
    if key not in facts.sources:
        message = "The target is not a source of this reader. Use a key from the feedback."
        return Refusal("source_not_in_history", message, named)
    return key, key


def rule_type_declined(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a type of change that this reader turns down every time (`type_declined`)."""
    if intent.suggestion_type not in facts.declined:
        return None
    return intent.refusal(
        "type_declined",
        f"This reader turned down each of {DECLINED_MIN} or more {intent.suggestion_type} so far. "
        "Choose another type.",
    )


def rule_pinned(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a target that the reader locked or never wants suggested (`pinned`)."""
    if not target_pinned((intent.field, intent.target_key), facts.effective):
        return None
    return intent.refusal(
        "pinned", f"The reader keeps “{intent.target_key}” as it is. Choose another target."
    )


def rule_duplicate(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a target that an open suggestion is about (`duplicate_pending`)."""
    if (intent.field, intent.target_key) not in facts.waiting:
        return None
    return intent.refusal(
        "duplicate_pending", f"A suggestion about “{intent.target_key}” already waits for the reader."
    )


def rule_cooldown(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a target that was suggested or decided within the cooldown (`on_cooldown`)."""
    until = facts.cooling.get((intent.field, intent.target_key))
    if until is None:
        return None
    return intent.refusal(
        "on_cooldown", f"“{intent.target_key}” was suggested or decided lately; again from {until:%F}."
    )


def rule_run_cap(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a fourth suggestion of a run, or a third on the same field (`run_cap`)."""
    if len(facts.written) >= SUGGESTIONS_PER_RUN_MAX:
        message = f"This run has written its {SUGGESTIONS_PER_RUN_MAX} suggestions. Finish."
        return intent.refusal("run_cap", message)
    if list(facts.written).count(intent.field) >= PER_FIELD_MAX:
        return intent.refusal(
            "run_cap",
            f"This run has written {PER_FIELD_MAX} suggestions on {intent.field}. Try the other kind.",
        )
    return None


def rule_direction(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a boost that lowers a weight, or a reduction that raises one (`wrong_direction`)."""
    if intent.weight is None:
        return None
    current = facts.effective.weight(intent.target_key)
    weight = weight_clamp(intent.weight, current)
    is_boost = intent.suggestion_type == BOOST_SOURCE
    if abs(weight - current) < STEP_MIN - _SLACK or (weight > current) is is_boost:
        return None
    side = "above" if is_boost else "below"
    return intent.refusal(
        "wrong_direction",
        f"{intent.suggestion_type} needs a weight {side} the current {weight_text(current)}.",
    )


def rule_no_change(intent: Intent, facts: Facts) -> Refusal | None:
    """Refuse a step below one hundredth (`no_change`)."""
    if intent.weight is None:
        return None
    current = facts.effective.weight(intent.target_key)
    if abs(weight_clamp(intent.weight, current) - current) >= STEP_MIN - _SLACK:
        return None
    message = f"The weight is already {weight_text(current)}; there is nothing to change."
    return intent.refusal("no_change", message)


def rule_grounded(intent: Intent, facts: Facts | None = None) -> Refusal | None:
    """Refuse evidence that this reader never rated (`evidence_not_grounded`)."""
    if not intent.ungrounded:
        return None
    return intent.refusal(
        "evidence_not_grounded",
        f"{intent.ungrounded} of {intent.ungrounded + len(intent.cited)} evidence items are not rated by "
        "this reader. Use URLs exactly as the feedback lists them.",
    )


def rule_evidence_count(intent: Intent, facts: Facts | None = None) -> Refusal | None:
    """Refuse fewer than three different items (`insufficient_evidence`)."""
    items = len({item.url for item in intent.cited})
    if items >= EVIDENCE_MIN:
        return None
    message = f"Need at least {EVIDENCE_MIN} different items, got {items}."
    return intent.refusal("insufficient_evidence", message)


def rule_on_target(intent: Intent, facts: Facts | None = None) -> Refusal | None:
    """Refuse evidence about anything but the target (`evidence_off_target`)."""
    off = sum(not concerns(item, intent.field, intent.target_key, intent.label) for item in intent.cited)
    if not off:
        return None
    return intent.refusal(
        "evidence_off_target",
        f"{off} evidence items are not about “{intent.label}”: a source needs its own items, "
        "a topic must stand in the title as whole words.",
    )


def rule_polarity(intent: Intent, facts: Facts | None = None) -> Refusal | None:
    """Refuse disliked evidence for more of something, and liked for less (`evidence_wrong_polarity`)."""
    liked = intent.suggestion_type in LIKED_TYPES
    wrong = sum(item.useful is not liked for item in intent.cited)
    if not wrong:
        return None
    word = "liked" if liked else "disliked"
    return intent.refusal(
        "evidence_wrong_polarity",
        f"{intent.suggestion_type} rests on {word} items; {wrong} of these are not {word}.",
    )


def rule_topic_sources(intent: Intent, facts: Facts | None = None) -> Refusal | None:
    """Refuse a topic, unless an author, whose evidence is from a single source (`too_few_sources`)."""
    by_author = all(topics_among([intent.label], label_keys((), item.author)) for item in intent.cited)
    sources = {item.source for item in intent.cited}
    if intent.field != TOPICS or len(sources) >= TOPIC_SOURCES_MIN or by_author:
        return None
    message = f"A topic needs evidence from {TOPIC_SOURCES_MIN} sources; this is all from one."
    return intent.refusal("too_few_sources", message)


PERMISSION_RULES = (rule_type_declined, rule_pinned, rule_duplicate, rule_cooldown, rule_run_cap)
STEP_RULES = (rule_direction, rule_no_change)
EVIDENCE_RULES = (rule_grounded, rule_evidence_count, rule_on_target, rule_polarity, rule_topic_sources)
RULES: tuple[Rule, ...] = (*PERMISSION_RULES, *STEP_RULES, *EVIDENCE_RULES)


def evidence_refusal(intent: Intent) -> Refusal | None:
    """Return why the cited items are no evidence for the change, or `None`; needs no facts."""
    return next((refusal for rule in EVIDENCE_RULES if (refusal := rule(intent))), None)


def target_pinned(target: Target, effective: EffectiveConfig) -> bool:
    """Return True if the reader locked this target or never wants it suggested."""
    name, key = target
    pins = (*effective.config.locked, *effective.config.avoided)
    return key in ((topic_key(pin) for pin in pins) if name == TOPICS else pins)


def concerns(item: RatedItem, field_name: str, key: str, label: str) -> bool:
    """Return True if a rated item has the target: its source, or a topic in title, category or author."""
    if field_name == SOURCE_WEIGHTS:
        return item.source == key
    return topic_matches(label, fold(item.title), label_keys(item.categories, item.author))


def types_declined(answers: Mapping[str, tuple[int, int]]) -> frozenset[str]:
    """Return the types turned down so often without a yes that asking again would be a nuisance.

    `answers` holds (accepted, rejected) by type.
    """
    return frozenset(kind for kind, (yes, no) in answers.items() if yes == 0 and no >= DECLINED_MIN)


def change_applied(effective: EffectiveConfig, kind: str, key: str, value: str) -> EffectiveConfig:
    """Return `effective` after a change, given by its type, target and suggested value."""
    if kind in (BOOST_SOURCE, REDUCE_SOURCE):
        return effective_with_weight(effective, key, float(value))
    return effective_with_topic(effective, key, value if kind == ADD_TOPIC else "")


def weight_parse(value: object) -> float | None:
    """Return a finite number from a number or a plain decimal string ("1.3"); `None` for anything else."""
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def step_share(chosen: str, current: str, proposed: str) -> float | None:
    """Return a chosen weight's step as a share of the proposed one; `None` unless all three are weights."""
    after, before, target = (weight_parse(value) for value in (chosen, current, proposed))
    if after is None or before is None or target is None or abs(target - before) < _SLACK:
        return None
    return (after - before) / (target - before)


def weight_text(weight: float) -> str:
    """Return a weight as stored and shown: at most two decimals, at least one ("1.0", "1.25")."""
    text = f"{weight:.2f}"
    return text[:-1] if text.endswith("0") else text


def weight_bounds(current: float, kind: str = "") -> tuple[float, float]:
    """Return the lowest and highest weight that may be proposed or agreed from `current`.

    With the `kind` of a suggestion those a reader may choose instead: more stays more, less stays less.
    """
    low = current if kind == BOOST_SOURCE else current - WEIGHT_STEP_MAX
    high = current if kind == REDUCE_SOURCE else current + WEIGHT_STEP_MAX
    return max(WEIGHT_MIN, low), min(WEIGHT_MAX, high)


def weight_clamp(wanted: float, current: float) -> float:
    """Return `wanted` in hundredths, within ±0.3 of `current` and within [0.1, 2.0]."""
    low, high = weight_bounds(current)
    clamped = round(max(low, min(high, wanted)), 2)
    if clamped > high + _SLACK:
        return floor(high * 100) / 100
    return ceil(low * 100) / 100 if clamped < low - _SLACK else clamped


def topic_clean(value: object) -> str | None:
    """Return a topic as it is written (NFKC, single spaces); `None` for more than one line of 64 characters,
    no letter or digit, or anything invisible."""
    if not isinstance(value, str) or len(value) > 4 * TOPIC_MAX_CHARS:
        return None
    text = unicodedata.normalize("NFKC", value).strip(" ")
    if any(unicodedata.category(char) in _UNPRINTABLE for char in text):
        return None
    text = " ".join(text.split())
    return text if len(text) <= TOPIC_MAX_CHARS and any(map(str.isalnum, text)) else None


def topic_in_config(key: str, topics: Sequence[str]) -> str:
    """Return the config's own spelling of the topic with this key, or "" if it has none."""
    return next((topic for topic in topics if topic_key(topic) == key), "")
