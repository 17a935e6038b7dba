"""A proposal as reviewers judge it, and a reviewer's vote on it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.result_size import cut_title
from digest.llm.entities import preview
from suggestions.changes.proposal import Proposal
from suggestions.sentences import reason_clean

EVIDENCE_SHOWN = 12
TRUST, VALUE, VOICE = "trust", "value", "voice"
REVIEWERS = (TRUST, VALUE, VOICE)
APPROVE: Final = "approve"
IMPROVE: Final = "improve"
REJECT: Final = "reject"
# The most points of a reviewer's list. More would crowd out the other two.
POINTS_MAX = 4
POINT_CHARS_MAX = 300


@dataclass(frozen=True, slots=True)
class EarlierSuggestion:
    """A suggestion the reader got before, and its status."""

    suggestion_type: str
    target_key: str
    label: str
    status: str


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A proposal with the facts that reviewers compare it to.

    `earlier` are the reader's recent suggestions, newest first; `objections` those of the last round in this
    run.
    """

    proposal: Proposal
    round: int = 1
    earlier: Sequence[EarlierSuggestion] = ()
    objections: Sequence[str] = ()

    @property
    def body(self) -> dict[str, Any]:
        """Return the case as JSON values for a model; titles, tags and names in it are strangers' text."""
        proposal = self.proposal
        return {
            "change": {
                "type": proposal.change.suggestion_type,
                "target": proposal.change.target,
                "label": proposal.label,
                "current_value": proposal.change.current_value,
                "suggested_value": proposal.change.suggested_value,
                **({"other_names": list(proposal.change.names)} if proposal.change.names else {}),
            },
            "reason": proposal.reason,
            "model_note": proposal.model_note,
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
                for item in proposal.change.evidence[:EVIDENCE_SHOWN]
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
        "evidence_items": len(proposal.change.evidence),
    }


def _points(value: object) -> object:
    """Return a list of short lines; a single text is a list of one."""
    rows = [value] if isinstance(value, str) else value
    if not isinstance(rows, list):
        return rows
    cleaned = [reason_clean(preview(row))[:POINT_CHARS_MAX] if isinstance(row, str) else row for row in rows]
    return [row for row in cleaned if row != ""][:POINTS_MAX]


def text_preview(value: object) -> object:
    """Return a text fit for an audit row, anything else as it is: for validators."""
    return preview(value) if isinstance(value, str) else value


Points = Annotated[list[str], BeforeValidator(_points)]


class Vote(BaseModel):
    """One reviewer's answer: `issues` and, for their remedy, `suggestions`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    verdict: Literal["approve", "improve", "reject"]
    confidence: float = Field(ge=0, le=1)
    issues: Points = []
    suggestions: Points = []
    reasoning: Annotated[str, BeforeValidator(text_preview)] = ""


class PanelVotes(BaseModel):
    """The answer to one question for all three reviewers: a vote of each."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    trust: Vote
    value: Vote
    voice: Vote
