"""Celery tasks that use several rooms, and the embedded worker that runs all tasks without a broker.

Each task reads the clock and calls a service.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from advisor.agent.error_policy import alert_raise, error_handle
from advisor.run.ownership import RunClock
from advisor.run.request import run_execute_next
from advisor.run.workers import heartbeat, heartbeat_delete, job_claim, job_failed, jobs_last_started
from advisor.tasks import (
    feeds_watch_task,
    guidance_learn_task,
    guidance_notes_task,
    memories_sync_task,
    runs_reconcile_task,
)
from config.api.idempotency import responses_prune
from config.jobs.nightly import nightly_run
from config.jobs.schedule import RUN_MARGIN_S, jobs_due, night_has_begun, time_limit_s
from config.jobs.task_run import task_run
from digest.daily.services import digests_build_missing
from digest.mail.send import digests_deliver
from digest.notifications.news import (
    NOTIFY_FAILED,
    News,
    digests_news,
    notifications_due,
    notifications_make,
    words_news,
)
from digest.notifications.send import notifications_send
from digest.tasks import feeds_fetch_task, first_round_task
from ranking.common.broker import WorkerTask, shared_task
from ranking.common.isolation import Parts, isolate_batches
from ranking.common.stopping import worker_is_stopping
from suggestions.selectors import effects_news, suggestions_news
from suggestions.tasks import outcomes_compact_task, suggestions_sweep_task


@shared_task(name="config.nightly")
def nightly_task(stopping: Callable[[], bool] = worker_is_stopping) -> None:
    """Begin or continue the nightly run, from NIGHTLY_HOUR (UTC) on. A finished one costs one query."""
    now = timezone.now()
    if night_has_begun(now, settings.NIGHTLY_HOUR):
        nightly_run(now=now, stopping=stopping)


@shared_task(name="config.daily_builds")
def daily_builds_task(stopping: Callable[[], bool] = worker_is_stopping) -> None:
    """Build the digests of days that have begun, send due mail, and send notifications.

    If `stopping()` returns true, leave the rest to the next run. A part that fails does not stop the others;
    the first failure is raised at the end.
    """
    now = timezone.now()
    parts = Parts("config.daily_builds")
    parts.run("digests", lambda: digests_build_missing(now=now, stopping=stopping))
    if not stopping():
        parts.run("mail", lambda: _deliver(now))
        parts.run("news", lambda: _news_make(now))
        parts.run("notifications", lambda: notifications_send(now=now, stopping=stopping))
    parts.end()


def _deliver(now: datetime) -> None:
    """Send the mail that is due. If no mail server accepts it, raise an alert."""
    report = digests_deliver(now=now)
    if report.down:
        reason = f"Mails waiting for the next round: {report.left}. {report.down}"
        alert_raise(kind="mail_down", where="The mail server", reason=reason, now=now)


def _news_make(now: datetime) -> None:
    """Find and store the news for readers who may be notified now."""
    if due := notifications_due(now=now):
        news: list[News] = []
        for find in (digests_news, words_news, suggestions_news, effects_news):

            def some_news(keys: Sequence[UUID], find: Callable[..., list[News]] = find) -> list[News]:
                return find(due={key: due[key] for key in keys}, now=now)

            for found in isolate_batches(list(due), some_news, event=NOTIFY_FAILED, size=len(due)):
                news += found
        notifications_make(due=due, news=news, now=now)


@shared_task(name="config.idempotency_keys_prune")
def idempotency_keys_prune_task() -> None:
    """Delete responses stored for an `Idempotency-Key` more than a day ago."""
    responses_prune(now=timezone.now())


log = structlog.get_logger(__name__)

TASKS: dict[str, WorkerTask] = {
    task.name: task
    for task in (
        runs_reconcile_task,
        feeds_fetch_task,
        feeds_watch_task,
        nightly_task,
        daily_builds_task,
        idempotency_keys_prune_task,
        suggestions_sweep_task,
        outcomes_compact_task,
        memories_sync_task,
        guidance_learn_task,
        guidance_notes_task,
    )
}


@dataclass(frozen=True, slots=True)
class Worker:
    """The embedded worker. While it is busy, its heartbeat gets old and requests run inline.

    Before each part, `allow` is told how many seconds it may take, as Celery would give it.
    """

    name: str
    clock: Callable[[], float] = time.monotonic
    allow: Callable[[float], None] = lambda seconds: None

    def tick(self, *, now: datetime, stopping: Callable[[], bool]) -> bool:
        """Send a heartbeat, fetch new feeds, run the jobs that are due, then one queued run.

        Return whether there is more work to do now. A failed job is logged and stored, and runs again at its
        next time.
        """
        elapsed = RunClock(now, self.clock)
        heartbeat(worker=self.name, now=now)
        self.allow(time_limit_s(first_round_task.name))
        left = self._first_round(now)
        last = jobs_last_started()
        for job in jobs_due(now, last):
            if stopping():
                return False
            if job_claim(name=job.name, last=last.get(job.name), now=now):
                arguments = {"stopping": stopping} if job.stoppable else {}
                self.allow(time_limit_s(job.task))
                try:
                    task_run(job.task, partial(TASKS[job.task], **arguments))
                except Exception as error:
                    _handle_failure(job.name, error, now)
        if stopping():
            return False
        # The jobs may have taken minutes. A run's lease is short, so it must begin now.
        now = elapsed.now
        self.allow(settings.ADVISOR_SCHEDULED_TIMEOUT_S + RUN_MARGIN_S)
        try:
            return run_execute_next(now=now) is not None or left
        except Exception as error:
            _handle_failure("run", error, now)
            return False

    def _first_round(self, now: datetime) -> bool:
        """Fetch feeds that were just added. Return whether some are left."""
        try:
            return bool(task_run(first_round_task.name, first_round_task))
        except Exception as error:
            _handle_failure("first_round", error, now)
            return False

    def stop(self) -> None:
        """Delete the heartbeat, so that requests run inline from now on."""
        heartbeat_delete(worker=self.name)


def _handle_failure(job: str, error: Exception, now: datetime) -> None:
    """Log a failed job, apply the error policy and store the failure, if the database works."""
    log.error("job_failed", job=job, exc_info=error)
    error_handle(error=error, where=f"job {job}", now=now)
    with suppress(DatabaseError):
        job_failed(name=job, reason=f"{type(error).__name__}: {error}", now=now)
