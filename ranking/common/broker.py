"""Tasks that pages announce to Celery workers. Celery is loaded with the first message, or by a worker."""

from collections.abc import Callable
from functools import cached_property
from typing import Any


class WorkerTask:
    """Work with a name, for a worker to do. A message only wakes one: what it is about is in the database."""

    def __init__(self, name: str, work: Callable[..., object]) -> None:
        self._name, self._work = name, work

    @cached_property
    def celery(self) -> Any:
        """Return Celery's task; `tasks.py` of a room asks for it, so that workers know it."""
        from celery import shared_task  # noqa: PLC0415 - a twentieth of a start, for who has a broker

        return shared_task(name=self._name)(self._work)

    def wake(self, *arguments: str) -> str:
        """Send one message, without trying again; return what is wrong with the broker, or ""."""
        from kombu.exceptions import OperationalError  # noqa: PLC0415

        try:
            self.celery.apply_async(args=arguments, retry=False)
        except OperationalError as error:
            return str(error) or type(error).__name__
        return ""
