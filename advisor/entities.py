"""The nouns of a run, frozen: its limits, what a tool gave back, how it ended."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from suggestions.entities import Fence, Reviewer


class StopReason(StrEnum):
    """Why a loop ended. `Run.stop_reason` stores it, `STATUS_OF` maps it to a status."""

    DONE = "done"
    DEADLINE = "deadline"
    BUDGET = "budget"
    TURN_LIMIT = "turn_limit"
    TOOL_CALL_LIMIT = "tool_call_limit"
    REPEATED_FAILURE = "repeated_failure"
    MODELS_EXHAUSTED = "models_exhausted"
    RATE_LIMITED = "rate_limited"
    MODEL_REFUSED = "model_refused"
    PROMPT_UNUSABLE = "prompt_unusable"
    FENCE_LOST = "fence_lost"
    DATABASE = "database"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run."""

    turns: int
    tool_calls: int
    history_turns: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What every tool is bound to by the run: never part of a schema, never chosen by a model.

    `review` looks at each proposal before it is stored; `None`: the rules alone decide.
    """

    reader_id: UUID
    run_id: UUID
    now: datetime
    fence: Fence
    review: Reviewer | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What one tool call gave back. `content` is JSON text; `error_code` is empty on success.

    `counted` is False for refusals that are not failures (a reviewer's request to improve, a held warning).
    """

    content: str
    error_code: str = ""
    target: str = ""
    counted: bool = True


@dataclass(slots=True)
class RunTotals:
    """What a run has used up so far."""

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call or tool call as it goes into the audit, ready to be stored.

    `kind` is "model" or "tool"; `result` is a preview of at most 2,000 characters; `reasoning` is what the
    model said beside its calls. Text is free of NUL and lone surrogates, which no database takes.
    """

    kind: str
    tool: str = ""
    model: str = ""
    arguments: dict[str, Any] | None = None
    result: str = ""
    error_code: str = ""
    reasoning: str = ""
    ms: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a loop ended: the reason, words for it, and the closing summary where there was one.

    `retry_after_s` is the wait that the last provider asked for, where that is what ended it.
    """

    reason: StopReason
    message: str
    summary: dict[str, Any] | None = None
    totals: RunTotals = field(default_factory=RunTotals)
    retry_after_s: float | None = None
