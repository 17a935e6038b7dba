"""Wake Celery workers from pages. Celery is imported with the first message, or by a worker."""

from collections.abc import Callable
from functools import cached_property
from typing import Any


class WorkerTask:
    """A named task for workers. A message only wakes a worker; the database has the work to do."""

    def __init__(self, name: str, work: Callable[..., object]) -> None:
        self._name, self._work = name, work

    @cached_property
    def celery(self) -> Any:
        """Return Celery's task. Each room's `tasks.py` reads this, so that workers register it."""
        from celery import shared_task  # noqa: PLC0415 - takes 5 % of a start, and only a broker needs it

        return shared_task(name=self._name)(self._work)

    def wake(self, *arguments: str) -> str:
        """Send one message, without a retry. Return the broker's error, or ""."""
        from kombu.exceptions import OperationalError  # noqa: PLC0415

        try:
            self.celery.apply_async(args=arguments, retry=False)
        except OperationalError as error:
            return str(error) or type(error).__name__
        return ""
