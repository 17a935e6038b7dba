"""What goes to a model and what comes back, the same for every provider and for the planner."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

Message = dict[str, Any]
ToolSchema = dict[str, Any]


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
        """Seconds left, negative when past."""
        return self.at - self.clock()


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """A call the budget does not cover. `code` is `budget_day`, `budget_run` or `budget_reader`."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asks for. `arguments` is the JSON text as the model wrote it, maybe broken."""

    id: str
    name: str
    arguments: str


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
        """`provider:model`, as shown wherever it acts."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """One turn within `timeout_s` of wall clock. Raises a `ModelError`."""

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """The most one `complete` with these arguments can cost. Raises `PriceUnknown`."""

    def cost_usd(self, usage: Usage) -> Decimal:
        """What `usage` costs."""


class ModelError(Exception):
    """A call that gave no turn. `code` is stable.

    `may_be_billed` tells a call that a provider may have worked on (cut off, unreadable) from one it
    turned away.
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
