"""How a loop ends before its model says so."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from advisor.entities import StopReason

Clock = Callable[[], float]


class Stopped(Exception):
    """The run is over for `reason`; what it has written stays."""

    def __init__(self, reason: StopReason, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason, self.message, self.retry_after_s = reason, message, retry_after_s


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock. Time wins over every other cap."""

    at: float
    clock: Clock = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds left, negative when past."""
        return self.at - self.clock()

    def stop(self) -> Stopped | None:
        """The stop that is due once the moment has passed."""
        return Stopped(StopReason.DEADLINE, "The time for this run is up.") if self.left_s <= 0 else None
