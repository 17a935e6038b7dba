"""Call models and read their answers. Reserve money before a call, and try the next model if one fails.

Only the HTTP calls run in threads. The calling thread writes the ledger's rows on its own connection, and no
transaction is open during a call.

A typed answer is JSON in the reply's text. A provider that supports it enforces the schema. If an answer is
malformed, the model is asked once more and told the fault. A prompt is a Markdown file below a YAML front
matter, which is for people only.
"""

import json
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from digest.llm.entities import (
    AnswerForm,
    BudgetRefusal,
    Deadline,
    DeadlineExceeded,
    Message,
    Model,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PriceUnknown,
    ToolSchema,
    Turn,
    Usage,
    json_object_find,
    preview,
)
from digest.llm.forms import schema_close
from digest.llm.ledger import ADVISOR, SpendAccount, spend_settle, spend_settle_failed

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=BaseModel)

NO_MODEL = "no_model"
TIME_IS_UP = "The time for this run is up."
# After a wait that a provider asked for, at least this many seconds must remain for the call.
CALL_MIN_S = 3.0
# The fields of a message, and of a tool call in it, that every provider understands.
MESSAGE_KEYS = ("role", "content", "tool_calls", "tool_call_id")
CALL_KEYS = ("id", "type", "function")
MARKER = "---"
# The client allows 1,500 tokens of output, about 6,000 characters. A server that sends more ignores the
# limit.
ANSWER_CHARS_MAX = 12_000
MODEL_CHARS_MAX = 80
EMPTY, INVALID = "empty_answer", "invalid_answer"
OUT_OF_FORM = (EMPTY, INVALID)
REPAIR = (
    "Your last answer was not of the form asked for ({problem}). Answer again with the JSON object alone."
)
REPAIR_CHARS_MAX = 200
BEGAN = " It began: "
INTERRUPTED = frozenset({DeadlineExceeded.code, "budget_day", "budget_run", "budget_reader"})
UNREACHABLE = frozenset({NO_MODEL, ModelUnavailable.code, PriceUnknown.code})


def messages_portable(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without the fields that only its own provider understands."""
    return [_message_portable(message) for message in messages]


def _message_portable(message: Message) -> Message:
    copy = {key: message[key] for key in MESSAGE_KEYS if key in message}
    if "tool_calls" in copy:
        copy["tool_calls"] = [
            {key: call[key] for key in CALL_KEYS if key in call} for call in copy["tool_calls"]
        ]
    return copy


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to call a model, with its turn or its error.

    `ms` is its duration in milliseconds, `cost` its cost in USD. If the model has no price, no call was made.
    """

    model: str
    turn: Turn | None = None
    error: ModelError | None = None
    ms: int = 0
    cost: Decimal = Decimal(0)

    @property
    def usage(self) -> Usage:
        """Return the tokens of the turn, or zeros without a turn."""
        return self.turn.usage if self.turn else Usage()

    @property
    def error_code(self) -> str:
        """Return the stable code of the error, or "" for a turn."""
        return self.error.code if self.error else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request: a `turn`, or `None` with a stable `error_code` and a message.

    Codes are `no_model` and those of `ModelError` and `BudgetRefusal`. `model` gave the reply or was next.
    `ms` and `cost` (USD) are sums over all attempts. If every model failed, `retry_after_s` is the wait in
    seconds that the last one asked for.
    """

    turn: Turn | None
    error_code: str
    message: str
    model: str
    ms: int
    cost: Decimal
    retry_after_s: float | None = None


@dataclass(slots=True)
class _Request:
    """A request and the models left to try; the first of them is next. It is over when `reply` is set."""

    models: list[Model]
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    form: AnswerForm | None = None
    reply: Reply | None = None
    last: tuple[str, str, float | None] = (NO_MODEL, "No model is configured.", None)
    waited: bool = False
    ms: int = 0
    cost: Decimal = Decimal(0)
    worst_case: Decimal = Decimal(0)
    spend_id: int | None = None
    attempts: list[Attempt] = field(default_factory=list)

    def end(self, code: str, message: str, *, turn: Turn | None = None, wait: float | None = None) -> None:
        name = self.models[0].name if self.models else ""
        self.reply = Reply(turn, code, message, name, self.ms, self.cost, wait)


@dataclass(slots=True)
class ModelCaller:
    """Call models for one account, within one deadline, until one gives a turn.

    `share` is the part of the remaining time that a call may take if another model could still take over. A
    timeout ends the request only if the call had all the remaining time. Failures of models and
    providers raise nothing.
    """

    ledger: SpendAccount
    deadline: Deadline
    sleep: Callable[[float], None] = time.sleep
    share: float = 1.0

    def ask(
        self, models: list[Model], messages: Sequence[Message], tools: Sequence[ToolSchema] = ()
    ) -> Generator[Attempt, None, Reply]:
        """Yield each attempt after its money is booked; return the reply of the first model that works.

        Models that fail are removed from `models`.
        """
        request = _Request(models, messages, tools)
        while request.reply is None:
            wait = self._book(request, self._call(request)) if self._reserve(request) else 0.0
            yield from request.attempts
            request.attempts.clear()
            if wait:
                self.sleep(wait)
        return request.reply

    def ask_all(
        self,
        models: Sequence[Model],
        conversations: Sequence[Sequence[Message]],
        form: AnswerForm | None = None,
    ) -> list[Reply]:
        """Ask all `conversations` at the same time, and return the replies in their order.

        Answers are held to `form` by providers that can.
        """
        return self._run([_Request(list(models), messages, (), form) for messages in conversations])

    def _run(self, requests: list[_Request]) -> list[Reply]:
        """Ask in rounds: reserve money for each open request, call in parallel, book each, then wait."""
        with ThreadPoolExecutor(max_workers=max(1, len(requests)), thread_name_prefix="model") as pool:
            while waiting := [request for request in requests if request.reply is None]:
                ready = [request for request in waiting if self._reserve(request)]
                attempts = (pool.map if len(ready) > 1 else map)(self._call, ready)
                waits = [self._book(*pair) for pair in zip(ready, attempts, strict=True)]
                if wait := max(waits, default=0.0):
                    self.sleep(wait)
        return [request.reply for request in requests if request.reply is not None]

    def _reserve(self, request: _Request) -> bool:
        """Reserve money for the next call. Return `False` if no call is possible; the reply then says why."""
        while request.models:
            if self.deadline.left_s <= 0:
                request.end(DeadlineExceeded.code, TIME_IS_UP)
                return False
            model, request.spend_id = request.models[0], None
            try:
                request.worst_case = model.worst_case_usd(request.messages, request.tools)
            except ModelError as error:
                self._book(request, Attempt(model.name, error=error))
                continue
            # A free call needs no row in the ledger.
            if request.worst_case:
                spend = self.ledger.reserve(model=model.name, worst_case=request.worst_case)
                if isinstance(spend, BudgetRefusal):
                    request.end(spend.code, spend.message)
                    return False
                request.spend_id = spend
            return True
        code, message, wait = request.last
        request.end(code, message, wait=wait)
        return False

    def _has_all_time(self, request: _Request) -> bool:
        return self.share == 1.0 or len(request.models) == 1

    def _call(self, request: _Request) -> Attempt:
        """Make the call and nothing else, because this may run in a thread."""
        started, model = time.monotonic(), request.models[0]
        left_s = self.deadline.left_s * (1.0 if self._has_all_time(request) else self.share)
        turn, failure, cost = None, None, Decimal(0)
        try:
            turn = model.complete(
                request.messages, request.tools, timeout_s=max(0.01, left_s), form=request.form
            )
            cost = model.cost_usd(turn.usage)
        except ModelError as error:
            turn, failure = None, error
        return Attempt(model.name, turn, failure, round((time.monotonic() - started) * 1000), cost)

    def _book(self, request: _Request, attempt: Attempt) -> float:
        """Book an attempt and decide on the next step. Return the seconds to wait before it."""
        if attempt.turn and request.spend_id is not None:
            usage = attempt.turn.usage
            spend_settle(spend_id=request.spend_id, usage=usage, cost=attempt.cost, model=attempt.model)
        elif attempt.error:
            cost = spend_settle_failed(request.spend_id, request.worst_case, attempt.error)
            attempt = replace(attempt, cost=cost)
        request.ms += attempt.ms
        request.cost += attempt.cost
        _log(self.ledger.purpose, attempt)
        request.attempts.append(attempt)
        if attempt.error:
            return self._next_step(request, attempt.error)
        request.end("", "", turn=attempt.turn)
        return 0.0

    def _next_step(self, request: _Request, error: ModelError) -> float:
        """Decide after an error: end the request, wait once, or try the next model. Return seconds to wait.

        A refused request ends, and so does a call that used up all its time.
        """
        late = isinstance(error, DeadlineExceeded) and self._has_all_time(request)
        if late or isinstance(error, ModelRefused):
            request.end(error.code, str(error))
            return 0.0
        wait = error.retry_after_s if isinstance(error, ModelUnavailable) else None
        if wait is not None and not request.waited and wait + CALL_MIN_S < self.deadline.left_s:
            request.waited = True
            return wait
        request.last = error.code, str(error), wait
        request.models.pop(0)
        request.messages = messages_portable(request.messages)
        return 0.0


def _log(purpose: str, attempt: Attempt) -> None:
    usage = attempt.usage
    event = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": attempt.model,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.written_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        "error.type": attempt.error_code,
    }
    name = "model_call" if purpose == ADVISOR else f"{purpose}_call"
    log.info(name, ms=attempt.ms, cost_usd=str(attempt.cost), **event)


class PromptUnusable(Exception):
    """The prompt file is missing or malformed, so its feature cannot start."""


def prompt_read(path: Path) -> str:
    """Return the prompt in the file at `path`, without its front matter. Raises `PromptUnusable`.

    The front matter begins with a `---` line at the top and ends with another. A third one is an error.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptUnusable(f"The prompt {path.name} cannot be read: {error}") from error
    markers = [n for n, line in enumerate(lines) if line.rstrip() == MARKER]
    if len(markers) != 2 or markers[0] != 0:
        raise PromptUnusable(
            f"The prompt {path.name} needs exactly two {MARKER} lines, the first of them on top; "
            f"it has {len(markers)}."
        )
    body = "\n".join(lines[markers[1] + 1 :]).strip()
    if not body:
        raise PromptUnusable(f"The prompt {path.name} is empty below its front matter.")
    return body


@dataclass(frozen=True, slots=True)
class Question:
    """The trusted instructions (`system`) and their material (`user`), with untrusted parts fenced."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class TypedAnswer(Generic[T]):
    """The answer to a question: a `value`, or `None` with a stable `error_code` and a message.

    Codes are `no_model`, `empty_answer`, `invalid_answer` and those of `ModelError` and `BudgetRefusal`. `ms`
    and `cost` (USD) are sums over all models tried. `usage` counts the tokens of the model that answered.
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
        """Return whether time or money ran out. The question itself may be fine."""
        return self.error_code in INTERRUPTED

    @property
    def unreachable(self) -> bool:
        """Return whether no model could be asked, or none answered. The question itself may be fine."""
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
    """Ask one question. Like `typed_ask_all`, it never raises for failures of models."""
    questions = [Question(system, user)]
    return typed_ask_all(
        models=models, questions=questions, shape=shape, ledger=ledger, deadline=deadline, sleep=sleep
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
    """Ask all questions in parallel and return their answers in the same order.

    Each question goes to the first of `models` that works. Failures of models and providers raise nothing. If
    an answer is malformed, the same models are asked once more and told the fault.
    """
    conversations: list[list[Message]] = [
        [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
        for question in questions
    ]
    form = answer_form(shape)
    caller = ModelCaller(ledger, deadline, sleep)
    answers = [_answer(reply, shape) for reply in caller.ask_all(models, conversations, form)]
    again = [n for n, answer in enumerate(answers) if answer.error_code in OUT_OF_FORM]
    if again:
        repairs = [_repair(conversations[n], answers[n]) for n in again]
        for n, reply in zip(again, caller.ask_all(models, repairs, form), strict=True):
            answers[n] = _sum_answers(answers[n], _answer(reply, shape))
    return answers


def _repair(conversation: Sequence[Message], answer: TypedAnswer[T]) -> list[Message]:
    """Return the question followed by the fault of the answer. The answer itself is left out."""
    asked, question = conversation
    again = REPAIR.format(problem=answer.message.partition(BEGAN)[0][:REPAIR_CHARS_MAX])
    return [asked, {**question, "content": f"{question['content']}\n\n{again}"}]


def _sum_answers(first: TypedAnswer[T], second: TypedAnswer[T]) -> TypedAnswer[T]:
    """Return the second answer with the sums of both; the first if no model could be asked again."""
    answer = first if second.unreachable or second.interrupted else second
    return replace(
        answer, ms=first.ms + second.ms, usage=first.usage + second.usage, cost=first.cost + second.cost
    )


def answer_form(shape: type[BaseModel]) -> AnswerForm | None:
    """Return the schema of `shape` in the form that providers enforce: closed objects, all fields required.

    Limits of values are left out, because providers support different ones; they are checked afterwards.
    `None` if a part of the shape may be anything, which a strict schema cannot express.
    """
    schema = shape.model_json_schema()
    try:
        return AnswerForm(shape.__name__, schema_close(schema))
    except KeyError:
        return None


def data_fence(data: object) -> str:
    """Return `data` as JSON between `<data>` tags. Escaping prevents the content from closing the tag."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"<data>\n{text}\n</data>"


def _answer(reply: Reply, shape: type[T]) -> TypedAnswer[T]:
    code, message, value = reply.error_code, reply.message, None
    if reply.turn:
        code, message, value = _read(reply.turn.text, shape)
    usage = reply.turn.usage if reply.turn else Usage()
    return TypedAnswer(
        value, code, preview(message), reply.model[:MODEL_CHARS_MAX], reply.ms, usage, reply.cost
    )


def _read(text: str, shape: type[T]) -> tuple[str, str, T | None]:
    """Parse an answer. Return (error code, message, value).

    For a wrong form the message names the first problem, without quoting the answer's values.
    """
    if not text.strip():
        return EMPTY, "The answer was empty.", None
    if len(text) > ANSWER_CHARS_MAX:
        return INVALID, f"The answer is longer than {ANSWER_CHARS_MAX:,} characters.", None
    if (found := json_object_find(text)) is None:
        return INVALID, f"The answer is no JSON object.{BEGAN}{text[:120]!r}", None
    try:
        return "", "", shape.model_validate(found)
    except ValidationError as error:
        row = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return INVALID, f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}", None
