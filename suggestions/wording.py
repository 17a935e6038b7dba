"""Sentences about suggestions for readers: plain and friendly, numbers as words first. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC
from suggestions.values import weight_text

REASON_MAX_CHARS = 500
# A step of the effective weight up to this is "a bit".
A_BIT = 0.15


def reason_sentence(kind: str, label: str, likes: int, thumbs: int, else_likes: int, else_thumbs: int) -> str:
    """Why: "You liked 8 of 10 articles from Reuters, against 5 of 10 elsewhere."

    The first pair counts the thumbs on the target, the second all others; "elsewhere" is left out where
    there are none.
    """
    about = f"from {label}" if kind in (BOOST_SOURCE, REDUCE_SOURCE) else f"about {label}"
    sentence = f"You liked {likes} of {thumbs} {'article' if thumbs == 1 else 'articles'} {about}"
    return f"{sentence}, against {else_likes} of {else_thumbs} elsewhere." if else_thumbs else f"{sentence}."


def impact_sentence(kind: str, label: str, step: float = 0.0) -> str:
    """What accepting does, in words; `step` is the change of the effective weight, 0 for topics."""
    amount = "a bit " if abs(step) <= A_BIT else ""
    return {
        ADD_TOPIC: f"Articles about {label} will rank higher in your digest.",
        REMOVE_TOPIC: f"Articles about {label} will no longer be lifted in your digest.",
        BOOST_SOURCE: f"Articles from {label} will rank {amount}higher in your digest.",
        REDUCE_SOURCE: f"Articles from {label} will rank {amount}lower in your digest.",
    }[kind]


def forecast_sentence(forecast: Mapping[str, Any]) -> str:
    """What the later thumbs say of a stored forecast, honestly: a gain, a loss, or that it is too early."""
    gain, low = forecast.get("ndcg_gain"), forecast.get("ndcg_low")
    thumbs = forecast.get("later_thumbs", 0)
    if gain is None or low is None:
        return "There are too few later thumbs to measure what it would have done."
    measured = f"Measured on {thumbs} thumbs you gave later"
    if low > 0:
        return f"{measured}, more of what you liked would have stood at the top."
    if gain > 0:
        return f"{measured}, it would probably have helped a little; this could still be chance."
    return f"{measured}, it would have made no clear difference."


def reason_clean(reason: object) -> str:
    """A model's, or a reader's, own words: one line without control characters, at most 500 characters."""
    text = "".join(char if char.isprintable() else " " for char in reason) if isinstance(reason, str) else ""
    text = " ".join(text.split())
    return text if len(text) <= REASON_MAX_CHARS else f"{text[: REASON_MAX_CHARS - 1].rstrip()}…"


def no_op_note(kind: str, label: str) -> str:
    """What to say when accepting found nothing left to change."""
    there = "already one of your topics" if kind == ADD_TOPIC else "no longer one of your topics"
    return f"“{label}” is {there}, so nothing had to change."


def changed_message(label: str, current: float, agreed: float) -> str:
    """Why an agreed weight cannot be applied as it stands."""
    return (
        f"Your settings for {label} changed meanwhile: the weight is now {weight_text(current)}, "
        f"and {weight_text(agreed)} is too far from it. Nothing was changed."
    )


def joined(titles: Sequence[str]) -> str:
    """Titles as one phrase: “A”, “B” and “C”."""
    quoted = [f"“{title}”" for title in titles]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
