"""What goes to a model and what comes back, the same for every provider and for the planner. Pure."""

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
# Ten times what a model is allowed to write; what is longer comes from a server that ignores the limit.
OBJECT_CHARS_MAX = 60_000
FENCED = re.compile(r"```(?:json)?+\s*+(.*?)```", re.DOTALL)


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that `text` is.

    Raises `ValueError`, saying what is wrong, for anything else; also for what JSON columns refuse: NaN,
    infinities, NUL characters and lone surrogates; and for more than 60,000 characters.
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
    """Return the JSON object in a message, fenced or between other words; `None` if there is none."""
    fenced = FENCED.search(text)
    braced = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, fenced.group(1) if fenced else "", braced):
        try:
            return json_object(candidate)
        except ValueError:
            continue
    return None


def preview(text: str) -> str:
    """Return `text` fit for an audit row: at most 2,000 characters, none that a database refuses."""
    return text[:PREVIEW_CHARS].replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. Part of `input_tokens` are `cached_tokens`, read from a provider's cache, and
    `written_tokens`, which it put there; some charge more for those.

    `billed_usd` is the price the provider itself reported (OpenRouter does), else `None`.
    `reasoning_tokens` are part of `output_tokens`.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    billed_usd: Decimal | None = None
    reasoning_tokens: int = 0
    written_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the tokens of both calls, without a reported price."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
        )


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent, in USD: by a surface per UTC day, by one run, for one reader per day."""

    day: Decimal
    run: Decimal
    reader_day: Decimal


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Return the seconds left, negative when past."""
        return self.at - self.clock()


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """A call the budget does not cover. `code` is `budget_day`, `budget_run` or `budget_reader`."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asks for, parsed once. `text` is the arguments as the model wrote them, maybe broken.

    `arguments` is the object in `text`, `{}` for an empty text; where it is none, `error` says why.
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

        Arguments that are no JSON object would be refused when sent back, so they are left out here.
        """
        arguments = "{}" if self.error else self.text
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model. `message` is the assistant message to send back, unabridged."""

    message: Message
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""


class Model(Protocol):
    """Anything that can take a turn: a provider's model, or the statistical planner."""

    @property
    def name(self) -> str:
        """Return `provider:model`, as pages and rows show it."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """Return one turn within `timeout_s` seconds of wall clock. Raises a `ModelError`."""

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """Return the most that `complete` with these arguments can cost, in USD. Raises `PriceUnknown`."""

    def cost_usd(self, usage: Usage) -> Decimal:
        """Return what `usage` costs, in USD. Raises `PriceUnknown`."""


class ModelError(Exception):
    """A call that gave no turn. `code` is stable.

    `may_be_billed`: a provider may have worked on the call (cut off, unreadable) and not turned it away.
    """

    code = "model_error"
    may_be_billed = False


class ModelUnavailable(ModelError):
    """Connection, timeout, 429, 5xx, 401, 403, 404 or an unreadable reply: the next provider may do better.

    `retry_after_s` is the wait the provider asked for, `None` when it asked for none.
    """

    code = "model_unavailable"

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, may_be_billed: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.may_be_billed = may_be_billed


class ModelRefused(ModelError):
    """400 or 422: the request itself is at fault, so no other provider is asked."""

    code = "model_refused"


class DeadlineExceeded(ModelError):
    """The call was cut off at its deadline."""

    code = "deadline_exceeded"
    may_be_billed = True


class PriceUnknown(ModelError):
    """No price is known or configured for the model, so its cost could not be capped."""

    code = "price_unknown"
