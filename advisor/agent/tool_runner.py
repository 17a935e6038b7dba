"""The tool runner: a call is checked, advised on, run, retried once and recorded."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import structlog

from advisor.agent.error_policy import Kind, kind_of_exception
from advisor.entities import StepRecord, Stopped, StopReason, ToolOutcome, target_of
from advisor.guidance.entities import Level
from advisor.guidance.wording import Advice, blocked_outcome, with_advice
from advisor.token_budget import DROP_NOTE, as_json, error_result
from digest.llm.entities import ToolCall, ToolSchema, json_object, preview
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)

Dispatch = Callable[[ToolCall], ToolOutcome]
Record = Callable[[StepRecord], None]
DROP_AT, END_AT = 2, 3


class Verdict(Enum):
    """The consequence of a failure."""

    GO_ON = "go_on"
    DROP = "drop"
    END = "end"


@dataclass(slots=True)
class RepeatGuard:
    """Counts failures by tool, error code and target. A success in between changes nothing."""

    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def verdict(self, *, tool: str, code: str, target: str) -> Verdict:
        """Count one failure: the second equal one drops its hypothesis, the third ends the run."""
        key = (tool, code, target)
        self.failures[key] += 1
        if self.failures[key] >= END_AT:
            return Verdict.END
        return Verdict.DROP if self.failures[key] == DROP_AT else Verdict.GO_ON


class Guiding(Protocol):
    """Guidance of a run, as the loop needs it."""

    def start(self) -> str:
        """Return what the run reads before its first call; "" for nothing."""

    def before(self, call: ToolCall) -> Advice:
        """Return what to say of a call, or the rule that stops it. Raises `FenceLost`."""

    def after(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Note how the call ended."""


@dataclass(slots=True)
class ToolRunner:
    """Runs tool calls through `dispatch`, records each, and stops a run whose failures repeat."""

    dispatch: Dispatch
    record: Record
    schemas: Sequence[ToolSchema]
    guard: RepeatGuard = field(default_factory=RepeatGuard)
    guide: Guiding | None = None

    def run(self, call: ToolCall) -> tuple[str, Stopped | None]:
        """Run one call; return the result for the model, and after a third equal failure the stop.

        Raises `FenceLost` when the run is no longer ours.
        """
        started = time.monotonic()
        outcome = self._outcome(call)
        verdict = self._verdict(call, outcome)
        content = _with_note(outcome.content) if verdict is Verdict.DROP else outcome.content
        arguments = {"unreadable": preview(call.text)} if call.error else call.arguments
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
        """Return the answer to a call that is not run any more."""
        content = failure("not_executed", f"Not executed: {why}").content
        unread = {"unread": preview(call.text)}
        self.record(_step_of(call, unread, content, "not_executed", time.monotonic()))
        return content

    def _outcome(self, call: ToolCall) -> ToolOutcome:
        names = [schema["function"]["name"] for schema in self.schemas]
        if call.error:
            message = f"The arguments are not a JSON object: {call.error}. They began: {call.text[:80]!r}"
            return failure("invalid_arguments", message, valid_tools=names)
        if call.name not in names:
            return failure("unknown_tool", f"There is no tool {call.name!r}.", valid_tools=names)
        return self._guided(call) if self.guide else self._call_twice(call)

    def _guided(self, call: ToolCall) -> ToolOutcome:
        """Run the call and put beside it what guidance says; a call that a rule stops is not run.

        The first time that is no failure; a model that runs into it again is failing.
        """
        assert self.guide is not None
        advice, target = self.guide.before(call), target_of(call)
        if advice.level is Level.BLOCK:
            outcome = blocked_outcome(advice, target=target, counted=advice.repeated)
        else:
            outcome = self._call_twice(call)
            outcome = replace(outcome, content=with_advice(outcome.content, advice))
        self.guide.after(call, outcome)
        return outcome

    def _call_twice(self, call: ToolCall) -> ToolOutcome:
        """Run the call, a second time if the tool raises; then the model has to go on without it."""
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
    """Return an error result: what went wrong and what would be right."""
    return ToolOutcome(as_json(error_result(code, message, **valid)), error_code=code)


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


def _with_note(content: str) -> str:
    try:
        result = json_object(content)
    except ValueError:
        result = {"result": content}
    return as_json({**result, "note": DROP_NOTE})
