"""`self_critique`: drafts judged against the whole record before any of them is written."""

from typing import Any

from advisor.entities import ToolContext
from advisor.tools.arguments import CritiqueArguments
from advisor.tools.budget import CRITIQUE_TOKENS, filled, fitting, fitting_text
from advisor.tools.changes import draft_for
from suggestions.critique import Issue
from suggestions.selectors.critique import Critique, drafts_critique

DETAILS_TOKENS = 40


def self_critique(context: ToolContext, arguments: CritiqueArguments) -> dict[str, Any]:
    """Per draft its issues by code, serious ones first, and the confidence that is left. Writes nothing."""
    found = drafts_critique(
        reader_id=context.reader_id,
        run_id=context.run_id,
        drafts=[draft_for(draft, draft.evidence_urls) for draft in arguments.drafts],
        now=context.now,
    )
    share = CRITIQUE_TOKENS / len(found) - 10
    return filled({}, {"drafts": [_row(critique, share) for critique in found]}, CRITIQUE_TOKENS)


def _row(critique: Critique, tokens: float) -> dict[str, Any]:
    """One draft within `tokens`; what does not fit is the least serious, and `issues_in_all` counts it."""
    p_helpful = critique.p_helpful
    row: dict[str, Any] = {
        "type": critique.suggestion_type,
        "target": critique.target[:64],
        "confidence": critique.confidence,
        "p_helpful": None if p_helpful is None else round(p_helpful, 3),
        "issues_in_all": len(critique.issues),
    }
    room = tokens - 45
    return row | {"issues": fitting((_issue(issue) for issue in critique.issues), room)}


def _issue(issue: Issue) -> dict[str, Any]:
    row: dict[str, Any] = {"code": issue.code, "serious": issue.serious}
    if issue.rule:
        row["rule"] = issue.rule
    return row | {"details": fitting_text(issue.details, DETAILS_TOKENS)}
