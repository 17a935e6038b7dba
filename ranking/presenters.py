"""Ranking in plain words: weights, changes of a config, and why a version came about. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]
# How far an effective weight may be from 1 and still go by each name, either way; `much` has no bound.
WEIGHT_WORDS = ((0.15, "a bit "), (0.5, ""))
# Weights nearer to each other than this are one, stored on two ways.
SAME_WEIGHT = 1e-6
# Nearer to 1 than this, nobody would notice a difference.
AS_USUAL = 0.02
CAUSES = {
    "edit": "You changed it here",
    "accept": "You accepted a suggestion",
    "revert": "You went back",
    "pin": "You pinned something",
}
LEARNED = {
    "liked_more_than_usual": "you found it useful more often than other sources",
    "liked_less_than_usual": "you found it useful less often than other sources",
}
SETTINGS = {"recency_half_life_hours": "Freshness (hours to half)", "ai_score_alpha": "Similarity share"}


def weight_words(weight: float) -> str:
    """An effective weight as a reader would say it: 1.15 is "a bit more than usual", 0.85 "a bit less"."""
    way = round(abs(weight - 1), 4)
    if way <= AS_USUAL:
        return "as usual"
    size = next((word for bound, word in WEIGHT_WORDS if way <= bound), "much ")
    return f"{size}{'more' if weight > 1 else 'less'} than usual"


def change_words(change: Mapping[str, Any], titles: Mapping[str, str] | None = None) -> str:
    """One row of `body_changes` as a sentence; `titles` names sources by key."""
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
        case _:
            return f"{SETTINGS.get(field, field)}: {before:g} → {after:g}"


def body_words(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The plain settings of a config's body as (label, words); weights have a list of their own."""
    boosts = ", ".join(f"{word} {value:+g}" for word, value in body["keyword_boosts"].items())
    return [
        ("Topics", ", ".join(body["topics"]) or "none"),
        ("Keywords", boosts or "none"),
        (SETTINGS["recency_half_life_hours"], f"{body['recency_half_life_hours']:g}"),
        (SETTINGS["ai_score_alpha"], f"{body['ai_score_alpha']:g}"),
    ]


def _boost(value: float | None) -> str:
    return "none" if value is None else f"{value:+g}"


def cause_words(cause: str, ref: str) -> str:
    """Why a version came about, naming the version gone back to."""
    words = CAUSES.get(cause, cause)
    if cause == "edit" and ref.startswith("source:"):
        return "The operator joined or renamed a source"
    if cause != "revert":
        return words
    if ref.startswith("revert:"):
        return "You took a suggestion back"
    return f"{words} to {'the defaults' if ref == '0' else f'version {ref}'}"


def learned_words(before: float, after: float, reason: str) -> str:
    """One step of the learning loop as a sentence."""
    why = LEARNED.get(reason, reason)
    return f"{weight_words(before)} → {weight_words(after)} ({before:.2f} → {after:.2f}): {why}"


def steps_in_force(
    steps: Sequence[tuple[str, float, float]], weights: Mapping[str, float], learned: Mapping[str, float]
) -> list[bool]:
    """Which learning steps (source, weight before, after; newest first) the settings of today still hold.

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


def taught_back(changes: Sequence[Mapping[str, Any]], now: Body, then: Body) -> list[Mapping[str, Any]]:
    """Those of `changes` (`body_changes` from `now` to `then`) that undo what thumbs have taught."""
    return [
        change
        for change in changes
        if change["field"] == "source_weights"
        and now["learned"].get(change["target"], 0.0) != then["learned"].get(change["target"], 0.0)
    ]


def boost_lines(boosts: Mapping[str, float]) -> str:
    """Keyword boosts as the settings form shows them, `word: 0.5` a line."""
    return "\n".join(f"{word}: {boost:g}" for word, boost in boosts.items())
