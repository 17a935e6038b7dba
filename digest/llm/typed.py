"""A question to a model that must be answered in a typed form; many questions are asked at once.

The answer is JSON in text, which every provider can give; no provider's own schema mode is relied on. Only
the wire runs in threads: the ledger's rows are written in the calling thread, on its own connection.
"""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from digest.llm.entities import (
    BudgetRefusal,
    Deadline,
    DeadlineExceeded,
    Message,
    Model,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PriceUnknown,
    Turn,
    Usage,
)
from digest.llm.ledger import SpendAccount, failure_booked, spend_settle
from digest.llm.model_text import preview, summary_read

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=BaseModel)
# The client allows 1,500 tokens of output, about 6,000 characters; a longer answer ignores the limit.
ANSWER_CHARS_MAX = 12_000
TIME_IS_UP = "The time for this run is up."
NO_MODEL, EMPTY, INVALID = "no_model", "empty_answer", "invalid_answer"
INTERRUPTED = frozenset({DeadlineExceeded.code, "budget_day", "budget_run", "budget_reader"})
UNREACHABLE = frozenset({NO_MODEL, ModelUnavailable.code, PriceUnknown.code})


@dataclass(frozen=True, slots=True)
class Question:
    """The trusted instructions, and the material they are about (untrusted parts fenced)."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class TypedAnswer(Generic[T]):
    """What came of a question: `value`, or `None` with a stable `error_code` and `message` in words.

    Codes: `no_model`, `empty_answer`, `invalid_answer`, those of a `ModelError` and of a `BudgetRefusal`.
    `ms` and `cost` (USD) add up over every model that was tried, `usage` is that of the one that answered.
    """

    value: T | None
    error_code: str = ""
    message: str = ""
    model: str = ""
    ms: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)

    @property
    def interrupted(self) -> bool:
        """Whether time or money ran out, which says nothing about the question."""
        return self.error_code in INTERRUPTED

    @property
    def unreachable(self) -> bool:
        """Whether no model could be asked or none answered, which says nothing about the question either."""
        return self.error_code in UNREACHABLE


def typed_ask(
    *,
    models: Sequence[Model],
    system: str,
    user: str,
    shape: type[T],
    ledger: SpendAccount,
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> TypedAnswer[T]:
    """Ask one question; `typed_ask_all` says how."""
    asked = [Question(system, user)]
    return typed_ask_all(
        models=models, questions=asked, shape=shape, ledger=ledger, deadline=deadline, sleep=sleep
    )[0]


def typed_ask_all(
    *,
    models: Sequence[Model],
    questions: Sequence[Question],
    shape: type[T],
    ledger: SpendAccount,
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> list[TypedAnswer[T]]:
    """Ask every question at once, each of the first of `models` that works; answers in their order.

    Money is set aside before a call and booked after it; no call outlives the deadline. Never raises for
    what a model or a provider does. A wait that a provider asks for is kept once, if the deadline allows.
    An unreadable answer is final: it was paid for, and another model's would be another opinion.
    """
    asks = [_Ask(question, list(models), shape, ledger.purpose) for question in questions]
    with ThreadPoolExecutor(max_workers=max(1, len(asks)), thread_name_prefix="typed") as pool:
        while waiting := [ask for ask in asks if ask.answer is None]:
            flying = [ask for ask in waiting if ask.reserve(ledger, deadline)]
            futures = [pool.submit(ask.call, deadline.left_s) for ask in flying]
            landed = zip(flying, futures, strict=True)
            if wait := max((ask.land(future, deadline) for ask, future in landed), default=0.0):
                sleep(wait)
    return [ask.answer for ask in asks if ask.answer is not None]


def fenced(data: object) -> str:
    """`data` as JSON that is marked as data: nothing inside it can close the mark."""
    told = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    escaped = told.replace("<", "\\u003c")
    return f"<data>\n{escaped}\n</data>"


@dataclass(slots=True)
class _Ask(Generic[T]):
    """One question on its way through the models; `answer` ends it."""

    question: Question
    models: list[Model]
    shape: type[T]
    purpose: str
    answer: TypedAnswer[T] | None = None
    said: tuple[str, str] = (NO_MODEL, "No model is configured.")
    waited: bool = False
    ms: int = 0
    cost: Decimal = Decimal(0)
    worst_case: Decimal = Decimal(0)
    spend_id: int | None = None

    @property
    def messages(self) -> list[Message]:
        """The request."""
        return [
            {"role": "system", "content": self.question.system},
            {"role": "user", "content": self.question.user},
        ]

    def reserve(self, ledger: SpendAccount, deadline: Deadline) -> bool:
        """Set money aside for the next call; `False` when there is none to make, and the answer says why."""
        while self.models:
            if deadline.left_s <= 0:
                return self._end(DeadlineExceeded.code, TIME_IS_UP)
            try:
                self.worst_case = self.models[0].worst_case_usd(self.messages, [])
            except ModelError as error:
                self.said = error.code, str(error)
                self.models.pop(0)
                continue
            # A call that can cost nothing needs no row.
            held = (
                ledger.reserve(model=self.models[0].name, worst_case=self.worst_case)
                if self.worst_case
                else None
            )
            if isinstance(held, BudgetRefusal):
                return self._end(held.code, held.message)
            self.spend_id = held
            return True
        return self._end(*self.said)

    def call(self, left_s: float) -> Turn:
        """The wire, and nothing else: runs in a thread. Raises a `ModelError`."""
        started = time.monotonic()
        try:
            return self.models[0].complete(self.messages, [], timeout_s=max(0.01, left_s))
        finally:
            self.ms += round((time.monotonic() - started) * 1000)

    def land(self, future: Future[Turn], deadline: Deadline) -> float:
        """Book what came back and read it; the seconds to wait before the same model is asked again."""
        model = self.models[0]
        try:
            turn = future.result()
            cost = model.cost_usd(turn.usage)
        except ModelError as error:
            return self._failed(model, error, deadline)
        if self.spend_id is not None:
            spend_settle(spend_id=self.spend_id, usage=turn.usage, cost=cost)
        self.cost += cost
        _log(self.purpose, model, turn.usage, cost, self.ms, "")
        self._read(turn, model)
        return 0.0

    def _failed(self, model: Model, error: ModelError, deadline: Deadline) -> float:
        """Book a call without an answer: the end for a refused or late one, else on to the next model."""
        cost = failure_booked(self.spend_id, self.worst_case, error)
        self.cost += cost
        self.said = error.code, str(error)
        _log(self.purpose, model, Usage(), cost, self.ms, error.code)
        if isinstance(error, DeadlineExceeded | ModelRefused):
            self._end(*self.said)
            return 0.0
        wait = error.retry_after_s if isinstance(error, ModelUnavailable) else None
        if wait is not None and not self.waited and wait < deadline.left_s:
            self.waited = True
            return wait
        self.models.pop(0)
        return 0.0

    def _read(self, turn: Turn, model: Model) -> None:
        code, message, value = "", "", None
        if not turn.text.strip():
            code, message = EMPTY, "The answer was empty."
        elif len(turn.text) > ANSWER_CHARS_MAX:
            code, message = INVALID, f"The answer is longer than {ANSWER_CHARS_MAX:,} characters."
        elif (found := summary_read(turn.text)) is None:
            code, message = INVALID, f"The answer is no JSON object. It began: {turn.text[:120]!r}"
        else:
            try:
                value = self.shape.model_validate(found)
            except ValidationError as error:
                code, message = INVALID, _problem(error)
        self.answer = TypedAnswer(
            value, code, preview(message), model.name[:80], self.ms, turn.usage, self.cost
        )

    def _end(self, code: str, message: str) -> bool:
        name = self.models[0].name[:80] if self.models else ""
        self.answer = TypedAnswer(None, code, preview(message), name, self.ms, Usage(), self.cost)
        return False


def _problem(error: ValidationError) -> str:
    """The first thing that is wrong with an answer's form; the values themselves are left out."""
    row = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}"


def _log(purpose: str, model: Model, usage: Usage, cost: Decimal, ms: int, code: str) -> None:
    event = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model.name,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "error.type": code,
    }
    log.info(f"{purpose}_call", ms=ms, cost_usd=str(cost), **event)
