"""Celery tasks whose failures reach the error policy, as an embedded worker's do."""

from typing import Any

from celery import Task
from django.utils import timezone

from advisor.services.failures import error_handle


class PolicedTask(Task):  # type: ignore[type-arg]
    """The base of every task."""

    def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Called by a Celery worker for a task that raised; a task called directly raises to its caller."""
        error_handle(error=exc, where=f"task {self.name}", now=timezone.now())
