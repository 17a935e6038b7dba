"""The embedded worker: what Celery and its beat do elsewhere, in one process on one database."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError

from advisor.services.failures import error_handle
from advisor.services.queue import (
    heartbeat,
    heartbeat_end,
    job_failed,
    job_take,
    jobs_last,
    run_next,
)
from advisor.services.recording import Elapsed
from advisor.tasks import (
    feeds_watch_task,
    guidance_export_task,
    guidance_learn_task,
    memories_sync_task,
    runs_reconcile_task,
)
from config.schedule import Job, due
from config.tasks import answers_forget_task, mornings_task, nightly_task
from digest.tasks import feeds_fetch_task
from suggestions.tasks import outcomes_compact_task, suggestions_sweep_task

log = structlog.get_logger(__name__)

TASKS: dict[str, Callable[[], Any]] = {
    task.name: task
    for task in (
        runs_reconcile_task,
        feeds_fetch_task,
        feeds_watch_task,
        nightly_task,
        mornings_task,
        answers_forget_task,
        suggestions_sweep_task,
        outcomes_compact_task,
        memories_sync_task,
        guidance_learn_task,
        guidance_export_task,
    )
}


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker. While it is busy its sign of life grows old, so that requests help themselves."""

    name: str
    clock: Callable[[], float] = time.monotonic

    def tick(self, *, now: datetime, stopping: Callable[[], bool]) -> bool:
        """Give a sign of life, do the jobs that are due, then one queued run; whether there was one.

        A job that breaks is logged and noted; it comes round again at its next time.
        """
        elapsed = Elapsed(now, self.clock)
        heartbeat(worker=self.name, now=now)
        last = jobs_last()
        for job in due(now, last):
            if stopping():
                return False
            if job_take(name=job.name, last=last.get(job.name), now=now):
                self._run(job, now, stopping)
        # The jobs may have taken minutes, and a run's lease is short: it begins when the run does.
        return not stopping() and self._next(elapsed.now)

    def leave(self) -> None:
        """Say goodbye: from now on requests run inline at once."""
        heartbeat_end(worker=self.name)

    def _run(self, job: Job, now: datetime, stopping: Callable[[], bool]) -> None:
        try:
            TASKS[job.task](**({"stopping": stopping} if job.long else {}))
        except Exception as error:
            _note(job.name, error, now)

    def _next(self, now: datetime) -> bool:
        try:
            return run_next(now=now) is not None
        except Exception as error:
            _note("run", error, now)
            return False


def _note(job: str, error: Exception, now: datetime) -> None:
    """Log a broken job and hand it to the policy; the database it would be noted in may be what broke."""
    log.error("job_failed", job=job, exc_info=error)
    error_handle(error=error, where=f"job {job}", now=now)
    with suppress(DatabaseError):
        job_failed(name=job, reason=f"{type(error).__name__}: {error}", now=now)
