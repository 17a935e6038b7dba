"""The votes of a panel and their count.

Two approvals of three pass, unless trust rejects: its reject is a veto. A missing vote counts as a reject.
What does not pass goes back to the agent with the reviewers' combined issues, and after three rounds to an
operator as a draft. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.tools.curation import cut_title
from digest.llm.entities import preview
from suggestions import entities as review
from suggestions.entities import Proposal
from suggestions.explain import reason_clean

EVIDENCE_SHOWN = 12
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


@dataclass(frozen=True, slots=True)
class Earlier:
    """A suggestion the reader got before, and its status."""

    suggestion_type: str
    target_key: str
    label: str
    status: str


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A proposal with what reviewers compare it to.

    `earlier` are the reader's recent suggestions, newest first; `objections` those of the last round in this
    run.
    """

    proposal: Proposal
    round: int = 1
    earlier: Sequence[Earlier] = ()
    objections: Sequence[str] = ()

    @property
    def body(self) -> dict[str, Any]:
        """Return the case as JSON values for a model; titles, tags and names in it are strangers' text."""
        proposal = self.proposal
        return {
            "change": {
                "type": proposal.suggestion_type,
                "target": proposal.target_key,
                "label": proposal.label,
                "current_value": proposal.current_value,
                "suggested_value": proposal.suggested_value,
            },
            "reason": proposal.reason,
            "expected_impact": proposal.expected_impact,
            "confidence": proposal.confidence,
            "forecast": dict(proposal.forecast),
            "counts": _counts(proposal),
            "evidence": [
                {
                    "title": cut_title(item.title),
                    "source": item.source,
                    "thumb": "liked" if item.useful else "disliked",
                    "tags": list(item.tags),
                    "date": f"{item.at:%F}",
                }
                for item in proposal.evidence[:EVIDENCE_SHOWN]
            ],
            "earlier_suggestions": [
                {"type": row.suggestion_type, "label": row.label, "status": row.status}
                for row in self.earlier
            ],
            "round": self.round,
            "objections_to_the_last_writing": list(self.objections),
            "today": f"{proposal.now:%F}",
        }


def _counts(proposal: Proposal) -> dict[str, int]:
    return {
        "target_liked": proposal.likes,
        "target_rated": proposal.ratings,
        "elsewhere_liked": max(0, proposal.likes_all - proposal.likes),
        "elsewhere_rated": max(0, proposal.ratings_all - proposal.ratings),
        "evidence_items": len(proposal.evidence),
    }


def _points(value: object) -> object:
    """Return a list of short lines; a single text is a list of one."""
    rows = [value] if isinstance(value, str) else value
    if not isinstance(rows, list):
        return rows
    cleaned = [reason_clean(preview(row))[:POINT_CHARS_MAX] if isinstance(row, str) else row for row in rows]
    return [row for row in cleaned if row != ""][:POINTS_MAX]


def text_cut(value: object) -> object:
    """Return a text fit for an audit row, anything else as it is: for validators."""
    return preview(value) if isinstance(value, str) else value


Points = Annotated[list[str], BeforeValidator(_points)]


class Vote(BaseModel):
    """One reviewer's answer. `issues` say what is wrong, `suggestions` what would mend it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    verdict: Literal["approve", "improve", "reject"]
    confidence: float = Field(ge=0, le=1)
    issues: Points = []
    suggestions: Points = []
    reasoning: Annotated[str, BeforeValidator(text_cut)] = ""


@dataclass(frozen=True, slots=True)
class Ballot:
    """A reviewer's vote, or `None` and why it is missing; with its time and cost.

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
        """Return the vote as it counts."""
        return self.vote.verdict if self.vote else REJECT


@dataclass(frozen=True, slots=True)
class Count:
    """The result of a round: the `verdict` of a review, and a message for the agent or the operator."""

    verdict: str
    message: str


def count_votes(ballots: Sequence[Ballot], round_n: int) -> Count:
    """Return the result of round `round_n` (from 1).

    A round that time or money cut short is a draft whatever the other votes are. So is one in which nobody
    who voted objects while votes are missing: the agent could improve nothing.
    """
    if any(ballot.interrupted for ballot in ballots):
        return Count(review.DRAFT, f"The vote was cut short. {_objections(ballots)}")
    approvals = sum(ballot.verdict == APPROVE for ballot in ballots)
    vetoed = any(ballot.reviewer == TRUST and ballot.verdict == REJECT for ballot in ballots)
    if approvals >= APPROVALS_MIN and not vetoed:
        return Count(review.PASS, f"{approvals} of {len(ballots)} reviewers approve.")
    objections = any(ballot.vote and ballot.vote.verdict != APPROVE for ballot in ballots)
    if round_n >= ROUNDS_MAX or not objections:
        return Count(review.DRAFT, f"No agreement in round {round_n}. {_objections(ballots)}")
    needed = f"{APPROVALS_MIN} of {len(ballots)} must approve and trust must not reject"
    return Count(
        review.IMPROVE,
        f"Round {round_n} of {ROUNDS_MAX}, {needed}. {_objections(ballots)} Mend it and write again.",
    )


def _objections(ballots: Sequence[Ballot]) -> str:
    """Return the combined issues of those who did not approve, trust first."""
    return " ".join(_objection(ballot) for ballot in ballots if ballot.verdict != APPROVE)


def _objection(ballot: Ballot) -> str:
    if ballot.vote is None:
        return f"{ballot.reviewer.title()} gave no vote ({ballot.error_code})."
    issues = ballot.vote.issues or (
        [reason_clean(ballot.vote.reasoning)[:POINT_CHARS_MAX] or "no reason given"]
    )
    text = f"{ballot.reviewer.title()} ({ballot.vote.verdict}): {' '.join(map(_sentence, issues))}"
    to_do = f" To do: {' '.join(map(_sentence, ballot.vote.suggestions))}" if ballot.vote.suggestions else ""
    return f"{text}{to_do}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."
