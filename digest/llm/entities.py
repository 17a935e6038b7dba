"""Values of model calls (messages, turns, usage, errors), shared by all providers and the planner. Pure."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

Message = dict[str, Any]
ToolSchema = dict[str, Any]

PREVIEW_CHARS = 2000
# In the message of a reply without a word, because the model spent its output on thoughts.
ONLY_REASONING = "all the output went into reasoning"
# Ten times the text that a model may write. A longer one comes from a server that ignores the limit.
OBJECT_CHARS_MAX = 60_000
FENCED = re.compile(r"```(?:json)?+\s*+(.*?)```", re.DOTALL)


def json_object(text: str) -> dict[str, Any]:
    """Parse `text` as one JSON object.

    Raises `ValueError` with the problem if it is anything else or longer than 60,000 characters, and for
    values that JSON columns refuse: NaN, infinities, NUL characters and lone surrogates.
    """
    if len(text) > OBJECT_CHARS_MAX:
        raise ValueError(f"it is longer than {OBJECT_CHARS_MAX} characters")
    try:
        value = json.loads(text)
        dumped = json.dumps(value, ensure_ascii=False, allow_nan=False)
        dumped.encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it holds half a character (a lone surrogate)") from None
    if "\\u0000" in dumped:
        raise ValueError("it holds a NUL character")
    if not isinstance(value, dict):
        raise ValueError(f"it is a JSON {type(value).__name__}, not an object")
    return value


def json_object_find(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a message, also if it is fenced or between other words, or `None`."""
    fenced = FENCED.search(text)
    braced = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, fenced.group(1) if fenced else "", braced):
        try:
            return json_object(candidate)
        except ValueError:
            continue
    return None


def preview(text: str) -> str:
    """Return the first 2,000 characters of `text`, without characters that a database refuses."""
    return text[:PREVIEW_CHARS].replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call.

    `input_tokens` include `cached_tokens`, read from the provider's cache, and `written_tokens`, stored in
    it; some providers charge more for these. `output_tokens` include `reasoning_tokens`. `billed_usd` is the
    price that the provider reported (OpenRouter does), or `None`.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    billed_usd: Decimal | None = None
    reasoning_tokens: int = 0
    written_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum of both, without a reported price."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
        )


@dataclass(frozen=True, slots=True)
class Caps:
    """Spending limits in USD: of a surface per UTC day, of one run, and of one reader per UTC day."""

    day: Decimal
    run: Decimal
    reader_day: Decimal


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock by which work must end."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Return the seconds left; negative if the deadline is over."""
        return self.at - self.clock()


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """The refusal of a call that the budget does not cover.

    `code` is `budget_day`, `budget_run` or `budget_reader`.
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model asks for.

    `text` has the arguments as the model wrote them, and may be broken. `arguments` is the JSON object in it
    (`{}` if it is empty). If it is not a JSON object, `error` says why.
    """

    id: str
    name: str
    text: str
    arguments: dict[str, Any] = field(init=False, compare=False, default_factory=dict)
    error: str = field(init=False, compare=False, default="")

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "arguments", json_object(self.text.strip() or "{}"))
        except ValueError as error:
            object.__setattr__(self, "error", str(error))

    def as_message(self) -> dict[str, Any]:
        """Return the call as an assistant message lists it.

        Broken arguments become `{}`, because providers refuse a message with them.
        """
        arguments = "{}" if self.error else self.text
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The JSON schema that an answer must have, by a name of letters. Every object in it is closed."""

    name: str
    schema: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model. `message` is the complete assistant message to send back in the next request."""

    message: Message
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""


class Model(Protocol):
    """Anything that can answer with a turn: a provider's model, or the statistical planner."""

    @property
    def name(self) -> str:
        """Return `provider:model`, as pages and rows show it."""

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        timeout_s: float,
        form: AnswerForm | None = None,
    ) -> Turn:
        """Return one turn within `timeout_s` seconds of wall clock. Raises a `ModelError`.

        If `form` is given, a provider that can holds the answer to it; others may answer anything.
        """

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Return the most that `complete` with these arguments can cost, in USD. Raises `PriceUnknown`."""

    def cost_usd(self, usage: Usage) -> Decimal:
        """Return the cost of `usage` in USD. Raises `PriceUnknown`."""


class ModelError(Exception):
    """The call gave no turn. `code` is stable.

    `may_be_billed` says whether the provider may charge for the call, for example after a timeout.
    """

    code = "model_error"
    may_be_billed = False


class ModelUnavailable(ModelError):
    """The model cannot be used now, but the next one may work.

    Reasons: no connection, a timeout, status 401, 403, 404, 429 or 5xx, or an unreadable reply.
    `retry_after_s` is the wait in seconds that the provider asked for, or `None`.
    """

    code = "model_unavailable"

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, may_be_billed: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.may_be_billed = may_be_billed


class ModelRefused(ModelError):
    """The provider refused the request (status 400 or 422).

    The request itself is wrong, so no other provider is asked.
    """

    code = "model_refused"


class DeadlineExceeded(ModelError):
    """The call did not end before its deadline."""

    code = "deadline_exceeded"
    may_be_billed = True


class PriceUnknown(ModelError):
    """The model has no known or configured price, so its cost cannot be limited."""

    code = "price_unknown"
