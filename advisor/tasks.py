"""The advisor's Celery tasks: thin doors that read the clock."""

from celery import shared_task
from django.utils import timezone

from advisor.guidance.export import guidance_export
from advisor.guidance.tunables import tunables
from advisor.services.alerts import alert_raise
from advisor.services.guidance_credit import guidance_credit
from advisor.services.guidance_days import guidance_days_count
from advisor.services.guidance_memories import memories_refresh_active
from advisor.services.guidance_pruning import guidance_prune
from advisor.services.memories import memories_sync
from advisor.services.queue import runs_reconcile
from advisor.services.scheduled import retries_request
from advisor.services.wake import run_execute_task
from digest.selectors.watchdog import fetching_trouble

__all__ = [
    "feeds_watch_task",
    "guidance_export_task",
    "guidance_learn_task",
    "memories_sync_task",
    "run_execute_task",
    "runs_reconcile_task",
]


@shared_task(name="advisor.runs_reconcile")
def runs_reconcile_task() -> None:
    """Every 15 seconds: announce queued runs again, reclaim those whose worker died, ask for due retries."""
    now = timezone.now()
    runs_reconcile(now=now)
    retries_request(now=now)


@shared_task(name="advisor.memories_sync")
def memories_sync_task() -> None:
    """Bring curated insights and patterns over readers up to date."""
    memories_sync(now=timezone.now())


@shared_task(name="advisor.guidance_learn")
def guidance_learn_task() -> None:
    """Credit memories with what readers answered, and derive active readers' own anew.

    Then count the days that are over, and let go what has had its time.
    """
    now = timezone.now()
    guidance_credit(now=now)
    memories_refresh_active(now=now)
    guidance_days_count(now=now)
    guidance_prune(now=now)


@shared_task(name="advisor.guidance_export")
def guidance_export_task() -> None:
    """Write the notes of guidance anew, where notes are written at all."""
    if tunables().export:
        guidance_export(now=timezone.now())


@shared_task(name="advisor.feeds_watch")
def feeds_watch_task() -> None:
    """Tell a person where feeds are due and none is fetched."""
    now = timezone.now()
    if trouble := fetching_trouble(now=now):
        alert_raise(kind="feeds_stalled", where="Fetching feeds", reason=trouble, now=now)
