"""The loop: ask a model, run the tools it calls, until it is done or a cap says so.

Per turn: deadline, turns, budget, trim, call, booking, then each tool call. Every call is answered, also
when a cap falls in the middle of a batch. What tools have written stays, however the run ends.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from advisor.agent.tool_runner import Dispatch, Guiding, Record, ToolRunner
from advisor.entities import (
    Clock,
    Deadline,
    Limits,
    RunEnd,
    RunTotals,
    StepRecord,
    Stopped,
    StopReason,
    ToolContext,
    closed_by,
)
from advisor.prompts import ADVISOR, PromptUnusable, messages_start, prompt_load
from digest.llm.caller import Attempt, ModelCaller, Reply, messages_portable
from digest.llm.entities import (
    DeadlineExceeded,
    Message,
    Model,
    ModelRefused,
    ToolCall,
    ToolSchema,
    Turn,
    json_object_find,
    preview,
)
from digest.llm.ledger import REFUSALS, SpendAccount
from suggestions.entities import FenceLost

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
    prompt: Path = ADVISOR,
    guide: Guiding | None = None,
) -> RunEnd:
    """Run the advisor for the reader of `context` to its end; `record` gets each step as it happens.

    `models` are asked in order, the next one when one fails. Turns and tool calls are capped over all
    attempts at a run: `used` is what earlier ones took. `guide` advises at the start and before each call.
    Never raises for what a model, a provider or a tool does: that is the `RunEnd`. An error of our own (a
    ledger or a `record` that fails) goes up.
    """
    totals, deadline = used or RunTotals(), Deadline(clock() + limits.timeout_s, clock)
    tools = ToolRunner(dispatch, record, schemas, guide=guide)
    conversation = _Conversation(list(models), tools, limits, ledger, totals, deadline, sleep)
    try:
        messages = messages_start(prompt_load(prompt), context, guidance=guide.start() if guide else "")
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


def trim(messages: Sequence[Message], turns: int) -> list[Message]:
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
            if closed_by(turn, messages):
                return turn

    def _turn(self, messages: list[Message]) -> Turn:
        """Return the next turn. `messages` is cleaned in place when another model takes over."""
        caller = ModelCaller(self.ledger, self.deadline, self.sleep, CALL_SHARE, self._record)
        models_before, sent = len(self.models), trim(messages, self.limits.history_turns)
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
