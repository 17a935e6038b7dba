"""What may be asked about runs: each reader's own, how far one has come, who has said enough for one."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from advisor.models import Heartbeat, Run, Step
from advisor.sufficiency import Need, needs_of
from digest.entities import FeedbackCounts
from digest.models import Feedback, Reader, Spend
from digest.selectors import feedback_counts
from suggestions.models import Suggestion

ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)
# Runs of the loop. A manual session is a run too, but takes nobody's place and stands in nobody's way.
AUTOMATIC = Run.objects.exclude(trigger=Run.Trigger.MCP)
PROGRESS_STEPS = 20
HEARTBEAT_FRESH_S = 15
WEEK_DAYS = 7
JOB_PREFIX = "job:"
# The error of a call that a cap kept from being made; the loop's own word.
NOT_EXECUTED = "not_executed"
NOTHING_YET = FeedbackCounts(0, 0, 0, None, None)


def sufficiency(reader_id: UUID) -> list[Need]:
    """The conditions for a run as (label, have, need), in one query."""
    return _needs(feedback_counts(reader_id=reader_id))


def sufficiency_many(*, reader_ids: Iterable[UUID]) -> dict[UUID, list[Need]]:
    """`sufficiency` of many readers in one query; whoever never gave a thumb is there too."""
    asked = list(reader_ids)
    rows = (
        Feedback.objects.filter(reader_id__in=asked)
        .order_by()
        .values_list("reader_id")
        .annotate(
            total=Count("pk"),
            tagged=Count("pk", filter=Q(has_reason=True)),
            days=Max("day") - Min("day") + 1,
            first_at=Min("at"),
            last_at=Max("at"),
        )
    )
    counts = {reader_id: FeedbackCounts(*row) for reader_id, *row in rows}
    return {rid: _needs(counts.get(rid, NOTHING_YET)) for rid in asked}


def _needs(counts: FeedbackCounts) -> list[Need]:
    return needs_of(
        counts,
        items=settings.ADVISOR_MIN_ITEMS,
        days=settings.ADVISOR_MIN_DAYS,
        tagged=settings.ADVISOR_MIN_TAGGED,
    )


def run_for(reader_id: UUID, run_id: UUID) -> Run | None:
    """The run, if it is this reader's."""
    return Run.objects.filter(pk=run_id, reader_id=reader_id).first()


def run_active(*, reader_id: UUID) -> Run | None:
    """The run that is queued or running for this reader."""
    return AUTOMATIC.filter(reader_id=reader_id, status__in=ACTIVE).first()


def run_last(*, reader_id: UUID) -> Run | None:
    """The reader's latest run, whatever became of it."""
    return AUTOMATIC.filter(reader_id=reader_id).order_by("-created_at").first()


def run_suggestion_ids(*, run_id: UUID) -> list[int]:
    """The suggestions a run wrote that the reader may see, oldest first."""
    rows = Suggestion.objects.filter(run_id=run_id).exclude(status__in=Suggestion.UNSEEN)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def run_made(*, run_id: UUID) -> int:
    """How many suggestions a run made that the reader may see: one that came back as a copy counts once."""
    rows = Suggestion.objects.filter(run_id=run_id).exclude(status__in=Suggestion.UNSEEN)
    return rows.values("field", "target_key").distinct().count()


def run_cost_usd(*, run_id: UUID) -> float:
    """What the run has spent: settled calls, and the worst case of those that never came back."""
    rows = Spend.objects.filter(run_id=run_id)
    total = rows.aggregate(
        settled=Sum("settled_usd"), reserved=Sum("reserved_usd", filter=Q(settled_usd__isnull=True))
    )
    return float((total["settled"] or 0) + (total["reserved"] or 0))


def run_totals(*, run_id: UUID) -> dict[str, Any]:
    """What the steps of a run so far add up to, over all its attempts: `Run`'s own columns."""
    answered = Q(kind=Step.Kind.MODEL, error_code="")
    steps = Step.objects.filter(run_id=run_id)
    totals = steps.aggregate(
        turns=Count("pk", filter=answered),
        tool_calls=Count("pk", filter=Q(kind=Step.Kind.TOOL) & ~Q(error_code=NOT_EXECUTED)),
        input_tokens=Coalesce(Sum("input_tokens"), 0),
        output_tokens=Coalesce(Sum("output_tokens"), 0),
    )
    model = steps.filter(answered).order_by("-n").values_list("model", flat=True).first()
    return totals | {"model": model or ""}


def run_progress(run: Run) -> dict[str, Any]:
    """How far a run has come, for whoever waits for it: counts, what it wrote, its last steps."""
    totals = run_totals(run_id=run.pk)
    steps = Step.objects.filter(run=run).order_by("-n")[:PROGRESS_STEPS]
    suggestion_ids = run_suggestion_ids(run_id=run.pk)
    return {
        "run_id": str(run.pk),
        "status": run.status,
        "turns": totals["turns"],
        "tool_calls": totals["tool_calls"],
        "suggestions_created": len(suggestion_ids),
        "suggestion_ids": suggestion_ids,
        "reason": run.message,
        "model": totals["model"],
        "steps": [_step(step) for step in reversed(steps)],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "n": step.n,
        "kind": step.kind,
        "name": step.tool or step.model,
        "error": step.error_code,
        "ms": step.ms,
    }


def worker_alive(*, now: datetime) -> bool:
    """Whether an embedded worker gave a sign of life within the last 15 seconds."""
    since = now - timedelta(seconds=HEARTBEAT_FRESH_S)
    return Heartbeat.objects.filter(at__gte=since).exclude(worker__startswith=JOB_PREFIX).exists()


def runs_of_day(*, reader_id: UUID, day: date) -> list[Run]:
    """The reader's runs of one of the reader's days, newest first."""
    return list(AUTOMATIC.filter(reader_id=reader_id, day=day))


def week_of_runs(*, now: datetime) -> QuerySet[Run]:
    """All readers' completed runs of the last seven days."""
    since = now - timedelta(days=WEEK_DAYS)
    return AUTOMATIC.filter(status=Run.Status.COMPLETED, created_at__gt=since)


def readers_stirred(*, now: datetime) -> set[UUID]:
    """Who may have something in the way of a run before their feedback is looked at, in two queries.

    A run under way or completed this week, a suggestion that waits, sleeps or was made within two days:
    more than stands in anyone's way, never less, whatever the reader's day.
    """
    runs = week_of_runs(now=now) | AUTOMATIC.filter(status__in=ACTIVE)
    waiting = Q(status__in=[Suggestion.Status.PENDING, Suggestion.Status.SNOOZED])
    recent = Q(created_at__gt=now - timedelta(days=2))
    suggestions = Suggestion.objects.filter(waiting | recent)
    found = (rows.order_by().values_list("reader_id", flat=True).distinct() for rows in (runs, suggestions))
    return {reader_id for rows in found for reader_id in rows}


def readers_due(*, now: datetime) -> list[Reader]:
    """The readers for whom a scheduled run is worth a try: enough said, no run this week or under way, and
    suggestions not switched off."""
    busy = week_of_runs(now=now) | AUTOMATIC.filter(status__in=ACTIVE)
    wanting = Reader.objects.filter(is_active=True, suggestions_enabled=True)
    free = wanting.exclude(pk__in=busy.values("reader_id"))
    readers = list(free.order_by("date_joined", "pk"))
    needs = sufficiency_many(reader_ids=[reader.pk for reader in readers])
    return [reader for reader in readers if all(need.met for need in needs[reader.pk])]
