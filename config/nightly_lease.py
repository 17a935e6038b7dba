"""Who holds a night: taking it, showing that its worker lives, and letting go of it.

The row of the UTC day is claimed by a conditional update and held by a short lease. While a step runs, a
thread beside it renews the lease, so that a worker that was killed is noticed within two minutes, however
long the step takes. Each claim raises the row's token, and nothing is written under an older one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F

from advisor.models import Decision
from advisor.services.leases import lease_kept
from config.models import NightlyReport
from config.nights import night_held, steps_again

log = structlog.get_logger(__name__)

# A sign of life every 20 seconds: three in a row may come late before the night is taken over.
LEASE = timedelta(seconds=90)
BEAT_S = 20.0
# Longer than any step should take: one that hangs renews no longer, and is done again beside itself, which
# harms nothing.
STEP_MAX_S = 3600.0
# What the decisions can hold.
ACTOR_CHARS, REASON_CHARS = 40, 300
Status = NightlyReport.Status


class NotHeld(Exception):
    """Nobody holds the night, so there is nothing to release."""


def night_claim(*, now: datetime, force: bool = False, by_hand: bool = False) -> NightlyReport | None:
    """Take the night of `now` (a UTC day), or nothing where it is over or somebody holds it.

    A night that failed is taken again for the steps that failed: by itself after a while and a few times
    (`config.nights.steps_again`), `by_hand` at once. `force` takes one that is over from the start.
    """
    lease = now + LEASE
    row, first = NightlyReport.objects.get_or_create(
        day=now.astimezone(UTC).date(),
        defaults={"started_at": now, "lease_until": lease, "token": 1, "attempts": 1},
    )
    if first:
        return row
    if night_held(row, now):
        return None
    over = row.status != Status.RUNNING
    fields: dict[str, Any] = {
        "status": Status.RUNNING,
        "lease_until": lease,
        "token": row.token + 1,
        "attempts": row.attempts + 1,
    }
    if over and force:
        fields |= {"steps": {}, "started_at": now, "finished_at": None}
    elif over:
        again = steps_again(row.steps, ended_at=row.finished_at, now=now, by_hand=by_hand)
        if not again:
            return None
        fields |= {"steps": {**row.steps, **again}, "finished_at": None}
    mine = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=row.status).update(**fields)
    return _set(row, fields) if mine else None


def night_save(row: NightlyReport, **fields: Any) -> bool:
    """Write `fields` if the row is still held under our token; whether it was."""
    mine = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=Status.RUNNING)
    if not mine.update(**fields):
        return False
    _set(row, fields)
    return True


@contextmanager
def night_kept(
    row: NightlyReport,
    clock: Callable[[], datetime],
    *,
    beat_s: float = BEAT_S,
    lasting_s: float = STEP_MAX_S,
) -> Iterator[None]:
    """Renew the lease every `beat_s` seconds while the block runs, at most for `lasting_s`.

    A thread does it, on a connection of its own: a process that is killed takes it along.
    """
    held = NightlyReport.objects.filter(pk=row.pk, token=row.token, status=Status.RUNNING)

    def renew() -> bool:
        return bool(held.update(lease_until=clock() + LEASE))

    with lease_kept(
        renew=renew, clock=clock, beat_s=beat_s, lasting_s=lasting_s, failed="nightly_beat_failed"
    ):
        yield


def night_release(*, day: date, reason: str, actor: str, now: datetime) -> NightlyReport:
    """Take the night of `day` from its holder, with the `reason` on record; the next look goes on with it.

    Its worker, should it live, writes nothing more. The step it was at counts as one that ended its process.
    Raises `NotHeld` where nobody holds it.
    """
    with transaction.atomic():
        held = NightlyReport.objects.filter(day=day, status=Status.RUNNING, lease_until__gte=now)
        if not held.update(lease_until=None, token=F("token") + 1):
            raise NotHeld(f"Nobody holds the night of {day}; there is nothing to release.")
        Decision.objects.create(
            actor=actor[:ACTOR_CHARS],
            action="night_released",
            reason=reason[:REASON_CHARS],
            data={"day": day.isoformat()},
            at=now,
        )
    log.warning("nightly_released", day=str(day), actor=actor, reason=reason[:REASON_CHARS])
    return NightlyReport.objects.get(day=day)


def _set(row: NightlyReport, fields: Mapping[str, Any]) -> NightlyReport:
    for name, value in fields.items():
        setattr(row, name, value)
    return row
