"""The scheduled work that crosses rooms: thin doors that read the clock."""

from collections.abc import Callable

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from advisor.services.alerts import alert_raise
from config.celery import worker_stopping
from config.idempotency import answers_forget
from config.nightly import nightly_run
from config.schedule import night_begun
from digest.services.delivery import digests_deliver
from digest.services.mornings import digests_begin


@shared_task(name="config.nightly")
def nightly_task(stopping: Callable[[], bool] = worker_stopping) -> None:
    """From NIGHTLY_HOUR (UTC) on, do what is left of the night; one that is over costs a query."""
    now = timezone.now()
    if night_begun(now, settings.NIGHTLY_HOUR):
        nightly_run(now=now, stopping=stopping)


@shared_task(name="config.mornings")
def mornings_task(stopping: Callable[[], bool] = worker_stopping) -> None:
    """Build the digests of days that have begun, send the mail of hours that have come.

    Told to stop, it leaves the mail, and what is not built yet, to the next round.
    """
    now = timezone.now()
    digests_begin(now=now, stopping=stopping)
    if stopping():
        return
    report = digests_deliver(now=now)
    if report.down:
        reason = f"Mails waiting for the next round: {report.left}. {report.down}"
        alert_raise(kind="mail_down", where="The mail server", reason=reason, now=now)


@shared_task(name="config.answers_forget")
def answers_forget_task() -> None:
    """Forget what API calls were answered more than a day ago."""
    answers_forget(now=timezone.now())
