"""The tool calls of a conversation with a model, as the loop, the planner and the audit read them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from digest.llm.entities import Message, ToolCall, Turn, json_object

WRITE_TOOL, FINISH_TOOL = "write_suggestion", "finish"
TARGET_CHARS_MAX = 64
# Longer arguments are refused, and their beginning is stored.
ARGUMENTS_CHARS_MAX = 20_000
# The number of a reader's newest thumbs that are weighed.
THUMBS_WEIGHED_MAX = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a conversation with its result. Either is empty if it was no JSON object."""

    name: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Return whether a write succeeded."""
        return self.result.get("success") is True


def calls_of(messages: Sequence[Message]) -> list[Call]:
    """Return every answered or unanswered tool call, in order."""
    answers = {m.get("tool_call_id"): m.get("content") for m in messages if m.get("role") == "tool"}
    calls = []
    for message in messages:
        for raw in message.get("tool_calls") or [] if message.get("role") == "assistant" else []:
            function = raw["function"]
            call = ToolCall(raw.get("id", ""), function["name"], function.get("arguments") or "")
            calls.append(Call(call.name, call.arguments, json_object_or_empty(answers.get(raw.get("id")))))
    return calls


def call_target(call: ToolCall) -> str:
    """Return the target of a call that was not run, if it names one. Failures are counted by target."""
    given = call.arguments
    return str(given.get("target") or "")[:TARGET_CHARS_MAX]


def calls_to(calls: Sequence[Call], name: str) -> list[Call]:
    """Return the calls to one tool."""
    return [call for call in calls if call.name == name]


def result_of(calls: Sequence[Call], name: str) -> Mapping[str, Any] | None:
    """Return the newest result of one tool without an error, or `None`."""
    good = [c.result for c in calls_to(calls, name) if c.result and "error" not in c.result]
    return good[-1] if good else None


def json_object_or_empty(text: object) -> dict[str, Any]:
    """Return the JSON object in `text`; empty for anything else."""
    try:
        return json_object(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def thumbs_weighed(meta: Mapping[str, Any]) -> int:
    """Return how many thumbs a run's hypotheses rest on, by the `meta` of `query_user_feedback`."""
    total = meta.get("total_feedback_available", 0)
    return min(THUMBS_WEIGHED_MAX, total) if isinstance(total, int) else 0


def refusal_code(result: Mapping[str, Any]) -> str:
    """Return the code of the rule that refused a write, also if guidance stopped the call by that rule."""
    return str(result.get("rule_id") or result.get("error") or "")


def has_refused_write(turn: Turn, messages: Sequence[Message]) -> bool:
    """Return whether a write of this turn was not stored.

    `messages` is the conversation with the turn's answers so far.
    """
    called = calls_of(messages)[-len(turn.tool_calls) :]
    return any(call.name == WRITE_TOOL and not call.succeeded for call in called)


def finish_of(turn: Turn, messages: Sequence[Message]) -> Mapping[str, Any] | None:
    """Return the arguments of the `finish` by which a turn ended the run; `None` if it did not.

    `messages` is the conversation with the turn's answers.
    """
    called = calls_of(messages)[-len(turn.tool_calls) :] if turn.tool_calls else []
    ends = [call.arguments for call in called if call.name == FINISH_TOOL and call.succeeded]
    return ends[-1] if ends else None
