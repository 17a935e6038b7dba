"""The tools by name: their schemas, and the one way in which a model's call reaches one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from advisor.entities import ToolContext, ToolOutcome
from advisor.tools.arguments import (
    ChangeArguments,
    CompareArguments,
    CritiqueArguments,
    FeedbackArguments,
    HistoryArguments,
    NoArguments,
    OutcomesArguments,
    SuggestionArguments,
)
from advisor.tools.budget import as_json, error_result
from advisor.tools.comparison import compare_configs
from advisor.tools.config import query_user_config
from advisor.tools.critique import self_critique
from advisor.tools.declared import declared
from advisor.tools.feedback import query_user_feedback
from advisor.tools.history import get_acceptance_history
from advisor.tools.outcomes import get_suggestion_outcomes
from advisor.tools.profile import get_user_profile
from advisor.tools.suggestion import write_suggestion
from advisor.tools.trial import test_suggestion
from digest.llm.entities import ToolCall, ToolSchema
from digest.llm.model_text import json_object

ARGUMENTS_CHARS_MAX = 20_000
PROBLEMS_MAX = 5
TARGET_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model sees it, and the function behind it: `(ToolContext, arguments) -> dict`."""

    name: str
    description: str
    arguments: type[BaseModel]
    function: Callable[[ToolContext, Any], dict[str, Any]]

    @property
    def schema(self) -> ToolSchema:
        """The declaration in OpenAI's function format, derived from the arguments."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": declared(self.arguments.model_json_schema()),
        }
        return {"type": "function", "function": function}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "query_user_feedback",
            "What the reader liked and disliked: ranked hypotheses, patterns by source and reason, a sample.",
            FeedbackArguments,
            query_user_feedback,
        ),
        Tool(
            "query_user_config",
            "The reader's topics, source weights and other settings, and the weights that rank now.",
            NoArguments,
            query_user_config,
        ),
        Tool(
            "get_user_profile",
            "What the reader accepted and rejected before, by type, with patterns and trends.",
            NoArguments,
            get_user_profile,
        ),
        Tool(
            "write_suggestion",
            "Propose one change, with three rated items or more as evidence. Checked before it is shown.",
            SuggestionArguments,
            write_suggestion,
        ),
        Tool(
            "get_suggestion_outcomes",
            "Past suggestions: search for ids, then timeline or detail of the ones that matter.",
            OutcomesArguments,
            get_suggestion_outcomes,
        ),
        Tool(
            "test_suggestion",
            "Try a change without proposing it: items it matches, measured effect, what enters and leaves.",
            ChangeArguments,
            test_suggestion,
        ),
        Tool(
            "self_critique",
            "Judge drafts before writing them: weak or cherry-picked evidence, conflicts, repeats, refusals.",
            CritiqueArguments,
            self_critique,
        ),
        Tool(
            "get_acceptance_history",
            "What the reader accepted and rejected: counts by type, the newest of each with reasons.",
            HistoryArguments,
            get_acceptance_history,
        ),
        Tool(
            "compare_configs",
            "Two config versions, or the current one and changes: differences, impact, digest either way.",
            CompareArguments,
            compare_configs,
        ),
    )
}


@cache
def schemas() -> tuple[ToolSchema, ...]:
    """Every tool's declaration, always in the same order (a stable prompt prefix is a cached one)."""
    return tuple(tool.schema for tool in TOOLS.values())


def dispatch(context: ToolContext, call: ToolCall) -> ToolOutcome:
    """Run one call for the reader the run is bound to. Bad calls become error results that say what is valid.

    Whatever a tool itself raises passes through: the loop decides about retries.
    """
    tool = TOOLS.get(call.name)
    if tool is None:
        return _refused("unknown_tool", f"There is no tool “{call.name[:64]}”.", tools=list(TOOLS))
    try:
        raw = _object_of(call.arguments)
    except ValueError as error:
        return _refused("invalid_arguments", f"The arguments are not a JSON object: {error}.")
    try:
        arguments = tool.arguments.model_validate(raw)
    except ValidationError as error:
        valid = list(tool.arguments.model_fields)
        return _refused("invalid_arguments", _problems(error), _target_of(raw), arguments=valid)
    result = tool.function(context, arguments)
    target = str(result.pop("target", ""))
    counted = bool(result.pop("counted", True))
    error_code = "" if result.get("success", True) else str(result["error"])
    return ToolOutcome(as_json(result), error_code, target, counted)


def _object_of(text: str) -> dict[str, Any]:
    """The arguments as an object; an empty text means none. Raises `ValueError` for anything else."""
    if len(text) > ARGUMENTS_CHARS_MAX:
        raise ValueError(f"they are longer than {ARGUMENTS_CHARS_MAX} characters")
    return json_object(text.strip() or "{}")


def _refused(code: str, details: str, target: str = "", **valid: list[str]) -> ToolOutcome:
    return ToolOutcome(as_json(error_result(code, details, **valid)), code, target)


def _target_of(raw: dict[str, Any]) -> str:
    """What a malformed write was about, as well as it can be told: failures are counted by it."""
    target = raw.get("target_key") or raw.get("target") or raw.get("suggested_value") or ""
    return str(target)[:TARGET_CHARS_MAX]


def _problems(error: ValidationError) -> str:
    """What is wrong, by argument, undeclared ones first; the values themselves are left out."""
    rows = error.errors(include_url=False, include_input=False, include_context=False)
    rows.sort(key=lambda row: row["type"] != "extra_forbidden")
    told = (f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}" for row in rows[:PROBLEMS_MAX])
    return "; ".join(told)
