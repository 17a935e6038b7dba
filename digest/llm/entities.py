"""What goes to a model and what comes back, the same for every provider and for the planner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

Message = dict[str, Any]
ToolSchema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `cached_tokens` are part of `input_tokens`."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


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
    """A call that gave no turn. `code` is stable."""

    code = "model_error"


class ModelUnavailable(ModelError):
    """Connection, timeout, 429, 5xx, 401, 403 or 404: the next provider may do better.

    `retry_after_s` is the wait the provider asked for, `None` when it asked for none.
    """

    code = "model_unavailable"

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError):
    """400 or 422: the request itself is at fault, so no other provider is asked."""

    code = "model_refused"


class DeadlineExceeded(ModelError):
    """The call was cut off at its deadline."""

    code = "deadline_exceeded"


class PriceUnknown(ModelError):
    """No price is known or configured for the model, so its cost could not be capped."""

    code = "price_unknown"
