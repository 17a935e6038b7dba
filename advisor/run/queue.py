"""The queue: who carries out a queued run, what puts crashed runs right, heartbeats and turns of jobs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from kombu.exceptions import OperationalError

from advisor.models import Decision, Heartbeat, Run
from advisor.run.execute import ATTEMPTS_MAX, run_execute
from advisor.selectors import JOB_PREFIX, worker_alive
from digest.llm.entities import preview

log = structlog.get_logger(__name__)

RECONCILE_MAX = 200
# A run nobody has begun by then is carried out by whoever asks about it (embedded mode).
START_WITHIN = timedelta(seconds=5)
# The share of a job's period that must have passed before its next turn: messages come a little late.
TURN_SHARE = 0.8
WORKER_DIED = "Its worker gave no sign of life before the lease ended."
SESSION_LEFT = "The session went away without a word."
GIVEN_UP = "The run stopped twice without an end, so it was given up. It may be tried again."


@shared_task(name="advisor.run_execute")
def run_execute_task(run_id: str) -> None:
    """Carry out a queued run, unless someone else already does."""
    run_execute(run_id=UUID(run_id), now=timezone.now())


def run_wake(run_id: UUID) -> bool:
    """Announce a queued run to the Celery workers; `False`, and a log line, when the broker is down.

    `runs_reconcile` announces it again every 15 seconds.
    """
    try:
        run_execute_task.apply_async(args=(str(run_id),), retry=False)
    except OperationalError as error:
        log.warning("advisor_wake_failed", run_id=str(run_id), error=str(error))
        return False
    return True


def run_start(*, run_id: UUID, now: datetime, inline: bool = False) -> None:
    """Hand a queued run to whoever is there: a Celery worker, an embedded worker, or this process.

    `inline` insists on this process, as commands do.
    """
    if settings.REDIS_URL and not inline:
        transaction.on_commit(partial(run_wake, run_id))
    elif inline or not worker_alive(now=now):
        run_execute(run_id=run_id, now=now)


def run_next(*, now: datetime) -> UUID | None:
    """Carry out the oldest queued run and return its id; `None` when there is none."""
    oldest = Run.objects.filter(status=Run.Status.QUEUED, attempt__lt=ATTEMPTS_MAX).order_by(
        "created_at", "pk"
    )
    run_id = oldest.values_list("pk", flat=True).first()
    if run_id is not None:
        run_execute(run_id=run_id, now=now)
    return run_id


def run_reclaim(*, run: Run, now: datetime) -> Run:
    """Return `run` after its lease was checked, for installations where no reconciler runs."""
    if run.status == Run.Status.RUNNING and run.lease_until is not None and run.lease_until < now:
        runs_reconcile(now=now)
        run.refresh_from_db()
    return run


def run_advance(*, run: Run, now: datetime) -> Run:
    """Return `run` after what no worker may be there to do for it.

    A lease that has ended is reclaimed. Without a broker, a run still queued after five seconds is carried
    out here and now: its worker is dead or busy.
    """
    run = run_reclaim(run=run, now=now)
    waiting = run.status == Run.Status.QUEUED and now - run.created_at >= START_WITHIN
    if waiting and not settings.REDIS_URL:
        run_execute(run_id=run.pk, now=now)
        run.refresh_from_db()
    return run


def runs_reconcile(*, now: datetime) -> dict[str, int]:
    """Put crashed runs right; return how many were `requeued`, `given_up` and `woken`.

    A run past its lease goes back into the queue with a higher fence, so that its old worker can write
    nothing more; after two attempts it ends as `agent_error`. A manual session just ends as completed. Every
    queued run is announced again.
    """
    with transaction.atomic():
        expired = Run.objects.select_for_update().filter(status=Run.Status.RUNNING, lease_until__lt=now)
        runs = list(expired.order_by("lease_until")[:RECONCILE_MAX])
        sessions = [run for run in runs if run.trigger == Run.Trigger.MCP]
        again = [run for run in runs if run.attempt < ATTEMPTS_MAX]
        over = [run for run in runs if run.attempt >= ATTEMPTS_MAX and run.trigger != Run.Trigger.MCP]
        pks = [run.pk for run in again]
        queued = {"status": Run.Status.QUEUED, "fence": F("fence") + 1, "lease_until": None}
        Run.objects.filter(pk__in=pks).update(**queued)
        _decisions_add(again, "run_requeued", WORKER_DIED, now)
        _end(sessions, Run.Status.COMPLETED, "session_ended", SESSION_LEFT, now)
        _end(over, Run.Status.AGENT_ERROR, "run_given_up", GIVEN_UP, now)
    announced = Run.objects.filter(status=Run.Status.QUEUED).order_by("created_at")
    waiting = list(announced.values_list("pk", flat=True)[:RECONCILE_MAX]) if settings.REDIS_URL else []
    woken = sum(run_wake(run_id) for run_id in waiting)
    counts = {"requeued": len(again), "given_up": len(over), "woken": woken}
    if any(counts.values()):
        log.info("advisor_runs_reconciled", **counts)
    return counts


def _end(runs: Sequence[Run], status: str, action: str, message: str, now: datetime) -> None:
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(
        status=status,
        stop_reason="lease_expired",
        message=message,
        fence=F("fence") + 1,
        lease_until=None,
        finished_at=now,
    )
    _decisions_add(runs, action, message, now)


def _decisions_add(runs: Sequence[Run], action: str, reason: str, now: datetime) -> None:
    Decision.objects.bulk_create(
        Decision(
            run=run,
            reader_id=run.reader_id,
            actor="reconciler",
            action=action,
            reason=reason,
            data={"attempt": run.attempt},
            at=now,
        )
        for run in runs
    )


def heartbeat(*, worker: str, now: datetime) -> None:
    """Store a worker's heartbeat."""
    Heartbeat.objects.update_or_create(worker=worker, defaults={"at": now})


def heartbeat_end(*, worker: str) -> None:
    """Delete the heartbeat of a worker that shuts down: from now on requests run inline at once."""
    Heartbeat.objects.filter(worker=worker).delete()


def jobs_last() -> dict[str, datetime]:
    """Return when each scheduled job last began, here or on a Celery worker."""
    rows = Heartbeat.objects.filter(worker__startswith=JOB_PREFIX)
    return {worker.removeprefix(JOB_PREFIX): at for worker, at in rows.values_list("worker", "at")}


def job_take(*, name: str, last: datetime | None, now: datetime) -> bool:
    """Claim one turn of a scheduled job: of two workers that saw the same `last`, one gets it."""
    worker = f"{JOB_PREFIX}{name}"
    if last is not None:
        return bool(Heartbeat.objects.filter(worker=worker, at=last).update(at=now))
    _, created = Heartbeat.objects.get_or_create(worker=worker, defaults={"at": now})
    return created


def job_turn(*, name: str, every: timedelta, now: datetime) -> bool:
    """Claim a Celery worker's turn of a scheduled job; `False` where it ran within most of its period."""
    worker, since = f"{JOB_PREFIX}{name}", now - every * TURN_SHARE
    if Heartbeat.objects.filter(worker=worker, at__lte=since).update(at=now):
        return True
    _, created = Heartbeat.objects.get_or_create(worker=worker, defaults={"at": now})
    return created


def job_failed(*, name: str, reason: str, now: datetime) -> None:
    """Store that a job of an embedded worker failed, for operators."""
    Decision.objects.create(
        actor="worker", action="job_failed", reason=preview(reason), data={"job": name}, at=now
    )
