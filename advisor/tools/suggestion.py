"""`write_suggestion`: the agent's one act. The rules behind it decide; nothing is ever applied."""

from typing import Any

from advisor.entities import ToolContext
from advisor.prompts import quotes_prompt
from advisor.tools.arguments import SuggestionArguments
from advisor.tools.budget import WRITE_TOKENS, error_result, fitting, fitting_text, left_after
from suggestions.entities import Draft, Proposed, Refusal
from suggestions.services.propose import REVIEW_IMPROVE, suggestion_propose

# What three reviewers ask for needs more room than the name of a rule: the agent mends the writing by it.
REVIEW_TOKENS = 300


def write_suggestion(context: ToolContext, arguments: SuggestionArguments) -> dict[str, Any]:
    """Store a pending suggestion, or say which rule refused it. Raises `FenceLost` for a run reclaimed."""
    answer = suggestion_propose(
        reader_id=context.reader_id,
        run_id=context.run_id,
        draft=draft_of(arguments),
        now=context.now,
        fence=context.fence,
        review=context.review,
    )
    return _refused(answer) if isinstance(answer, Refusal) else _written(answer)


def draft_of(arguments: SuggestionArguments) -> Draft:
    """The proposal as the model worded it; its own `current_value` and confidence are dropped.

    So is a reason that recites the prompt: the rules then word one from the reader's thumbs.
    """
    return Draft(
        suggestion_type=arguments.suggestion_type,
        field=arguments.field,
        target_key=arguments.target_key,
        suggested_value=arguments.suggested_value,
        evidence_urls=tuple(item.url for item in arguments.evidence_items),
        reason="" if quotes_prompt(arguments.reason) else arguments.reason,
        expected_impact=arguments.expected_impact,
    )


def _written(proposed: Proposed) -> dict[str, Any]:
    result: dict[str, Any] = {
        "success": True,
        "suggestion_id": proposed.suggestion_id,
        "status": proposed.status,
    }
    notes = fitting(proposed.notes, left_after(result, WRITE_TOKENS) - 8)
    return result | {"validation_notes": notes, "target": proposed.target}


def _refused(refusal: Refusal) -> dict[str, Any]:
    """A request to improve is a round of review, not a failure: the guard against repeats lets it be."""
    result = error_result(refusal.code, refusal.message)
    counted = refusal.code != REVIEW_IMPROVE
    if not counted:
        result["details"] = fitting_text(refusal.message, REVIEW_TOKENS)
    return result | {"target": refusal.target, "counted": counted}
