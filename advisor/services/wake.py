"""The broker's part: a wake-up that may be lost, doubled or late without harm, since runs are rows."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from advisor.services.execute import run_execute

log = structlog.get_logger(__name__)


@shared_task(name="advisor.run_execute")
def run_execute_task(run_id: str) -> None:
    """Carry out a queued run, unless someone else already does."""
    run_execute(run_id=UUID(run_id), now=timezone.now())


def run_wake(run_id: UUID) -> bool:
    """Tell a Celery worker about a queued run; `False`, and a log line, when the broker is down.

    `runs_reconcile` tells again every 15 seconds.
    """
    try:
        run_execute_task.apply_async(args=(str(run_id),), retry=False)
    except OperationalError as error:
        log.warning("advisor_wake_failed", run_id=str(run_id), error=str(error))
        return False
    return True
