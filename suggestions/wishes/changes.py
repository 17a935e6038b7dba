"""From a wish to a change of settings, within the rules that a suggestion keeps. Pure.

Weights of sources move by at most 0.3 within [0.1, 2.0]; a word's boost by at most 0.75 within ±1; freshness
by one of the levels in Settings; topics and weights pass `suggestions.rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.config_body import (
    ConfigEdit,
    body_edit,
    body_effective,
    body_validate,
    effective_body,
    effective_with_topic,
    term_searchable,
    term_visible,
)
from ranking.entities import EffectiveConfig, Mute
from ranking.language import gettext, gettext_noop
from ranking.mutes import AUTHOR as MUTE_AUTHOR
from ranking.mutes import CATEGORY as MUTE_CATEGORY
from ranking.mutes import PHRASE, mute_key
from ranking.mutes import SOURCE as MUTE_SOURCE
from ranking.mutes import WORD as MUTE_WORD
from ranking.setting_scale import FRESHNESS as FRESHNESS_LEVELS
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    SOURCE_WEIGHTS,
    TOPICS,
    Draft,
    Refusal,
)
from suggestions.rules import Facts, change_parse, target_pinned, topic_clean, weight_text
from suggestions.wishes.entities import (
    ADD,
    AUTHOR,
    BIG,
    CATEGORY,
    FRESHER,
    FRESHNESS,
    MORE,
    NONE,
    REMOVE,
    SMALL,
    SOURCE,
    USUAL,
    Wish,
)

BOOSTS, HALF_LIFE, MUTES = "keyword_boosts", "recency_half_life_hours", "mutes"
WEIGHT_STEPS: Mapping[str, float] = {SMALL: 0.1, USUAL: 0.2, BIG: 0.3}
BOOST_STEPS: Mapping[str, float] = {SMALL: 0.25, USUAL: 0.5, BIG: 0.75}
BOOST_WISHED_MAX = 1.0
# Hours of the levels, the freshest first.
HALF_LIVES = tuple(sorted(hours for hours, _ in FRESHNESS_LEVELS.values()))
UNTIL_MUTES = gettext_noop(
    "Only a mute ends by itself; “{}” stays as you change it until you change it again."
)

State = float | bool | str | None


@dataclass(frozen=True, slots=True)
class WishedChange:
    """One change of settings that was asked for, as it is proposed, shown and applied.

    `before` and `after` are states as `ranking.config_body.body_changes` has them, except that a mute's is
    its last day, `True` for ever, `False` for none. `kind` is that of a mute, else "".
    """

    field: str
    direction: str
    target: str
    before: State
    after: State
    kind: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; `change_read` reads them."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def mute(self) -> Mute | None:
        """Return the mute that this change adds; `None` for other changes."""
        if self.field != MUTES:
            return None
        return Mute(self.kind, self.target, _last_day(self.after))


def change_read(values: Mapping[str, Any]) -> WishedChange:
    """Return the change of `WishedChange.as_dict`."""
    return WishedChange(**values)


def change_of(wish: Wish, facts: Facts) -> WishedChange | Refusal:
    """Return the change that a wish means for the settings as they are, or why it is none."""
    if wish.target.kind == FRESHNESS:
        return _freshness(wish, facts.effective)
    if wish.direction == NONE:
        return _mute(wish, facts.effective)
    if wish.target.kind == SOURCE:
        return _weight(wish, facts)
    if wish.direction in (ADD, REMOVE):
        return _topic(wish, facts)
    return _boost(wish, facts)


def state_now(change: WishedChange, effective: EffectiveConfig) -> State:
    """Return the state that `change` would change, as it is in `effective`."""
    config = effective.config
    match change.field:
        case "source_weights":
            return round(effective.weight(change.target), 4)
        case "topics":
            return topic_key(change.target) in map(topic_key, config.topics)
        case "keyword_boosts":
            return config.keyword_boosts.get(change.target)
        case "recency_half_life_hours":
            return config.recency_half_life_hours
        case _:
            wanted = mute_key(Mute(change.kind, change.target))
            found = next((mute for mute in config.mutes if mute_key(mute) == wanted), None)
            return False if found is None else _mute_state(found.until)


def change_edit(change: WishedChange, effective: EffectiveConfig) -> ConfigEdit | None:
    """Return the edit that makes `change` on these settings; `None` for a mute, which has its own service."""
    target, after = change.target, change.after
    match change.field:
        case "source_weights":
            return ConfigEdit(source_weights={target: float(after or 0.0)})
        case "topics":
            key = topic_key(target)
            changed = effective_with_topic(effective, key, target if after else "")
            return ConfigEdit(topics=changed.config.topics)
        case "keyword_boosts":
            boosts = {k: v for k, v in effective.config.keyword_boosts.items() if k != target}
            return ConfigEdit(keyword_boosts=boosts | ({} if after is None else {target: float(after)}))
        case "recency_half_life_hours":
            return ConfigEdit(recency_half_life_hours=float(after or 0.0))
        case _:
            return None


def effective_after(change: WishedChange, effective: EffectiveConfig) -> EffectiveConfig:
    """Return the settings as they would be with `change` made. Raises `InvalidSetting` as a save does."""
    body = effective_body(effective)
    edit, mute = change_edit(change, effective), change.mute
    if edit is not None:
        body_edit(body, edit)
    if mute is not None:
        others = [one for one in effective.config.mutes if mute_key(one) != mute_key(mute)]
        body["mutes"] = [one.as_dict() for one in (*others, mute)]
    body_validate(body)
    return body_effective(body)


def until_note(wish: Wish) -> str:
    """Return what to say of a last day that the change cannot have; "" where there is none."""
    if not wish.until or wish.direction == NONE:
        return ""
    return gettext(UNTIL_MUTES).format(wish.target.label)


def _weight(wish: Wish, facts: Facts) -> WishedChange | Refusal:
    is_more = wish.direction == MORE
    current = facts.effective.weight(wish.target.key)
    step = WEIGHT_STEPS[wish.amount] * (1 if is_more else -1)
    kind = BOOST_SOURCE if is_more else REDUCE_SOURCE
    draft = Draft(kind, SOURCE_WEIGHTS, wish.target.key, weight_text(current + step), (), "")
    return _ruled(wish, draft, facts, round(current, 4))


def _topic(wish: Wish, facts: Facts) -> WishedChange | Refusal:
    kind = ADD_TOPIC if wish.direction == ADD else REMOVE_TOPIC
    draft = Draft(kind, TOPICS, wish.target.key, wish.target.key, (), "")
    return _ruled(wish, draft, facts, wish.direction == REMOVE)


def _ruled(wish: Wish, draft: Draft, facts: Facts, before: State) -> WishedChange | Refusal:
    """Return the change of a draft that keeps the rules of a suggestion, in words for its reader if not."""
    label = wish.target.label
    change = change_parse(draft, facts)
    if isinstance(change, Refusal):
        words = gettext(_REFUSED.get(change.code, CANNOT)).format(label)
        return Refusal(change.code, words, label)
    if pinned := _pinned(draft.field, change.target_key, label, facts.effective):
        return pinned
    after: State = wish.direction == ADD if change.weight is None else change.weight
    target = change.label if draft.field == TOPICS else change.target_key
    return WishedChange(draft.field, wish.direction, target, before, after)


CANNOT = gettext_noop("“{}” cannot be changed so.")
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


def _pinned(field: str, key: str, label: str, effective: EffectiveConfig) -> Refusal | None:
    if not target_pinned((field, key), effective):
        return None
    words = gettext(
        "You asked to leave “{label}” as it is. Under Settings, “What may be suggested”, you can free it."
    ).format(label=label)
    return Refusal("pinned", words, label)


def _boost(wish: Wish, facts: Facts) -> WishedChange | Refusal:
    typed = topic_clean(wish.target.key)
    if typed is None or not term_searchable(term_visible(typed)):
        return Refusal("invalid_topic", gettext(_NO_INTEREST).format(wish.target.label[:40]))
    key = topic_key(typed)
    if pinned := _pinned(TOPICS, key, typed, facts.effective):
        return pinned
    boosts = facts.effective.config.keyword_boosts
    word = next((own for own in boosts if topic_key(own) == key), typed)
    before = boosts.get(word)
    step = BOOST_STEPS[wish.amount] * (1 if wish.direction == MORE else -1)
    low, high = min(before or 0.0, -BOOST_WISHED_MAX), max(before or 0.0, BOOST_WISHED_MAX)
    after = round(max(low, min(high, (before or 0.0) + step)), 2)
    if after == (before or 0.0):
        return Refusal("no_change", gettext(_AT_THE_END).format(word), word)
    return WishedChange(BOOSTS, wish.direction, word, before, after or None)


def _freshness(wish: Wish, effective: EffectiveConfig) -> WishedChange | Refusal:
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
    return WishedChange(HALF_LIFE, wish.direction, "", hours, after)


def _mute(wish: Wish, effective: EffectiveConfig) -> WishedChange | Refusal:
    value = term_visible(wish.target.key)[: TOPIC_MAX_CHARS * 4]
    kinds = {SOURCE: MUTE_SOURCE, AUTHOR: MUTE_AUTHOR, CATEGORY: MUTE_CATEGORY}
    kind = kinds.get(wish.target.kind, PHRASE if " " in value else MUTE_WORD)
    if kind in (PHRASE, MUTE_WORD) and not term_searchable(value):
        return Refusal(
            "invalid_mute",
            gettext("“{value}” could be in no text, so it cannot be muted.").format(value=value),
            value,
        )
    change = WishedChange(MUTES, NONE, value, False, _mute_state(wish.until), kind)
    before = state_now(change, effective)
    if before == change.after:
        return Refusal(
            "no_change", gettext("“{label}” is muted already.").format(label=wish.target.label), value
        )
    return replace(change, before=before)


def _mute_state(until: date | None) -> str | bool:
    return True if until is None else until.isoformat()


def _last_day(state: State) -> date | None:
    return date.fromisoformat(state) if isinstance(state, str) else None
