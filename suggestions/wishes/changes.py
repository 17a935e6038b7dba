"""From a wish to a change of settings, within the rules that a suggestion keeps. Pure.

Weights of sources move by at most 0.3 within [0.1, 2.0]; a word's boost by at most 0.75 within ±1; freshness
by one of the levels in Settings; topics and weights pass `suggestions.rules`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.config_body import term_searchable, term_visible
from ranking.entities import EffectiveConfig
from ranking.language import gettext, gettext_noop
from ranking.mutes import AUTHOR as MUTE_AUTHOR
from ranking.mutes import CATEGORY as MUTE_CATEGORY
from ranking.mutes import PHRASE
from ranking.mutes import SOURCE as MUTE_SOURCE
from ranking.mutes import WORD as MUTE_WORD_KIND
from ranking.setting_scale import FRESHNESS as FRESHNESS_LEVELS
from ranking.taste.entities import TasteLevel
from suggestions.changes.boosts import BOOST_WORD, REDUCE_WORD
from suggestions.changes.change import (
    ADD,
    FRESHER,
    MORE,
    NONE,
    REMOVE,
    UNMUTE,
    Change,
    ChangeKind,
    Field,
    State,
)
from suggestions.changes.daily_limits import DAILY_LIMIT
from suggestions.changes.half_lives import MAKE_FRESHER, MAKE_OLDER
from suggestions.changes.mutes import UNMUTE_ANYTHING, state_until
from suggestions.changes.never_missed import KEEP, NEVER_MISS
from suggestions.changes.registry import kind_read
from suggestions.changes.shelf_lives import SHELF_LIFE
from suggestions.changes.source_rules import SourceRuleKind
from suggestions.changes.tastes import ORDER_BY_TASTE
from suggestions.changes.topics import ADD_TOPIC, REMOVE_TOPIC, topic_clean
from suggestions.changes.weights import BOOST_SOURCE, REDUCE_SOURCE, weight_text
from suggestions.proposals import Draft, Facts, Refusal
from suggestions.rules import change_parse, target_pinned
from suggestions.wishes.wish import AUTHOR, BIG, CATEGORY, FRESHNESS, SMALL, SOURCE, TASTE, USUAL, Wish

WEIGHT_STEPS: Mapping[str, float] = {SMALL: 0.1, USUAL: 0.2, BIG: 0.3}
BOOST_STEPS: Mapping[str, float] = {SMALL: 0.25, USUAL: 0.5, BIG: 0.75}
BOOST_WISHED_MAX = 1.0
# Hours of the levels, the freshest first.
HALF_LIVES = tuple(sorted(hours for hours, _ in FRESHNESS_LEVELS.values()))
UNTIL_MUTES = gettext_noop(
    "Only a mute ends by itself; “{}” stays as you change it until you change it again."
)


def change_of(wish: Wish, facts: Facts) -> Change | Refusal:
    """Return the change that a wish means for the present settings, or the refusal."""
    if wish.target.kind == FRESHNESS:
        return _freshness(wish, facts.effective)
    if wish.target.kind == TASTE:
        return _taste(wish, facts.effective)
    if wish.direction == UNMUTE:
        return _unmute(wish, facts.effective)
    if wish.direction == NONE:
        return _mute(wish, facts.effective)
    if wish.most is not None:
        return _rule(wish, facts, DAILY_LIMIT, wish.most)
    if wish.hours is not None:
        return _rule(wish, facts, SHELF_LIFE, wish.hours)
    if wish.direction == KEEP:
        return _rule(wish, facts, NEVER_MISS, True)
    if wish.target.kind == SOURCE:
        return _weight(wish, facts)
    if wish.direction in (ADD, REMOVE):
        return _topic(wish, facts)
    return _boost(wish, facts)


def _unmute(wish: Wish, effective: EffectiveConfig) -> Change | Refusal:
    """Return the end of a mute: of the one in the source that was named, else the widest of this value."""
    wanted = {topic_key(wish.target.key), topic_key(wish.target.label)}
    found = [mute for mute in effective.config.mutes if topic_key(mute.value) in wanted]
    if wish.within:
        found = [mute for mute in found if mute.within == wish.within]
    if found:
        mute = min(found, key=lambda one: bool(one.within))
        before = state_until(mute.until)
        return Change(UNMUTE_ANYTHING, mute.value, mute.value, before, False, mute.kind, within=mute.within)
    words = gettext("“{label}” is not muted.").format(label=wish.target.label)
    return Refusal("no_change", words, wish.target.label)


# One kind for each setting: making a change goes by its values alone.
_BACK: Mapping[str, ChangeKind] = {
    str(kind.field): kind
    for kind in (
        *(REMOVE_TOPIC, REDUCE_SOURCE, REDUCE_WORD, MAKE_FRESHER, ORDER_BY_TASTE, SHELF_LIFE, DAILY_LIMIT),
        NEVER_MISS,
    )
}


def change_back(row: Mapping[str, Any], effective: EffectiveConfig) -> Change | None:
    """Return the change that takes back a row of a version's changes; `None` if it is no longer in force.

    `None`, too, for a setting that no wish changes.
    """
    target, variant, within = row["target"], "", ""
    kind = _BACK.get(row["field"])
    if row["field"] == Field.MUTES:
        head, _, target = target.partition(":")
        variant, _, within = head.partition("@")
        kind = kind_read(Field.MUTES, NONE if row["before"] else UNMUTE, variant)
    if kind is None:
        return None
    change = Change(
        kind, kind.key(target), target, row["after"], row["before"], variant, within=unquote(within)
    )
    return change if change.state_in(effective) == row["after"] else None


def until_note(wish: Wish) -> str:
    """Return a note about a last day that the change cannot have, or "" if there is none."""
    if not wish.until or wish.direction == NONE:
        return ""
    return gettext(UNTIL_MUTES).format(wish.target.label)


def _weight(wish: Wish, facts: Facts) -> Change | Refusal:
    kind = BOOST_SOURCE if wish.direction == MORE else REDUCE_SOURCE
    current = facts.effective.weight(wish.target.key)
    step = WEIGHT_STEPS[wish.amount] * (1 if kind.liked else -1)
    draft = Draft(kind.name, wish.target.key, weight_text(current + step), (), "")
    return _by_rules(wish, draft, facts)


def _rule(wish: Wish, facts: Facts, kind: SourceRuleKind, value: State) -> Change | Refusal:
    """Return the rule for a source in place of the one that it has, if any."""
    change = kind.change(wish.target.key, value)
    before = kind.state(facts.effective, wish.target.key)
    if before == value:
        return Refusal("no_change", gettext(_AT_ONCE[kind]).format(wish.target.label), wish.target.label)
    if pinned := _pin_refusal(change.field, change.target, wish.target.label, facts.effective):
        return pinned
    return replace(change, before=before)


def _topic(wish: Wish, facts: Facts) -> Change | Refusal:
    kind = ADD_TOPIC if wish.direction == ADD else REMOVE_TOPIC
    return _by_rules(wish, Draft(kind.name, wish.target.key, wish.target.key, (), ""), facts)


def _by_rules(wish: Wish, draft: Draft, facts: Facts) -> Change | Refusal:
    """Return the change of a draft that keeps the rules of a suggestion, in words for its reader if not."""
    label = wish.target.label
    change = change_parse(draft, facts)
    if isinstance(change, Refusal):
        words = gettext(_REFUSED.get(change.code, CANNOT)).format(label)
        return Refusal(change.code, words, label)
    if pinned := _pin_refusal(change.field, change.target, label, facts.effective):
        return pinned
    return replace(change, notes=())


CANNOT = gettext_noop("“{}” cannot be changed so.")
_AT_ONCE: Mapping[SourceRuleKind, str] = {
    DAILY_LIMIT: gettext_noop("“{}” has that daily limit already."),
    SHELF_LIFE: gettext_noop("“{}” has that shelf life already."),
    NEVER_MISS: gettext_noop("Nothing of “{}” is missed already."),
}
_AT_THE_END = gettext_noop("“{}” is at the end of its scale already; there is nothing to change.")
_NO_INTEREST = gettext_noop("“{}” cannot be an interest: it needs a letter or a number, and one line.")
_REFUSED = {
    "no_change": _AT_THE_END,
    "wrong_direction": _AT_THE_END,
    "topic_already_present": gettext_noop("“{}” is one of your interests already."),
    "topic_not_present": gettext_noop("“{}” is not one of your interests."),
    "invalid_topic": _NO_INTEREST,
    "source_not_in_history": gettext_noop("You read no source called “{}”."),
}


def _pin_refusal(field: Field, key: str, label: str, effective: EffectiveConfig) -> Refusal | None:
    if not target_pinned((field, key), effective):
        return None
    words = gettext(
        "You asked to leave “{label}” as it is. Under Settings, “What may be suggested”, you can free it."
    ).format(label=label)
    return Refusal("pinned", words, label)


def _boost(wish: Wish, facts: Facts) -> Change | Refusal:
    typed = topic_clean(wish.target.key)
    if typed is None or not term_searchable(term_visible(typed)):
        return Refusal("invalid_topic", gettext(_NO_INTEREST).format(wish.target.label[:40]))
    key = topic_key(typed)
    if pinned := _pin_refusal(Field.TOPICS, key, typed, facts.effective):
        return pinned
    kind = BOOST_WORD if wish.direction == MORE else REDUCE_WORD
    boosts = facts.effective.config.keyword_boosts
    word = next((own for own in boosts if topic_key(own) == key), typed)
    before = boosts.get(word)
    step = BOOST_STEPS[wish.amount] * (1 if kind.liked else -1)
    low, high = min(before or 0.0, -BOOST_WISHED_MAX), max(before or 0.0, BOOST_WISHED_MAX)
    after = round(max(low, min(high, (before or 0.0) + step)), 2)
    if after == (before or 0.0):
        return Refusal("no_change", gettext(_AT_THE_END).format(word), word)
    return Change(kind, key, word, before, after or None)


def _freshness(wish: Wish, effective: EffectiveConfig) -> Change | Refusal:
    hours = effective.config.recency_half_life_hours
    fresher = wish.direction == FRESHER
    further = [one for one in HALF_LIVES if (one < hours if fresher else one > hours)]
    if not further:
        words = gettext("Freshness counts as little as a wish can make it already.")
        if fresher:
            words = gettext("Freshness counts as much as a wish can make it already.")
        return Refusal("no_change", words, "freshness")
    if fresher:
        further.reverse()
    after = further[-1 if wish.amount == BIG else 0]
    return Change(MAKE_FRESHER if fresher else MAKE_OLDER, "", "", hours, after)


def _taste(wish: Wish, effective: EffectiveConfig) -> Change | Refusal:
    """Return the next level of taste on the way, or the last one if nothing of it is wished for, or much."""
    levels = [*TasteLevel] if wish.direction == MORE else [*reversed(TasteLevel)]
    further = levels[levels.index(effective.config.taste) + 1 :]
    if not further:
        words = gettext("Your ratings change the order as little as a wish can make it already.")
        if wish.direction == MORE:
            words = gettext("Your ratings change the order as much as a wish can make it already.")
        return Refusal("no_change", words, TASTE)
    return ORDER_BY_TASTE.change(
        effective, str(further[-1 if wish.amount == BIG or wish.direction == NONE else 0])
    )


def _mute(wish: Wish, effective: EffectiveConfig) -> Change | Refusal:
    value = term_visible(wish.target.key)[: TOPIC_MAX_CHARS * 4]
    variants = {SOURCE: MUTE_SOURCE, AUTHOR: MUTE_AUTHOR, CATEGORY: MUTE_CATEGORY}
    variant = variants.get(wish.target.kind, PHRASE if " " in value else MUTE_WORD_KIND)
    if variant in (PHRASE, MUTE_WORD_KIND) and not term_searchable(value):
        return Refusal(
            "invalid_mute",
            gettext("“{value}” could be in no text, so it cannot be muted.").format(value=value),
            value,
        )
    kind = kind_read(Field.MUTES, NONE, variant)
    until = state_until(wish.until)
    change = Change(kind, kind.key(value), value, False, until, variant, within=wish.within)
    before = change.state_in(effective)
    if before == change.after:
        return Refusal(
            "no_change", gettext("“{label}” is muted already.").format(label=wish.target.label), value
        )
    return replace(change, before=before)
