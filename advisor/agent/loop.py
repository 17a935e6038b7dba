"""The loop: ask a model, check, advise on and run the tools it calls, until it is done or a cap says so.

Per turn: deadline, turns, budget, trim, call, booking, then each tool call. A tool that raises is retried
once. Every call is answered and recorded, also when a cap falls in the middle of a batch. What tools have
written stays, however the run ends.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import structlog

from advisor.agent.error_policy import Kind, kind_of_exception
from advisor.entities import (
    DROP_NOTE,
    Clock,
    Deadline,
    Limits,
    RunEnd,
    RunTotals,
    StepRecord,
    Stopped,
    StopReason,
    ToolContext,
    ToolOutcome,
    as_json,
    call_target,
    error_result,
    turn_closes_run,
)
from advisor.guidance.entities import Level
from advisor.guidance.wording import Advice, blocked_outcome, with_advice
from advisor.prompts import ADVISOR_PROMPT, PromptUnusable, opening_messages, prompt_load
from digest.llm.caller import Attempt, ModelCaller, Reply, messages_portable
from digest.llm.entities import (
    DeadlineExceeded,
    Message,
    Model,
    ModelRefused,
    ToolCall,
    ToolSchema,
    Turn,
    json_object,
    json_object_find,
    preview,
)
from digest.llm.ledger import REFUSALS, SpendAccount
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)

Dispatch = Callable[[ToolCall], ToolOutcome]
Record = Callable[[StepRecord], None]
DROP_AT, END_AT = 2, 3
# Of the time a run has left, what one call may take while another model could take over. A call that drips
# then costs its own time and not the run; of an interactive run's 30 seconds a first call gets 20.
CALL_SHARE = 2 / 3
MODEL_CHARS_MAX = 80
# The replies without a turn that end a run at once; after any other the chain is exhausted.
STOP_OF_CODE = {
    DeadlineExceeded.code: StopReason.DEADLINE,
    ModelRefused.code: StopReason.MODEL_REFUSED,
    **{code: StopReason.BUDGET for code, _ in REFUSALS.values()},
}


class FailureAction(Enum):
    """The consequence of a failure."""

    GO_ON = "go_on"
    DROP = "drop"
    END = "end"


@dataclass(slots=True)
class RepeatGuard:
    """Counts failures by tool, error code and target. A success in between changes nothing."""

    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def verdict(self, *, tool: str, code: str, target: str) -> FailureAction:
        """Count one failure: the second equal one drops its hypothesis, the third ends the run."""
        key = (tool, code, target)
        self.failures[key] += 1
        if self.failures[key] >= END_AT:
            return FailureAction.END
        return FailureAction.DROP if self.failures[key] == DROP_AT else FailureAction.GO_ON


class RunGuidance(Protocol):
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
    guide: RunGuidance | None = None

    def run(self, call: ToolCall) -> tuple[str, Stopped | None]:
        """Run one call; return the result for the model, and after a third equal failure the stop.

        Raises `FenceLost` when the run is no longer ours.
        """
        started = time.monotonic()
        outcome = self._outcome(call)
        verdict = self._verdict(call, outcome)
        content = _with_note(outcome.content) if verdict is FailureAction.DROP else outcome.content
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
        if verdict is not FailureAction.END:
            return content, None
        message = f"{call.name} failed three times in the same way ({outcome.error_code})."
        return content, Stopped(StopReason.REPEATED_FAILURE, message)

    def skip(self, call: ToolCall, *, why: str) -> str:
        """Return the answer to a call that is not run any more."""
        content = tool_failure("not_executed", f"Not executed: {why}").content
        unread = {"unread": preview(call.text)}
        self.record(_step_of(call, unread, content, "not_executed", time.monotonic()))
        return content

    def _outcome(self, call: ToolCall) -> ToolOutcome:
        names = [schema["function"]["name"] for schema in self.schemas]
        if call.error:
            message = f"The arguments are not a JSON object: {call.error}. They began: {call.text[:80]!r}"
            return tool_failure("invalid_arguments", message, valid_tools=names)
        if call.name not in names:
            return tool_failure("unknown_tool", f"There is no tool {call.name!r}.", valid_tools=names)
        return self._guided(call) if self.guide else self._call_twice(call)

    def _guided(self, call: ToolCall) -> ToolOutcome:
        """Run the call and put beside it what guidance says; a call that a rule stops is not run.

        The first time that is no failure; a model that runs into it again is failing.
        """
        assert self.guide is not None
        advice, target = self.guide.before(call), call_target(call)
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
        return tool_failure(code, "The tool failed twice for a reason of its own. Go on without it.")

    def _verdict(self, call: ToolCall, outcome: ToolOutcome) -> FailureAction:
        if not outcome.error_code or not outcome.counted:
            return FailureAction.GO_ON
        return self.guard.verdict(tool=call.name, code=outcome.error_code, target=outcome.target)


def tool_failure(code: str, message: str, **valid: list[str]) -> ToolOutcome:
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


def agent_run(
    *,
    context: ToolContext,
    models: Sequence[Model],
    dispatch: Dispatch,
    schemas: Sequence[ToolSchema],
    limits: Limits,
    ledger: SpendAccount,
    record: Record,
    used: RunTotals | None = None,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    prompt: Path | None = ADVISOR_PROMPT,
    guide: RunGuidance | None = None,
) -> RunEnd:
    """Run the advisor for the reader of `context` to its end; `record` gets each step as it happens.

    `models` are asked in order, the next one when one fails. Turns and tool calls are capped over all
    attempts at a run: `used` is what earlier ones took. `guide` advises at the start and before each call.
    Without a `prompt`, which the planner does not read, the conversation opens empty and without advice.
    Never raises for what a model, a provider or a tool does: that is the `RunEnd`. An error of our own (a
    ledger or a `record` that fails) goes up.
    """
    totals, deadline = used or RunTotals(), Deadline(clock() + limits.timeout_s, clock)
    tools = ToolRunner(dispatch, record, schemas, guide=guide)
    conversation = _Conversation(list(models), tools, limits, ledger, totals, deadline, sleep)
    try:
        messages: list[Message] = [{"role": "user", "content": ""}]
        if prompt is not None:
            start = guide.start() if guide else ""
            messages = opening_messages(prompt_load(prompt), context, guidance=start)
        last = conversation.run(messages)
    except PromptUnusable as error:
        return RunEnd(StopReason.PROMPT_UNUSABLE, str(error), None, totals)
    except FenceLost as error:
        return RunEnd(StopReason.FENCE_LOST, f"Another worker took this run over. {error}", None, totals)
    except Stopped as stop:
        return RunEnd(stop.reason, stop.message, None, totals, stop.retry_after_s)
    summary = json_object_find(last.text)
    message = "Finished." if summary else "Finished without a summary that could be read."
    return RunEnd(StopReason.DONE, message, summary, totals)


def history_trim(messages: Sequence[Message], turns: int) -> list[Message]:
    """Return the opening (everything before the first answer) and the last `turns` turns.

    A turn is an assistant message with all its tool results: a result without its call would be refused.
    """
    starts = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    if len(starts) <= turns:
        return list(messages)
    return [*messages[: starts[0]], *messages[starts[-turns] :]]


@dataclass(slots=True)
class _Conversation:
    """A run's turns: asks `models`, of which those that fail are removed, and answers their tool calls."""

    models: list[Model]
    tools: ToolRunner
    limits: Limits
    ledger: SpendAccount
    totals: RunTotals
    deadline: Deadline
    sleep: Callable[[float], None]

    def run(self, messages: list[Message]) -> Turn:
        """Go on to the turn that calls no tool, or closes beside its writes; return it. Raises `Stopped`."""
        while True:
            if self.totals.turns >= self.limits.turns:
                raise Stopped(StopReason.TURN_LIMIT, f"All {self.limits.turns} turns are used up.")
            turn = self._turn(messages)
            messages.append(turn.message)
            if not turn.tool_calls:
                return turn
            self._answer_all(turn.tool_calls, messages)
            if turn_closes_run(turn, messages):
                return turn

    def _turn(self, messages: list[Message]) -> Turn:
        """Return the next turn. `messages` is cleaned in place when another model takes over."""
        caller = ModelCaller(self.ledger, self.deadline, self.sleep, CALL_SHARE, self._record)
        models_before, sent = len(self.models), history_trim(messages, self.limits.history_turns)
        reply = caller.ask(self.models, sent, self.tools.schemas)
        if reply.turn is None:
            raise _stop_of(reply)
        if len(self.models) < models_before:
            messages[:] = messages_portable(messages)
        return reply.turn

    def _record(self, attempt: Attempt) -> None:
        """Count an attempt, good or bad, and record it: the tools it called, with its text, or the text."""
        turn, usage = attempt.turn, attempt.usage
        text, called = "", ""
        if turn:
            text, called = turn.text, ", ".join(call.name for call in turn.tool_calls)
            self.totals.model = attempt.model
            self.totals.turns += 1
            self.totals.input_tokens += usage.input_tokens
            self.totals.output_tokens += usage.output_tokens
        self.totals.cost_usd += attempt.cost
        self.tools.record(
            StepRecord(
                kind="model",
                model=preview(attempt.model)[:MODEL_CHARS_MAX],
                result=preview(str(attempt.error) if attempt.error else called or text),
                error_code=attempt.error_code,
                reasoning=preview(text) if called else "",
                ms=attempt.ms,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=attempt.cost,
            )
        )

    def _answer_all(self, calls: Sequence[ToolCall], messages: list[Message]) -> None:
        """Answer every call; past a cap with a notice that it was not run, and `Stopped` at the end."""
        stop: Stopped | None = None
        for call in calls:
            stop = stop or self.deadline.stop() or self._calls_stop()
            if stop:
                content = self.tools.skip(call, why=stop.message)
            else:
                self.totals.tool_calls += 1
                content, stop = self.tools.run(call)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        if stop:
            raise stop

    def _calls_stop(self) -> Stopped | None:
        if self.totals.tool_calls < self.limits.tool_calls:
            return None
        return Stopped(StopReason.TOOL_CALL_LIMIT, f"All {self.limits.tool_calls} tool calls are used up.")


def _stop_of(reply: Reply) -> Stopped:
    """Return the stop that follows from a reply without a turn; a wait asked for makes it a rate limit."""
    if reason := STOP_OF_CODE.get(reply.error_code):
        return Stopped(reason, reply.message)
    reason = StopReason.MODELS_EXHAUSTED if reply.retry_after_s is None else StopReason.RATE_LIMITED
    message = f"No model is left to ask. The last one: {reply.message}"
    return Stopped(reason, message, retry_after_s=reply.retry_after_s)
