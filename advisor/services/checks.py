"""What stands between a request and a run, asked in a fixed order, all of it before any model call."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from advisor.models import Decision, Run
from advisor.selectors import (
    ACTIVE,
    run_active,
    run_suggestion_ids,
    runs_of_day,
    sufficiency,
    week_of_runs,
)
from advisor.services.queue import run_attend, run_reclaim
from advisor.sufficiency import missing_words
from digest.days import day_end, day_of
from digest.models import Reader
from suggestions.selectors import suggestions_created_between, suggestions_pending
from suggestions.services.lifecycle import suggestions_sweep

log = structlog.get_logger(__name__)

ATTEMPTS_PER_DAY = 3
RAN_THIS_WEEK = "ran_this_week"
WORDS = {
    "ready": "Suggestions are switched off on this installation.",
    "switched_off": "You have switched suggestions off. Your account page switches them on again.",
    "in_progress": "Your feedback is being read; this takes a moment.",
    "blocked_pending": "Suggestions are waiting for your decision. Decide on those first.",
    "already_generated": "Suggestions were made today already. Come back tomorrow.",
    "attempts": "It did not work three times today. It can be tried again tomorrow.",
}


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """What a request for suggestions came to.

    `status` is one of `ready`, `in_progress`, `blocked_pending`, `already_generated`, `skipped`, or a final
    status of the run; `reason` says it in words (`ran_this_week` for a run the weekly window left out).
    """

    status: str
    reason: str = ""
    run_id: UUID | None = None
    suggestion_ids: tuple[int, ...] = ()
    pending_count: int = 0

    @property
    def suggestions_created(self) -> int:
        """How many suggestions came of this request: none of those it only found."""
        return 0 if self.status in ("blocked_pending", "already_generated") else len(self.suggestion_ids)


def request_refused(*, reader: Reader, trigger: str, now: datetime, force: bool) -> GenerateResult | None:
    """Why there will be no run now, or `None` when nothing stands in its way.

    In order: switched off here, or by the reader; a run under way, suggestions pending, made or tried with
    success today, the weekly window (scheduled and command runs, unless `force`), too little feedback, three
    attempts a day.
    A run under way whose process died is given up or carried out first, so that none blocks for ever.
    """
    if not settings.ADVISOR_ENABLED:
        return GenerateResult("ready", WORDS["ready"])
    if not reader.suggestions_enabled:
        return _skipped(reader, WORDS["switched_off"], now, code="switched_off")
    active = run_active(reader_id=reader.pk)
    if active and run_reclaim(run=active, now=now).status in ACTIVE:
        return run_result(run=run_attend(run=active, now=now))
    suggestions_sweep(now=now, reader_id=reader.pk)
    if pending := suggestions_pending(reader_id=reader.pk):
        ids = tuple(suggestion.pk for suggestion in pending)
        return GenerateResult("blocked_pending", WORDS["blocked_pending"], None, ids, len(ids))
    return _today(reader, now) or _too_soon_or_thin(reader, trigger, now, force)


def run_result(*, run: Run) -> GenerateResult:
    """How a run stands, as the answer to the request that began it."""
    if run.status in ACTIVE:
        return GenerateResult("in_progress", WORDS["in_progress"], run.pk)
    return GenerateResult(run.status, run.message, run.pk, tuple(run_suggestion_ids(run_id=run.pk)))


def reader_day(reader: Reader, now: datetime) -> tuple[date, datetime, datetime]:
    """The reader's day at `now` with its first moment and the first one after it."""
    day = day_of(now, reader.zone)
    return day, day_end(day - timedelta(days=1), reader.zone), day_end(day, reader.zone)


def _today(reader: Reader, now: datetime) -> GenerateResult | None:
    day, start, end = reader_day(reader, now)
    made = suggestions_created_between(reader_id=reader.pk, start=start, end=end)
    done = [run for run in runs_of_day(reader_id=reader.pk, day=day) if run.status == Run.Status.COMPLETED]
    if not made and not done:
        return None
    reason = WORDS["already_generated"] if made else done[0].message or WORDS["already_generated"]
    run_id = done[0].pk if done else None
    return GenerateResult("already_generated", reason, run_id, tuple(made))


def _too_soon_or_thin(reader: Reader, trigger: str, now: datetime, force: bool) -> GenerateResult | None:
    waits = trigger in (Run.Trigger.SCHEDULED, Run.Trigger.COMMAND) and not force
    if waits and week_of_runs(now=now).filter(reader_id=reader.pk).exists():
        return _skipped(reader, RAN_THIS_WEEK, now, code=RAN_THIS_WEEK)
    needs = sufficiency(reader.pk)
    if reason := missing_words(needs):
        return _skipped(reader, reason, now, code="thin_data", needs=[need._asdict() for need in needs])
    day, _, _ = reader_day(reader, now)
    if len(runs_of_day(reader_id=reader.pk, day=day)) >= ATTEMPTS_PER_DAY:
        return _skipped(reader, WORDS["attempts"], now, code="attempts_used_up")
    return None


def _skipped(reader: Reader, reason: str, now: datetime, **data: Any) -> GenerateResult:
    Decision.objects.create(
        reader=reader, actor="runs", action="run_skipped", reason=reason, data=data, at=now
    )
    log.info("advisor_run_skipped", user_id=str(reader.pk), reason=reason)
    return GenerateResult("skipped", reason)
