"""Explain ranking in plain words: weights, changes of a config, and causes of versions. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

from ranking.common.text import topic_key
from ranking.entities import SAME_WEIGHT, Mute
from ranking.language import date_words, figure, gettext_noop, pgettext, quoted, times
from ranking.language import gettext as _
from ranking.mutes import KIND_WORDS, mutes_read
from ranking.other_names import names_read
from ranking.setting_scale import BOOSTS, LIKENESS, level_words
from ranking.source_rules import hours_words, limit_words
from ranking.taste.entities import TasteLevel

Body = Mapping[str, Any]
# Names of effective weights: the largest distance from 1, the name above 1, the name below 1.
WEIGHT_WORDS = (
    (0.15, gettext_noop("a bit more than usual"), gettext_noop("a bit less than usual")),
    (0.5, gettext_noop("more than usual"), gettext_noop("less than usual")),
    (float("inf"), gettext_noop("much more than usual"), gettext_noop("much less than usual")),
)
WEIGHT_OF_SOURCE = (
    (0.15, gettext_noop("a bit more from {source}"), gettext_noop("a bit less from {source}")),
    (0.5, gettext_noop("more from {source}"), gettext_noop("less from {source}")),
    (float("inf"), gettext_noop("much more from {source}"), gettext_noop("much less from {source}")),
)
# Two settings with the same name: the largest distance of a small step, and what to call it.
SMALL_STEP = 0.15
STEP_WORDS = {
    (True, True): gettext_noop("{weight}, a bit more than before"),
    (True, False): gettext_noop("{weight}, a bit less than before"),
    (False, True): gettext_noop("{weight}, more than before"),
    (False, False): gettext_noop("{weight}, less than before"),
}
# A weight this near to 1 makes no difference that a reader could notice.
AS_USUAL = 0.02
CAUSES = {
    "edit": gettext_noop("You changed it here"),
    "accept": gettext_noop("You accepted a suggestion"),
    "revert": gettext_noop("You went back"),
    "pin": gettext_noop("You pinned something"),
    "upgrade": gettext_noop("An update of Tidings changed it"),
}
# The prefix of the `cause_ref` of an early change that was applied: the number of answers behind it follows.
EARLY = "early:"
# That of a yes to the offer after an interview.
ORDERED = "order:interview"
# The prefix of that of an undo of one version, and of an undo of an undo: the version's number follows.
UNDONE, REDONE = "undo:", "redo:"
LEARNED_OVERNIGHT = gettext_noop("Learned from your ratings")
LEARNED_FROM_ANSWERS = gettext_noop("Learned from your answers")
LEARNED = {
    "liked_more_than_usual": gettext_noop("you found it useful more often than other sources"),
    "liked_less_than_usual": gettext_noop("you found it useful less often than other sources"),
}
MUTED = {
    "word": gettext_noop("the word “{value}”"),
    "phrase": gettext_noop("the phrase “{value}”"),
    "source": gettext_noop("the source “{value}”"),
    "author": gettext_noop("the author “{value}”"),
    "address": gettext_noop("addresses like “{value}”"),
    "category": gettext_noop("the category “{value}”"),
}
BY_DAY, BY_HOUR = gettext_noop("by whole days"), gettext_noop("by the hour")
LIKENESS_FIELD = "ai_score_alpha"
SETTINGS = {
    "recency_half_life_hours": gettext_noop("Hours until an article counts half"),
    "recency_by_day": gettext_noop("How articles age"),
    LIKENESS_FIELD: gettext_noop("Likeness to what you found useful"),
}


# How much the reader's own taste counts, by level.
TASTES: Mapping[str, str] = {
    TasteLevel.OFF: gettext_noop("does not count"),
    TasteLevel.ON: gettext_noop("counts"),
    TasteLevel.STRONG: gettext_noop("counts a lot"),
}


TASTE_CHANGES: Mapping[str, str] = {
    TasteLevel.OFF: gettext_noop("Your ratings no longer order your page"),
    TasteLevel.ON: gettext_noop("Your ratings order your page"),
    TasteLevel.STRONG: gettext_noop("Your ratings order your page strongly"),
}


def weight_words(weight: float) -> str:
    """Return an effective weight in words: 1.15 is "a bit more than usual", 0.85 "a bit less"."""
    if round(abs(weight - 1), 4) <= AS_USUAL:
        return _("as usual")
    return _(_size(WEIGHT_WORDS, weight))


def weight_parts_words(setting: float, thumbs: str) -> str:
    """Return the reader's own setting of a source in words, and beside it `thumbs`, what their thumbs do.

    Names like "more than usual" are for the setting alone. Thumbs are told in figures, "" if they do nothing.
    """
    if not thumbs:
        return weight_words(setting)
    return _("your setting: {setting}; your ratings: {thumbs}").format(
        setting=weight_words(setting), thumbs=thumbs
    )


def weight_step(before: float, after: float) -> tuple[str, str]:
    """Return two settings of a source in words. If their names are alike, the second says the direction."""
    words, words_after = weight_words(before), weight_words(after)
    if words != words_after or round(abs(after - before), 4) == 0:
        return words, words_after
    step = STEP_WORDS[round(abs(after - before), 4) <= SMALL_STEP, after > before]
    return words, _(step).format(weight=words)


def weight_of_source(weight: float, source: str) -> str:
    """Return the effect of a weight in words: "a bit less from Gazette", or "" if it is as usual."""
    if round(abs(weight - 1), 4) <= AS_USUAL:
        return ""
    return _(_size(WEIGHT_OF_SOURCE, weight)).format(source=source)


def _size(names: Iterable[tuple[float, str, str]], weight: float) -> str:
    distance = round(abs(weight - 1), 4)
    return next(more if weight > 1 else less for bound, more, less in names if distance <= bound)


# Settings that are either present or not, with a sentence for each.
SWITCHES: Mapping[str, tuple[str, str]] = {
    "topics": (gettext_noop("“{name}” joined your interests"), gettext_noop("“{name}” left your interests")),
    "locked": (
        gettext_noop("“{name}” locked against suggestions"),
        gettext_noop("“{name}” opened to suggestions"),
    ),
    "avoided": (
        gettext_noop("“{name}” is never to be suggested"),
        gettext_noop("“{name}” may be suggested again"),
    ),
    "literal": (
        gettext_noop("“{name}” matches by its words alone"),
        gettext_noop("“{name}” matches by meaning, too"),
    ),
    "by_meaning": (
        gettext_noop("“{name}” counts by meaning, too"),
        gettext_noop("“{name}” counts by its words alone"),
    ),
    "never_missed": (gettext_noop("{name}: never missed"), gettext_noop("{name}: no longer kept a place")),
}


# What a pin of the whole page keeps as it is, by its target.
PAGE_PINS: Mapping[str, str] = {
    "page": gettext_noop("The order by your ratings"),
    "freshness": gettext_noop("How fast news ages"),
}
# The marks of targets' keys, such as `author:ada`, in words. If a setting has several types of targets, the
# keys of all but one have a mark.
TARGET_TYPES: Mapping[str, str] = KIND_WORDS


def pin_name(pin: str, titles: Mapping[str, str]) -> str:
    """Return the target of a pin in the reader's words: "ada hill (author)" for `author:ada hill`."""
    if pin in titles or pin in PAGE_PINS:
        return titles.get(pin) or _(PAGE_PINS[pin])
    mark, _colon, name = pin.partition(":")
    return f"{name.strip()} ({_(TARGET_TYPES[mark])})" if _is_marked(pin) else pin


def _is_marked(pin: str) -> bool:
    """Return whether a pin begins with the mark of a type of targets, and names one."""
    mark, _colon, name = pin.partition(":")
    return mark in TARGET_TYPES and bool(name.strip())


def change_words(change: Mapping[str, Any], titles: Mapping[str, str] | None = None) -> str:
    """Return one row of `body_changes` as a sentence. `titles` has the names of sources by key."""
    field, target, before, after = change["field"], change["target"], change["before"], change["after"]
    known = titles or {}
    if field in SWITCHES:
        there, gone = SWITCHES[field]
        return _(there if after else gone).format(name=_switch_name(field, target, known))
    if field in OF_A_TARGET:
        return OF_A_TARGET[field](known.get(target, target), before, after)
    if field == "mutes":
        return _mute_words(target, after, known)
    label = _(SETTINGS[field]) if field in SETTINGS else field
    return f"{label}: {_setting(field, before)} → {_setting(field, after)}"


def _switch_name(field: str, target: str, titles: Mapping[str, str]) -> str:
    """Return the target of a switch in the reader's words. A topic goes by its own name."""
    if field in (LOCKED, AVOIDED):
        return pin_name(target, titles)
    return target if field == "topics" else titles.get(target, target)


def _weight_words(name: str, before: float, after: float) -> str:
    """Return a change of a source's weight in words."""
    if before == after:
        return _("{name}: stays {weight}").format(name=name, weight=weight_words(after))
    words, words_after = weight_step(before, after)
    return f"{name}: {words_after if words_after.startswith(words) else f'{words} → {words_after}'}"


def _names_changed(name: str, before: Sequence[str] | None, after: Sequence[str] | None) -> str:
    """Return a change of a topic's other names in words."""
    words = _("“{name}”: other names {before} → {after}")
    return words.format(name=name, before=names_words(before), after=names_words(after))


def _shelf_life_words(name: str, before: int | None, after: int | None) -> str:
    """Return a change of a source's shelf life in words."""
    words = _("{name}: shelf life {before} → {after}")
    return words.format(name=name, before=hours_words(before), after=hours_words(after))


def _limit_changed(name: str, before: int | None, after: int | None) -> str:
    """Return a change of how many items a day a source may have, in words."""
    return f"{name}: {limit_words(before)} → {limit_words(after)}"


def _taste_changed(_name: str, _before: str | None, after: str) -> str:
    """Return a change of how much taste counts, in words."""
    return _(TASTE_CHANGES.get(after, after))


def _boost_words(word: str, before: float | None, after: float | None) -> str:
    """Return a change of a word's boost: its level in words, any other number as it is."""
    if after is None:
        return _("As much about “{word}” as usual").format(word=word)
    words = _("More about “{word}”") if after > (before or 0.0) else _("Less about “{word}”")
    exact = "" if after in BOOSTS.values() and before is None else f" ({_boost(before)} → {_boost(after)})"
    return words.format(word=word) + exact


def _half_life_words(_name: str, before: float, after: float) -> str:
    """Return a change of the half-life in hours as its effect on the news."""
    if after < before:
        words = _("News ages {times} times as fast")
        return words.format(times=figure(before / after, ".2g"))
    words = _("News stays {times} times as long")
    return words.format(times=figure(after / before, ".2g"))


def taste_words(level: str) -> str:
    """Return how much the reader's own taste counts."""
    return _(TASTES.get(level, level))


# Settings whose change is a sentence of its own, made of the target's name, the value before and that after.
OF_A_TARGET: Mapping[str, Callable[[str, Any, Any], str]] = {
    "source_weights": _weight_words,
    "keyword_boosts": _boost_words,
    "other_names": _names_changed,
    "shelf_lives": _shelf_life_words,
    "daily_limits": _limit_changed,
    "taste": _taste_changed,
    "recency_half_life_hours": _half_life_words,
}


def mute_label(mute: Mute, titles: Mapping[str, str] | None = None) -> str:
    """Return a mute in words: "the word “bitcoin”". `titles` has names of sources by key."""
    names = titles or {}
    value = names.get(mute.value, mute.value) if mute.kind == "source" else mute.value
    label = _(MUTED[mute.kind]).format(value=value)
    if not mute.within:
        return label
    return _("{label} in {source}").format(label=label, source=names.get(mute.within, mute.within))


def sources_named(changes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the keys of all sources that these `body_changes` name, for the titles in `change_words`.

    Targets that are no sources are among them.
    """
    targets = {change["target"] for change in changes}
    mutes = [_mute_read(target) for target in targets if ":" in target]
    return targets | {mute.value for mute in mutes} | {mute.within for mute in mutes if mute.within}


def _mute_read(target: str) -> Mute:
    """Return the mute that `body_changes` names so."""
    where, _colon, value = target.partition(":")
    kind, _at, within = where.partition("@")
    return Mute(kind, value, within=unquote(within))


def _mute_words(target: str, after: str | bool, titles: Mapping[str, str]) -> str:
    """Return a change of a mute in words; `target` is as `body_changes` names it."""
    label = mute_label(_mute_read(target), titles)
    if not after:
        return _("No longer muted: {label}").format(label=label)
    if after is True:
        return _("Muted for ever: {label}").format(label=label)
    return _("Muted until {day}: {label}").format(day=date_words(date.fromisoformat(after)), label=label)


def names_words(names: Sequence[str] | None) -> str:
    """Return the other names of a topic in words."""
    return ", ".join(map(quoted, names or ())) or _("none")


def body_words(body: Mapping[str, Any], titles: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Return the settings of a config's body as (label, words), except weights, which have their own list.

    `titles` has names of sources by key.
    """
    names = titles or {}
    boosts = ", ".join(f"{word} {_boost(value)}" for word, value in body["keyword_boosts"].items())
    mutes = ", ".join(mute_label(mute, names) for mute in mutes_read(body.get("mutes", [])))
    return [
        (_("Topics"), ", ".join(_topic_words(topic, body) for topic in body["topics"]) or _("none")),
        (_("Keywords"), boosts or _("none")),
        (pgettext("settings", "Muted"), mutes or _("nothing")),
        *((_(label), _setting(name, body.get(name, False))) for name, label in SETTINGS.items()),
        (_("Your taste"), taste_words(body.get("taste", TasteLevel.OFF))),
        *_rules_words(body, names),
    ]


def _topic_words(topic: str, body: Mapping[str, Any]) -> str:
    """Return a topic with its other names: "tennis (“Wimbledon”)"."""
    names = names_read(body).get(topic_key(topic), ())
    return f"{topic} ({names_words(names)})" if names else topic


def _rules_words(body: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the rules for single sources as (label, words). Kinds without a rule are left out."""
    lives = [(key, hours_words(hours)) for key, hours in body.get("shelf_lives", {}).items()]
    limits = [(key, limit_words(most)) for key, most in body.get("daily_limits", {}).items()]
    missed = [(key, "") for key in body.get("never_missed", [])]
    rows = (_("Shelf life"), lives), (_("Daily limit"), limits), (_("Never missed"), missed)
    return [
        (label, ", ".join(f"{names.get(key, key)} {words}".strip() for key, words in some))
        for label, some in rows
        if some
    ]


def _setting(name: str, value: float | bool) -> str:
    """Return a setting of one value in words; the only one that is yes or no is how articles age."""
    if isinstance(value, bool):
        return _(BY_DAY if value else BY_HOUR)
    if name == LIKENESS_FIELD and (level := next((one for at, one in LIKENESS.values() if at == value), "")):
        return _(level)
    return figure(value, "g")


def _boost(value: float | None) -> str:
    return _("none") if value is None else figure(value, "+g")


def cause_words(cause: str, ref: str) -> str:
    """Return the cause of a version as a sentence. For a revert it names the version restored."""
    if cause == "edit" and ref.startswith("source:"):
        return _("The operator joined or renamed a source")
    if cause == "accept" and ref.startswith(EARLY):
        answers = ref.removeprefix(EARLY)
        return _("You applied an early change, after {answers} answers").format(answers=answers)
    if cause == "accept" and ref == ORDERED:
        return _("You said yes after an interview")
    if cause != "revert":
        return _(CAUSES.get(cause, cause))
    if ref.startswith(UNDONE):
        return _("You undid a change")
    if ref.startswith(REDONE):
        return _("You brought back what you had undone")
    if ref.startswith("revert:"):
        return _("You undid a suggestion")
    if ref.startswith("learned:"):
        return _("You undid what was learned from your ratings")
    if ref == "0":
        return _("You went back to the defaults")
    return _("You went back to version {version}").format(version=ref)


def learned_words(before: float, after: float, reason: str) -> str:
    """Return one step of the learning loop as a sentence: in figures, since words are for settings."""
    return f"{times(figure(before))} → {times(figure(after))}: {_(LEARNED.get(reason, reason))}"


def steps_in_force(
    steps: Sequence[tuple[str, float, float]], weights: Mapping[str, float], learned: Mapping[str, float]
) -> list[bool]:
    """Return for each learning step whether it is still in force.

    `steps` are (source, weight before, weight after), newest first. `weights` are today's effective weights,
    `learned` the deltas in them. A step is in force if it led to today's weight, or to the weight at which a
    later step in force began.
    """
    led_to = {source: weights.get(source) for source in learned}
    found = []
    for source, before, after in steps:
        wanted = led_to.get(source)
        found.append(wanted is not None and abs(after - wanted) < SAME_WEIGHT)
        if found[-1]:
            led_to[source] = before
    return found


def boost_lines(boosts: Mapping[str, float]) -> str:
    """Return keyword boosts as the settings form shows them: one line each, `word: more` or `word: 0.8`."""
    names = {boost: level_words(name) for name, boost in BOOSTS.items()}
    return "\n".join(f"{word}: {names.get(boost) or figure(boost, 'g')}" for word, boost in boosts.items())


LOCKED, AVOIDED, OPEN = "locked", "avoided", "open"
# The choices for a target, in the words of the page.
CHOICES = {
    OPEN: gettext_noop("May be suggested"),
    LOCKED: gettext_noop("Leave as it is"),
    AVOIDED: gettext_noop("Never suggest"),
}
# No target is longer than the longest key of a source.
TARGET_MAX_CHARS = 120


@dataclass(frozen=True, slots=True)
class PinRow:
    """One source or topic with its options: (value that the form sends, words, whether it is chosen)."""

    target: str
    name: str
    options: tuple[tuple[str, str, bool], ...]


def pin_rows(
    names: Mapping[str, str],
    topics: Sequence[str],
    locked: Sequence[str],
    avoided: Sequence[str],
    typed: Mapping[str, str],
) -> dict[str, list[PinRow]]:
    """Return the rows of topics, sources, mutes and the whole page by heading, each sorted by name.

    `names` (key -> title) includes pinned sources that the reader no longer follows. A topic's target is its
    key, or its spelling in a pin. A pin that is no source or topic any more counts as a topic, unless its
    mark names another type of target. `typed` (target -> choice) has choices that are not saved yet.
    """
    pins = dict.fromkeys(locked, LOCKED) | dict.fromkeys(avoided, AVOIDED)
    spelled = {topic_key(topic): topic for topic in topics}
    of_page = {pin: pin_name(pin, {}) for pin in pins if pin in PAGE_PINS and pin not in spelled}
    of_mutes = {pin: pin_name(pin, {}) for pin in pins if _is_marked(pin) and pin not in {*names, *spelled}}
    of_topics = {topic_key(pin): pin for pin in pins if pin not in {*names, *of_page, *of_mutes}}
    keys = {key: of_topics.get(key, key) for key in {*of_topics, *spelled}}
    about = [(target, spelled.get(key) or pin_name(target, {})) for key, target in keys.items()]
    found: Mapping[str, Iterable[tuple[str, str]]] = {
        _("Topics"): about,
        _("Sources"): names.items(),
        _("Authors and words to hide"): of_mutes.items(),
        _("Your page"): of_page.items(),
    }
    return {heading: rows for heading, some in found.items() if (rows := _rows(some, pins, typed))}


def _rows(
    about: Iterable[tuple[str, str]], pins: Mapping[str, str], typed: Mapping[str, str]
) -> list[PinRow]:
    rows = [_row(target, name, pins.get(target, OPEN), typed) for target, name in about]
    return sorted(rows, key=lambda row: (row.name.casefold(), row.target))


def _row(target: str, name: str, current: str, typed: Mapping[str, str]) -> PinRow:
    """Make a row. Its current option sends an empty value, so a save only changes pins that were changed."""
    chosen = typed.get(target, current)
    options = (("" if code == current else code, _(words), code == chosen) for code, words in CHOICES.items())
    return PinRow(target, name, tuple(options))
