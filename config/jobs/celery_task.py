"""The base class of Celery tasks: it runs each scheduled turn once and applies the error policy."""

from datetime import timedelta
from typing import Any

import structlog
from celery import Task
from django.utils import timezone

from advisor.agent.error_policy import error_handle
from advisor.run.workers import job_claim_if_due
from config.jobs.schedule import JOBS, VISIBILITY_S
from config.jobs.task_run import task_run

log = structlog.get_logger(__name__)
INTERVALS = {job.name: job.interval for job in JOBS}
# Jobs with a shorter interval need no repeat, because their next turn comes before a redelivery.
REDELIVERED_AFTER = timedelta(seconds=VISIBILITY_S)
# The name of the row that claims the one extra turn after a lost worker.
REPEAT = "{}:again"


class BaseTask(Task):  # type: ignore[type-arg]
    """The base of every task."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task. A scheduled task runs only if its turn is due, so two beats do not run it twice.

        If it failed for some rows, raise an alert that names them.
        """
        job = self.request.get("scheduled")
        if job and not self._turn(job):
            log.info("job_doubled", job=job)
            return None
        return task_run(self.name, lambda: super(BaseTask, self).__call__(*args, **kwargs))

    def _turn(self, job: str) -> bool:
        """Claim the job's turn, or one extra turn in the same period after a lost worker.

        The extra turn saves a daily job from waiting a day. There is only one, so that a job that crashes
        every process is not repeated for ever.
        """
        now, every = timezone.now(), INTERVALS[job]
        if job_claim_if_due(name=job, every=every, now=now):
            return True
        lost = bool((self.request.delivery_info or {}).get("redelivered"))
        return (
            lost
            and every > REDELIVERED_AFTER
            and job_claim_if_due(name=REPEAT.format(job), every=every, now=now)
        )

    def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Apply the error policy after a task raised an exception in a Celery worker."""
        error_handle(error=exc, where=f"task {self.name}", now=timezone.now())
