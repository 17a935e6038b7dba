"""Tasks that workers run, and the messages that wake them.

Without a broker nothing imports Celery: it takes 11 MB in every process, and a tenth of a start.
"""

import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

_tasks: list["WorkerTask"] = []


class WorkerTask:
    """A named task for workers. A message only wakes a worker; the database has the work to do.

    Calling it does the work in this process, without Celery.
    """

    def __init__(self, name: str, work: Callable[..., Any]) -> None:
        self.name, self._work = name, work
        _tasks.append(self)
        if "celery" in sys.modules:
            self.celery  # noqa: B018

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work."""
        return self._work(*args, **kwargs)

    @cached_property
    def celery(self) -> Any:
        """Return Celery's task, and register it."""
        import celery  # noqa: PLC0415 - only a broker needs it

        return celery.shared_task(name=self.name)(self._work)

    def wake(self, *arguments: str) -> str:
        """Send one message, without a retry. Return the broker's error, or ""."""
        from kombu.exceptions import OperationalError  # noqa: PLC0415

        try:
            self.celery.apply_async(args=arguments, retry=False)
        except OperationalError as error:
            return str(error) or type(error).__name__
        return ""


def shared_task(*, name: str) -> Callable[[Callable[..., Any]], WorkerTask]:
    """Make a function the task `name`, as Celery's decorator does."""
    return lambda work: WorkerTask(name, work)


def tasks_register() -> None:
    """Make all tasks known to Celery, whose app calls this. Later ones register themselves."""
    for task in _tasks:
        task.celery  # noqa: B018
