"""Requests for a run: the reasons against one, checked in a fixed order, and the wait for its result."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from advisor.models import Decision, Run
from advisor.run.execute import run_execute
from advisor.run.queue import run_advance, run_next, run_reclaim, run_start, runs_reconcile
from advisor.selectors import ACTIVE, run_active, run_suggestion_ids, runs_of_day, sufficiency, week_of_runs
from advisor.sufficiency import missing_message
from digest.days import day_end, day_of
from digest.models import Reader
from suggestions.selectors import suggestions_created_between, suggestions_pending
from suggestions.services.lifecycle import suggestions_sweep

log = structlog.get_logger(__name__)

__all__ = [
    "GenerateResult",
    "run_advance",
    "run_execute",
    "run_next",
    "run_request",
    "run_result",
    "run_wait",
    "runs_reconcile",
]

ATTEMPTS_PER_DAY = 3
POLL_S = 0.25
RAN_THIS_WEEK = "ran_this_week"
MESSAGES = {
    "ready": "Suggestions are switched off on this installation.",
    "switched_off": "You have switched suggestions off. Your account page switches them on again.",
    "in_progress": "Your feedback is being read; this takes a moment.",
    "blocked_pending": "Suggestions are waiting for your decision. Decide on those first.",
    "already_generated": "Suggestions were made today already. Come back tomorrow.",
    "attempts": "It did not work three times today. It can be tried again tomorrow.",
}


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of a request for suggestions.

    `status` is one of `ready`, `in_progress`, `blocked_pending`, `already_generated`, `skipped`, or a final
    status of the run; `reason` is a sentence, or `ran_this_week` for a run that the weekly window excludes.
    """

    status: str
    reason: str = ""
    run_id: UUID | None = None
    suggestion_ids: tuple[int, ...] = ()
    pending_count: int = 0

    @property
    def suggestions_created(self) -> int:
        """Return how many suggestions this request made; those it only found do not count."""
        return 0 if self.status in ("blocked_pending", "already_generated") else len(self.suggestion_ids)


def request_refused(*, reader: Reader, trigger: str, now: datetime, force: bool) -> GenerateResult | None:
    """Return why there is no run now, or `None` when nothing prevents one.

    In order: switched off here, or by the reader; a run under way, suggestions pending, made or tried with
    success today, the weekly window (scheduled and command runs, unless `force`), too little feedback, three
    attempts a day.
    A run under way whose process died is given up or carried out first, so that none blocks for ever.
    """
    if not settings.ADVISOR_ENABLED:
        return GenerateResult("ready", MESSAGES["ready"])
    if not reader.suggestions_enabled:
        return _skipped(reader, MESSAGES["switched_off"], now, code="switched_off")
    active = run_active(reader_id=reader.pk)
    if active and run_reclaim(run=active, now=now).status in ACTIVE:
        return run_result(run=run_advance(run=active, now=now))
    suggestions_sweep(now=now, reader_id=reader.pk)
    if pending := suggestions_pending(reader_id=reader.pk):
        ids = tuple(suggestion.pk for suggestion in pending)
        return GenerateResult("blocked_pending", MESSAGES["blocked_pending"], None, ids, len(ids))
    return _today(reader, now) or _too_soon_or_thin(reader, trigger, now, force)


def run_result(*, run: Run) -> GenerateResult:
    """Return the state of a run as the result of the request that began it."""
    if run.status in ACTIVE:
        return GenerateResult("in_progress", MESSAGES["in_progress"], run.pk)
    return GenerateResult(run.status, run.message, run.pk, tuple(run_suggestion_ids(run_id=run.pk)))


def reader_day(reader: Reader, now: datetime) -> tuple[date, datetime, datetime]:
    """Return the reader's day at `now` with its first moment and the first one after it."""
    day = day_of(now, reader.zone)
    return day, day_end(day - timedelta(days=1), reader.zone), day_end(day, reader.zone)


def _today(reader: Reader, now: datetime) -> GenerateResult | None:
    day, start, end = reader_day(reader, now)
    made = suggestions_created_between(reader_id=reader.pk, start=start, end=end)
    done = [run for run in runs_of_day(reader_id=reader.pk, day=day) if run.status == Run.Status.COMPLETED]
    if not made and not done:
        return None
    reason = MESSAGES["already_generated"] if made else done[0].message or MESSAGES["already_generated"]
    run_id = done[0].pk if done else None
    return GenerateResult("already_generated", reason, run_id, tuple(made))


def _too_soon_or_thin(reader: Reader, trigger: str, now: datetime, force: bool) -> GenerateResult | None:
    weekly = trigger in (Run.Trigger.SCHEDULED, Run.Trigger.COMMAND) and not force
    if weekly and week_of_runs(now=now).filter(reader_id=reader.pk).exists():
        return _skipped(reader, RAN_THIS_WEEK, now, code=RAN_THIS_WEEK)
    needs = sufficiency(reader.pk)
    if reason := missing_message(needs):
        return _skipped(reader, reason, now, code="thin_data", needs=[need._asdict() for need in needs])
    day, _, _ = reader_day(reader, now)
    if len(runs_of_day(reader_id=reader.pk, day=day)) >= ATTEMPTS_PER_DAY:
        return _skipped(reader, MESSAGES["attempts"], now, code="attempts_used_up")
    return None


def _skipped(reader: Reader, reason: str, now: datetime, **data: Any) -> GenerateResult:
    Decision.objects.create(
        reader=reader, actor="runs", action="run_skipped", reason=reason, data=data, at=now
    )
    log.info("advisor_run_skipped", user_id=str(reader.pk), reason=reason)
    return GenerateResult("skipped", reason)


def run_request(
    *, reader: Reader, trigger: str, now: datetime, force: bool = False, inline: bool = False
) -> GenerateResult:
    """Run the advisor for one reader and day, if nothing prevents it (see `request_refused`).

    The row is inserted before anything else happens, and the database accepts one; a request that loses the
    race gets `in_progress`. `force` skips the weekly window alone; `inline` runs in this process whatever
    workers there are. Raises nothing for what happens inside the run.
    """
    if refused := request_refused(reader=reader, trigger=trigger, now=now, force=force):
        return refused
    run = _insert(reader, trigger, now)
    if run is None:
        other = run_active(reader_id=reader.pk)
        return GenerateResult("in_progress", MESSAGES["in_progress"], other.pk if other else None)
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
    """Wait for a run that another process carries out, `timeout_s` at most, and return its state.

    `run_advance` is called meanwhile, so that without a broker nobody waits for a dead worker.
    """
    began, run = clock(), Run.objects.get(pk=run_id)
    while run.status in ACTIVE:
        waited = clock() - began
        if waited >= timeout_s:
            break
        run = run_advance(run=run, now=now + timedelta(seconds=waited))
        if run.status in ACTIVE:
            sleep(POLL_S)
            run.refresh_from_db()
    return run_result(run=run)


def _insert(reader: Reader, trigger: str, now: datetime) -> Run | None:
    """Claim the reader's day; `None` when another request was faster."""
    day, _, _ = reader_day(reader, now)
    try:
        with transaction.atomic():
            return Run.objects.create(reader=reader, day=day, trigger=trigger, created_at=now)
    except IntegrityError:
        return None
