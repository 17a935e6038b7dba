"""The loop of a run as an iteration: it asks a model and yields each step. The caller answers tool calls.

Per turn: turns, deadline, budget, trim, call, booking, then each tool call. Every call is answered and
yielded, even if a cap falls in the middle of a batch. Tools' writes stay however the run ends.

    for each step of `agent_run(...)`:
        `ModelAnswered`   store it
        `ToolCalled`      run the tool and send its `ToolOutcome` back
        `ToolAnswered`    store it
        `Ended`           the run is over; nothing comes after it
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import structlog

from advisor.conversation import ARGUMENTS_CHARS_MAX, FINISH_TOOL, finish_of, has_refused_write
from advisor.result_size import DROP_NOTE, as_json, error_result
from advisor.run_values import (
    Clock,
    Deadline,
    Limits,
    RunEnd,
    RunTotals,
    StepRecord,
    Stopped,
    StopReason,
    ToolOutcome,
)
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
    preview,
)
from digest.llm.ledger import REFUSALS, SpendAccount

log = structlog.get_logger(__name__)

DROP_AT, END_AT = 2, 3
# The share of a run's remaining time that one call may take while another model could take over. A call that
# drips then costs its own time and not the run. Of an interactive run's 30 seconds a first call gets 20.
CALL_SHARE = 2 / 3
MODEL_CHARS_MAX = 80
WRITE_REFUSED = "A write of this turn was refused. Mend it, or call finish alone."
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


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A model was asked: its turn, or the error of a call that failed, booked."""

    step: StepRecord


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A model calls a tool; the loop waits for the outcome."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A call was answered, or skipped at a cap."""

    step: StepRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over."""

    end: RunEnd


AgentStep = ModelAnswered | ToolCalled | ToolAnswered | Ended
Steps = Generator[AgentStep, ToolOutcome | None, None]


@dataclass(slots=True)
class RunBudget:
    """The caps of a run and its use of them. Turns and tool calls count over all attempts."""

    limits: Limits
    ledger: SpendAccount
    totals: RunTotals = field(default_factory=RunTotals)
    clock: Clock = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def tool_step(call: ToolCall, content: str, code: str, started: float) -> StepRecord:
    """Return an answered call as it is stored; `started` is the monotonic second it began."""
    refused = call.error or len(call.text) > ARGUMENTS_CHARS_MAX
    arguments: dict[str, Any] = {"unreadable": preview(call.text)} if refused else call.arguments
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
    *, opening: Sequence[Message], models: Sequence[Model], schemas: Sequence[ToolSchema], budget: RunBudget
) -> Steps:
    """Yield the steps of a run from its `opening` messages to its end (see the module).

    `models` are asked in order; if one fails, the next is asked. Failures of models and providers are not
    raised but returned in the `RunEnd`. An error of our own, such as a failing ledger, propagates.
    """
    conversation = _Conversation(list(opening), list(models), schemas, budget)
    try:
        summary = yield from conversation.turns()
    except Stopped as stop:
        yield Ended(RunEnd(stop.reason, stop.message, None, budget.totals, stop.retry_after_s))
        return
    message = "Finished." if summary is not None else "Finished without its reasons."
    yield Ended(RunEnd(StopReason.DONE, message, summary, budget.totals))


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
    """A run's turns: it asks `models`, drops those that fail, and has their tool calls answered."""

    messages: list[Message]
    models: list[Model]
    schemas: Sequence[ToolSchema]
    budget: RunBudget
    guard: RepeatGuard = field(default_factory=RepeatGuard)
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        clock = self.budget.clock
        self.deadline = Deadline(clock() + self.budget.limits.timeout_s, clock)

    def turns(self) -> Generator[AgentStep, ToolOutcome | None, dict[str, Any] | None]:
        """Go on to the turn that calls `finish`, or no tool; return what `finish` said. Raises `Stopped`."""
        limits, totals = self.budget.limits, self.budget.totals
        while True:
            if totals.turns >= limits.turns:
                raise Stopped(StopReason.TURN_LIMIT, f"All {limits.turns} turns are used up.")
            turn = yield from self._turn()
            self.messages.append(turn.message)
            if not turn.tool_calls:
                return None
            stop: Stopped | None = None
            for call in sorted(turn.tool_calls, key=_is_finish):
                stop = stop or self.deadline.stop() or self._calls_stop(call)
                if stop:
                    content = tool_failure("not_executed", f"Not executed: {stop.message}").content
                    yield ToolAnswered(_skip_step(call, content))
                elif _is_finish(call) and has_refused_write(turn, self.messages):
                    content = tool_failure("write_refused", WRITE_REFUSED).content
                    yield ToolAnswered(tool_step(call, content, "write_refused", time.monotonic()))
                else:
                    content, stop = yield from self._answer(call)
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            if stop:
                raise stop
            if (ended := finish_of(turn, self.messages)) is not None:
                return dict(ended)

    def _turn(self) -> Generator[AgentStep, ToolOutcome | None, Turn]:
        """Return the next turn. The messages are cleaned in place when another model takes over.

        The caller takes a model that fails off the list, so a shorter list means that another one answered.
        """
        caller = ModelCaller(self.budget.ledger, self.deadline, self.budget.sleep, CALL_SHARE)
        models_before = len(self.models)
        sent = history_trim(self.messages, self.budget.limits.history_turns)
        attempts = caller.ask(self.models, sent, self.schemas)
        while True:
            try:
                attempt = next(attempts)
            except StopIteration as over:
                reply: Reply = over.value
                break
            self._count(attempt)
            yield ModelAnswered(_model_step(attempt))
        if reply.turn is None:
            raise _stop_of(reply)
        if len(self.models) < models_before:
            self.messages[:] = messages_portable(self.messages)
        return reply.turn

    def _count(self, attempt: Attempt) -> None:
        """Add an attempt, good or bad, to the totals."""
        totals = self.budget.totals
        if attempt.turn:
            totals.model = attempt.model
            totals.turns += 1
            totals.input_tokens += attempt.usage.input_tokens
            totals.output_tokens += attempt.usage.output_tokens
        totals.cost_usd += attempt.cost

    def _answer(self, call: ToolCall) -> Generator[AgentStep, ToolOutcome | None, tuple[str, Stopped | None]]:
        """Get the answer to one call. Return its result and, after the third equal failure, the stop."""
        self.budget.totals.tool_calls += 1
        started = time.monotonic()
        outcome = yield ToolCalled(call)
        assert outcome is not None, "a tool call is answered by sending its outcome"
        action, content = self._consequence(call, outcome), outcome.content
        if action is FailureAction.DROP:
            content = _with_note(content)
        step = tool_step(call, content, outcome.error_code, started)
        yield ToolAnswered(step)
        event = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.tool,
            "gen_ai.tool.call.id": call.id,
            "error.type": step.error_code,
        }
        log.info("tool_call", ms=step.ms, **event)
        if action is not FailureAction.END:
            return content, None
        message = f"{call.name} failed three times in the same way ({outcome.error_code})."
        return content, Stopped(StopReason.REPEATED_FAILURE, message)

    def _consequence(self, call: ToolCall, outcome: ToolOutcome) -> FailureAction:
        if not outcome.error_code or not outcome.counted:
            return FailureAction.GO_ON
        return self.guard.verdict(tool=call.name, code=outcome.error_code, target=outcome.target)

    def _calls_stop(self, call: ToolCall) -> Stopped | None:
        """Return the stop at the cap of calls. The end of a run is not one call too many."""
        limit = self.budget.limits.tool_calls
        if self.budget.totals.tool_calls < limit or _is_finish(call):
            return None
        return Stopped(StopReason.TOOL_CALL_LIMIT, f"All {limit} tool calls are used up.")


def _is_finish(call: ToolCall) -> bool:
    return call.name == FINISH_TOOL


def tool_failure(code: str, message: str) -> ToolOutcome:
    """Return an error result with the reason of the failure."""
    return ToolOutcome(as_json(error_result(code, message)), error_code=code)


def _skip_step(call: ToolCall, content: str) -> StepRecord:
    """Return a call that a cap prevented, as it is stored."""
    unread = {"unread": preview(call.text)}
    return replace(tool_step(call, content, "not_executed", time.monotonic()), arguments=unread)


def _model_step(attempt: Attempt) -> StepRecord:
    """Return an attempt as it is stored: the tools it called, with its text, or the text alone."""
    called = ", ".join(call.name for call in attempt.turn.tool_calls) if attempt.turn else ""
    text = attempt.turn.text if attempt.turn else ""
    return StepRecord(
        kind="model",
        model=preview(attempt.model)[:MODEL_CHARS_MAX],
        result=preview(str(attempt.error) if attempt.error else called or text),
        error_code=attempt.error_code,
        reasoning=preview(text) if called else "",
        ms=attempt.ms,
        input_tokens=attempt.usage.input_tokens,
        output_tokens=attempt.usage.output_tokens,
        cost_usd=attempt.cost,
    )


def _stop_of(reply: Reply) -> Stopped:
    """Return the stop that follows from a reply without a turn; a wait asked for makes it a rate limit."""
    if reason := STOP_OF_CODE.get(reply.error_code):
        return Stopped(reason, reply.message)
    reason = StopReason.MODELS_EXHAUSTED if reply.retry_after_s is None else StopReason.RATE_LIMITED
    message = f"No model is left to ask. The last one: {reply.message}"
    return Stopped(reason, message, retry_after_s=reply.retry_after_s)
