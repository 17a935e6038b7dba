"""Celery tasks that use several rooms; each reads the clock and calls a service."""

from collections.abc import Callable

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from advisor.agent.error_policy import alert_raise
from config.api.idempotency import responses_prune
from config.celery import worker_stopping
from config.jobs.nightly import nightly_run
from config.jobs.schedule import night_begun
from digest.build.services import digests_build_missing
from digest.mail.send import digests_deliver


@shared_task(name="config.nightly")
def nightly_task(stopping: Callable[[], bool] = worker_stopping) -> None:
    """Continue the nightly run from NIGHTLY_HOUR (UTC) on; a finished one costs one query."""
    now = timezone.now()
    if night_begun(now, settings.NIGHTLY_HOUR):
        nightly_run(now=now, stopping=stopping)


@shared_task(name="config.daily_builds")
def daily_builds_task(stopping: Callable[[], bool] = worker_stopping) -> None:
    """Build the digests of days that have begun, and send the mail that is due.

    Asked to stop, leave the mail, and digests that are not built yet, to the next round.
    """
    now = timezone.now()
    digests_build_missing(now=now, stopping=stopping)
    if stopping():
        return
    report = digests_deliver(now=now)
    if report.down:
        reason = f"Mails waiting for the next round: {report.left}. {report.down}"
        alert_raise(kind="mail_down", where="The mail server", reason=reason, now=now)


@shared_task(name="config.answers_forget")
def responses_prune_task() -> None:
    """Delete responses stored for an `Idempotency-Key` more than a day ago."""
    responses_prune(now=timezone.now())
