"""Ranking in plain words: weights, changes of a config, and why a version came about. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranking.common.text import topic_key
from ranking.entities import SAME_WEIGHT
from ranking.levels import BOOSTS

Body = Mapping[str, Any]
# How far an effective weight may be from 1, up or down, for each name; `much` has no bound.
WEIGHT_WORDS = ((0.15, "a bit "), (0.5, ""))
# Weights nearer to each other than this are the same, but for rounding.
# Nearer to 1 than this, nobody would notice a difference.
AS_USUAL = 0.02
CAUSES = {
    "edit": "You changed it here",
    "accept": "You accepted a suggestion",
    "revert": "You went back",
    "pin": "You pinned something",
}
LEARNED_OVERNIGHT = "Learned from your thumbs"
LEARNED_FROM_ANSWERS = "Learned from your answers"
LEARNED = {
    "liked_more_than_usual": "you found it useful more often than other sources",
    "liked_less_than_usual": "you found it useful less often than other sources",
}
MUTED = {
    "word": "the word",
    "phrase": "the phrase",
    "source": "the source",
    "author": "the author",
    "address": "addresses like",
    "category": "the category",
}
SETTINGS = {"recency_half_life_hours": "Freshness (hours to half)", "ai_score_alpha": "Similarity share"}


def weight_words(weight: float) -> str:
    """Return an effective weight in words: 1.15 is "a bit more than usual", 0.85 "a bit less"."""
    distance = round(abs(weight - 1), 4)
    if distance <= AS_USUAL:
        return "as usual"
    size = next((word for bound, word in WEIGHT_WORDS if distance <= bound), "much ")
    return f"{size}{'more' if weight > 1 else 'less'} than usual"


def change_words(change: Mapping[str, Any], titles: Mapping[str, str] | None = None) -> str:
    """Return one row of `body_changes` as a sentence; `titles` names sources by key."""
    field, target, before, after = change["field"], change["target"], change["before"], change["after"]
    name = (titles or {}).get(target, target)
    match field:
        case "topics":
            return f"“{target}” {'joined' if after else 'left'} your interests"
        case "source_weights" if before == after:
            return f"{name}: stays {weight_words(after)} ({after:.2f})"
        case "source_weights":
            return f"{name}: {weight_words(before)} → {weight_words(after)} ({before:.2f} → {after:.2f})"
        case "keyword_boosts":
            return f"Keyword “{target}”: {_boost(before)} → {_boost(after)}"
        case "locked":
            return f"“{name}” {'locked against' if after else 'opened to'} suggestions"
        case "avoided":
            return f"“{name}” {'is never to be suggested' if after else 'may be suggested again'}"
        case "mutes":
            return _mute_words(target.partition(":"), after, titles or {})
        case _:
            return f"{SETTINGS.get(field, field)}: {before:g} → {after:g}"


def mute_label(kind: str, value: str, titles: Mapping[str, str] | None = None) -> str:
    """Return what a mute hides, in words: "the word “bitcoin”"; `titles` names sources by key."""
    return f"{MUTED[kind]} “{(titles or {}).get(value, value) if kind == 'source' else value}”"


def _mute_words(target: tuple[str, str, str], after: str | bool, titles: Mapping[str, str]) -> str:
    label = mute_label(target[0], target[2], titles)
    until = "for ever" if after is True else f"until {after}"
    return f"Muted {until}: {label}" if after else f"No longer muted: {label}"


def body_words(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the plain settings of a config's body as (label, words); weights have a list of their own."""
    boosts = ", ".join(f"{word} {value:+g}" for word, value in body["keyword_boosts"].items())
    return [
        ("Topics", ", ".join(body["topics"]) or "none"),
        ("Keywords", boosts or "none"),
        ("Muted", ", ".join(mute_label(m["kind"], m["value"]) for m in body.get("mutes", [])) or "nothing"),
        (SETTINGS["recency_half_life_hours"], f"{body['recency_half_life_hours']:g}"),
        (SETTINGS["ai_score_alpha"], f"{body['ai_score_alpha']:g}"),
    ]


def _boost(value: float | None) -> str:
    return "none" if value is None else f"{value:+g}"


def cause_words(cause: str, ref: str) -> str:
    """Return why a version came about, naming the version gone back to."""
    words = CAUSES.get(cause, cause)
    if cause == "edit" and ref.startswith("source:"):
        return "The operator joined or renamed a source"
    if cause == "accept" and ref.startswith("early:"):
        return f"You applied an early change, after {ref.removeprefix('early:')} answers"
    if cause != "revert":
        return words
    if ref.startswith("revert:"):
        return "You took a suggestion back"
    if ref.startswith("learned:"):
        return "You took back what was learned from your thumbs"
    return f"{words} to {'the defaults' if ref == '0' else f'version {ref}'}"


def learned_words(before: float, after: float, reason: str) -> str:
    """Return one step of the learning loop as a sentence."""
    why = LEARNED.get(reason, reason)
    return f"{weight_words(before)} → {weight_words(after)} ({before:.2f} → {after:.2f}): {why}"


def steps_in_force(
    steps: Sequence[tuple[str, float, float]], weights: Mapping[str, float], learned: Mapping[str, float]
) -> list[bool]:
    """Return which learning steps (source, weight before, after; newest first) are still in force.

    `weights` are the effective ones, `learned` the deltas among them. A step is in force where it led to the
    weight of today, or to where a later step that is in force began.
    """
    led_to = {source: weights.get(source) for source in learned}
    found = []
    for source, before, after in steps:
        wanted = led_to.get(source)
        found.append(wanted is not None and abs(after - wanted) < SAME_WEIGHT)
        if found[-1]:
            led_to[source] = before
    return found


def learned_changes_undone(
    changes: Sequence[Mapping[str, Any]], now: Body, then: Body
) -> list[Mapping[str, Any]]:
    """Return those of `changes` (`body_changes` from `now` to `then`) that undo what was learned."""
    return [
        change
        for change in changes
        if change["field"] == "source_weights"
        and now["learned"].get(change["target"], 0.0) != then["learned"].get(change["target"], 0.0)
    ]


def boost_lines(boosts: Mapping[str, float]) -> str:
    """Return keyword boosts as the settings form shows them, `word: more` or `word: 0.8` a line."""
    names = {boost: name for name, boost in BOOSTS.items()}
    return "\n".join(f"{word}: {names.get(boost, f'{boost:g}')}" for word, boost in boosts.items())


LOCKED, AVOIDED, OPEN = "locked", "avoided", "open"
# What a reader may say of a target, in the words the page offers.
CHOICES = {OPEN: "May be suggested", LOCKED: "Leave as it is", AVOIDED: "Never suggest"}
# A source's key is the longest target there is.
TARGET_MAX_CHARS = 120


@dataclass(frozen=True, slots=True)
class PinRow:
    """One source or topic and its options: what the form sends, in words, whether it is chosen."""

    target: str
    name: str
    options: tuple[tuple[str, str, bool], ...]


def pin_rows(
    names: Mapping[str, str],
    topics: Sequence[str],
    locked: Sequence[str],
    avoided: Sequence[str],
    typed: Mapping[str, str],
) -> tuple[list[PinRow], list[PinRow]]:
    """Return the rows of the sources and those of the topics, each in order of name.

    `names` (key -> title) has also the pinned sources that are no longer read. A topic goes by its key, or as
    it was pinned; a pin that is neither a source nor a topic any more is among the topics. `typed` (target ->
    choice) is what was chosen and not saved yet.
    """
    pins = dict.fromkeys(locked, LOCKED) | dict.fromkeys(avoided, AVOIDED)
    of_topics = {topic_key(pin): pin for pin in pins if pin not in names}
    spelled = {topic_key(topic): topic for topic in topics}
    keys = {key: of_topics.get(key, key) for key in {*of_topics, *spelled}}
    about = [(target, spelled.get(key, target)) for key, target in keys.items()]
    return _rows(names.items(), pins, typed), _rows(about, pins, typed)


def _rows(
    about: Iterable[tuple[str, str]], pins: Mapping[str, str], typed: Mapping[str, str]
) -> list[PinRow]:
    rows = [_row(target, name, pins.get(target, OPEN), typed) for target, name in about]
    return sorted(rows, key=lambda row: (row.name.casefold(), row.target))


def _row(target: str, name: str, current: str, typed: Mapping[str, str]) -> PinRow:
    """Make a row; the current option sends nothing, so that a save changes only what was chosen anew."""
    chosen = typed.get(target, current)
    options = (("" if code == current else code, words, code == chosen) for code, words in CHOICES.items())
    return PinRow(target, name, tuple(options))
