"""Sentences about suggestions for readers: plain and friendly, numbers as words first. Pure."""

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


def reason_clean(reason: object) -> str:
    """A model's, or a reader's, own words: one line without control characters, at most 500 characters."""
    text = "".join(char if char.isprintable() else " " for char in reason) if isinstance(reason, str) else ""
    text = " ".join(text.split())
    return text if len(text) <= REASON_MAX_CHARS else f"{text[: REASON_MAX_CHARS - 1].rstrip()}…"


def percent_text(share: float) -> str:
    """A share in whole percent, "under 1 %" where that would be none."""
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


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
