"""One tool call from what the model wrote to what it is told: parsed, run, retried once, counted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog

from advisor.entities import StepRecord, StopReason, ToolOutcome
from advisor.guard import DROP_NOTE, RepeatGuard, Verdict
from advisor.guidance.answers import blocked_outcome, held_outcome, told_in
from advisor.guidance.entities import Advice, Level, Why
from advisor.policy import Kind, kind_of_exception
from advisor.stopping import Stopped
from advisor.tools.budget import as_json, error_result
from digest.llm.entities import ToolCall, ToolSchema
from digest.llm.model_text import json_object, preview
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)

TARGET_CHARS_MAX = 64
Dispatch = Callable[[ToolCall], ToolOutcome]
Record = Callable[[StepRecord], None]


class Guiding(Protocol):
    """Guidance of a run, as the loop needs it."""

    def start(self) -> str:
        """What the run is told before its first call; "" for nothing."""

    def before(self, call: ToolCall) -> Advice:
        """What to tell of a call, or why to hold or stop it. Raises `FenceLost`."""

    def after(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Note how the call ended."""


@dataclass(slots=True)
class ToolRunner:
    """Runs tool calls through `dispatch`, records each, and knows when a failure repeats once too often."""

    dispatch: Dispatch
    record: Record
    schemas: Sequence[ToolSchema]
    guard: RepeatGuard = field(default_factory=RepeatGuard)
    guide: Guiding | None = None

    def run(self, call: ToolCall) -> tuple[str, Stopped | None]:
        """Run one call: the result as the model gets to see it, and after a third equal failure the stop.

        Raises `FenceLost` when the run is no longer ours.
        """
        started = time.monotonic()
        arguments, outcome = self._attempt(call)
        verdict = self._verdict(call, outcome)
        content = _noted(outcome.content) if verdict is Verdict.DROP else outcome.content
        step = _step_of(call, arguments, content, outcome.error_code, started)
        self.record(step)
        event = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.tool,
            "gen_ai.tool.call.id": call.id,
            "error.type": step.error_code,
        }
        log.info("tool_call", ms=step.ms, **event)
        if verdict is not Verdict.END:
            return content, None
        message = f"{call.name} failed three times in the same way ({outcome.error_code})."
        return content, Stopped(StopReason.REPEATED_FAILURE, message)

    def skip(self, call: ToolCall, *, why: str) -> str:
        """Answer a call that is not run any more."""
        content = failure("not_executed", f"Not executed: {why}").content
        written = {"unread": preview(call.arguments)}
        self.record(_step_of(call, written, content, "not_executed", time.monotonic()))
        return content

    def _attempt(self, call: ToolCall) -> tuple[dict[str, Any], ToolOutcome]:
        """The parsed arguments (or what stood in their place) and the outcome."""
        names = [schema["function"]["name"] for schema in self.schemas]
        try:
            arguments = json_object(call.arguments)
        except ValueError as error:
            written = {"unreadable": preview(call.arguments)}
            message = f"The arguments are not a JSON object: {error}. They began: {call.arguments[:80]!r}"
            return written, failure("invalid_arguments", message, valid_tools=names)
        if call.name not in names:
            message = f"There is no tool {call.name!r}."
            return arguments, failure("unknown_tool", message, valid_tools=names)
        return arguments, self._guided(call, arguments) if self.guide else self._call_twice(call)

    def _guided(self, call: ToolCall, arguments: dict[str, Any]) -> ToolOutcome:
        """The call with what guidance says of it; a call that it stops or holds is not run.

        The first time that is no failure; a model that runs into it again is failing.
        """
        assert self.guide is not None
        advice, target = self.guide.before(call), _target_of(arguments)
        if advice.level is Level.BLOCK:
            outcome = blocked_outcome(advice, target=target, counted=advice.repeated)
        elif advice.why is Why.HELD:
            outcome = held_outcome(advice, target=target, counted=advice.repeated)
        else:
            outcome = self._call_twice(call)
            outcome = replace(outcome, content=told_in(outcome.content, advice))
        self.guide.after(call, outcome)
        return outcome

    def _call_twice(self, call: ToolCall) -> ToolOutcome:
        """A tool that raises gets a second chance; after that the model has to go on without it."""
        for attempt in (1, 2):
            try:
                return self.dispatch(call)
            except FenceLost:
                raise
            except Exception as error:
                log.exception("tool_failed", tool=call.name, attempt=attempt)
                code = "database_failed" if kind_of_exception(error) is Kind.DATABASE else "tool_failed"
        return failure(code, "The tool failed twice for a reason of its own. Go on without it.")

    def _verdict(self, call: ToolCall, outcome: ToolOutcome) -> Verdict:
        if not outcome.error_code or not outcome.counted:
            return Verdict.GO_ON
        return self.guard.verdict(tool=call.name, code=outcome.error_code, target=outcome.target)


def failure(code: str, message: str, **valid: list[str]) -> ToolOutcome:
    """An error result: what went wrong and what would be right."""
    return ToolOutcome(as_json(error_result(code, message, **valid)), error_code=code)


def _target_of(arguments: dict[str, Any]) -> str:
    """What a call that was not run was about: its failures are counted by it."""
    target = arguments.get("target_key") or arguments.get("target") or arguments.get("suggested_value") or ""
    return str(target)[:TARGET_CHARS_MAX]


def _step_of(
    call: ToolCall, arguments: dict[str, Any], content: str, code: str, started: float
) -> StepRecord:
    return StepRecord(
        kind="tool",
        tool=call.name[:64],
        arguments=arguments,
        result=preview(content),
        error_code=code[:60],
        ms=round((time.monotonic() - started) * 1000),
    )


def _noted(content: str) -> str:
    """A tool's result with the guard's note in it."""
    try:
        told = json_object(content)
    except ValueError:
        told = {"result": content}
    return as_json({**told, "note": DROP_NOTE})
