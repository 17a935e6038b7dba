"""The tools by name: their schemas, and the dispatch of a model's call to one, with one retry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import structlog
from django.db import DatabaseError
from pydantic import BaseModel, ValidationError

from advisor.conversation import ARGUMENTS_CHARS_MAX, FINISH_TOOL, call_target
from advisor.result_size import as_json, error_result
from advisor.run_values import ToolContext, ToolOutcome
from advisor.tools import NoArguments
from advisor.tools.drafts import (
    ChangeArguments,
    CompareArguments,
    CritiqueArguments,
    SuggestionArguments,
    compare_configs,
    self_critique,
    test_suggestion,
    write_suggestion,
)
from advisor.tools.finish import FinishArguments, finish
from advisor.tools.queries import (
    FeedbackArguments,
    HistoryArguments,
    OutcomesArguments,
    get_acceptance_history,
    get_suggestion_outcomes,
    get_user_profile,
    query_user_config,
    query_user_feedback,
)
from advisor.tools.reading import ItemsArguments, read_items
from digest.llm.entities import ToolCall, ToolSchema
from suggestions.proposals import FenceLost

log = structlog.get_logger(__name__)
PROBLEMS_MAX = 5
# Limits that no sensible call comes near, and texts for people who read the code.
UNDECLARED_KEYS = ("title", "maxLength", "exclusiveMaximum")
ITEMS_LIMIT_DECLARED_MAX = 3
EMPTY: tuple[object, ...] = (None, "", [])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model sees it, and its function: `(ToolContext, arguments) -> dict`."""

    name: str
    description: str
    arguments: type[BaseModel]
    function: Callable[[ToolContext, Any], dict[str, Any]]

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration in OpenAI's function format, derived from the arguments."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": schema_simplified(self.arguments.model_json_schema()),
        }
        return {"type": "function", "function": function}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "query_user_feedback",
            "What the reader liked and disliked: hypotheses, patterns by source, label, meaning; a sample.",
            FeedbackArguments,
            query_user_feedback,
        ),
        Tool(
            "read_items",
            "Read up to three rated items: lead, categories, author, every reason, the reader's own words.",
            ItemsArguments,
            read_items,
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
            "Try a change without proposing it: items for and against to cite, measured effect, what enters.",
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
        Tool(
            FINISH_TOOL,
            "End the run: beside your last writes, or alone.",
            FinishArguments,
            finish,
        ),
    )
}


@cache
def schemas() -> tuple[ToolSchema, ...]:
    """Return every tool's declaration, always in the same order, so that providers can cache the prompt."""
    return tuple(tool.schema for tool in TOOLS.values())


def is_tool(name: str) -> bool:
    """Return whether there is a tool of this name."""
    return name in TOOLS


def dispatch(context: ToolContext, call: ToolCall) -> ToolOutcome:
    """Run one call for the reader of the run, a second time if the tool raises. Raises `FenceLost`.

    Bad calls, and tools that fail twice, become error results that name the valid values or the next action.
    """
    bound = _bind(call)
    if isinstance(bound, ToolOutcome):
        return bound
    tool, arguments = bound
    for attempt in (1, 2):
        try:
            return _outcome(tool.function(context, arguments))
        except FenceLost:
            raise
        except Exception as error:
            log.exception("tool_failed", tool=call.name, attempt=attempt)
            code = "database_failed" if isinstance(error, DatabaseError) else "tool_failed"
    return _refusal(code, "The tool failed twice for a reason of its own. Go on without it.")


def _bind(call: ToolCall) -> ToolOutcome | tuple[Tool, BaseModel]:
    """Return the tool of a call with its checked arguments, or the error result of a bad call."""
    error = call.error
    if len(call.text) > ARGUMENTS_CHARS_MAX:
        error = f"they are longer than {ARGUMENTS_CHARS_MAX} characters"
    if error:
        message = f"The arguments are not a JSON object: {error}. They began: {call.text[:80]!r}"
        return _refusal("invalid_arguments", message, valid_tools=list(TOOLS))
    tool = TOOLS.get(call.name)
    if tool is None:
        return _refusal("unknown_tool", f"There is no tool {call.name[:64]!r}.", valid_tools=list(TOOLS))
    try:
        return tool, tool.arguments.model_validate(call.arguments)
    except ValidationError as problem:
        valid = list(tool.arguments.model_fields)
        return _refusal("invalid_arguments", _problems(problem), call_target(call), arguments=valid)


def _outcome(result: dict[str, Any]) -> ToolOutcome:
    """Return a tool's result as the outcome of its call."""
    target = str(result.pop("target", ""))
    counted = bool(result.pop("counted", True))
    error_code = "" if result.get("success", True) else str(result["error"])
    return ToolOutcome(as_json(result), error_code, target, counted)


def _refusal(code: str, details: str, target: str = "", **valid: list[str]) -> ToolOutcome:
    return ToolOutcome(as_json(error_result(code, details, **valid)), code, target)


def _problems(error: ValidationError) -> str:
    """Return the problems by argument, undeclared ones first, without the values."""
    rows = error.errors(include_url=False, include_input=False, include_context=False)
    rows.sort(key=lambda row: row["type"] != "extra_forbidden")
    problems = (f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}" for row in rows[:PROBLEMS_MAX])
    return "; ".join(problems)


def schema_simplified(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema without `$ref`, which some providers do not resolve, titles and empty defaults.

    A value that may be null is declared as its other type, because it can be left out. Nested objects have no
    description, because the tool's own describes its arguments.
    """
    definitions = schema.get("$defs", {})

    def simplify(node: Any) -> Any:
        if isinstance(node, list):
            return [simplify(part) for part in node]
        if not isinstance(node, dict):
            return node
        node = _plain(node, definitions)
        result = {
            key: simplify(value) for key, value in node.items() if key not in ("properties", *UNDECLARED_KEYS)
        }
        if result.get("maxItems", 0) > ITEMS_LIMIT_DECLARED_MAX:
            del result["maxItems"]
        if result.get("default", 0) in EMPTY:
            del result["default"]
        if "properties" not in node:
            return result
        result.pop("description", None)
        return result | {"properties": {name: simplify(one) for name, one in node["properties"].items()}}

    return dict(simplify({key: value for key, value in schema.items() if key != "$defs"}))


def _plain(node: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return `node` without a choice between null and one type, then with its reference resolved.

    The order matters: the one type may be a reference, as in an optional enum.
    """
    choices = [one for one in node.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        node = {**choices[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    if reference := node.get("$ref"):
        found = definitions[reference.rpartition("/")[2]]
        return _plain(found | {key: value for key, value in node.items() if key != "$ref"}, definitions)
    return node
