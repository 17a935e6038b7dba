"""The rules of a suggestion, each a function with a stable code: facts in, a refusal or nothing out.

`check` reads the change that a draft means and asks the rules in order; the first one it breaks names the
refusal. What a kind of change asks beyond them is in its own file (`suggestions.changes`).

The order: meaning (`change_parse`), permission, the step, evidence; then, with the reader's other ratings,
strength (`strength_refusal`), other names of a topic (`names_refusal`), effect (`visibility_refusal`), and
the other questions that the reader is asked (`repeat_refusal`).
docs/suggestions.md has the codes, `wording.CHANGES_STOPPED` the sentence of each for readers.

A draft's own idea of the current value is ignored: facts come from the database alone. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from digest.entities import RatedItem
from ranking.common.text import TOPIC_MAX_CHARS
from ranking.entities import EffectiveConfig
from suggestions.changes.change import Change, Rule
from suggestions.changes.registry import KINDS, ONE_A_RUN, keys_named
from suggestions.changes.topics import names_unsaid
from suggestions.proposals import (
    SUGGESTIONS_PER_RUN_MAX,
    Draft,
    Facts,
    Refusal,
    Target,
    WeekEffect,
)

# Suggestions of a run on one field, such as source weights: the third of a run is about something else.
PER_FIELD_MAX = 2
FIELDS_ONE_A_RUN = frozenset(str(kind.field) for kind in ONE_A_RUN)
# A reader whose feeds bring no more articles a day has nearly all of them among the first ten.
SMALL_ITEMS_A_DAY = 10
# Articles in the first tens of the last days below which their standing still says nothing.
SHOWN_MIN = 5
# Two changes are about the same articles if they share this part of those that either is about.
SHARED_MIN = 0.8
# A type with this many decisions and no yes is not proposed again.
DECLINED_MIN = 6
CONFIDENCES = ("low", "medium", "high")

# Asked about a type of change, a target and the facts.
PermissionRule = Callable[[str, Target, Facts], Refusal | None]


def check(draft: Draft, facts: Facts) -> Change | Refusal:
    """Return the change of `draft`, or the refusal of the first rule it breaks. Raises nothing."""
    change = draft_read(draft, facts)
    if isinstance(change, Refusal):
        return change
    if refusal := change_permission(change, facts):
        return refusal
    stepped = change.kind.step(change, facts)
    if isinstance(stepped, Refusal):
        return stepped
    return evidence_refusal(stepped) or stepped


def change_parse(draft: Draft, facts: Facts) -> Change | Refusal:
    """Return the change that `draft` means, without evidence and whether or not it may be made now."""
    change = draft_read(draft, facts)
    if isinstance(change, Refusal):
        return change
    return change.kind.step(replace(change, evidence=(), ungrounded=0), facts)


def draft_read(draft: Draft, facts: Facts) -> Change | Refusal:
    """Return the change of `draft` with its evidence, or refuse a draft that changes nothing.

    Without a value it is the largest permitted step.
    """
    named = str(draft.target_key or draft.suggested_value or "")[:TOPIC_MAX_CHARS]
    kind = KINDS.get(draft.suggestion_type) if isinstance(draft.suggestion_type, str) else None
    if kind is None:
        return Refusal("unknown_type", f"The type must be one of {', '.join(KINDS)}.", named)
    if draft.other_names and not kind.is_named:
        return Refusal("field_mismatch", f"{kind.name} takes no other_names. Leave them out.", named)
    change = kind.read(kind.with_value(draft, facts), facts, named)
    if isinstance(change, Refusal):
        return change
    urls = list(dict.fromkeys(url for url in draft.evidence_urls if isinstance(url, str) and url))
    cited = tuple(facts.rated[url] for url in urls if url in facts.rated)
    wished = change_wished(change, facts)
    by_words = wished and cited and {item.url for item in cited} <= set(wished.evidence_urls)
    found = replace(change, evidence=cited, ungrounded=len(urls) - len(cited), tried=draft.topics_tried)
    return replace(found, words=wished.words) if wished and by_words else found


def change_wished(change: Change, facts: Facts) -> Change | None:
    """Return the same change as the reader's own words ask for it, with its articles, if they do.

    Other names of a topic are the agent's own, so thumbs judge a change with any.
    """
    asked = (one for one in facts.wished if (one.kind, one.target) == (change.kind, change.target))
    return None if change.names else next(asked, None)


def permission_refusal(target: Target, facts: Facts, kind: str = "") -> Refusal | None:
    """Return why this target (with `kind`: this type of change) may not be suggested now, or `None`."""
    return _first(PERMISSION_RULES, kind, target, facts)


def change_permission(change: Change, facts: Facts) -> Refusal | None:
    """Return why a change may not be suggested now: its target, or another name that it gives a topic."""
    targets = [(str(change.field), key) for key in change.targets]
    refused = (permission_refusal(one, facts, change.suggestion_type) for one in targets)
    return next((refusal for refusal in refused if refusal), None)


def _first(rules: Iterable[PermissionRule], kind: str, target: Target, facts: Facts) -> Refusal | None:
    return next((refusal for rule in rules if (refusal := rule(kind, target, facts))), None)


def strength_refusal(
    change: Change, *, p_overall: float, supported: bool, confidence: str, minimum: str
) -> Refusal | None:
    """Refuse a change that all ratings contradict (`p_overall` below one half) or support too weakly.

    `supported` says whether the ratings lean its way clearly enough, and holdout ratings do not contradict.
    """
    about = f"{change.suggestion_type} for “{change.label}”"
    if p_overall < 0.5:
        message = f"All ratings of this reader together contradict {about}. Drop it."
        return change.refusal("evidence_contradicts", message)
    if not supported:
        message = f"The ratings for {about} may well be chance. Choose another hypothesis."
        return change.refusal("weak_evidence", message)
    if CONFIDENCES.index(confidence) < CONFIDENCES.index(minimum):
        message = f"Confidence in {about} is {confidence}; {minimum} is needed. Choose another hypothesis."
        return change.refusal("weak_evidence", message)
    return None


def visibility_refusal(change: Change, effect: WeekEffect) -> Refusal | None:
    """Refuse a change that would have moved too little of the reader's last days to be seen.

    It is put off, not lost: a later run may propose it. If a reader's feeds bring ten articles a day at
    most, nearly all are among the first ten, so their order counts. Days with hardly any article, because
    feeds were quiet or everything was rated, show little of any change, and refuse none.
    """
    if effect.shown < SHOWN_MIN:
        return None
    moved, least = places_moved(change, effect)
    if moved >= least:
        return None
    message = (
        f"{change.suggestion_type} for “{change.label}” would have moved {moved} of the first ten places of "
        f"the last {effect.days} days, and {least} are needed. Choose another hypothesis."
    )
    return change.refusal("moves_nothing", message)


def places_moved(change: Change, effect: WeekEffect) -> tuple[int, int]:
    """Return how many places a change would have moved, and how many are needed for it to be seen."""
    is_small = effect.items_a_day <= SMALL_ITEMS_A_DAY
    return max(effect.places, effect.reordered if is_small else 0), 1 if is_small else change.kind.places_min


def names_refusal(change: Change, rated: Sequence[RatedItem], effect: WeekEffect) -> Refusal | None:
    """Refuse another name of a topic that none of the reader's articles says, rated or recent."""
    if not (unsaid := names_unsaid(effect.unsaid, rated)):
        return None
    message = f"None of the reader's articles says “{unsaid[0]}”. Leave that name out."
    return change.refusal("name_unsaid", message)


def repeat_refusal(change: Change, facts: Facts, rated: Sequence[RatedItem]) -> Refusal | None:
    """Refuse a change that asks the reader about one thing twice (`asked_already`)."""
    if changes_distinct([change], facts.asked, rated):
        return None
    message = (
        f"A suggestion that waits, or that this run wrote, asks the same as {change.suggestion_type} for "
        f"“{change.label}”: about the same articles, or the opposite about all others. Choose another "
        "hypothesis."
    )
    return change.refusal("asked_already", message)


def changes_distinct(
    changes: Iterable[Change], asked: Iterable[Change], rated: Sequence[RatedItem]
) -> list[Change]:
    """Return the changes that ask nothing that an earlier one, or one of `asked`, asks already.

    Two changes are one question if they are about the same source or the same rated articles, or if one
    wants more of some articles and the other less of all the rest. Changes of the whole page are never one.
    """
    questions = [(one, _articles_of(one, rated)) for one in asked if not one.kind.of_page]
    found, everything = [], {item.url for item in rated}
    for change in changes:
        if change.kind.of_page:
            found.append(change)
            continue
        mine = _articles_of(change, rated)
        if not any(_is_repeat(change, mine, one, its, everything - its) for one, its in questions):
            found.append(change)
            questions.append((change, mine))
    return found


def _articles_of(change: Change, rated: Sequence[RatedItem]) -> set[str]:
    return {item.url for item in change.among(rated)}


def _is_repeat(change: Change, mine: set[str], other: Change, its: set[str], rest: set[str]) -> bool:
    if change.kind.of_source and other.kind.of_source and change.target == other.target:
        return True
    is_mirror = change.kind.liked is not other.kind.liked and _are_the_same(mine, rest)
    return is_mirror or _are_the_same(mine, its)


def _are_the_same(one: set[str], other: set[str]) -> bool:
    return bool(one) and len(one & other) >= SHARED_MIN * len(one | other)


def rule_kind_off(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a kind that the operator of this installation has left out (`kind_off`)."""
    if not kind or facts.kinds is None or kind in facts.kinds:
        return None
    allowed = ", ".join(sorted(facts.kinds))
    return Refusal("kind_off", f"This installation suggests only {allowed}.", target[1])


def rule_type_declined(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a type of change that this reader turns down every time (`type_declined`)."""
    if kind not in facts.declined:
        return None
    message = f"This reader turned down each of {DECLINED_MIN} or more {kind} so far. Choose another type."
    return Refusal("type_declined", message, target[1])


def rule_pinned(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a target that the reader locked or never wants suggested (`pinned`)."""
    if not target_pinned(target, facts.effective):
        return None
    message = f"The reader keeps “{target[1]}” as it is. Choose another target."
    return Refusal("pinned", message, target[1])


def rule_duplicate(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a target that an open suggestion is about (`duplicate_pending`)."""
    if target not in facts.waiting:
        return None
    message = f"A suggestion about “{target[1]}” already waits for the reader."
    return Refusal("duplicate_pending", message, target[1])


def rule_cooldown(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a target that was suggested or decided within the cooldown (`on_cooldown`)."""
    until = facts.cooling.get(target)
    if until is None:
        return None
    message = f"“{target[1]}” was suggested or decided lately; again from {until:%F}."
    return Refusal("on_cooldown", message, target[1])


def rule_run_cap(kind: str, target: Target, facts: Facts) -> Refusal | None:
    """Refuse a fourth suggestion of a run, a third on one field, or a second source rule (`run_cap`)."""
    message = run_full(target[0], facts.written)
    return Refusal("run_cap", message, target[1]) if message else None


def run_full(field: str, written: Sequence[str]) -> str:
    """Return why a run has no slot for a suggestion on `field`, or ""; `written` are those of its own."""
    if len(written) >= SUGGESTIONS_PER_RUN_MAX:
        return f"This run has written {SUGGESTIONS_PER_RUN_MAX} suggestions, the most it may. Call finish."
    if list(written).count(field) >= PER_FIELD_MAX:
        return (
            f"This run has written {PER_FIELD_MAX} suggestions that change {field}, the most for a setting. "
            "Suggest a change of another setting, or call finish."
        )
    if field in FIELDS_ONE_A_RUN and not FIELDS_ONE_A_RUN.isdisjoint(written):
        return (
            f"This run has written a suggestion that changes one of {', '.join(sorted(FIELDS_ONE_A_RUN))}. "
            "It may write one of these in all. Suggest a change of another setting, or call finish."
        )
    return ""


def rule_grounded(change: Change) -> Refusal | None:
    """Refuse evidence that this reader never rated (`evidence_not_grounded`)."""
    if not change.ungrounded:
        return None
    return change.refusal(
        "evidence_not_grounded",
        f"{change.ungrounded} of {change.ungrounded + len(change.evidence)} evidence items are not rated by "
        "this reader. Use URLs exactly as the feedback lists them.",
    )


def rule_evidence_count(change: Change) -> Refusal | None:
    """Refuse fewer different items than the kind needs (`insufficient_evidence`)."""
    items, needed = len({item.url for item in change.evidence}), change.evidence_min
    if items >= needed:
        return None
    message = f"Need at least {needed} different items, got {items}."
    return change.refusal("insufficient_evidence", message)


def rule_on_target(change: Change) -> Refusal | None:
    """Refuse evidence about anything but the target (`evidence_off_target`)."""
    off = len(change.evidence) - len(change.among(change.evidence))
    if not off:
        return None
    return change.refusal(
        "evidence_off_target",
        f"{off} evidence items are not about “{change.label}”: a source needs its own items, a topic must "
        "stand in the title as whole words, or with other names in title or text.",
    )


def rule_polarity(change: Change) -> Refusal | None:
    """Refuse disliked evidence for more of something, and liked for less (`evidence_wrong_polarity`)."""
    liked = change.kind.liked
    wrong = sum(item.useful is not liked for item in change.evidence)
    if not wrong:
        return None
    word = "liked" if liked else "disliked"
    return change.refusal(
        "evidence_wrong_polarity",
        f"{change.suggestion_type} rests on {word} items; {wrong} of these are not {word}.",
    )


def rule_kind(change: Change) -> Refusal | None:
    """Refuse evidence by the rules of the change's own kind, such as `too_few_sources`."""
    return change.kind.evidence_refusal(change)


PERMISSION_RULES: tuple[PermissionRule, ...] = (
    rule_kind_off,
    rule_type_declined,
    rule_pinned,
    rule_duplicate,
    rule_cooldown,
    rule_run_cap,
)
EVIDENCE_RULES: tuple[Rule, ...] = (
    rule_grounded,
    rule_evidence_count,
    rule_on_target,
    rule_polarity,
    rule_kind,
)
# Of a change that the reader's own words beside the cited items ask for: not what the thumbs say.
WORDS_RULES: tuple[Rule, ...] = (rule_grounded, rule_evidence_count)


def evidence_refusal(change: Change) -> Refusal | None:
    """Return why the cited items are no evidence for the change, or `None`; needs no facts.

    Of a change that rests on the reader's own words, these say what it is about and which way.
    """
    rules = WORDS_RULES if change.words else EVIDENCE_RULES
    return next((refusal for rule in rules if (refusal := rule(change))), None)


def target_pinned(target: Target, effective: EffectiveConfig) -> bool:
    """Return True if the reader locked this target or never wants it suggested."""
    field, key = target
    return any(key in keys_named(field, pin) for pin in (*effective.config.locked, *effective.config.avoided))


def types_declined(answers: Mapping[str, tuple[int, int]]) -> frozenset[str]:
    """Return the types turned down so often without a yes that asking again would be a nuisance.

    `answers` holds (accepted, rejected) by type.
    """
    return frozenset(kind for kind, (yes, no) in answers.items() if yes == 0 and no >= DECLINED_MIN)
