"""Who holds a run: the fence that every write checks, the run's clock, and its stored steps."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, QuerySet

from advisor.models import Run, Step
from advisor.run_values import StepRecord
from suggestions.proposals import Fence, FenceLost


def run_owned(run: Run) -> QuerySet[Run]:
    """Return `run` as a query that is empty once the run is over or another worker took it over."""
    return Run.objects.filter(pk=run.pk, fence=run.fence, status=Run.Status.RUNNING)


def fence_of(run: Run) -> Fence:
    """Return a check that `run` is still ours, to be made inside the transaction of each of its writes.

    The check is an update, so another worker's reclaim waits until that transaction is over.
    """

    def fence() -> None:
        if not run_owned(run).update(fence=run.fence):
            raise FenceLost(f"Run {run.pk} is held by another worker or over.")

    return fence


@dataclass(slots=True)
class RunClock:
    """The time during a run: the moment it began plus the seconds that a monotonic clock counted since."""

    started_at: datetime
    clock: Callable[[], float] = time.monotonic
    _zero: float = field(init=False)

    def __post_init__(self) -> None:
        self._zero = self.clock()

    @property
    def now(self) -> datetime:
        """Return the current time."""
        return self.started_at + timedelta(seconds=self.clock() - self._zero)

    def read(self) -> datetime:
        """Return the current time, for callers that need the clock as a function."""
        return self.now


@dataclass(slots=True)
class StepLog:
    """Stores each step in a transaction of its own, so that a later failure loses nothing."""

    run: Run
    fence: Fence
    clock: RunClock
    n: int = field(init=False)

    def __post_init__(self) -> None:
        steps = Step.objects.filter(run=self.run) if self.run.is_resumed else Step.objects.none()
        self.n = steps.aggregate(last=Max("n"))["last"] or 0

    def add(self, step: StepRecord) -> None:
        """Store one step. Raises `FenceLost` for a run that was reclaimed."""
        with transaction.atomic():
            self.fence()
            Step.objects.create(run=self.run, n=self.n + 1, at=self.clock.now, **asdict(step))
        self.n += 1
