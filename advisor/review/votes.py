"""The votes of a panel and how they are counted. Pure.

Two approvals of three pass, unless trust rejects: its reject is a veto, since trust is what a suggestion
lives by. A vote that is missing counts as a reject. What does not pass goes back to the agent with the
reviewers' combined issues, and after three rounds to an operator as a draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from digest.llm.model_text import preview
from suggestions import entities as review
from suggestions.wording import reason_clean

TRUST, VALUE, VOICE = "trust", "value", "voice"
REVIEWERS = (TRUST, VALUE, VOICE)
APPROVE: Final = "approve"
IMPROVE: Final = "improve"
REJECT: Final = "reject"
APPROVALS_MIN = 2
ROUNDS_MAX = 3
# Of what a reviewer lists: more would crowd out the other two.
POINTS_MAX = 4
POINT_CHARS_MAX = 300


def _points(value: object) -> object:
    """Lists of short lines; a single text is a list of one."""
    rows = [value] if isinstance(value, str) else value
    if not isinstance(rows, list):
        return rows
    told = [reason_clean(preview(row))[:POINT_CHARS_MAX] if isinstance(row, str) else row for row in rows]
    return [row for row in told if row != ""][:POINTS_MAX]


def _told(value: object) -> object:
    return preview(value) if isinstance(value, str) else value


Points = Annotated[list[str], BeforeValidator(_points)]


class Vote(BaseModel):
    """One reviewer's answer. `issues` say what is wrong, `suggestions` what would mend it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    verdict: Literal["approve", "improve", "reject"]
    confidence: float = Field(ge=0, le=1)
    issues: Points = []
    suggestions: Points = []
    reasoning: Annotated[str, BeforeValidator(_told)] = ""


@dataclass(frozen=True, slots=True)
class Ballot:
    """A reviewer's vote, or `None` and why it is missing; with what it took.

    `interrupted`: time or money ran out before the reviewer could answer. `unreachable`: every model of the
    chain was down or without a price. `ms` is milliseconds, `cost` USD.
    """

    reviewer: str
    vote: Vote | None
    model: str
    error_code: str = ""
    error: str = ""
    interrupted: bool = False
    unreachable: bool = False
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)

    @property
    def verdict(self) -> str:
        """The vote as it counts."""
        return self.vote.verdict if self.vote else REJECT


@dataclass(frozen=True, slots=True)
class Count:
    """What a round came to: `verdict` as a review knows it, and words for the agent or the operator."""

    verdict: str
    message: str


def count_votes(ballots: Sequence[Ballot], round_n: int) -> Count:
    """The outcome of round `round_n` (from 1).

    A round that time or money cut short is a draft whatever the other votes say. So is one in which nobody
    who voted objects while votes are missing: the agent could mend nothing.
    """
    if any(ballot.interrupted for ballot in ballots):
        return Count(review.DRAFT, f"The vote was cut short. {_words(ballots)}")
    approvals = sum(ballot.verdict == APPROVE for ballot in ballots)
    vetoed = any(ballot.reviewer == TRUST and ballot.verdict == REJECT for ballot in ballots)
    if approvals >= APPROVALS_MIN and not vetoed:
        return Count(review.PASS, f"{approvals} of {len(ballots)} reviewers approve.")
    objections = any(ballot.vote and ballot.vote.verdict != APPROVE for ballot in ballots)
    if round_n >= ROUNDS_MAX or not objections:
        return Count(review.DRAFT, f"No agreement in round {round_n}. {_words(ballots)}")
    needed = f"{APPROVALS_MIN} of {len(ballots)} must approve and trust must not reject"
    return Count(
        review.IMPROVE,
        f"Round {round_n} of {ROUNDS_MAX}, {needed}. {_words(ballots)} Mend it and write again.",
    )


def _words(ballots: Sequence[Ballot]) -> str:
    """The combined issues of whoever did not approve, trust first."""
    return " ".join(_objection(ballot) for ballot in ballots if ballot.verdict != APPROVE)


def _objection(ballot: Ballot) -> str:
    if ballot.vote is None:
        return f"{ballot.reviewer.title()} gave no vote ({ballot.error_code})."
    issues = ballot.vote.issues or (
        [reason_clean(ballot.vote.reasoning)[:POINT_CHARS_MAX] or "no reason given"]
    )
    told = f"{ballot.reviewer.title()} ({ballot.vote.verdict}): {' '.join(map(_sentence, issues))}"
    return (
        f"{told} To do: {' '.join(map(_sentence, ballot.vote.suggestions))}"
        if ballot.vote.suggestions
        else told
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."
