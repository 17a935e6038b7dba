"""What a digest left out, in plain words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from digest.passing import Reason
from digest.shares import SOURCE_PARTS


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
    Reason.LOW_WEIGHT: "Your settings, or your thumbs, turned their source down. "
    "At weight 1 they would be in the digest.",
    Reason.KEYWORD: "Words in your settings count against them. Without those they would be in the digest.",
    Reason.BELOW: "Other items scored higher.",
}


def kinds_of(counts: Mapping[Reason, int]) -> list[Kind]:
    """The reasons that apply, each with its count."""
    return [Kind(r.value, NAMES[r], _WORDS[r], counts[r]) for r in Reason if counts.get(r)]


def why_left_out(reason: Reason, source: str, teller: str, weight: float) -> str:
    """Why one item of `source`, of effective `weight`, is not in the digest; `teller` is the source that
    tells its story there."""
    if reason is Reason.SAME_STORY:
        return f"The same story as told by {teller}." if teller else NAMES[reason]
    if reason is Reason.SOURCE_CAP:
        return f"{source} had its share of the places."
    if reason is Reason.LOW_WEIGHT:
        return f"{source} has weight {weight:.2f}; at 1 this would be in the digest."
    if reason is Reason.KEYWORD:
        return "A word counts against it; without that this would be in the digest."
    return "Other items scored higher."
