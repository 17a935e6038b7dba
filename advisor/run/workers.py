"""Workers: short leases renewed while they live, heartbeats, and the turns of scheduled jobs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connections
from django.db.models import Max, Q

from advisor.models import Decision, Heartbeat
from advisor.selectors import BACKUP_JOB, JOB_PREFIX
from digest.llm.entities import preview
from ranking.common.clocks import SKEW

log = structlog.get_logger(__name__)
# The share of a job's period that must have passed before its next turn: messages come a little late.
TURN_SHARE = 0.8


@contextmanager
def lease_renewal(
    *,
    renew: Callable[[], bool],
    clock: Callable[[], datetime],
    beat_s: float,
    lasting_s: float,
    failure_event: str,
) -> Iterator[None]:
    """Call `renew` every `beat_s` seconds while the block runs, at most for `lasting_s`.

    `renew` writes the new end of the lease and returns whether it was still ours. If it was not, renewal
    ends. A thread does it, on its own connection, so that it dies with a killed process. A busy or missing
    database costs one renewal, logged as `failure_event`, and not the lease.
    """
    ended = threading.Event()
    until = clock() + timedelta(seconds=lasting_s)

    def beat() -> None:
        try:
            while not ended.wait(beat_s) and clock() < until:
                try:
                    if not renew():
                        return
                except DatabaseError:
                    log.warning(failure_event, exc_info=True)
                    connections.close_all()
        finally:
            connections.close_all()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def heartbeat(*, worker: str, now: datetime) -> None:
    """Store a worker's heartbeat."""
    Heartbeat.objects.update_or_create(worker=worker, defaults={"at": now})


def heartbeat_delete(*, worker: str) -> None:
    """Delete the heartbeat of a worker that shuts down: from now on requests run inline at once."""
    Heartbeat.objects.filter(worker=worker).delete()


def jobs_last_started() -> dict[str, datetime]:
    """Return when each scheduled job last began, here or on a Celery worker."""
    rows = Heartbeat.objects.filter(worker__startswith=JOB_PREFIX)
    return {worker.removeprefix(JOB_PREFIX): at for worker, at in rows.values_list("worker", "at")}


def any_worker_at(*, now: datetime) -> datetime | None:
    """Return when a worker last gave a sign of life, or began a scheduled job. One query."""
    rows = Heartbeat.objects.filter(at__lte=now + SKEW).exclude(worker=BACKUP_JOB)
    at: datetime | None = rows.aggregate(at=Max("at"))["at"]
    return at


def job_claim(*, name: str, last: datetime | None, now: datetime) -> bool:
    """Claim one turn of a scheduled job: of two workers that saw the same `last`, one gets it."""
    worker = f"{JOB_PREFIX}{name}"
    if last is not None:
        return bool(Heartbeat.objects.filter(worker=worker, at=last).update(at=now))
    _, created = Heartbeat.objects.get_or_create(worker=worker, defaults={"at": now})
    return created


def job_claim_if_due(*, name: str, every: timedelta, now: datetime) -> bool:
    """Claim a Celery worker's turn of a scheduled job; `False` if it ran within most of its period.

    A turn in the future is one of a clock that was ahead, and counts for nothing.
    """
    worker, since = f"{JOB_PREFIX}{name}", now - every * TURN_SHARE
    is_due = Q(at__lte=since) | Q(at__gt=now + SKEW)
    if Heartbeat.objects.filter(is_due, worker=worker).update(at=now):
        return True
    _, created = Heartbeat.objects.get_or_create(worker=worker, defaults={"at": now})
    return created


def job_failed(*, name: str, reason: str, now: datetime) -> None:
    """Store that a job of an embedded worker failed, for operators."""
    Decision.objects.create(
        actor="worker", action="job_failed", reason=preview(reason), data={"job": name}, at=now
    )
