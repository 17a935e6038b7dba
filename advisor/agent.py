"""The loop: ask a model, run the tools it calls, until it is done or a cap says so.

Per turn: deadline, turns, budget, trim, call, booking, then each tool call. Every call is answered, also
when a cap falls in the middle of a batch. What tools have written stays, however the run ends.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from advisor.asking import Asker
from advisor.conversation import closed_by
from advisor.dispatch import Dispatch, Guiding, Record, ToolRunner
from advisor.entities import Limits, RunEnd, RunTotals, StopReason, ToolContext
from advisor.prompts import ADVISOR, PromptUnusable, messages_start, prompt_load
from advisor.stopping import Clock, Deadline, Stopped
from digest.llm.entities import Message, Model, ToolCall, ToolSchema, Turn
from digest.llm.ledger import SpendAccount
from digest.llm.model_text import summary_read
from suggestions.entities import FenceLost


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
    """Run the advisor for the reader of `context` to its end; `record` hears of each step as it happens.

    `models` are asked in order, the next one when one fails. Turns and tool calls are capped over all
    attempts at a run: `used` is what earlier ones took. `guide` advises at the start and before each call.
    Never raises for what a model, a provider or a tool does: that is the `RunEnd`. An error of our own (a
    ledger or a `record` that fails) goes up.
    """
    totals, deadline = used or RunTotals(), Deadline(clock() + limits.timeout_s, clock)
    asker = Asker(list(models), schemas, limits, ledger, record, totals, deadline, sleep)
    tools = ToolRunner(dispatch, record, schemas, guide=guide)
    try:
        messages = messages_start(prompt_load(prompt), context, guidance=guide.start() if guide else "")
        last = _converse(messages, asker, tools)
    except PromptUnusable as error:
        return RunEnd(StopReason.PROMPT_UNUSABLE, str(error), None, totals)
    except FenceLost as error:
        return RunEnd(StopReason.FENCE_LOST, f"Another worker took this run over. {error}", None, totals)
    except Stopped as stop:
        return RunEnd(stop.reason, stop.message, None, totals, stop.retry_after_s)
    summary = summary_read(last.text)
    message = "Finished." if summary else "Finished without a summary that could be read."
    return RunEnd(StopReason.DONE, message, summary, totals)


def _converse(messages: list[Message], asker: Asker, tools: ToolRunner) -> Turn:
    """Turn by turn to the one that calls no tool, or closes beside its writes; returns that.

    Raises `Stopped`.
    """
    while True:
        if asker.totals.turns >= asker.limits.turns:
            raise Stopped(StopReason.TURN_LIMIT, f"All {asker.limits.turns} turns are used up.")
        turn = asker.turn(messages)
        messages.append(turn.message)
        if not turn.tool_calls:
            return turn
        _answer_all(turn.tool_calls, messages, asker, tools)
        if closed_by(turn, messages):
            return turn


def _answer_all(calls: Sequence[ToolCall], messages: list[Message], asker: Asker, tools: ToolRunner) -> None:
    """Answer every call: run, or once a cap is hit told that it was not. Raises `Stopped` at the end then."""
    stop: Stopped | None = None
    for call in calls:
        stop = stop or asker.deadline.stop() or _calls_stop(asker)
        if stop:
            content = tools.skip(call, why=stop.message)
        else:
            asker.totals.tool_calls += 1
            content, stop = tools.run(call)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    if stop:
        raise stop


def _calls_stop(asker: Asker) -> Stopped | None:
    if asker.totals.tool_calls < asker.limits.tool_calls:
        return None
    return Stopped(StopReason.TOOL_CALL_LIMIT, f"All {asker.limits.tool_calls} tool calls are used up.")
