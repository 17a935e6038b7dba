"""Requests for a run: the reasons against one in a fixed order, the queue, and the wait for the result.

A queued run is carried out by a Celery worker, an embedded worker, or the requester. The recovery of crashed
runs is here, too.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from advisor.models import Decision, Run
from advisor.run.status_words import STATUSES
from advisor.run.why_none import INSTALLATION_OFF, READER_OFF, SWITCHED_OFF, UNDER_WAY, advice_off
from advisor.run_values import ASKED_BY, DEFERRED, RAN_THIS_WEEK
from advisor.selectors import (
    ACTIVE_STATUSES,
    ATTEMPTS_MAX,
    LOOP_RUNS,
    feedback_missing,
    readers_of_week,
    readers_possibly_tried,
    run_active,
    run_reason,
    run_suggestion_ids,
    runs_of_day,
    worker_alive,
)
from digest.days import day_end, day_of
from digest.errors import SignInNeeded
from digest.models import Reader
from ranking.common.broker import WorkerTask
from ranking.common.clocks import is_ahead
from suggestions.selectors import suggestions_created_between, suggestions_pending
from suggestions.services.lifecycle import suggestions_sweep

log = structlog.get_logger(__name__)

ATTEMPTS_PER_DAY = 3
POLL_S = 0.25
# Reasons of a refused request beyond the words of its status.
ACCOUNT_OVER = gettext_noop("This account was deleted or switched off meanwhile.")
ATTEMPTS_USED = gettext_noop("It did not work three times today. It can be tried again tomorrow.")
RECONCILE_MAX = 200
# Leases are far shorter. One that ends later was written by a clock that was ahead.
LEASE_LIMIT = timedelta(hours=12)
# Rows of one INSERT.
ROWS = 500
# If no worker has begun a run by then, the next request about it carries it out (embedded mode).
START_WITHIN = timedelta(seconds=5)
WORKER_DIED = gettext_noop("Its worker gave no sign of life before the lease ended.")
SESSION_LEFT = gettext_noop("The session went away without a word.")
GIVEN_UP = gettext_noop("The run stopped twice without an end, so it was given up. It may be tried again.")


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The result of a request for suggestions.

    `status` is one of `ready`, `in_progress`, `blocked_pending`, `already_generated`, `skipped`, or a final
    status of the run. `reason` is a sentence, or `ran_this_week` if the weekly window excludes a run. `began`
    is true only for the request that the run was made for.
    """

    status: str
    reason: str = ""
    run_id: UUID | None = None
    suggestion_ids: tuple[int, ...] = ()
    pending_count: int = 0
    began: bool = False

    @property
    def suggestions_created(self) -> int:
        """Return how many suggestions this request made. Those of another request's run do not count."""
        return len(self.suggestion_ids) if self.began else 0


def request_refusal(*, reader: Reader, trigger: str, now: datetime, force: bool) -> GenerateResult | None:
    """Return why there is no run now, or `None` if nothing prevents one.

    In order: switched off here, or by the reader, or with the account; an active run; suggestions pending,
    made or tried with success today; the weekly window (scheduled and command runs, unless `force`); too
    little feedback; three attempts a day. An active run is `in_progress`, queued or running. If its process
    died, it is first given up or carried out, by a worker if there is one, so that no run blocks for ever.
    """
    off = advice_off(reader)
    if off == INSTALLATION_OFF:
        return GenerateResult("ready", STATUSES["ready"])
    if off:
        words = SWITCHED_OFF if off == READER_OFF else ACCOUNT_OVER
        return _skip(reader, words, now, code="switched_off")
    active = run_active(reader_id=reader.pk)
    if active and run_reclaim(run=active, now=now).status in ACTIVE_STATUSES:
        if not worker_alive(now=now):
            run_advance(run=active, now=now)
        return GenerateResult("in_progress", UNDER_WAY, active.pk)
    suggestions_sweep(now=now, reader_id=reader.pk)
    if pending := suggestions_pending(reader_id=reader.pk):
        ids = tuple(suggestion.pk for suggestion in pending)
        return GenerateResult("blocked_pending", STATUSES["blocked_pending"], None, ids, len(ids))
    runs = runs_of_day(reader_id=reader.pk, day=day_of(now, reader.zone))
    return _today(reader, runs, now) or _too_soon_or_too_little(reader, runs, trigger, now, force)


def run_result(*, run: Run) -> GenerateResult:
    """Return the state of a run as the result of the request that began it."""
    if run.status in ACTIVE_STATUSES:
        return GenerateResult("in_progress", UNDER_WAY, run.pk)
    return GenerateResult(run.status, run_reason(run), run.pk, tuple(run_suggestion_ids(run_id=run.pk)))


def reader_day(reader: Reader, now: datetime) -> tuple[date, datetime, datetime]:
    """Return the reader's day at `now` with its first moment and the first one after it."""
    day = day_of(now, reader.zone)
    return day, day_end(day - timedelta(days=1), reader.zone), day_end(day, reader.zone)


def _today(reader: Reader, runs: Sequence[Run], now: datetime) -> GenerateResult | None:
    _, start, end = reader_day(reader, now)
    made = suggestions_created_between(reader_id=reader.pk, start=start, end=end)
    done = [run for run in runs if run.status == Run.Status.COMPLETED]
    if not made and not done:
        return None
    reason = run_reason(done[0]) if done and not made else ""
    run_id = done[0].pk if done else None
    return GenerateResult("already_generated", reason or STATUSES["already_generated"], run_id, tuple(made))


def _too_soon_or_too_little(
    reader: Reader, runs: Sequence[Run], trigger: str, now: datetime, force: bool
) -> GenerateResult | None:
    weekly = trigger in (Run.Trigger.SCHEDULED, Run.Trigger.COMMAND) and not force
    if weekly and reader.pk in readers_of_week(readers=[reader], now=now):
        return _skip(reader, RAN_THIS_WEEK, now, code=RAN_THIS_WEEK)
    if missing := feedback_missing(reader_id=reader.pk):
        return _skip(reader, missing, now, code="thin_data")
    if len(runs) >= ATTEMPTS_PER_DAY:
        return _skip(reader, ATTEMPTS_USED, now, code="attempts_used_up")
    return None


def _skip(reader: Reader, reason: str, now: datetime, **data: Any) -> GenerateResult:
    Decision.objects.create(
        reader=reader, actor="runs", action="run_skipped", reason=reason, data=data, at=now
    )
    log.info("advisor_run_skipped", user_id=str(reader.pk), reason=reason)
    return GenerateResult("skipped", reason)


def run_request(
    *,
    reader: Reader,
    trigger: str,
    now: datetime,
    force: bool = False,
    inline: bool = False,
    is_deferred: bool = False,
    asked_by: str = "",
) -> GenerateResult:
    """Run the advisor for one reader and day, if nothing prevents it (see `request_refusal`).

    The row is inserted first, and the database accepts only one. A request that loses the race gets
    `in_progress`. `force` skips only the weekly window. `inline` runs in this process even if there are
    workers. `is_deferred` leaves the run to the planner, because the day's money does not cover models for
    it. `asked_by` is stored with the run if its trigger does not say who asked. Failures inside the run are
    not raised.
    """
    if refused := request_refusal(reader=reader, trigger=trigger, now=now, force=force):
        return refused
    run = _insert(_run(reader, trigger, now, is_deferred, asked_by))
    if run is None:
        other = run_active(reader_id=reader.pk)
        return GenerateResult("in_progress", UNDER_WAY, other.pk if other else None)
    return run_begin(run=run, now=now, inline=inline)


def runs_claim(
    *, readers: Sequence[Reader], now: datetime, deferred: Collection[UUID] = ()
) -> dict[UUID, Run]:
    """Claim the day for the due `readers` (`readers_due`) without any possible obstacle.

    Return their scheduled runs by reader, not started yet (`run_begin`); those in `deferred` are left to the
    planner. Four queries for any number of readers. A reader without a run here may have an obstacle, which
    `run_request` finds.
    """
    if not settings.ADVISOR_ENABLED:
        return {}
    tried = readers_possibly_tried(now=now)
    runs = [
        _run(reader, Run.Trigger.SCHEDULED, now, reader.pk in deferred)
        for reader in readers
        if reader.pk not in tried
    ]
    Run.objects.bulk_create(runs, ignore_conflicts=True, batch_size=ROWS)
    made = set(LOOP_RUNS.filter(created_at=now).order_by().values_list("pk", flat=True))
    return {run.reader_id: run for run in runs if run.pk in made}


def run_begin(*, run: Run, now: datetime, inline: bool = False) -> GenerateResult:
    """Execute a requested run, by a worker if there is one and not `inline`. Return its state."""
    is_here = inline or not run_offer(run_id=run.pk, now=now)
    if is_here:
        executor()(run_id=run.pk, now=now)
    if is_here or not settings.REDIS_URL:  # else a worker's message is all that happened
        run = _stored(run.pk)
    return replace(run_result(run=run), began=True)


def run_wait(
    *,
    run_id: UUID,
    now: datetime,
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> GenerateResult:
    """Wait at most `timeout_s` for a run in another process. Return its state.

    It calls `run_advance` meanwhile, so that without a broker nobody waits for a dead worker.
    """
    began, run = clock(), _stored(run_id)
    while run.status in ACTIVE_STATUSES:
        waited = clock() - began
        if waited >= timeout_s:
            break
        run = run_advance(run=run, now=now + timedelta(seconds=waited))
        if run.status in ACTIVE_STATUSES:
            sleep(POLL_S)
            run = _stored(run.pk)
    return run_result(run=run)


def _stored(run_id: UUID) -> Run:
    """Return a run as it is stored now. Raises `SignInNeeded` if it went with its reader's account."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise SignInNeeded(gettext(ACCOUNT_OVER))
    return run


def _run(reader: Reader, trigger: str, now: datetime, is_deferred: bool = False, asked_by: str = "") -> Run:
    """Return a run of the reader's day, unsaved."""
    meta = {key: value for key, value in ((DEFERRED, is_deferred), (ASKED_BY, asked_by)) if value}
    return Run(reader=reader, day=reader_day(reader, now)[0], trigger=trigger, created_at=now, meta=meta)


def _insert(run: Run) -> Run | None:
    """Claim the reader's day; `None` when another request was faster."""
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        return None
    return run


def run_execute_now(run_id: str) -> None:
    """Carry out a queued run, unless someone else already does."""
    from advisor.run.execute import run_execute  # noqa: PLC0415 - the agent, if no worker has it

    run_execute(run_id=UUID(run_id), now=timezone.now())


RUN_EXECUTE = WorkerTask("advisor.run_execute", run_execute_now)


def run_wake(run_id: UUID) -> bool:
    """Announce a queued run to the Celery workers; `False`, and a log line, when the broker is down.

    `runs_reconcile` announces it again every 15 seconds.
    """
    if wrong := RUN_EXECUTE.wake(str(run_id)):
        log.warning("advisor_wake_failed", run_id=str(run_id), error=wrong)
    return not wrong


def run_offer(*, run_id: UUID, now: datetime) -> bool:
    """Offer a queued run to Celery's workers or an embedded one. Return `False` if there is none to take
    it."""
    if settings.REDIS_URL:
        transaction.on_commit(partial(run_wake, run_id))
        return True
    return worker_alive(now=now)


def executor() -> Callable[..., bool]:
    """Return the function that carries out a run. It loads the agent, which most processes never need."""
    from advisor.run.execute import run_execute  # noqa: PLC0415

    return run_execute


def run_execute_next(*, now: datetime) -> UUID | None:
    """Carry out the oldest queued run and return its id, or `None` if there is none."""
    oldest = Run.objects.filter(status=Run.Status.QUEUED, attempt__lt=ATTEMPTS_MAX).order_by(
        "created_at", "pk"
    )
    run_id = oldest.values_list("pk", flat=True).first()
    if run_id is not None:
        executor()(run_id=run_id, now=now)
    return run_id


def run_reclaim(*, run: Run, now: datetime) -> Run:
    """Check the lease of `run` and return it, for installations without a reconciler."""
    is_over = run.lease_until is not None and (run.lease_until < now or run.lease_until > now + LEASE_LIMIT)
    if run.status == Run.Status.RUNNING and is_over:
        runs_reconcile(now=now)
        run = _stored(run.pk)
    return run


def run_advance(*, run: Run, now: datetime) -> Run:
    """Do a worker's part for `run` if no worker is alive, and return it.

    A lease that has ended is reclaimed. Without a broker, a run still queued after five seconds is carried
    out here and now: its worker is dead or busy.
    """
    run = run_reclaim(run=run, now=now)
    has_waited = now - run.created_at >= START_WITHIN or is_ahead(run.created_at, now)
    if run.status == Run.Status.QUEUED and has_waited and not settings.REDIS_URL:
        executor()(run_id=run.pk, now=now)
        run = _stored(run.pk)
    return run


def runs_reconcile(*, now: datetime) -> dict[str, int]:
    """Put crashed runs right; return how many were `requeued`, `given_up` and `woken`.

    A run past its lease goes back into the queue with a higher fence, so that its old worker can write
    nothing more; after two attempts it ends as `agent_error`. A manual session just ends as completed. Every
    queued run is announced again.
    """
    with transaction.atomic():
        is_over = Q(lease_until__lt=now) | Q(lease_until__gt=now + LEASE_LIMIT)
        expired = Run.objects.select_for_update().filter(is_over, status=Run.Status.RUNNING)
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
