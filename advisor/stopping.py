"""How a loop ends before its model says so."""

from collections.abc import Callable

from advisor.entities import StopReason
from digest.llm.entities import Deadline as TimeLimit

Clock = Callable[[], float]


class Stopped(Exception):
    """The run is over for `reason`; what it has written stays."""

    def __init__(self, reason: StopReason, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s


class Deadline(TimeLimit):
    """The moment a run must end by. Time wins over every other cap."""

    __slots__ = ()

    def stop(self) -> Stopped | None:
        """The stop that is due once the moment has passed."""
        return Stopped(StopReason.DEADLINE, "The time for this run is up.") if self.left_s <= 0 else None
