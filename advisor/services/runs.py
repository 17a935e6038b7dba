"""Asking for suggestions: checked, claimed as a row before any model is called, and handed on."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from advisor.models import Run
from advisor.selectors import ACTIVE, run_active
from advisor.services.checks import WORDS, GenerateResult, reader_day, request_refused, run_result
from advisor.services.execute import run_execute
from advisor.services.queue import run_attend, run_next, run_start, runs_reconcile
from digest.models import Reader

__all__ = [
    "GenerateResult",
    "run_attend",
    "run_execute",
    "run_next",
    "run_request",
    "run_result",
    "run_wait",
    "runs_reconcile",
]

POLL_S = 0.25


def run_request(
    *, reader: Reader, trigger: str, now: datetime, force: bool = False, inline: bool = False
) -> GenerateResult:
    """One run for one reader and day, if nothing stands in its way (`request_refused` lists what may).

    The row is inserted before anything else happens, and the database lets one through; whoever loses the
    race gets `in_progress`. `force` skips the weekly window alone; `inline` runs in this process whatever
    workers there are. Raises nothing for what happens inside the run.
    """
    if refused := request_refused(reader=reader, trigger=trigger, now=now, force=force):
        return refused
    run = _insert(reader, trigger, now)
    if run is None:
        other = run_active(reader_id=reader.pk)
        return GenerateResult("in_progress", WORDS["in_progress"], other.pk if other else None)
    run_start(run_id=run.pk, now=now, inline=inline)
    run.refresh_from_db()
    return run_result(run=run)


def run_wait(
    *,
    run_id: UUID,
    now: datetime,
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> GenerateResult:
    """Wait for a run that someone else carries out, `timeout_s` at most, then say how it stands.

    It is attended meanwhile (`run_attend`): without a broker nobody waits in vain.
    """
    began, run = clock(), Run.objects.get(pk=run_id)
    while run.status in ACTIVE:
        waited = clock() - began
        if waited >= timeout_s:
            break
        run = run_attend(run=run, now=now + timedelta(seconds=waited))
        if run.status in ACTIVE:
            sleep(POLL_S)
            run.refresh_from_db()
    return run_result(run=run)


def _insert(reader: Reader, trigger: str, now: datetime) -> Run | None:
    """The claim of the reader's day; `None` when another request was faster."""
    day, _, _ = reader_day(reader, now)
    try:
        with transaction.atomic():
            return Run.objects.create(reader=reader, day=day, trigger=trigger, created_at=now)
    except IntegrityError:
        return None
