"""A night's work: seven steps under one row, taken up where it stopped, whoever carries it out.

`config.nightly_lease` says who holds the row. A step is noted before it begins and when it ends, so that a
crash costs the step it hit; a step that ends its process twice is given up, and the night goes on. A step
that fails stops none of those after it, and is tried again later the same day.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog
from django.db import DatabaseError

from advisor.policy import Action
from advisor.services.alerts import alert_raise
from advisor.services.failures import error_handle
from advisor.services.queue import job_failed
from config.models import NightlyReport
from config.nightly_lease import LEASE, night_claim, night_kept, night_save
from config.nightly_steps import STEPS
from config.nights import CRASHES_MAX, Step

log = structlog.get_logger(__name__)

ERROR_CHARS = 300
CRASHED = "It ended its process twice, so this night goes on without it."
Status = NightlyReport.Status
Clock = Callable[[], datetime]
Work = Callable[[datetime], Mapping[str, object]]


def nightly_run(
    *,
    now: datetime,
    force: bool = False,
    by_hand: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    steps: Mapping[str, Work] = STEPS,
) -> NightlyReport:
    """Do what is left of the night of `now` (a UTC day) and return its report.

    A night that is over, or that another worker is at, is returned as it stands. One that ended with steps
    that failed does those again, once their time has come or at once where it is asked for `by_hand`;
    `force` does a night that is over again from the start. A step that fails is noted, alerts, and stops none
    of those after it. `stopping` is asked between steps: what is left then waits for the next call.
    """
    began = time.monotonic()
    row = night_claim(now=now, force=force, by_hand=by_hand)
    if row is None:
        return NightlyReport.objects.get(day=now.astimezone(UTC).date())

    def clock() -> datetime:
        return now + timedelta(seconds=time.monotonic() - began)

    for name, work in steps.items():
        if stopping():
            night_save(row, lease_until=None)
            return row
        if not _step(row, name, work, clock):
            log.warning("nightly_lease_lost", day=str(row.day), step=name)
            return NightlyReport.objects.get(pk=row.pk)
    broken = [name for name, step in row.steps.items() if step["status"] != "done"]
    status = Status.FAILED if broken else Status.COMPLETED
    night_save(row, status=status, finished_at=clock(), lease_until=None)
    log.info("nightly_ended", day=str(row.day), status=str(row.status), failed=broken)
    return row


def _step(row: NightlyReport, name: str, work: Work, clock: Clock) -> bool:
    """Do one step unless it was done, and note how it ended; whether the row is still ours."""
    known: Step = row.steps.get(name, {})
    if known.get("status") in ("done", "failed"):
        return True
    step, started, mark = _begun(known, clock()), clock(), time.monotonic()
    if step["crashes"] >= CRASHES_MAX:
        _told(name, RuntimeError(CRASHED), started)
        return _note(row, name, {**step, "tries": known["tries"], **_ended(mark, error=CRASHED)}, started)
    if not _note(row, name, step, started):
        return False
    try:
        with night_kept(row, clock):
            counts = work(started)
        ended = _ended(mark, counts=counts)
    except Exception as error:
        _told(name, error, started)
        ended = _ended(mark, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])
    return _note(row, name, {**step, **ended}, clock())


def _begun(known: Step, started: datetime) -> Step:
    """A step as it begins: one more try, and one more crash where it was never seen to end."""
    crashes = known.get("crashes", 0) + (known.get("status") == "running")
    return {
        "status": "running",
        "started_at": started.isoformat(timespec="seconds"),
        "tries": known.get("tries", 0) + 1,
        "crashes": crashes,
    }


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
    return night_save(row, steps={**row.steps, name: step}, lease_until=now + LEASE)
