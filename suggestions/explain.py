"""Suggestions in plain words: headlines, forecasts, outcomes and errors. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranking.explain import weight_words
from suggestions.entities import (
    ADD_TOPIC,
    BOOST_SOURCE,
    LIKED_TYPES,
    REDUCE_SOURCE,
    REMOVE_TOPIC,
    TOPIC_TYPES,
    Preview,
)
from suggestions.planner.hypotheses import GAIN_MIN, MEANING, confidence_capped
from suggestions.rules import weight_bounds, weight_text

REASON_MAX_CHARS = 500
# A step of the effective weight up to this is "a bit".
A_BIT = 0.15
# The largest change of a weight that still goes by each name.
LEVELS = ((0.15, "Small"), (0.25, "Moderate"))
HEADLINES = {
    BOOST_SOURCE: "Show me more from {}",
    REDUCE_SOURCE: "Show me less from {}",
    ADD_TOPIC: "Add “{}” to your interests",
    REMOVE_TOPIC: "Remove “{}” from your interests",
}
TOPIC_SENTENCES = {
    ADD_TOPIC: "“{}” becomes one of your topics: articles that mention it move up.",
    REMOVE_TOPIC: "“{}” stops being one of your topics: articles that mention it are ranked like any other.",
}
# The effect of each answer on later suggestions.
SENTENCES = {
    "accept": "We will offer more changes like this one, and check in two weeks whether it helped.",
    "edit": "We will remember how large a step you like, and check in two weeks whether it helped.",
    "reject": "We will make fewer suggestions of this kind, and leave this one alone for a while.",
    "reject_reason": "We will make fewer suggestions of this kind, and take your reason into account.",
    "never": "We will not suggest this again.",
    "snooze": "We will ask again in a week; this counts neither for nor against it.",
    "expired": "You did not answer, so we learn nothing about it, except to ask less often.",
    "superseded": "You changed this yourself, so we learn nothing from it.",
    "revert": "We count this as a no, and will be more careful with changes of this kind.",
    "undo": "We forget that answer; the suggestion is open again.",
    "helped": "This worked, so changes of this kind are worth offering you.",
    "harmed": "This did not work, so we will be more careful with changes of this kind.",
    "unclear": "This showed no clear difference, so we learn nothing from it.",
}
STATUSES = {
    "accepted": "Accepted",
    "rejected": "Rejected",
    "snoozed": "Put off for a week",
    "superseded": "Replaced by your own change",
    "expired": "Expired unanswered",
    "reverted": "Accepted, then reverted",
    "taken_back": "Rejected, then undone",
    "undone": "Accepted, then undone at once",
    "never": "Never to be suggested again",
    "never_taken_back": "Never to be suggested again, then undone",
}
# Reasons behind "No" for one tap: each means one code of `suggestions.outcomes.profile`.
WHY_NOT = (
    "It is fine as it is",
    "I am not interested in this",
    "The step is too large",
    "Too soon to say",
    "I am not convinced",
)
# Stored as a note of a suggestion that came back as a copy, by the answer that was undone: pages recognise
# the copy by this text.
BROUGHT_BACK = {
    "accepted": "You accepted this and took that back at once.",
    "rejected": "You turned this down and took that back.",
}
CAME_BACK = "the same suggestion, after you undid your first answer"
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
    "reject": "✗ Rejected",
    "snooze": "Later: it comes back in a week",
    "never": "✗ Never to be suggested again",
    "revert": "Put back as it was",
    "undo": "Undone",
}
ERRORS = {
    "already_resolved": "Already answered",
    "invalid_weight": "Couldn’t apply this change",
    "missing_target_key": "This suggestion is no longer valid",
    "not_found": "Suggestion not found",
    "config_changed": "Your settings changed meanwhile, so nothing was applied",
    "too_late": "That was too long ago to undo",
    "not_logged_in": "You are signed out, so nothing was done",
    "csrf_failed": "You are signed out, so nothing was done",
}
# The end of a run without suggestions, where code knows no closer reason.
NO_CHANGE = "Nothing was found that your ratings support clearly enough."
ERROR_OTHER = "Something went wrong. Please try again."
MEASURED_ON = "The confidence levels were measured on later ratings of real readers, of films."
# With the number of pending suggestions for {}.
ACCEPT_ALL = "Accept all {}"
ALL_DONE = "All done! Your preferences have been updated."
NOTHING_CHANGED = "All done! Your preferences stay as they are."


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and highest weight a reader may choose instead of the proposed one."""

    low: str
    high: str


def reason_sentence(
    kind: str,
    label: str,
    likes: int,
    thumbs: int,
    else_likes: int,
    else_thumbs: int,
    *,
    is_author: bool = False,
) -> str:
    """Return "You liked 8 of 10 articles from Reuters, against 5 of 10 elsewhere."

    The first pair counts the ratings of the target, the second all others, left out where there are none.
    """
    is_source = kind in (BOOST_SOURCE, REDUCE_SOURCE)
    about = f"from {label}" if is_source else f"{_topic_word(is_author)} {label}"
    sentence = f"You liked {likes} of {thumbs} {'article' if thumbs == 1 else 'articles'} {about}"
    return f"{sentence}, against {else_likes} of {else_thumbs} elsewhere." if else_thumbs else f"{sentence}."


def evidence_sentence(kind: str, label: str, count: int) -> str:
    """Return "You liked 5 articles from Reuters." for a suggestion whose counts are known no more.

    `count` is that of its evidence, which is all liked or all disliked by its type.
    """
    about = f"from {label}" if kind in (BOOST_SOURCE, REDUCE_SOURCE) else f"about {label}"
    verb = "liked" if kind in LIKED_TYPES else "did not like"
    return f"You {verb} {count} {'article' if count == 1 else 'articles'} {about}."


def because(reason: str) -> str:
    """Return a suggestion's reason as the rest of its headline: ", since you liked 8 of 10 …"."""
    return f", since y{reason[1:]}" if reason.startswith("You ") else f". {reason}"


def model_adds(note: str) -> str:
    """Return a model's note marked as what it is; "" for none."""
    return f"The model adds: “{note}”" if note else ""


def _topic_word(is_author: bool) -> str:
    return "by" if is_author else "about"


def impact_sentence(kind: str, label: str, step: float = 0.0, *, is_author: bool = False) -> str:
    """Return what accepting does; `step` is the change of the effective weight, 0 for topics."""
    amount = "a bit " if abs(step) <= A_BIT else ""
    about = f"{_topic_word(is_author)} {label}"
    return {
        ADD_TOPIC: f"Articles {about} will rank higher in your digest.",
        REMOVE_TOPIC: f"Articles {about} will no longer be lifted in your digest.",
        BOOST_SOURCE: f"Articles from {label} will rank {amount}higher in your digest.",
        REDUCE_SOURCE: f"Articles from {label} will rank {amount}lower in your digest.",
    }[kind]


def reason_clean(reason: object) -> str:
    """Return a model's or reader's text as one line without control characters, at most 500 characters."""
    text = "".join(char if char.isprintable() else " " for char in reason) if isinstance(reason, str) else ""
    text = " ".join(text.split())
    return text if len(text) <= REASON_MAX_CHARS else f"{text[: REASON_MAX_CHARS - 1].rstrip()}…"


def percent_text(share: float) -> str:
    """Return a share in whole percent, "under 1 %" where that would be 0."""
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


def no_op_note(kind: str, label: str) -> str:
    """Return the note on an accept that changed nothing."""
    if kind not in TOPIC_TYPES:
        return "The weight was already what you agreed to."
    there = "already one of your topics" if kind == ADD_TOPIC else "no longer one of your topics"
    return f"“{label}” is {there}, so nothing had to change."


def changed_message(label: str, current: float, agreed: float) -> str:
    """Return why an agreed weight can no longer be applied."""
    return (
        f"Your settings for {label} changed meanwhile: the weight is now {weight_text(current)}, "
        f"and {weight_text(agreed)} is too far from it. Nothing was changed."
    )


def answer_kind(verb: str, answer: Mapping[str, object], status: str = "") -> str:
    """Return the key of `SENTENCES` for an answer; one with a reason or a value has its own key.

    `status` is the suggestion's new status: undoing one that stays "accepted" reverts a change.
    """
    if verb == "undo" and status == "accepted":
        return "revert"
    if verb == "reject" and str(answer.get("user_reason") or "").strip():
        return "reject_reason"
    return "edit" if verb == "accept" and answer.get("value") not in (None, "") else verb


def teaching_of(action: str) -> str:
    """Return what an answer, or its effect, changes for later suggestions; "" for any other key."""
    return SENTENCES.get(action, "")


def error_words(code: str) -> str:
    """Return an error code in words; an unknown code gets the general answer."""
    return ERRORS.get(code, ERROR_OTHER)


def refusal_words(code: str, message: str) -> str:
    """Return `error_words`, with details where the reader can do something about it."""
    words = error_words(code)
    return f"{words}. {message}" if code in {"invalid_weight", "config_changed"} else words


def script_words() -> dict[str, Any]:
    """Return the texts for the page's script, from the same tables as the page itself."""
    return {
        "done": DONE,
        "teaches": SENTENCES,
        "errors": ERRORS,
        "other": ERROR_OTHER,
        "all_done": ALL_DONE,
        "all_kept": NOTHING_CHANGED,
        "undo": UNDO["rejected"],
        "accept_all": ACCEPT_ALL,
    }


def headline(suggestion_type: str, label: str) -> str:
    """Return a suggestion as the reader would say it."""
    return HEADLINES[suggestion_type].format(label)


def sentence(suggestion_type: str, label: str) -> str:
    """Return what a change of topics does; "" for sources, whose change is shown in figures."""
    return TOPIC_SENTENCES.get(suggestion_type, "").format(label)


def settled_status(status: str, *, decided: str, reverted: bool, never: bool) -> str:
    """Return the final status in words; `decided` is the outcome of the decision."""
    back = STATUSES["never_taken_back" if never else "taken_back"]
    if status == "taken_back":
        return STATUSES["undone"] if decided == "accepted" else back
    if reverted:
        return STATUSES["reverted"] if status == "accepted" else back
    return STATUSES.get("never" if never else status, status)


def effect_words(outcome: str, measured: Mapping[str, Any]) -> str:
    """Return the verdict of the check after two weeks, with the like-rates it compared."""
    words = EFFECTS.get(outcome, "")
    return " ".join(part for part in (words, str(measured.get("words", ""))) if part)


def number_of(value: object) -> float | None:
    """Return `value` as a number, or `None`."""
    try:
        return float(str(value))
    except ValueError:
        return None


def level(suggestion_type: str, current: object, suggested: object) -> str:
    """Return "Small boost" or "Big reduction"; "" for topics, or unless both values are numbers."""
    before, after = number_of(current), number_of(suggested)
    if suggestion_type in TOPIC_TYPES or before is None or after is None:
        return ""
    size = round(abs(after - before), 4)
    name = next((word for bound, word in LEVELS if size <= bound), "Big")
    return f"{name} {'boost' if after > before else 'reduction'}"


def weight_phrase(value: object) -> str:
    """Return an effective weight in words with its figure: "a bit more than usual (1.15)"."""
    number = number_of(value)
    return str(value) if number is None else f"{weight_words(number)} ({number:.2f})"


def bounds(kind: str, current: float) -> Bounds:
    """Return the weights to offer instead: up to 0.3 from the current one in the suggestion's direction."""
    low, high = weight_bounds(current, kind)
    return Bounds(f"{low:.2f}", f"{high:.2f}")


def confidence_words(level: str) -> str:
    """Return the confidence and its meaning: "High confidence: nearly all such changes helped, …"."""
    return f"{level.capitalize()} confidence: {MEANING[level]}."


def confidence_stated(level: str, forecast: Mapping[str, Any]) -> str:
    """Return the stored confidence as far as the stored forecast allows it to be stated."""
    return confidence_capped(level, forecast.get("ndcg_low"), forecast.get("ndcg_high"))


def still_words(kind: str, label: str, preview: Preview) -> str:
    """Return that today's page would not change, and why; "" where it would."""
    if not preview.is_still:
        return ""
    if not preview.shown:
        return "There is nothing on today’s page that this could move."
    about = f"from {label}" if kind not in TOPIC_TYPES else f"about {label}"
    if not preview.about:
        return f"Today’s page would not change: no article of the last seven days is {about}."
    there, places = ("article", "its place") if preview.about == 1 else ("articles", "their places")
    return (
        f"Today’s page would not change: the {preview.about} recent {there} {about} would keep {places}, "
        "on the page or below it."
    )


def today_words(preview: Preview) -> str:
    """Return the numbers of items that a change would move in today's digest."""
    moves = len(preview.moves)
    if not (preview.enters or preview.leaves or moves):
        return "In today’s digest: nothing moves."
    if not (preview.enters or preview.leaves):
        return f"In today’s digest: the same articles, {moves} of them in another place."
    return (
        f"In today’s digest: {len(preview.enters)} in, {len(preview.leaves)} out, {moves} to another place."
    )


def evidence_words(count: int) -> str:
    """Return the number of rated items shown as evidence: examples, not all of them."""
    if not count:
        return "No article is shown as evidence."
    return f"{count} of the articles you rated {'is' if count == 1 else 'are'} shown as evidence."


def move_words(before: int | None, after: int | None) -> str:
    """Return the move of an item in today's digest, from rank to rank; `None` is outside."""
    if before is None:
        return f"Comes in at {after}"
    if after is None:
        return f"Drops out from {before}"
    return f"{'Up' if after < before else 'Down'} from {before} to {after}"


def move_sign(before: int | None, after: int | None) -> str:
    """Return the sign beside `move_words`: an arrow up or down."""
    return "↑" if before is None or (after is not None and after < before) else "↓"


def forecast_words(forecast: Mapping[str, Any]) -> str:
    """Return how the order of holdout ratings changes, without overselling it."""
    gain = forecast.get("ndcg_gain")
    low, high = forecast.get("ndcg_low"), forecast.get("ndcg_high")
    if gain is None or low is None or high is None:
        return "Not tested yet: too few of your ratings are left for a test."
    if low > GAIN_MIN:
        return "Tested on ratings held back: what you liked would rank higher."
    if high < -GAIN_MIN:
        return "Tested on ratings held back: what you liked would rank lower."
    lean = (
        "slightly higher" if gain > GAIN_MIN else "slightly lower" if gain < -GAIN_MIN else "about the same"
    )
    return f"Tested on ratings held back: {lean}, within chance."


def forecast_figures(forecast: Mapping[str, Any]) -> str:
    """Return the probability that the direction is right and the figures behind `forecast_words`."""
    parts = []
    if (chance := forecast.get("p_helpful")) is not None:
        parts.append(f"{chance_text(chance)} likely that the direction is right")
    if forecast.get("ndcg_gain") is not None:
        parts.append(
            f"nDCG@10 {forecast['ndcg_gain']:+.3f} "
            f"(90 % between {forecast['ndcg_low']:+.3f} and {forecast['ndcg_high']:+.3f})"
        )
        parts.append("changes that clearly tested as worse are not shown")
    return "; ".join(parts)


def effect_figures(measured: Mapping[str, Any]) -> str:
    """Return "97 % likely that it helped; liked share of the digest +2.1 points (90 % between …)" or ""."""
    if (chance := measured.get("p_helped")) is None:
        return ""
    effect, low, high = (100 * measured[name] for name in ("effect", "low", "high"))
    return (
        f"{chance_text(chance)} likely that it helped; liked share of the digest {effect:+.1f} points "
        f"(90 % between {low:+.1f} and {high:+.1f})"
    )


def chance_text(chance: float) -> str:
    """Return a probability in whole percent, "over 99 %" and "under 1 %" at the ends."""
    if chance > 0.99:
        return "over 99 %"
    return "under 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"
