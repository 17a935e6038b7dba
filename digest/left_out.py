"""What a digest left out, in plain words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from digest.compose import SOURCE_PARTS, Reason


@dataclass(frozen=True, slots=True)
class Kind:
    """One reason for leaving items out: its code, its name, what it means, how many items."""

    code: str
    name: str
    words: str
    count: int


NAMES: Mapping[Reason, str] = {
    Reason.SAME_STORY: "The same story",
    Reason.SOURCE_CAP: "Enough of one source",
    Reason.LOW_WEIGHT: "Less of a source",
    Reason.KEYWORD: "Less of a word",
    Reason.BELOW: "No place left",
}
_WORDS: Mapping[Reason, str] = {
    Reason.SAME_STORY: "Your digest tells this story already, in the words of the source that scored best.",
    Reason.SOURCE_CAP: "Their source had its share of the places, and other sources had something too. "
    f"The share is one in {SOURCE_PARTS}.",
    Reason.LOW_WEIGHT: "Your settings, or your thumbs, ask for less from their source.",
    Reason.KEYWORD: "A word in your settings counts against them.",
    Reason.BELOW: "Other items scored higher.",
}


def kinds_of(counts: Mapping[Reason, int]) -> list[Kind]:
    """The reasons that apply, each with its count."""
    return [Kind(r.value, NAMES[r], _WORDS[r], counts[r]) for r in Reason if counts.get(r)]


def why_left_out(reason: Reason, source: str, teller: str) -> str:
    """Why one item of `source` is not in the digest; `teller` is the source that tells its story there."""
    if reason is Reason.SAME_STORY:
        return f"The same story as told by {teller}." if teller else NAMES[reason]
    if reason is Reason.SOURCE_CAP:
        return f"{source} had its share of the places."
    if reason is Reason.LOW_WEIGHT:
        return f"You see less of {source}."
    return "A word counts against it." if reason is Reason.KEYWORD else "Other items scored higher."
