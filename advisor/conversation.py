"""Reading a conversation back: which tools were called, with what, and what they answered. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from digest.llm.entities import Message, Turn
from digest.llm.model_text import json_object, summary_read

WRITE = "write_suggestion"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a conversation with its result; either is empty where it was no JSON object."""

    name: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether a write went through."""
        return self.result.get("success") is True


def calls_of(messages: Sequence[Message]) -> list[Call]:
    """Every answered or unanswered tool call, in order."""
    answers = {m.get("tool_call_id"): m.get("content") for m in messages if m.get("role") == "tool"}
    asked = (c for m in messages if m.get("role") == "assistant" for c in m.get("tool_calls") or [])
    return [
        Call(
            call["function"]["name"],
            object_of(call["function"].get("arguments")),
            object_of(answers.get(call.get("id"))),
        )
        for call in asked
    ]


def calls_to(calls: Sequence[Call], name: str) -> list[Call]:
    """The calls to one tool."""
    return [call for call in calls if call.name == name]


def result_of(calls: Sequence[Call], name: str) -> Mapping[str, Any] | None:
    """The newest result of one tool that was no error; `None` if there is none."""
    good = [c.result for c in calls_to(calls, name) if c.result and "error" not in c.result]
    return good[-1] if good else None


def object_of(text: object) -> dict[str, Any]:
    """The JSON object in `text`; empty for anything else."""
    try:
        return json_object(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def closed_by(turn: Turn, messages: Sequence[Message]) -> bool:
    """Whether a turn ended the run: it only wrote, all of it was stored, and the summary stood beside it.

    `messages` is the conversation with the turn's answers. Another request would only repeat the summary.
    """
    summary = summary_read(turn.text) if all(call.name == WRITE for call in turn.tool_calls) else None
    if summary is None or not isinstance(summary.get("suggestions"), list):
        return False
    return all(call.succeeded for call in calls_of(messages)[-len(turn.tool_calls) :])
