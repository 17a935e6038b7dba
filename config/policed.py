"""Celery tasks whose failures reach the error policy, as an embedded worker's do."""

from datetime import timedelta
from typing import Any

import structlog
from celery import Task
from django.utils import timezone

from advisor.services.failures import error_handle
from advisor.services.queue import job_turn
from config.queues import VISIBILITY_S
from config.schedule import JOBS

log = structlog.get_logger(__name__)
EVERY = {job.name: job.every for job in JOBS}
# A job that begins more often than messages come round has its next turn before that.
COMES_ROUND = timedelta(seconds=VISIBILITY_S)
# Beside a job's own row: the turn at what a lost worker left of it.
AGAIN = "{}:again"


class PolicedTask(Task):  # type: ignore[type-arg]
    """The base of every task."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task; what beat sent, only if its turn has come: of two beats, one moves the schedule."""
        job = self.request.get("scheduled")
        if job and not self._turn(job):
            log.info("job_doubled", job=job)
            return None
        return super().__call__(*args, **kwargs)

    def _turn(self, job: str) -> bool:
        """Claim the job's turn, or where its worker was lost, one more within the same period.

        A daily job is not put off by a day, and one that ends every process it runs in does not go round.
        """
        now, every = timezone.now(), EVERY[job]
        if job_turn(name=job, every=every, now=now):
            return True
        lost = bool((self.request.delivery_info or {}).get("redelivered"))
        return lost and every > COMES_ROUND and job_turn(name=AGAIN.format(job), every=every, now=now)

    def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Called by a Celery worker for a task that raised; a task called directly raises to its caller."""
        error_handle(error=exc, where=f"task {self.name}", now=timezone.now())
