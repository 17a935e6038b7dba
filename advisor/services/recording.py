"""What a run leaves behind while it works: a row per step, and the counts of what it looked at."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max

from advisor.conversation import object_of
from advisor.entities import StepRecord, ToolContext, ToolOutcome
from advisor.models import Run, Step
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from suggestions.entities import Fence, FenceLost


def fence_of(run: Run) -> Fence:
    """A check that `run` is still ours, to be made inside the transaction of each of its writes.

    The check is an update, so that it also keeps a reclaim waiting until that transaction is over.
    """

    def fence() -> None:
        held = Run.objects.filter(pk=run.pk, fence=run.fence, status=Run.Status.RUNNING)
        if not held.update(fence=run.fence):
            raise FenceLost(f"Run {run.pk} is held by another worker or over.")

    return fence


@dataclass(slots=True)
class Elapsed:
    """The time of day during a run: the moment it began plus what a monotonic clock has counted since."""

    began: datetime
    clock: Callable[[], float] = time.monotonic
    _zero: float = field(init=False)

    def __post_init__(self) -> None:
        self._zero = self.clock()

    @property
    def now(self) -> datetime:
        """The current moment."""
        return self.began + timedelta(seconds=self.clock() - self._zero)


@dataclass(slots=True)
class StepLog:
    """Stores each step the moment it is done, on its own, so that nothing is lost with what follows."""

    run: Run
    fence: Fence
    elapsed: Elapsed
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.n = Step.objects.filter(run=self.run).aggregate(last=Max("n"))["last"] or 0

    def __call__(self, step: StepRecord) -> None:
        """Store one step. Raises `FenceLost` for a run that was reclaimed."""
        with transaction.atomic():
            self.fence()
            Step.objects.create(run=self.run, n=self.n + 1, at=self.elapsed.now, **asdict(step))
        self.n += 1


@dataclass(slots=True)
class Findings:
    """Runs tool calls and counts what came of them, whatever a model may claim later."""

    context: ToolContext
    items_analyzed: int = 0
    patterns_found: int = 0
    suggestions_generated: int = 0

    def __call__(self, call: ToolCall) -> ToolOutcome:
        """Run one call through the registry."""
        outcome = dispatch(self.context, call)
        if call.name == "write_suggestion":
            self.suggestions_generated += 1
        elif call.name == "query_user_feedback" and not outcome.error_code:
            meta = object_of(outcome.content).get("meta", {})
            self.items_analyzed = meta.get("items_returned", 0)
            self.patterns_found = meta.get("patterns_found", 0)
        return outcome

    def as_meta(self, kept: int) -> dict[str, int]:
        """The counts as `Run.meta` keeps them; `kept` suggestions passed the rules."""
        return {
            "items_analyzed": self.items_analyzed,
            "patterns_found": self.patterns_found,
            "suggestions_generated": self.suggestions_generated,
            "suggestions_after_validation": kept,
        }
