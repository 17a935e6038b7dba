"""Build, check, change and compare config bodies, the JSON form in which versions are stored. Pure."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite
from typing import Any
from urllib.parse import quote

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.entities import (
    ALPHA_DEFAULT,
    HALF_LIFE_HOURS_DEFAULT,
    WEIGHT_DEFAULT,
    WEIGHT_MAX,
    WEIGHT_MIN,
    Config,
    EffectiveConfig,
    InvalidSetting,
    Mute,
)
from ranking.language import figure
from ranking.language import gettext as _
from ranking.mutes import MUTES_MAX, SOURCE, mutes_check, mutes_distinct, mutes_read
from ranking.other_names import OTHER_NAMES, names_check, names_read, names_set
from ranking.source_rules import (
    NEVER_MISSED,
    RANGES,
    SourceRules,
    rules_check,
    rules_read,
    rules_rename,
    rules_set,
    rules_sources,
)
from ranking.taste.entities import TasteLevel

Body = dict[str, Any]
Change = dict[str, Any]
TOPICS_MAX = 100
BOOST_MAX = 5.0
BOOSTS_MAX = 100
HALF_LIFE_HOURS_MIN, HALF_LIFE_HOURS_MAX = 1.0, 24.0 * 90
ALPHA_MAX = 1.0
# Bodies stored before there was a choice went by the hour.
BY_DAY_ONCE = False
# The settings of one value, each with its value in a body that lacks it.
SETTINGS_ONCE: Mapping[str, float | bool | str] = {
    "recency_half_life_hours": HALF_LIFE_HOURS_DEFAULT,
    "recency_by_day": BY_DAY_ONCE,
    "ai_score_alpha": ALPHA_DEFAULT,
    "taste": str(TasteLevel.OFF),
}
# The state of what is no change at all: no value of a setting equals it.
_ABSENT = object()
# Unicode categories of invisible characters: controls, format and bidi marks, lone surrogates.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
# First letters of the Unicode categories that a search ignores: controls, spaces and punctuation.
_NOT_SEARCHED = frozenset("CZP")


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """The changes that a person asks for in one save. `None` leaves a setting as it is.

    `source_weights` has the new effective weight of each source that changes; `None` returns the source to
    the default and the learning loop. `pins` has the new pin of each target that changes: `locked`,
    `avoided`, or any other text for no pin. `literal` says of some topics whether they match by words alone,
    and `by_meaning` of some boosted words whether they match by meaning, too.
    `source_rules` has the new rules of each source whose rules change, `other_names` the new other names of
    each topic whose names change.
    """

    topics: Sequence[str] | None = None
    source_weights: Mapping[str, float | None] | None = None
    keyword_boosts: Mapping[str, float] | None = None
    recency_half_life_hours: float | None = None
    recency_by_day: bool | None = None
    ai_score_alpha: float | None = None
    pins: Mapping[str, str] | None = None
    literal: Mapping[str, bool] | None = None
    by_meaning: Mapping[str, bool] | None = None
    taste: str | None = None
    source_rules: Mapping[str, SourceRules] | None = None
    other_names: Mapping[str, Sequence[str]] | None = None


def body_of(config: Config, learned: Mapping[str, float]) -> Body:
    """Return `config` and the learned deltas as a new body, which the caller may change."""
    return {
        "topics": list(config.topics),
        "source_weights": dict(config.source_weights),
        "keyword_boosts": dict(config.keyword_boosts),
        "recency_half_life_hours": config.recency_half_life_hours,
        "recency_by_day": config.recency_by_day,
        "ai_score_alpha": config.ai_score_alpha,
        "locked": list(config.locked),
        "avoided": list(config.avoided),
        "mutes": [mute.as_dict() for mute in config.mutes],
        "literal": list(config.literal),
        "by_meaning": list(config.by_meaning),
        OTHER_NAMES: {key: list(names) for key, names in config.other_names.items()},
        "taste": str(config.taste),
        "shelf_lives": dict(config.shelf_lives),
        "daily_limits": dict(config.daily_limits),
        "never_missed": list(config.never_missed),
        "learned": dict(learned),
    }


def body_default() -> Body:
    """Return the body of the default settings."""
    return body_of(Config(), {})


def body_effective(body: Body) -> EffectiveConfig:
    """Return the effective config that `body` describes."""
    return EffectiveConfig(
        Config(
            topics=tuple(body["topics"]),
            source_weights=dict(body["source_weights"]),
            keyword_boosts=dict(body["keyword_boosts"]),
            recency_half_life_hours=body["recency_half_life_hours"],
            recency_by_day=body.get("recency_by_day", BY_DAY_ONCE),
            ai_score_alpha=body["ai_score_alpha"],
            locked=tuple(body["locked"]),
            avoided=tuple(body["avoided"]),
            mutes=mutes_read(body.get("mutes", [])),
            literal=tuple(body.get("literal", [])),
            by_meaning=tuple(body.get("by_meaning", [])),
            other_names=names_read(body),
            taste=TasteLevel(body.get("taste", TasteLevel.OFF)),
            shelf_lives=dict(body.get("shelf_lives", {})),
            daily_limits=dict(body.get("daily_limits", {})),
            never_missed=tuple(body.get("never_missed", [])),
        ),
        dict(body["learned"]),
    )


def weights_changed(changes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those of `body_changes` that changed the effective weight of a source."""
    return [change for change in changes if change["field"] == "source_weights"]


def learned_changes_undone(
    changes: Sequence[Mapping[str, Any]], now: Body, then: Body
) -> list[Mapping[str, Any]]:
    """Return the `changes` (`body_changes` from `now` to `then`) that undo a learned delta."""
    return [
        change
        for change in weights_changed(changes)
        if now["learned"].get(change["target"], 0.0) != then["learned"].get(change["target"], 0.0)
    ]


def effective_without(effective: EffectiveConfig, changes: Iterable[Change], body: Body) -> EffectiveConfig:
    """Return the settings as they would be without their last write.

    `changes` are that write's `body_changes`, and `body` is the config before it. Weights that the write did
    not change are those of `effective`, because some may have been learned since.
    """
    own = effective.config.source_weights
    weights = {row["target"]: row["before"] for row in weights_changed(changes)}
    deltas = {source: weight - own.get(source, WEIGHT_DEFAULT) for source, weight in weights.items()}
    config = replace(body_effective(body).config, source_weights=own)
    return EffectiveConfig(config, {**effective.deltas, **deltas}, effective.learned_at)


def body_before(earlier: Body, changes: Iterable[Change]) -> Body:
    """Return the body right before a write of `changes`. `earlier` is that of the write before it.

    The two differ in what was learned between them, which no write stores.
    """
    learned = dict(earlier["learned"])
    for row in weights_changed(changes):
        own = earlier["source_weights"].get(row["target"], WEIGHT_DEFAULT)
        learned[row["target"]] = round(row["before"] - own, 4)
    return {**earlier, "learned": {source: delta for source, delta in learned.items() if delta}}


def changes_in_force(body: Body, earlier: Body, changes: Iterable[Change]) -> list[Change]:
    """Return those of a write's `changes` that `body` still has. `earlier` is the body right before it."""
    now = {(row["field"], row["target"]): row["after"] for row in body_changes(earlier, body)}
    return [row for row in changes if now.get((row["field"], row["target"]), _ABSENT) == row["after"]]


def body_take_back(body: Body, earlier: Body, changes: Iterable[Change]) -> None:
    """Give the targets of `changes`, in place, the settings that they had in `earlier`."""
    for field, target in [(row["field"], row["target"]) for row in changes]:
        if field in SETTINGS_ONCE:
            body[field] = earlier.get(field, SETTINGS_ONCE[field])
        elif field == "mutes":
            others = [mute for mute in mutes_read(body["mutes"]) if _mute_target(mute) != target]
            had = [mute for mute in mutes_read(earlier.get("mutes", [])) if _mute_target(mute) == target]
            body["mutes"] = [mute.as_dict() for mute in (*others, *had)]
        elif isinstance(body[field], list):
            left = [one for one in body[field] if one != target]
            body[field] = [*left, target] if target in earlier.get(field, []) else left
        else:
            for part in (field, "learned") if field == "source_weights" else (field,):
                body[part].pop(target, None)
                if target in earlier.get(part, {}):
                    body[part][target] = earlier[part][target]


def effective_body(effective: EffectiveConfig) -> Body:
    """Return the body of an effective config, with its learned deltas."""
    return body_of(effective.config, effective.deltas)


def body_validate(body: Body) -> None:
    """Check all values; clean topics and mutes in place. Raises `InvalidSetting` for the first bad value."""
    body["topics"] = _topics(body["topics"])
    keys = {topic_key(topic) for topic in body["topics"]}
    body["literal"] = sorted(keys & {*body.get("literal", [])})
    body["by_meaning"] = [word for word in body["keyword_boosts"] if word in body.get("by_meaning", [])]
    names_check(body)
    for source, weight in body["source_weights"].items():
        _check_range(_("How much from {source}").format(source=source), weight, WEIGHT_MIN, WEIGHT_MAX)
    if len(body["keyword_boosts"]) > BOOSTS_MAX:
        raise InvalidSetting(
            _("At most {boosts_max} boosts; you gave {keyword_boosts}.").format(
                boosts_max=BOOSTS_MAX, keyword_boosts=len(body["keyword_boosts"])
            )
        )
    for word, boost in body["keyword_boosts"].items():
        if len(word) > TOPIC_MAX_CHARS:
            raise InvalidSetting(
                _("A keyword may have {most} characters; “{word}…” has {count}.").format(
                    most=TOPIC_MAX_CHARS, word=word[:20], count=len(word)
                )
            )
        _check_range(_("The boost of “{word}”").format(word=word), boost, -BOOST_MAX, BOOST_MAX)
    _check_range(
        _("The hours until an article counts half"),
        body["recency_half_life_hours"],
        HALF_LIFE_HOURS_MIN,
        HALF_LIFE_HOURS_MAX,
    )
    body["recency_by_day"] = bool(body["recency_by_day"])
    _check_range(_("The similarity share"), body["ai_score_alpha"], 0.0, ALPHA_MAX)
    body["mutes"] = [mute.as_dict() for mute in mutes_check(body["mutes"])]
    rules_check(body)
    if body.setdefault("taste", str(TasteLevel.OFF)) not in list(TasteLevel):
        raise InvalidSetting(
            _("Your taste can count as {levels}; you gave “{level}”.").format(
                levels=", ".join(TasteLevel), level=str(body["taste"])[:20]
            )
        )


def term_visible(typed: str) -> str:
    """Return `typed` on one line without invisible characters, as texts of feeds are stored, too."""
    spaced = " ".join(typed.split())
    return " ".join("".join(c for c in spaced if unicodedata.category(c) not in _INVISIBLE).split())


def term_searchable(word: str) -> bool:
    """Return whether a text can contain `word`: it is not only punctuation and spaces."""
    return any(unicodedata.category(c)[0] not in _NOT_SEARCHED for c in word)


def _check_range(what: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise InvalidSetting(_("{what} must be a number.").format(what=what))
    if not low <= value <= high:
        raise InvalidSetting(
            _("{what} must lie between {low} and {high}; you gave {value}.").format(
                what=what, low=figure(low, "g"), high=figure(high, "g"), value=figure(value, "g")
            )
        )


def _topics(topics: list[str]) -> list[str]:
    """Return the topics in order, each only in its first spelling. Raises `InvalidSetting`."""
    unique: dict[str, str] = {}
    for topic in (term_visible(str(t)) for t in topics):
        if len(topic) > TOPIC_MAX_CHARS:
            raise InvalidSetting(
                _("A topic may have {topic_max_chars} characters; “{topic}…” has {topic2}.").format(
                    topic_max_chars=TOPIC_MAX_CHARS, topic=topic[:20], topic2=len(topic)
                )
            )
        if topic:
            unique.setdefault(topic_key(topic), topic)
    if len(unique) > TOPICS_MAX:
        raise InvalidSetting(
            _("At most {topics_max} topics; you gave {unique}.").format(
                topics_max=TOPICS_MAX, unique=len(unique)
            )
        )
    return list(unique.values())


def body_changes(before: Body, after: Body) -> list[Change]:
    """Return the differences as `{"field", "target", "before", "after"}` rows, with effective weights."""
    return [
        *_set_changes("topics", before["topics"], after["topics"]),
        *_weight_changes(before, after),
        *_map_changes("keyword_boosts", before["keyword_boosts"], after["keyword_boosts"]),
        *(
            _row(name, "", before.get(name, once), after.get(name, once))
            for name, once in SETTINGS_ONCE.items()
            if before.get(name, once) != after.get(name, once)
        ),
        *_set_changes("locked", before["locked"], after["locked"]),
        *_set_changes("avoided", before["avoided"], after["avoided"]),
        *_set_changes("literal", before.get("literal", []), after.get("literal", [])),
        *_set_changes("by_meaning", before.get("by_meaning", []), after.get("by_meaning", [])),
        *_map_changes(OTHER_NAMES, before.get(OTHER_NAMES, {}), after.get(OTHER_NAMES, {})),
        *_mute_changes(before.get("mutes", []), after.get("mutes", [])),
        *(row for name in RANGES for row in _map_changes(name, before.get(name, {}), after.get(name, {}))),
        *_set_changes(NEVER_MISSED, before.get(NEVER_MISSED, []), after.get(NEVER_MISSED, [])),
    ]


def _row(field: str, target: str, before: object, after: object) -> Change:
    return {"field": field, "target": target, "before": before, "after": after}


def _set_changes(field: str, before: list[str], after: list[str]) -> list[Change]:
    gone = [_row(field, t, True, False) for t in before if t not in after]
    return gone + [_row(field, t, False, True) for t in after if t not in before]


def _mute_changes(before: list[Any], after: list[Any]) -> list[Change]:
    """Return the changes of mutes. A state is the last day, `True` for ever, or `False` for not muted."""
    old, new = ({_mute_target(m): m.until or True for m in mutes_read(rows)} for rows in (before, after))
    states = [(key, old.get(key, False), new.get(key, False)) for key in {**old, **new}]
    return [_row("mutes", key, _state_json(was), _state_json(now)) for key, was, now in states if was != now]


def _mute_target(mute: Mute) -> str:
    """Return `word:war`, or of a mute in one source `word@example.org%2Fblog:war`."""
    within = f"@{quote(mute.within, safe='')}" if mute.within else ""
    return f"{mute.kind}{within}:{mute.value}"


def _state_json(state: date | bool) -> str | bool:
    return state if isinstance(state, bool) else state.isoformat()


def _map_changes(field: str, before: Mapping[str, object], after: Mapping[str, object]) -> list[Change]:
    keys = sorted({*before, *after})
    return [_row(field, k, before.get(k), after.get(k)) for k in keys if before.get(k) != after.get(k)]


def _weight_changes(before: Body, after: Body) -> list[Change]:
    old, new = body_effective(before), body_effective(after)
    keys = sorted(
        {*before["source_weights"], *after["source_weights"], *before["learned"], *after["learned"]}
    )
    return [
        _row("source_weights", key, round(old.weight(key), 4), round(new.weight(key), 4))
        for key in keys
        if _own_and_learned(before, key) != _own_and_learned(after, key)
    ]


def _own_and_learned(body: Body, source: str) -> tuple[float | None, float]:
    """Return the config weight of `source` (`None` if no person set one) and its learned delta."""
    return body["source_weights"].get(source), body["learned"].get(source, 0.0)


def body_delta(body: Body, source: str) -> float:
    """Return the learned delta of the weight of `source`, 0 if there is none."""
    return float(body["learned"].get(source, 0.0))


def body_pin(body: Body, target: str, pin: str) -> None:
    """Pin `target` as `locked` or `avoided`, in place. Any other `pin` removes its pin."""
    for name in ("locked", "avoided"):
        if (pin == name) is not (target in body[name]):
            body[name] = [t for t in body[name] if t != target] + ([target] if pin == name else [])


def body_edit(body: Body, edit: ConfigEdit) -> None:
    """Apply a person's `edit` to `body`, in place."""
    for name in ("topics", "keyword_boosts", *SETTINGS_ONCE):
        if (value := getattr(edit, name)) is not None:
            body[name] = value
    body_weigh(body, edit.source_weights or {})
    for topic, is_literal in (edit.literal or {}).items():
        list_with(body, "literal", topic_key(topic), wanted=is_literal)
    for word, is_wide in (edit.by_meaning or {}).items():
        list_with(body, "by_meaning", word, wanted=is_wide)
    for topic, names in (edit.other_names or {}).items():
        names_set(body, topic, [term_visible(name) for name in names])
    for source, rules in (edit.source_rules or {}).items():
        rules_set(body, source, rules)
    for target, pin in (edit.pins or {}).items():
        body_pin(body, target, pin)


def list_with(body: Body, name: str, entry: str, *, wanted: bool) -> None:
    """Put `entry` into the list of this name in place, as the last one, or take it out."""
    others = [one for one in body.get(name, []) if one != entry]
    body[name] = [*others, entry] if wanted else others


def body_weigh(body: Body, weights: Mapping[str, float | None]) -> None:
    """Set effective weights of sources in place and drop their learned deltas. `None` sets the default."""
    for source, weight in weights.items():
        body["learned"].pop(source, None)
        body["source_weights"].pop(source, None)
        if weight is not None:
            body["source_weights"][source] = weight


def body_source_rename(body: Body, old: str, new: str) -> None:
    """Move the settings of the source `old` to `new`, in place. Settings of `new` have precedence.

    If a person already gave `new` a weight, the weight of `old` is dropped.
    """
    if old in body["source_weights"]:
        weight = body["source_weights"].pop(old)
        body["source_weights"].setdefault(new, weight)
    for pins in ("locked", "avoided"):
        if old in body[pins]:
            body[pins] = list(dict.fromkeys(new if pin == old else pin for pin in body[pins]))
    if old in rules_sources(body):
        rules_rename(body, old, new)
    if old in mute_sources(body):
        moved = (_mute_move(mute, old, new) for mute in mutes_read(body["mutes"]))
        body["mutes"] = [mute.as_dict() for mute in mutes_distinct(moved)]


def body_source_copy(body: Body, source: str, to: str) -> None:
    """Copy the settings of `source` to `to`, in place: weight, learned delta, pins, rules and mutes.

    Mutes are left out if the body already has the most mutes allowed.
    """
    for part in ("source_weights", "learned"):
        if source in body[part]:
            body[part][to] = body[part][source]
    for pins in ("locked", "avoided"):
        if source in body[pins]:
            body[pins] = [*body[pins], to]
    if source in rules_sources(body):
        rules_set(body, to, rules_read(body, source))
    mutes = mutes_read(body["mutes"])
    muted = [moved for mute in mutes if (moved := _mute_move(mute, source, to)) != mute]
    body["mutes"] = [mute.as_dict() for mute in (*mutes, *muted)[:MUTES_MAX]]


def _mute_move(mute: Mute, old: str, new: str) -> Mute:
    """Return a mute of, or in, the source `old` as one of `new`; any other as it is."""
    if (mute.kind, mute.value) == (SOURCE, old):
        return replace(mute, value=new)
    return replace(mute, within=new) if mute.within == old else mute


def mute_sources(body: Body) -> set[str]:
    """Return the keys of sources that mutes name. Bodies stored by early versions have no mutes."""
    mutes = mutes_read(body.get("mutes", []))
    return {mute.value for mute in mutes if mute.kind == SOURCE} | {one.within for one in mutes if one.within}


def body_keys(body: Body) -> set[str]:
    """Return all source keys in `body`. Pinned topics are among them, as pins do not say which they are."""
    named = {*body["source_weights"], *body["learned"], *body["locked"], *body["avoided"]}
    return named | mute_sources(body) | rules_sources(body)


def body_keys_current(body: Body, renamed: Mapping[str, str]) -> Body:
    """Return a copy of `body` with the current keys of sources. `renamed` maps old keys to current ones."""
    copy: Body = {
        name: value.copy() if isinstance(value, dict | list) else value for name, value in body.items()
    }
    copy.setdefault("mutes", [])
    copy.setdefault("literal", [])
    copy.setdefault("by_meaning", [])
    copy.setdefault(OTHER_NAMES, {})
    copy.setdefault("recency_by_day", BY_DAY_ONCE)
    copy.setdefault("taste", str(TasteLevel.OFF))
    for name in RANGES:
        copy.setdefault(name, {})
    copy.setdefault(NEVER_MISSED, [])
    for old, new in renamed.items():
        delta = copy["learned"].pop(old, None)
        if delta is not None and new not in copy["source_weights"]:
            copy["learned"].setdefault(new, delta)
        body_source_rename(copy, old, new)
    return copy
