"""The values of a run: its limits, its steps, its end, and the context of its tools. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from digest.llm.entities import Deadline as TimeLimit
from ranking.language import gettext_noop
from suggestions.changes.proposal import Reviewer
from suggestions.planner.left_out import LeftOut
from suggestions.proposals import Facts, Fence

Clock = Callable[[], float]
# The model's name in the votes of rules.
RULES_MODEL = "rules"
# The model's name in the steps of the planner.
PLANNER_MODEL = "offline:planner"
# The reason of a refused request if the weekly window excludes a run.
RAN_THIS_WEEK = "ran_this_week"


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


# The message to a reader about a run that ended at one of its caps, instead of the audit's words.
_LIMIT_REACHED = gettext_noop("The run reached its limit before it could finish. You can try again.")
STOP_SENTENCES: Mapping[str, str] = {
    StopReason.TURN_LIMIT: _LIMIT_REACHED,
    StopReason.TOOL_CALL_LIMIT: _LIMIT_REACHED,
    StopReason.REPEATED_FAILURE: gettext_noop(
        "The run was stopped because the same step failed again and again. You can try again."
    ),
}
# `StopReason.BUDGET` for the run's own cap, not the daily one of the reader or of all.
RUN_MONEY_SPENT = gettext_noop(
    "The run used up the money it may cost before it could finish. You can try again."
)
# The reason of a run whose suggestions the planner made, because no model's run stored any.
BY_PLANNER = gettext_noop("Worked out from your ratings alone, without a language model.")
# Keys of `Run.meta` that its request sets: the run is left to the planner; who asked, beyond the trigger.
DEFERRED, ASKED_BY = "deferred", "asked_by"
# In it, the changes that the planner weighed and left out.
LEFT_OUT = "left_out"
BY_OPERATOR = "operator"
# `Run.meta["finished_by"]` of a run that the planner finished though models were configured for it.
PLANNER_LABEL = "planner"


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run."""

    turns: int
    tool_calls: int
    history_turns: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context that a run gives every tool. A model never chooses it, and no schema has it.

    `review` judges each proposal before it is stored; with `None` only the rules decide. `facts` are
    guidance's facts for a write; with `None` the tool reads them. `reads_closely`: a model reads the results,
    so they include data that only a model can use. `on_left_out` is called with the changes that the planner
    weighed and left out, for operators; no result has them.
    """

    reader_id: UUID
    run_id: UUID
    now: datetime
    fence: Fence
    review: Reviewer | None = None
    facts: Facts | None = None
    reads_closely: bool = True
    on_left_out: Callable[[Sequence[LeftOut]], None] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one tool call. `content` is JSON text; `error_code` is empty on success.

    `counted` is False for refusals that are not failures (a reviewer's request to improve, a block met for
    the first time).
    """

    content: str
    error_code: str = ""
    target: str = ""
    counted: bool = True


@dataclass(slots=True)
class RunTotals:
    """The use of a run so far."""

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call or tool call for the audit, ready to be stored.

    `kind` is "model" or "tool". `result` is a preview of at most 2,000 characters. `reasoning` is the model's
    text beside its calls. Texts have no NUL and lone surrogates, which databases refuse.
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
    """The end of a run: the reason, a message, and the closing summary if there was one.

    `retry_after_s` is the wait that the last provider asked for, if that ended the run. `finished_by` is
    `planner` if the planner finished a run for which models were configured; if it found nothing either,
    `silence` is its reason.
    """

    reason: StopReason
    message: str
    summary: dict[str, Any] | None = None
    totals: RunTotals = field(default_factory=RunTotals)
    retry_after_s: float | None = None
    finished_by: str = ""
    silence: str = ""


class Stopped(Exception):
    """Raised if the run is over for `reason`. Its writes stay."""

    def __init__(self, reason: StopReason, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s


class Deadline(TimeLimit):
    """The moment a run must end by. Time wins over every other cap."""

    __slots__ = ()

    def stop(self) -> Stopped | None:
        """Return the stop that is due once the moment has passed."""
        return Stopped(StopReason.DEADLINE, "The time for this run is up.") if self.left_s <= 0 else None
