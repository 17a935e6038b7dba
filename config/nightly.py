"""A night's work: seven steps under one row, taken up where it stopped, whoever carries it out.

The row of the UTC day is claimed by a conditional update and held by a lease; each claim raises its token,
and nothing is written under an older one. A step is noted before it begins and when it ends, so that a
crash costs the step it hit; a step that ends its process twice is given up, and the night goes on.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError

from advisor.policy import Action
from advisor.services.alerts import alert_raise
from advisor.services.failures import error_handle
from advisor.services.queue import job_failed
from config.models import NightlyReport
from config.nightly_steps import STEPS

log = structlog.get_logger(__name__)

# Longer than any step should take: what outlives it is done again beside it, which harms nothing.
LEASE = timedelta(hours=1)
TRIES_MAX = 2
ERROR_CHARS = 300
CRASHED = "It ended its process twice, so this night goes on without it."
Status = NightlyReport.Status
Step = dict[str, Any]


def nightly_run(
    *,
    now: datetime,
    force: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    steps: Mapping[str, Callable[[datetime], Mapping[str, object]]] = STEPS,
) -> NightlyReport:
    """Do what is left of the night of `now` (a UTC day) and return its report.

    A night that is over, or that another worker is at, is returned as it stands; `force` does a night that
    is over again from the start. A step that fails is noted, alerts, and stops none of those after it.
    `stopping` is asked between steps: what is left then waits for the next call.
    """
    began = time.monotonic()
    row = _claim(now, force)
    if row is None:
        return NightlyReport.objects.get(day=now.astimezone(UTC).date())

    def clock() -> datetime:
        return now + timedelta(seconds=time.monotonic() - began)

    for name, work in steps.items():
        if stopping():
            _save(row, lease_until=None)
            return row
        if not _step(row, name, work, clock):
            log.warning("nightly_lease_lost", day=str(row.day), step=name)
            return NightlyReport.objects.get(pk=row.pk)
    broken = [name for name, step in row.steps.items() if step["status"] != "done"]
    status = Status.FAILED if broken else Status.COMPLETED
    _save(row, status=status, finished_at=clock(), lease_until=None)
    log.info("nightly_ended", day=str(row.day), status=str(row.status), failed=broken)
    return row


def _claim(now: datetime, force: bool) -> NightlyReport | None:
    """Take the day's row, or nothing where it is over or somebody holds it."""
    lease = now + LEASE
    row, first = NightlyReport.objects.get_or_create(
        day=now.astimezone(UTC).date(),
        defaults={"started_at": now, "lease_until": lease, "token": 1, "attempts": 1},
    )
    if first:
        return row
    over = row.status != Status.RUNNING
    held = not over and row.lease_until is not None and row.lease_until >= now
    if held or (over and not force):
        return None
    fields: dict[str, Any] = {
        "status": Status.RUNNING,
        "lease_until": lease,
        "token": row.token + 1,
        "attempts": row.attempts + 1,
    }
    if over:
        fields |= {"steps": {}, "started_at": now, "finished_at": None}
    mine = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=row.status).update(**fields)
    return _set(row, fields) if mine else None


def _step(
    row: NightlyReport,
    name: str,
    work: Callable[[datetime], Mapping[str, object]],
    clock: Callable[[], datetime],
) -> bool:
    """Do one step unless it was done, and note how it ended; whether the row is still ours."""
    known: Step = row.steps.get(name, {})
    if known.get("status") in ("done", "failed"):
        return True
    tries = known.get("tries", 0) + 1
    started, mark = clock(), time.monotonic()
    step: Step = {"status": "running", "started_at": started.isoformat(timespec="seconds"), "tries": tries}
    if tries > TRIES_MAX:
        _told(name, RuntimeError(CRASHED), started)
        return _note(row, name, {**step, "tries": TRIES_MAX, **_ended(mark, error=CRASHED)}, started)
    if not _note(row, name, step, started):
        return False
    try:
        ended = _ended(mark, counts=work(started))
    except Exception as error:
        _told(name, error, started)
        ended = _ended(mark, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
    ended["seconds"] = round(time.monotonic() - mark, 3)
    return _note(row, name, {**step, **ended}, clock())


def _ended(mark: float, *, counts: Mapping[str, object] | None = None, error: str = "") -> Step:
    seconds = round(time.monotonic() - mark, 3)
    status = "failed" if error else "done"
    return {"status": status, "seconds": seconds, "counts": dict(counts or {}), "error": error}


def _told(name: str, error: Exception, now: datetime) -> None:
    """Log a broken step, apply the error policy, tell a person; none of it may break the night."""
    log.error("nightly_step_failed", step=name, exc_info=error)
    action = error_handle(error=error, where=f"nightly {name}", now=now)
    if action is not Action.ALERT:  # which has told already
        reason = f"{type(error).__name__}: {error}"
        alert_raise(kind=f"nightly_{name}", where=f"The night's step “{name}”", reason=reason, now=now)
    with suppress(DatabaseError):
        job_failed(name=name, reason=f"{type(error).__name__}: {error}", now=now)


def _note(row: NightlyReport, name: str, step: Step, now: datetime) -> bool:
    return _save(row, steps={**row.steps, name: step}, lease_until=now + LEASE)


def _save(row: NightlyReport, **fields: Any) -> bool:
    """Write `fields` if the row is still held under our token."""
    mine = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=Status.RUNNING)
    if not mine.update(**fields):
        return False
    _set(row, fields)
    return True


def _set(row: NightlyReport, fields: Mapping[str, Any]) -> NightlyReport:
    for name, value in fields.items():
        setattr(row, name, value)
    return row
