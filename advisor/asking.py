"""One turn from whichever model can give it: budget, call, booking, and the fallback between models."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import structlog

from advisor import history
from advisor.dispatch import Record
from advisor.entities import Limits, RunTotals, StepRecord, StopReason
from advisor.stopping import Deadline, Stopped
from digest.llm.entities import (
    BudgetRefusal,
    DeadlineExceeded,
    Message,
    Model,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ToolSchema,
    Turn,
    Usage,
)
from digest.llm.ledger import SpendAccount, failure_booked, spend_settle
from digest.llm.model_text import preview

log = structlog.get_logger(__name__)

# Of the time a run has left, what one call may take while another model could take over. A call that drips
# then costs its own time and not the run; of an interactive run's 30 seconds a first call gets 20.
CALL_SHARE = 2 / 3
# Seconds that must be left for the call itself after a wait that a provider asks for.
CALL_MIN_S = 3.0
NOTHING_USED = Usage()


@dataclass(slots=True)
class Asker:
    """Asks the first of `models` that still works; one that fails is left for good."""

    models: list[Model]
    schemas: Sequence[ToolSchema]
    limits: Limits
    ledger: SpendAccount
    record: Record
    totals: RunTotals
    deadline: Deadline
    sleep: Callable[[float], None] = time.sleep

    def turn(self, messages: list[Message]) -> Turn:
        """The next turn. `messages` is cleaned in place when another model takes over.

        Raises `Stopped` at the deadline, out of money, on a refused request, and with no model left.
        """
        waited, said, wait = False, "No model is configured.", None
        while self.models:
            if stop := self.deadline.stop():
                raise stop
            try:
                return self._ask(self.models[0], messages)
            except ModelRefused as error:
                raise Stopped(StopReason.MODEL_REFUSED, str(error)) from error
            except ModelError as error:
                if isinstance(error, DeadlineExceeded) and len(self.models) == 1:
                    raise Stopped(StopReason.DEADLINE, str(error)) from error
                said, wait = str(error), _wait_asked(error)
                if not waited and self._wait_as_asked(error):
                    waited = True
                    continue
                self.models.pop(0)
                messages[:] = history.plain(messages)
        reason = StopReason.MODELS_EXHAUSTED if wait is None else StopReason.RATE_LIMITED
        raise Stopped(reason, f"No model is left to ask. The last one: {said}", retry_after_s=wait)

    def _wait_as_asked(self, error: ModelError) -> bool:
        """Sit out the wait a provider asked for, if the deadline allows it and the call after it."""
        wait = _wait_asked(error)
        if wait is None or wait + CALL_MIN_S >= self.deadline.left_s:
            return False
        self.sleep(wait)
        return True

    @property
    def _call_timeout_s(self) -> float:
        """What one call may take: all that is left for the last model, else enough to leave another some."""
        return self.deadline.left_s * (CALL_SHARE if len(self.models) > 1 else 1.0)

    def _ask(self, model: Model, messages: list[Message]) -> Turn:
        """One call, its money booked before anything else is done with the answer."""
        started, worst_case, spend_id = time.monotonic(), Decimal(0), None
        sent = history.trim(messages, self.limits.history_turns)
        try:
            worst_case = model.worst_case_usd(sent, self.schemas)
            spend_id = self._reserve(model, worst_case)
            turn = model.complete(sent, self.schemas, timeout_s=self._call_timeout_s)
        except ModelError as error:
            cost = failure_booked(spend_id, worst_case, error)
            step = StepRecord(kind="model", error_code=error.code, result=preview(str(error)))
            self._done(model, step, cost, started)
            raise
        cost = model.cost_usd(turn.usage)
        if spend_id is not None:
            spend_settle(spend_id=spend_id, usage=turn.usage, cost=cost)
        self._count(model, turn)
        self._done(model, _step_of(turn), cost, started, turn.usage)
        return turn

    def _reserve(self, model: Model, worst_case: Decimal) -> int | None:
        """The ledger row of the next call; a free call needs none. Raises `Stopped` out of money."""
        if not worst_case:
            return None
        held = self.ledger.reserve(model=model.name, worst_case=worst_case)
        if isinstance(held, BudgetRefusal):
            raise Stopped(StopReason.BUDGET, held.message)
        return held

    def _count(self, model: Model, turn: Turn) -> None:
        self.totals.model = model.name
        self.totals.turns += 1
        self.totals.input_tokens += turn.usage.input_tokens
        self.totals.output_tokens += turn.usage.output_tokens

    def _done(
        self, model: Model, step: StepRecord, cost: Decimal, started: float, usage: Usage = NOTHING_USED
    ) -> None:
        """Record a call, good or bad, with its time and cost."""
        self.totals.cost_usd += cost
        ms = round((time.monotonic() - started) * 1000)
        self.record(replace(step, model=preview(model.name)[:80], cost_usd=cost, ms=ms))
        event = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model.name,
            "gen_ai.usage.input_tokens": step.input_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.written_tokens,
            "gen_ai.usage.output_tokens": step.output_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "error.type": step.error_code,
        }
        log.info("model_call", ms=ms, cost_usd=str(cost), **event)


def _wait_asked(error: ModelError) -> float | None:
    """The seconds a provider asked to wait (429, some 503); `None` when it asked for none."""
    return error.retry_after_s if isinstance(error, ModelUnavailable) else None


def _step_of(turn: Turn) -> StepRecord:
    """What the audit keeps of a turn: what was said, and which tools it went on to call."""
    called = ", ".join(call.name for call in turn.tool_calls)
    return StepRecord(
        kind="model",
        result=preview(called or turn.text),
        reasoning=preview(turn.text) if called else "",
        input_tokens=turn.usage.input_tokens,
        output_tokens=turn.usage.output_tokens,
    )
