"""Run a task, and raise an alert for the rows that failed."""

from collections.abc import Callable
from typing import TypeVar

from django.utils import timezone

from advisor.agent.error_policy import failures_alert
from ranking.common.isolation import failures_collected

Result = TypeVar("Result")


def task_run(name: str, work: Callable[[], Result]) -> Result:
    """Return the result of `work`. If it failed for some rows, raise an alert that names them."""
    with failures_collected() as failed:
        result = work()
    where = f"The task “{name}”"
    failures_alert(failures=failed, name=name, where=where, now=timezone.now())
    return result
