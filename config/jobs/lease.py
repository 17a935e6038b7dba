"""Claim, renew and release the lease of a nightly run, and choose failed steps to retry.

A worker claims the row of the UTC day by a conditional update, with a short lease. While a step runs, a
thread renews the lease, so a killed worker is noticed within two minutes even during a long step. Each claim
raises the row's token, and a worker with an older token can write nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F

from advisor.models import Decision
from advisor.run.workers import lease_renewal
from config.models import NightlyReport
from ranking.common.clocks import SKEW

log = structlog.get_logger(__name__)
Step = dict[str, Any]
Status = NightlyReport.Status

# The steps in the order in which `config.jobs.nightly` runs them.
STEP_NAMES = ("fetch", "cluster", "summarise", "learn", "digests", "deliver", "advise")
# With a heartbeat every 20 seconds, three in a row may be late before another worker takes over.
LEASE = timedelta(seconds=90)
HEARTBEAT_S = 20.0
# No step should take this long. If a step hangs, its lease then ends and another worker repeats it, which is
# safe.
STEP_MAX_S = 3600.0
# A failed step is tried three times a night: after 10 minutes, then after 30.
TRIES_MAX = 3
RETRY_AFTER, RETRY_FACTOR = timedelta(minutes=10), 3
# A step that crashes its process also stops the steps after it, so it is given up after the second crash.
CRASHES_MAX = 2
# The lengths of the columns of `Decision`.
ACTOR_CHARS, REASON_CHARS = 40, 300


class NightNotLeased(Exception):
    """No worker holds the lease of the night, so there is nothing to release."""


def nightly_as_dict(row: NightlyReport) -> dict[str, Any]:
    """Return the report as JSON values: `{"day", "status", "steps": [{"name", …}], "seconds"}`."""
    steps = [{"name": name, **row.steps[name]} for name in STEP_NAMES if name in row.steps]
    seconds = round(sum(step.get("seconds", 0.0) for step in steps), 3)
    return {"day": row.day.isoformat(), "status": row.status, "steps": steps, "seconds": seconds}


def night_is_leased(row: NightlyReport, now: datetime) -> bool:
    """Return whether a worker holds a lease on the night at `now`.

    A lease longer than any of ours counts as none: the clock was wrong.
    """
    until = row.lease_until
    return row.status == Status.RUNNING and until is not None and now <= until <= now + LEASE + SKEW


def steps_to_retry(
    steps: Mapping[str, Step], *, ended_at: datetime | None, now: datetime, manual: bool = False
) -> dict[str, Step]:
    """Return the failed steps of a finished night that are due for a retry at `now`, marked as waiting.

    With `manual` all failed steps are due at once, and their counts of crashes start again at 0.
    """
    failed = {name: step for name, step in steps.items() if step["status"] == "failed"}
    if manual:
        return {name: {**step, "status": "waiting", "crashes": 0} for name, step in failed.items()}
    return {
        name: {**step, "status": "waiting", "crashes": step.get("crashes", 0)}
        for name, step in failed.items()
        if (at := _retry_at(step, ended_at)) is not None and at <= now
    }


def night_retry_at(row: NightlyReport) -> datetime | None:
    """Return when the first failed step of a finished night is retried automatically, or `None` for never."""
    failed = [step for step in row.steps.values() if step["status"] == "failed"]
    return min(filter(None, (_retry_at(step, row.finished_at) for step in failed)), default=None)


def _retry_at(step: Step, ended_at: datetime | None) -> datetime | None:
    tries: int = step.get("tries", 1)
    if ended_at is None or tries >= TRIES_MAX or step.get("crashes", 0) >= CRASHES_MAX:
        return None
    return ended_at + RETRY_AFTER * float(RETRY_FACTOR ** (tries - 1))


def night_claim(*, now: datetime, force: bool = False, manual: bool = False) -> NightlyReport | None:
    """Claim the night of `now` (a UTC day). Return `None` if it is finished or another worker holds it.

    A failed night can be claimed again for its failed steps (see `steps_to_retry`). `force` restarts a
    finished night from the beginning.
    """
    _wrong_nights_delete(now)
    lease = now + LEASE
    row, first = NightlyReport.objects.get_or_create(
        day=now.astimezone(UTC).date(),
        defaults={"started_at": now, "lease_until": lease, "token": 1, "attempts": 1},
    )
    if first:
        return row
    if night_is_leased(row, now):
        return None
    fields: dict[str, Any] = {
        "status": Status.RUNNING,
        "lease_until": lease,
        "token": row.token + 1,
        "attempts": row.attempts + 1,
    }
    if row.status != Status.RUNNING:
        if force:
            fields |= {"steps": {}, "started_at": now, "finished_at": None}
        elif again := steps_to_retry(row.steps, ended_at=row.finished_at, now=now, manual=manual):
            fields |= {"steps": {**row.steps, **again}, "finished_at": None}
        else:
            return None
    mine = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=row.status).update(**fields)
    return _set_fields(row, fields) if mine else None


def _wrong_nights_delete(now: datetime) -> None:
    """Delete reports that begin in the future: the clock was wrong. Their days would go without a night."""
    wrong = NightlyReport.objects.filter(started_at__gt=now + SKEW)
    if days := [str(day) for day in wrong.values_list("day", flat=True)]:
        log.warning("nightly_from_the_future", days=days)
        wrong.delete()


def night_save(row: NightlyReport, **fields: Any) -> bool:
    """Write `fields` if the row still has our token. Return whether it does."""
    if not _own_row(row).update(**fields):
        return False
    _set_fields(row, fields)
    return True


@contextmanager
def night_lease_renewal(
    row: NightlyReport,
    clock: Callable[[], datetime],
    *,
    beat_s: float | None = None,
    lasting_s: float = STEP_MAX_S,
) -> Iterator[None]:
    """Renew the lease every `beat_s` seconds (20) while the block runs, for at most `lasting_s` seconds.

    A thread with its own database connection does this, so it ends with the process.
    """
    own = _own_row(row)

    def renew() -> bool:
        return bool(own.update(lease_until=clock() + LEASE))

    with lease_renewal(
        renew=renew,
        clock=clock,
        beat_s=beat_s or HEARTBEAT_S,
        lasting_s=lasting_s,
        failure_event="nightly_beat_failed",
    ):
        yield


def night_release(*, day: date, reason: str, actor: str, now: datetime) -> NightlyReport:
    """Take the lease of `day` from its worker and store the `reason`. The next worker continues the night.

    The old worker can write nothing more. Its current step counts as crashed. Raises `NightNotLeased` if no
    worker holds the lease.
    """
    with transaction.atomic():
        leased = NightlyReport.objects.filter(day=day, status=Status.RUNNING, lease_until__gte=now)
        if not leased.update(lease_until=None, token=F("token") + 1):
            raise NightNotLeased(f"No worker holds the night of {day}; there is nothing to release.")
        Decision.objects.create(
            actor=actor[:ACTOR_CHARS],
            action="night_released",
            reason=reason[:REASON_CHARS],
            data={"day": day.isoformat()},
            at=now,
        )
    log.warning("nightly_released", day=str(day), actor=actor, reason=reason[:REASON_CHARS])
    return NightlyReport.objects.get(day=day)


def _own_row(row: NightlyReport) -> Any:
    """Return the query for the row, which is empty if the row no longer has our token."""
    return NightlyReport.objects.filter(pk=row.pk, token=row.token, status=Status.RUNNING)


def _set_fields(row: NightlyReport, fields: Mapping[str, Any]) -> NightlyReport:
    for name, value in fields.items():
        setattr(row, name, value)
    return row
