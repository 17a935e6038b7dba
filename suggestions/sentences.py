"""Suggestions in plain words: headlines, forecasts, outcomes and errors. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from digest.daily.diversity import ALTERNATE_FIRST
from ranking import config_words
from ranking.config_words import weight_words
from ranking.former_texts import text_today
from ranking.language import figure, ngettext, percent, stored_text
from ranking.language import gettext as _
from suggestions.changes.change import REASONS, WROTE
from suggestions.changes.registry import KINDS
from suggestions.changes.weights import weight_bounds, weight_text
from suggestions.planner.hypotheses import GAIN_MIN, MEANING, confidence_capped
from suggestions.proposals import Preview, PreviewItem, WeekEffect
from suggestions.reasons import TOO_MUCH, reason_code
from suggestions.wording import (
    ACCEPT_ALL,
    ALL_DONE,
    CHANGE_STOPPED,
    CHANGES_FOUND,
    CHANGES_STOPPED,
    CHECK_DONE,
    CONFIDENCE,
    DONE,
    EFFECTS,
    ERROR_OTHER,
    ERRORS,
    MEASURED,
    MODEL_ADDS,
    NOTHING_CHANGED,
    SENTENCES,
    STATUSES,
    TOO_LARGE,
    UNDO,
    WHY_NOT,
)

REASON_MAX_CHARS = 500
# A step of the effective weight up to this is "a bit".
A_BIT = 0.15
# From so many articles of a week on, a sentence says how many that are a day.
OFTEN_MIN = 3
# A probability that moves by less counts as one that stays.
MOVED_MIN = 0.01
UP, DOWN = "↑", "↓"
# Errors whose message a reader gets, too: it says what to do, or what was answered.
DETAILED = frozenset({"invalid_weight", "config_changed", "already_resolved"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and the highest weight that a reader may choose instead of the proposed one, as texts."""

    low: str
    high: str

    @property
    def low_words(self) -> str:
        """Return the lowest weight in words, such as "less than usual"."""
        return weight_words(float(self.low))

    @property
    def high_words(self) -> str:
        """Return the highest weight in words, such as "more than usual"."""
        return weight_words(float(self.high))


def reason_sentence(kind: str, label: str, *counts: int, is_author: bool = False) -> str:
    """Return "You liked 8 of 10 articles from Reuters, against 5 of 10 elsewhere.", in English, to be stored.

    `counts` are likes and ratings of the target, then of all else, left out if there is nothing else.
    """
    likes, thumbs, else_likes, else_thumbs = counts
    return KINDS[kind].reason(label, (likes, thumbs, else_likes, else_thumbs), is_author=is_author)


def written_sentence(words: str) -> str:
    """Return "You wrote: “more about sailing”.", in English, to be stored; "" without words."""
    return WROTE.format(words=words) if words else ""


def reason_shown(reason: str) -> str:
    """Return a stored reason in the language in force."""
    return stored_text(reason, REASONS)


# The target of a reason is named in its headline already.
_COUNTED = re.compile(
    r"You liked (?P<likes>\d+) of (?P<thumbs>\d+) articles? (?:by|from|about|with) .+?"
    r"(?:, against (?P<else_likes>\d+) of (?P<else_thumbs>\d+) elsewhere)?\.",
    re.DOTALL,
)


def because(reason: str) -> str:
    """Return a stored reason as the rest of its headline: ", since you liked 8 of 10 such articles …"."""
    if counted := _COUNTED.fullmatch(reason):
        counts = {name: int(count) for name, count in counted.groupdict().items() if count}
        if "else_thumbs" in counts:
            such = ngettext(
                ", since you liked {likes} of {thumbs} such article, "
                "against {else_likes} of {else_thumbs} elsewhere.",
                ", since you liked {likes} of {thumbs} such articles, "
                "against {else_likes} of {else_thumbs} elsewhere.",
                counts["thumbs"],
            )
        else:
            such = ngettext(
                ", since you liked {likes} of {thumbs} such article.",
                ", since you liked {likes} of {thumbs} such articles.",
                counts["thumbs"],
            )
        return such.format(**counts)
    shown = reason_shown(reason)
    return f", since y{shown[1:]}" if shown.startswith("You ") else f". {shown}"


def model_adds(note: str) -> str:
    """Return a model's note marked as a model's; "" for none."""
    return _(MODEL_ADDS).format(note=note) if note else ""


def change_stopped(code: str) -> str:
    """Return, in English, to be stored, why a change that a run found was not proposed, by the code."""
    return CHANGES_STOPPED.get(code, CHANGE_STOPPED)


def change_found_split(reason: str) -> tuple[str, str]:
    """Split a run's stored reason into the sentence about a found change, "" for none, and the rest."""
    reason = text_today(reason)
    found = next((one for one in CHANGES_FOUND if reason.startswith(one)), "")
    return found, reason.removeprefix(found).strip()


def impact_sentence(kind: str, label: str, step: float = 0.0, *, is_author: bool = False) -> str:
    """Return the effect of accepting, in English, to be stored. `step` is that of the weight, 0 for
    others."""
    texts = KINDS[kind].texts
    small = texts.small if abs(step) <= A_BIT else ""
    return ((texts.author if is_author else "") or small or texts.impact).format(label=label)


def reason_clean(reason: object) -> str:
    """Return a model's or reader's text as one line without control characters, at most 500 characters."""
    text = "".join(char if char.isprintable() else " " for char in reason) if isinstance(reason, str) else ""
    text = " ".join(text.split())
    return text if len(text) <= REASON_MAX_CHARS else f"{text[: REASON_MAX_CHARS - 1].rstrip()}…"


def percent_text(share: float) -> str:
    """Return a share in whole percent, "under 1%" if that would be 0."""
    return _("under 1%") if 0 < share < 0.01 else percent(share)


def changed_message(label: str, current: float, agreed: float) -> str:
    """Return why an agreed weight can no longer be applied."""
    words = _(
        "Your settings for {label} changed meanwhile: it is now at {current}, "
        "and {agreed} is too far from it. Nothing was changed."
    )
    return words.format(label=label, current=weight_text(current), agreed=weight_text(agreed))


def answer_kind(verb: str, answer: Mapping[str, object], status: str = "") -> str:
    """Return the key of `SENTENCES` for an answer; one with a reason, a wish or a value has its own key.

    `status` is the suggestion's new status: undoing one that stays "accepted" reverts a change.
    """
    if verb == "undo" and status == "accepted":
        return "revert"
    if verb == "reject" and (reason := str(answer.get("user_reason") or "").strip()):
        return "reject_step" if reason_code(reason) == TOO_MUCH else "reject_reason"
    return "edit" if verb == "accept" and answer.get("value") not in (None, "") else verb


def reasons_offered() -> list[tuple[str, str, bool]]:
    """Return the reasons behind "No" as (stored words, shown words, whether it is about a step)."""
    return [(words, _(words), words == TOO_LARGE) for words in WHY_NOT]


def teaching_of(action: str) -> str:
    """Return how an answer, or its effect, changes later suggestions; "" for any other key."""
    return _(SENTENCES.get(action, ""))


def error_words(code: str) -> str:
    """Return an error code in words; an unknown code gets the general answer."""
    return _(ERRORS.get(code, ERROR_OTHER))


def refusal_words(code: str, message: str) -> str:
    """Return `error_words`, with details if the reader can do something about it."""
    words = error_words(code)
    return f"{words}. {message}" if code in DETAILED and message else words


def script_words() -> dict[str, Any]:
    """Return the texts for the page's script, from the same tables as the page itself."""
    return {
        "done": {verb: _(words) for verb, words in DONE.items()},
        "teaches": {words: _(words) for words in SENTENCES.values()},
        "errors": {code: _(words) for code, words in ERRORS.items()},
        "other": _(ERROR_OTHER),
        "all_done": _(ALL_DONE),
        "all_kept": _(NOTHING_CHANGED),
        "see_today": _("See today’s digest"),
        "more": _("Show the next suggestions"),
        "undo": _(UNDO),
        "why_not": _("Why not?"),
        "accept_all": _(ACCEPT_ALL),
        "sign_in": _("Sign in"),
        "history": _("Your earlier answers"),
    }


def headline(suggestion_type: str, label: str) -> str:
    """Return a suggestion as the reader would say it."""
    return _(KINDS[suggestion_type].texts.headline).format(label=label)


def sentence(suggestion_type: str, label: str, value: str = "") -> str:
    """Return the effect of a change to `value`; "" for weights, whose change is shown in figures."""
    kind = KINDS[suggestion_type]
    words = kind.texts.sentence
    return _(words).format(label=label, value=kind.value_words(value)) if words else ""


def names_words(names: Sequence[str]) -> str:
    """Return the other names that a new topic gets, in a sentence; "" for none."""
    if not names:
        return ""
    words = ngettext(
        "It gets another name, {names}: articles that say it move up, too.",
        "It gets other names: {names}. Articles that say one of them move up, too.",
        len(names),
    )
    return words.format(names=", ".join(f"“{name}”" for name in names))


def asked_words(question: str, answer: str) -> str:
    """Return the reader's answer that led to a suggestion; "" if none did."""
    if not answer:
        return ""
    return _("You answered “{answer}” to “{question}”").format(answer=answer, question=question)


def settled_status(status: str, *, decided: str, reverted: bool, never: bool) -> str:
    """Return the final status in words; `decided` is the outcome of the decision."""
    back = "never_taken_back" if never else "taken_back"
    shown = "never" if never else status
    if status == "taken_back":
        shown = "undone" if decided == "accepted" else back
    elif reverted:
        shown = "reverted" if status == "accepted" else back
    return _(STATUSES.get(shown, status))


def effect_words(outcome: str, measured: Mapping[str, Any]) -> str:
    """Return the verdict of the check after two weeks, with the like-rates it compared."""
    words = _(EFFECTS.get(outcome, ""))
    return " ".join(part for part in (words, measured_words(measured)) if part)


def measured_words(measured: Mapping[str, Any]) -> str:
    """Return the result of the check in the current language, from sentences stored in English."""
    return " ".join(_measured_sentences(measured))


def unclear_words(measured: Mapping[str, Any]) -> str:
    """Return why the check found no clear effect, "" if it found one."""
    return _measured_sentences(measured)[-1] if measured.get("reason") else ""


def _measured_sentences(measured: Mapping[str, Any]) -> list[str]:
    sentences = re.split(r"(?<=[.]) (?=[A-Z])", str(measured.get("words", "")))
    return [stored_text(sentence, MEASURED) for sentence in sentences]


def number_of(value: object) -> float | None:
    """Return `value` as a number, or `None`."""
    try:
        return float(str(value))
    except ValueError:
        return None


def weight_step(before: object, after: object) -> tuple[str, str]:
    """Return two weights of a source in words; other values as they are."""
    number, number_after = number_of(before), number_of(after)
    if number is None or number_after is None:
        return str(before), str(after)
    return config_words.weight_step(number, number_after)


def undo_words(now: float, before: object, agreed: object) -> str:
    """Return the step of a source's weight that Undo makes, if the weight has moved since the reader's yes.

    `now` is its weight, `before` and `agreed` are those around the yes. "" if it is still as agreed.
    """
    number = number_of(agreed)
    if number is None or abs(now - number) < MOVED_MIN:
        return ""
    change = " → ".join(weight_step(now, before))
    return _("Undo: {change}. What changed since then goes, too.").format(change=change)


def bounds(kind: str, current: float) -> Bounds:
    """Return the weights to offer instead: up to 0.3 from the current one in the suggestion's direction."""
    low, high = weight_bounds(current, kind)
    return Bounds(f"{low:.2f}", f"{high:.2f}")


def confidence_words(level: str, kind: str = "", *, by_words: bool = False) -> str:
    """Return the confidence and its meaning: "We are fairly sure: your ratings are clear, …".

    No meaning was measured for kinds without a test beforehand, nor for changes asked for in words.
    """
    named = _(CONFIDENCE[level])
    if by_words or (kind and not KINDS[kind].is_measured):
        return f"{named}."
    return f"{named}: {_(MEANING[level])}."


def confidence_stated(level: str, forecast: Mapping[str, Any]) -> str:
    """Return the stored confidence as far as the stored forecast allows it to be stated."""
    return confidence_capped(level, forecast.get("ndcg_low"), forecast.get("ndcg_high"))


def checked_words(checked: Mapping[str, Any], *, label: str, of_source: bool, withdrawn: bool = False) -> str:
    """Return the answers of a check by headlines and what follows from them, or "" if there was none.

    `label` is the name of the suggestion's target, a source if `of_source`.
    """
    if not checked:
        return ""
    found = (
        _("You found {liked} of {rated} headlines from {label} useful")
        if of_source
        else _("You found {liked} of {rated} headlines about {label} useful")
    ).format(liked=checked["liked"], rated=checked["rated"], label=label)
    # A check of a release before this one did not store its other answers.
    if rated := checked.get("others_rated", 0):
        words = ngettext("{found}, and {liked} of {n} other.", "{found}, and {liked} of {n} others.", rated)
        found = words.format(found=found, liked=checked["others_liked"], n=rated)
    else:
        found += "."
    moved = checked["p_after"] - checked["p_before"]
    result = "same" if abs(moved) < MOVED_MIN else "surer" if moved > 0 else "doubt"
    return f"{found} {_(CHECK_DONE['withdrawn' if withdrawn else result])}"


def still_words(kind: str, label: str, preview: Preview, effect: WeekEffect) -> str:
    """Say why nothing would change; "" if today's page would, or last week's would have."""
    if effect.enters or effect.leaves or not preview.is_still:
        return ""
    if not preview.shown:
        return _("There is nothing on today’s page that this could move.")
    return KINDS[kind].still_words(label, effect.about)


def disliked_words(ratings: int, source: str, *, is_lowest: bool) -> str:
    """Return why a source that was never liked is to be muted: less of it is not possible, or not seen."""
    words = _("You called {n} of {n} articles from {source} not useful.").format(n=ratings, source=source)
    seldom = _("It seldom reaches your first ten places, so less of it would change nothing there.")
    return f"{words} {_('It counts as little as it can already.') if is_lowest else seldom}"


def week_words(effect: WeekEffect, *, source: str = "", name: str = "") -> str:
    """Return how many of the last days' articles a change would have brought into a page's first ten.

    For a change of one `source` (its key), say how many of them are from there, by its `name`. Gains come
    first. A page shows the articles of a day, so the sentence says how many that are. "" if none would have
    come or gone. The days are replayed, so the reader need not have been here.
    """
    enters, leaves = len(effect.enters), len(effect.leaves)
    if enters:
        own = sum(item.source == source for item in effect.enters) if source else 0
        words = ngettext(
            "Of the last {days} days’ articles, {n} would have come into the first ten of a page",
            "Of the last {days} days’ articles, {n} would have come into the first ten of a page",
            enters,
        )
        words = words.format(n=enters, days=effect.days) + _own_words(enters, own, name)
        return words + _a_day_words(enters, effect.days) + "."
    if not leaves:
        return ""
    words = ngettext(
        "Of the last {days} days’ articles, {n} would not have been in the first ten of a page",
        "Of the last {days} days’ articles, {n} would not have been in the first ten of a page",
        leaves,
    )
    return words.format(n=leaves, days=effect.days) + _a_day_words(leaves, effect.days) + "."


def _a_day_words(count: int, days: int) -> str:
    """Return the end of a sentence about articles of several days that says how many a day that are."""
    if count < OFTEN_MIN:
        return ""
    if count >= days:
        words = ngettext(": about {n} a day", ": about {n} a day", round(count / days))
        return words.format(n=round(count / days))
    every = round(days / count)
    return _(": one on most days") if every < 2 else _(": one every {n} days").format(n=every)


def ten_words(preview: Preview, *, source: str = "", name: str = "") -> str:
    """Return what a yes does to the first ten of today's page, as it is built then. Gains come first."""
    comes, goes = ten_changes(preview)
    if comes:
        own = sum(item.source == source for item in comes) if source else 0
        words = ngettext(
            "A yes brings {n} article into the first ten of today’s page",
            "A yes brings {n} articles into the first ten of today’s page",
            len(comes),
        )
        return words.format(n=len(comes)) + _own_words(len(comes), own, name) + "."
    if goes:
        words = ngettext(
            "A yes takes {n} article out of the first ten of today’s page.",
            "A yes takes {n} articles out of the first ten of today’s page.",
            len(goes),
        )
        return words.format(n=len(goes))
    return _("Today’s page keeps its first ten with a yes.")


def ten_changes(preview: Preview) -> tuple[list[PreviewItem], list[PreviewItem]]:
    """Return the items that come into the first ten of today's page, and those that leave them."""
    moved = (*preview.enters, *preview.leaves, *preview.moves)
    comes = [item for item in moved if _in_ten(item.after) and not _in_ten(item.before)]
    return comes, [item for item in moved if _in_ten(item.before) and not _in_ten(item.after)]


def _in_ten(place: int | None) -> bool:
    return place is not None and place <= ALTERNATE_FIRST


def _own_words(enters: int, own: int, name: str) -> str:
    """Return the end of a sentence that says how many of the articles are from the changed source."""
    if not own:
        return ""
    if own < enters:
        return _(", {own} of them from {source}").format(own=own, source=name)
    return ngettext(", from {source}", ", all from {source}", enters).format(source=name)


def today_words(preview: Preview) -> str:
    """Return the numbers of items that a change would move in today's digest."""
    moves = len(preview.moves)
    if not (preview.enters or preview.leaves or moves):
        return _("On today’s page: nothing moves.")
    if not (preview.enters or preview.leaves):
        words = _("On today’s page: the same articles, {moves} moved.")
        return words.format(moves=moves)
    words = _("On today’s page: {enter} new, {leave} gone, {moves} moved.")
    return words.format(enter=len(preview.enters), leave=len(preview.leaves), moves=moves)


def since_words(preview: Preview) -> str:
    """Return that today's page is older than the places of a preview; "" if it is as one made now."""
    if not preview.since or preview.is_still:
        return ""
    return ngettext(
        "With the change, Today is made anew. Your latest ratings and new articles alone change {n} place.",
        "With the change, Today is made anew. Your latest ratings and new articles alone change {n} places.",
        preview.since,
    ).format(n=preview.since)


def evidence_words(count: int) -> str:
    """Return the number of rated items shown as evidence: examples, not all of them."""
    if not count:
        return _("No article is shown as evidence.")
    words = ngettext(
        "{n} of the articles you rated is shown as evidence.",
        "{n} of the articles you rated are shown as evidence.",
        count,
    )
    return words.format(n=count)


def counted_words(enter: int, leave: int, move: int) -> str:
    """Return how many items of today's digest would come in, drop out and change places."""
    if not enter and not leave and not move:
        return _("Nothing moves today; you will see it when matching articles arrive.")
    counted = (
        (enter, ngettext("{n} would come in", "{n} would come in", enter)),
        (leave, ngettext("{n} would drop out", "{n} would drop out", leave)),
        (move, ngettext("{n} would change places", "{n} would change places", move)),
    )
    return f"{', '.join(words.format(n=count) for count, words in counted if count)}."


def move_words(before: int | None, after: int | None) -> str:
    """Return the move of an item in today's digest, from rank to rank; `None` is outside."""
    if before is None:
        return _("Comes in at {rank}").format(rank=after)
    if after is None:
        return _("Drops out from {rank}").format(rank=before)
    words = _("Up from {before} to {after}") if after < before else _("Down from {before} to {after}")
    return words.format(before=before, after=after)


def move_sign(before: int | None, after: int | None) -> str:
    """Return the sign beside `move_words`: an arrow up or down."""
    return UP if before is None or (after is not None and after < before) else DOWN


def forecast_words(forecast: Mapping[str, Any], kind: str = "") -> str:
    """Return how the order of holdout ratings changes, without overselling it."""
    if forecast.get("by_words"):
        return _("It could not be measured beforehand: it goes by what you wrote, and not by your ratings.")
    if kind and not KINDS[kind].is_measured:
        return _("It could not be measured beforehand: no earlier rating tells what such a rule would do.")
    gain = forecast.get("ndcg_gain")
    low, high = forecast.get("ndcg_low"), forecast.get("ndcg_high")
    if gain is None or low is None or high is None:
        return _("Not tested yet: too few of your ratings are left for a test.")
    if low > GAIN_MIN:
        return _("Tested on ratings held back: what you liked would rank higher.")
    if high < -GAIN_MIN:
        return _("Tested on ratings held back: what you liked would rank lower.")
    if gain > GAIN_MIN:
        return _("Tested on ratings held back: a little higher, which may be chance.")
    if gain < -GAIN_MIN:
        return _("Tested on ratings held back: a little lower, which may be chance.")
    return _("Tested on ratings held back: about the same.")


def others_words(forecast: Mapping[str, Any]) -> str:
    """Return other readers' addition to the lean in words, or "" if there is none."""
    if not (others := forecast.get("others")):
        return ""
    more = _("Other readers here like it more than usual, which counts, too.")
    less = _("Other readers here like it less than usual, which counts, too.")
    return more if others > 0 else less


def effect_figures(measured: Mapping[str, Any]) -> str:
    """Return "97 % likely that it helped; liked share of the digest +2.1 points (90% between …)" or ""."""
    if (chance := measured.get("p_helped")) is None:
        return ""
    if measured.get("low") is None:
        return _("{chance} likely that it helped").format(chance=chance_text(chance))
    effect, low, high = (figure(100 * measured[name], "+.1f") for name in ("effect", "low", "high"))
    words = _(
        "{chance} likely that it helped; liked share of the digest {effect} points "
        "(90% between {low} and {high})"
    )
    return words.format(chance=chance_text(chance), effect=effect, low=low, high=high)


def chance_text(chance: float) -> str:
    """Return a probability in whole percent, "over 99%" and "under 1%" at the ends."""
    if chance > 0.99:
        return _("over 99%")
    return _("under 1%") if chance < 0.01 else percent(chance)
