"""The nouns of a run: limits, context, steps, totals, end, and the tool calls of its conversation. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from digest.llm.entities import Deadline as TimeLimit
from digest.llm.entities import Message, ToolCall, Turn, json_object, json_object_find
from suggestions.entities import Fence, Reviewer

WRITE = "write_suggestion"
TARGET_CHARS_MAX = 64
Clock = Callable[[], float]


class StopReason(StrEnum):
    """Why a loop ended. `Run.stop_reason` stores it, `STATUS_OF` maps it to a status."""

    DONE = "done"
    DEADLINE = "deadline"
    BUDGET = "budget"
    TURN_LIMIT = "turn_limit"
    TOOL_CALL_LIMIT = "tool_call_limit"
    REPEATED_FAILURE = "repeated_failure"
    MODELS_EXHAUSTED = "models_exhausted"
    RATE_LIMITED = "rate_limited"
    MODEL_REFUSED = "model_refused"
    PROMPT_UNUSABLE = "prompt_unusable"
    FENCE_LOST = "fence_lost"
    DATABASE = "database"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run."""

    turns: int
    tool_calls: int
    history_turns: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the run binds every tool to: never part of a schema, never chosen by a model.

    `review` judges each proposal before it is stored; `None`: the rules alone decide.
    """

    reader_id: UUID
    run_id: UUID
    now: datetime
    fence: Fence
    review: Reviewer | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one tool call. `content` is JSON text; `error_code` is empty on success.

    `counted` is False for refusals that are not failures (a reviewer's request to improve, a block met for
    the first time).
    """

    content: str
    error_code: str = ""
    target: str = ""
    counted: bool = True


@dataclass(slots=True)
class RunTotals:
    """What a run has used so far."""

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call or tool call as it goes into the audit, ready to be stored.

    `kind` is "model" or "tool"; `result` is a preview of at most 2,000 characters; `reasoning` is what the
    model said beside its calls. Text is free of NUL and lone surrogates, which no database takes.
    """

    kind: str
    tool: str = ""
    model: str = ""
    arguments: dict[str, Any] | None = None
    result: str = ""
    error_code: str = ""
    reasoning: str = ""
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a loop: the reason, a message, and the closing summary where there was one.

    `retry_after_s` is the wait that the last provider asked for, where that ended it.
    """

    reason: StopReason
    message: str
    summary: dict[str, Any] | None = None
    totals: RunTotals = field(default_factory=RunTotals)
    retry_after_s: float | None = None


class Stopped(Exception):
    """Raised where the run is over for `reason`; what it has written stays."""

    def __init__(self, reason: StopReason, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s


class Deadline(TimeLimit):
    """The moment a run must end by. Time wins over every other cap."""

    __slots__ = ()

    def stop(self) -> Stopped | None:
        """Return the stop that is due once the moment has passed."""
        return Stopped(StopReason.DEADLINE, "The time for this run is up.") if self.left_s <= 0 else None


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a conversation with its result; either is empty where it was no JSON object."""

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
            calls.append(Call(call.name, call.arguments, object_of(answers.get(raw.get("id")))))
    return calls


def target_of(call: ToolCall) -> str:
    """Return what a call that was not run was about, if it says so: its failures are counted by it."""
    given = call.arguments
    target = given.get("target_key") or given.get("target") or given.get("suggested_value") or ""
    return str(target)[:TARGET_CHARS_MAX]


def calls_to(calls: Sequence[Call], name: str) -> list[Call]:
    """Return the calls to one tool."""
    return [call for call in calls if call.name == name]


def result_of(calls: Sequence[Call], name: str) -> Mapping[str, Any] | None:
    """Return the newest result of one tool that was no error; `None` if there is none."""
    good = [c.result for c in calls_to(calls, name) if c.result and "error" not in c.result]
    return good[-1] if good else None


def object_of(text: object) -> dict[str, Any]:
    """Return the JSON object in `text`; empty for anything else."""
    try:
        return json_object(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def closed_by(turn: Turn, messages: Sequence[Message]) -> bool:
    """Return whether a turn ended the run: it only wrote, all of it was stored, with the summary beside it.

    `messages` is the conversation with the turn's answers. Another request would only repeat the summary.
    """
    summary = json_object_find(turn.text) if all(call.name == WRITE for call in turn.tool_calls) else None
    if summary is None or not isinstance(summary.get("suggestions"), list):
        return False
    return all(call.succeeded for call in calls_of(messages)[-len(turn.tool_calls) :])
