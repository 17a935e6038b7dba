"""What reviewers get to see of a proposal: never who the reader is. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from advisor.curation import cut_title
from suggestions.entities import Proposal

EVIDENCE_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Earlier:
    """A suggestion the reader got before, and what became of it."""

    suggestion_type: str
    target_key: str
    label: str
    status: str


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A proposal with what it must be held against.

    `earlier` are the reader's recent suggestions, newest first; `objections` what reviewers said of the
    last writing in this run.
    """

    proposal: Proposal
    round: int = 1
    earlier: Sequence[Earlier] = ()
    objections: Sequence[str] = ()

    @property
    def body(self) -> dict[str, Any]:
        """The case as plain JSON values for a model; titles, tags and names in it are strangers' text."""
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
        "target_rated": proposal.thumbs,
        "elsewhere_liked": max(0, proposal.likes_all - proposal.likes),
        "elsewhere_rated": max(0, proposal.thumbs_all - proposal.thumbs),
        "evidence_items": len(proposal.evidence),
    }
