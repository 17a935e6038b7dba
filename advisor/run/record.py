"""The record of a run while it works: a row per step, the counts of what it read, and its fence and clock."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, QuerySet

from advisor.entities import StepRecord, ToolContext, ToolOutcome, object_of
from advisor.models import Decision, Run, Step
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from ranking.common.rows import retention_start, rows_delete
from suggestions.entities import Fence, FenceLost


def run_owned(run: Run) -> QuerySet[Run]:
    """Return `run` as a query that is empty once it is over or another worker took it over."""
    return Run.objects.filter(pk=run.pk, fence=run.fence, status=Run.Status.RUNNING)


def fence_of(run: Run) -> Fence:
    """Return a check that `run` is still ours, to be made inside the transaction of each of its writes.

    The check is an update, so that it also keeps a reclaim waiting until that transaction is over.
    """

    def fence() -> None:
        if not run_owned(run).update(fence=run.fence):
            raise FenceLost(f"Run {run.pk} is held by another worker or over.")

    return fence


@dataclass(slots=True)
class RunClock:
    """The time during a run: the moment it began plus what a monotonic clock has counted since."""

    began: datetime
    clock: Callable[[], float] = time.monotonic
    _zero: float = field(init=False)

    def __post_init__(self) -> None:
        self._zero = self.clock()

    @property
    def now(self) -> datetime:
        """Return the current time."""
        return self.began + timedelta(seconds=self.clock() - self._zero)


@dataclass(slots=True)
class StepLog:
    """Stores each step in a transaction of its own, so that a later failure loses nothing."""

    run: Run
    fence: Fence
    elapsed: RunClock
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
class CountingDispatch:
    """Runs tool calls and counts their results, whatever a model may claim later."""

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

    def as_meta(self, suggestions_count: int) -> dict[str, int]:
        """Return the counts as `Run.meta` stores them; `suggestions_count` suggestions passed the rules."""
        return {
            "items_analyzed": self.items_analyzed,
            "patterns_found": self.patterns_found,
            "suggestions_generated": self.suggestions_generated,
            "suggestions_after_validation": suggestions_count,
        }


def traces_prune(*, now: datetime) -> int:
    """Delete steps of runs and decisions older than `traces` in `KEEP_DAYS`; return how many.

    Runs, votes, judgments, suggestions and outcomes stay: the autonomy report and the profiles use them.
    """
    since = retention_start("traces", now)
    if since is None:
        return 0
    return sum(rows_delete(rows.all(), at="at", before=since) for rows in (Step.objects, Decision.objects))
