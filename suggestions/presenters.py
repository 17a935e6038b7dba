"""Suggestions in plain words: headlines, levels, forecasts, what became of them, what went wrong. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranking.presenters import weight_words
from suggestions.beliefs import MEANING
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    TOPIC_TYPES,
    Preview,
)
from suggestions.teaching import SENTENCES as TEACHINGS
from suggestions.values import weight_bounds

HEADLINES = {
    BOOST_SOURCE: "Show me more from {}",
    REDUCE_SOURCE: "Show me less from {}",
    ADD_TOPIC: "Add “{}” to your interests",
    REMOVE_TOPIC: "Remove “{}” from your interests",
}
SENTENCES = {
    ADD_TOPIC: "“{}” becomes one of your topics: items that mention it move up.",
    REMOVE_TOPIC: "“{}” stops being one of your topics: items that mention it are ranked like any other.",
}
# The largest change of a weight that still goes by each name.
LEVELS = ((0.15, "Small"), (0.25, "Moderate"))
STATUSES = {
    "accepted": "Accepted",
    "rejected": "Dismissed",
    "snoozed": "Put off for a week",
    "superseded": "Overtaken by your own change",
    "expired": "Expired unanswered",
    "reverted": "Accepted, then reverted",
    "taken_back": "Dismissed, then taken back",
    "undone": "Accepted, then taken back at once",
    "never": "Never to be suggested again",
    "never_taken_back": "Never to be suggested again, then taken back",
}
# The reason stored with a rejection that pins the target.
NEVER = "never"
# Reasons to reject for one tap: each means one code of `suggestions.reasons`.
WHY_NOT = (
    "It is fine as it is",
    "I am not interested in this",
    "The step is too large",
    "Too soon to say",
    "I am not convinced",
)
# Noted with a suggestion that came back as a copy, by the answer that was taken back.
BROUGHT_BACK = {
    "accepted": "You accepted this and took that back at once.",
    "rejected": "You turned this down and took that back.",
}
CAME_BACK = "the same suggestion, after you took your first answer back"
NOT_IN_FORCE = "No longer in force: your settings are as they were before."
UNDO = {"accepted": "Revert", "rejected": "Undo", "snoozed": "Bring it back"}
# For an accept of the last minutes.
UNDO_AT_ONCE = "Undo"
EFFECTS = {
    "helped": "Checked two weeks later: it helped.",
    "harmed": "Checked two weeks later: it made your digest worse.",
    "unclear": "Checked two weeks later: no clear difference.",
}
DONE = {
    "accept": "✓ Applied",
    "reject": "✗ Dismissed",
    "snooze": "Not now: it comes back in a week",
    "never": "✗ Never to be suggested again",
    "revert": "Put back as it was",
    "undo": "Taken back",
}
ERRORS = {
    "already_resolved": "Already handled",
    "invalid_weight": "Couldn’t apply this change",
    "missing_target_key": "This suggestion is no longer valid",
    "not_found": "Suggestion not found",
    "config_changed": "Your settings changed meanwhile, so nothing was applied",
    "too_late": "That was too long ago to take back",
    "not_logged_in": "You are signed out, so nothing was done",
    "csrf_failed": "You are signed out, so nothing was done",
}
ERROR_OTHER = "Something went wrong. Please try again."
MEASURED_ON = "The words for confidence were measured on simulated readers."
# With how many wait for {}.
ACCEPT_ALL = "Accept all {}"
ALL_DONE = "All done! Your preferences have been updated."
ALL_KEPT = "All done! Your preferences stay as they are."
# nDCG changes below this move no item a reader would miss.
GAIN_MIN = 0.005


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values a reader may agree to instead of the proposed one."""

    low: str
    high: str


def error_words(code: str) -> str:
    """What went wrong, for the reader; codes nobody foresaw get the general answer."""
    return ERRORS.get(code, ERROR_OTHER)


def refusal_words(code: str, message: str) -> str:
    """`error_words`, and the details where the reader can do something about it."""
    words = error_words(code)
    return f"{words}. {message}" if code in {"invalid_weight", "config_changed"} else words


def script_words() -> dict[str, Any]:
    """The words the page's script needs, from the same tables as the page itself."""
    return {
        "done": DONE,
        "teaches": TEACHINGS,
        "errors": ERRORS,
        "other": ERROR_OTHER,
        "all_done": ALL_DONE,
        "all_kept": ALL_KEPT,
        "undo": UNDO["rejected"],
        "accept_all": ACCEPT_ALL,
    }


def headline(suggestion_type: str, label: str) -> str:
    """What a suggestion asks, as the reader would say it."""
    return HEADLINES[suggestion_type].format(label)


def sentence(suggestion_type: str, label: str) -> str:
    """What a change of topics does; nothing for sources, whose change is shown in figures."""
    return SENTENCES.get(suggestion_type, "").format(label)


def settled_status(status: str, *, decided: str, reverted: bool, never: bool) -> str:
    """What became of a suggestion that was `decided` one way, in words."""
    back = STATUSES["never_taken_back" if never else "taken_back"]
    if status == "taken_back":
        return STATUSES["undone"] if decided == "accepted" else back
    if reverted:
        return STATUSES["reverted"] if status == "accepted" else back
    return STATUSES.get("never" if never else status, status)


def effect_words(outcome: str, measured: Mapping[str, Any]) -> str:
    """What the check after two weeks found, with the like-rates it compared where it says so."""
    words = EFFECTS.get(outcome, "")
    return " ".join(part for part in (words, str(measured.get("words", ""))) if part)


def number_of(value: object) -> float | None:
    """`value` as a number, if it is one."""
    try:
        return float(str(value))
    except ValueError:
        return None


def level(suggestion_type: str, current: object, suggested: object) -> str:
    """ "Small boost", "Big reduction"; nothing for topics, or unless both values are numbers."""
    before, after = number_of(current), number_of(suggested)
    if suggestion_type in TOPIC_TYPES or before is None or after is None:
        return ""
    size = round(abs(after - before), 4)
    name = next((word for bound, word in LEVELS if size <= bound), "Big")
    return f"{name} {'boost' if after > before else 'reduction'}"


def weight_phrase(value: object) -> str:
    """An effective weight in words with its figure: "a bit more than usual (1.15)"."""
    number = number_of(value)
    return str(value) if number is None else f"{weight_words(number)} ({number:.2f})"


def bounds(kind: str, current: float) -> Bounds:
    """What to offer instead: up to 0.3 from the current weight in the suggestion's direction, in range."""
    low, high = weight_bounds(current, kind)
    return Bounds(f"{low:.2f}", f"{high:.2f}")


def confidence_words(level: str) -> str:
    """How sure, and what that is worth: "High confidence: nearly all such changes helped, …"."""
    return f"{level.capitalize()} confidence: {MEANING[level]}."


def today_words(preview: Preview) -> str:
    """What a change would do to today's digest, in numbers."""
    moves = len(preview.moves)
    if not (preview.enters or preview.leaves or moves):
        return "In today’s digest: nothing moves."
    if not (preview.enters or preview.leaves):
        return f"In today’s digest: the same articles, {moves} of them in another place."
    return (
        f"In today’s digest: {len(preview.enters)} in, {len(preview.leaves)} out, {moves} to another place."
    )


def evidence_words(count: int) -> str:
    """How many of the rated items behind a suggestion stand below it: examples, not all of them."""
    if not count:
        return "No single item is shown as evidence."
    return f"{count} of the items you rated {'is' if count == 1 else 'are'} shown as evidence."


def move_words(before: int | None, after: int | None) -> str:
    """Where an item would go in today's digest; `None` is outside."""
    if before is None:
        return f"Comes in at {after}"
    if after is None:
        return f"Drops out from {before}"
    return f"{'Up' if after < before else 'Down'} from {before} to {after}"


def forecast_words(forecast: Mapping[str, Any]) -> str:
    """What was measured: the order of thumbs kept apart with and without the change, never oversold."""
    gain = forecast.get("ndcg_gain")
    low, high = forecast.get("ndcg_low"), forecast.get("ndcg_high")
    if gain is None or low is None or high is None:
        return "Not measured yet: too few thumbs had no part in suggesting it."
    if low > GAIN_MIN:
        return "Tried on thumbs kept apart: what you liked would have stood higher."
    if high < -GAIN_MIN:
        return "Tried on thumbs kept apart: what you liked would have stood lower."
    lean = (
        "slightly higher" if gain > GAIN_MIN else "slightly lower" if gain < -GAIN_MIN else "about the same"
    )
    return f"Tried on thumbs kept apart: {lean}, within chance."


def forecast_figures(forecast: Mapping[str, Any]) -> str:
    """How likely the direction is, the measured figures behind `forecast_words`, and what they leave out."""
    parts = []
    if (chance := forecast.get("p_helpful")) is not None:
        likely = "over 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"
        parts.append(f"{likely} likely that the direction is right")
    if forecast.get("ndcg_gain") is not None:
        parts.append(
            f"nDCG@10 {forecast['ndcg_gain']:+.3f} "
            f"(90 % between {forecast['ndcg_low']:+.3f} and {forecast['ndcg_high']:+.3f})"
        )
        parts.append("changes that tested as worse are usually not shown")
    return "; ".join(parts)
