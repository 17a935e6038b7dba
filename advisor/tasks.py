"""The advisor's Celery tasks: thin doors that read the clock."""

from celery import shared_task
from django.utils import timezone

from advisor.services.alerts import alert_raise
from advisor.services.memories import memories_sync
from advisor.services.queue import runs_reconcile
from advisor.services.scheduled import retries_request
from advisor.services.wake import run_execute_task
from digest.selectors.watchdog import fetching_trouble

__all__ = [
    "feeds_watch_task",
    "memories_sync_task",
    "run_execute_task",
    "runs_reconcile_task",
]


@shared_task(name="advisor.runs_reconcile")
def runs_reconcile_task() -> None:
    """Each minute: announce queued runs again, reclaim those whose worker died, ask for due retries."""
    now = timezone.now()
    runs_reconcile(now=now)
    retries_request(now=now)


@shared_task(name="advisor.memories_sync")
def memories_sync_task() -> None:
    """Bring curated insights and patterns over readers up to date."""
    memories_sync(now=timezone.now())


@shared_task(name="advisor.feeds_watch")
def feeds_watch_task() -> None:
    """Tell a person where feeds are due and none is fetched."""
    now = timezone.now()
    if trouble := fetching_trouble(now=now):
        alert_raise(kind="feeds_stalled", where="Fetching feeds", reason=trouble, now=now)
