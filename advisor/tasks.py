"""The advisor's Celery tasks; each reads the clock and calls a service."""

from django.utils import timezone

from advisor.agent.error_policy import alert_raise
from advisor.guidance.events import guidance_credit, guidance_prune
from advisor.guidance.health import guidance_export
from advisor.guidance.store import memories_refresh_active, memories_sync
from advisor.guidance.tunables import tunables
from advisor.run import execute  # noqa: F401  # what the first run would load, before a worker forks
from advisor.run.request import RUN_EXECUTE, runs_reconcile
from advisor.run.scheduling import retries_request
from digest.feeds.selectors import fetching_trouble
from ranking.common.broker import shared_task
from ranking.common.isolation import Parts

run_execute_task = RUN_EXECUTE


@shared_task(name="advisor.runs_reconcile")
def runs_reconcile_task() -> None:
    """Every 15 seconds: announce queued runs again, reclaim runs of dead workers, request due retries."""
    now = timezone.now()
    parts = Parts("advisor.runs_reconcile")
    parts.run("runs", lambda: runs_reconcile(now=now))
    parts.run("retries", lambda: retries_request(now=now))
    parts.end()


@shared_task(name="advisor.memories_sync")
def memories_sync_task() -> None:
    """Update curated insights and patterns over readers."""
    memories_sync(now=timezone.now())


@shared_task(name="advisor.guidance_learn")
def guidance_learn_task() -> None:
    """Credit memories with readers' answers, refresh active readers' memories, prune events."""
    now = timezone.now()
    parts = Parts("advisor.guidance_learn")
    parts.run("credit", lambda: guidance_credit(now=now))
    parts.run("memories", lambda: memories_refresh_active(now=now))
    parts.run("events", lambda: guidance_prune(now=now))
    parts.end()


@shared_task(name="advisor.guidance_notes")
def guidance_notes_task() -> None:
    """Export the figures of guidance if the export is enabled."""
    if tunables().export:
        guidance_export(now=timezone.now())


@shared_task(name="advisor.feeds_watch")
def feeds_watch_task() -> None:
    """Raise an alert if feeds are due and none is being fetched."""
    now = timezone.now()
    if trouble := fetching_trouble(now=now):
        alert_raise(kind="feeds_stalled", where="Fetching feeds", reason=trouble, now=now)
