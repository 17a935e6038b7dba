"""The KPIs counted in the database, in eight queries whatever the number of rows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import (
    Count,
    DecimalField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.functions import Coalesce, TruncDate

from advisor.audit.kpis import (
    NOT_FAILURES,
    SILENT_DAYS,
    SILENT_THUMBS,
    WINDOW_DAYS,
    Kpi,
    Measured,
    kpis_with_state,
)
from advisor.models import Run, Step
from advisor.selectors import ACTIVE, AUTOMATIC
from digest.models import Feedback, Reader, Spend
from suggestions.models import Outcome, Suggestion

Row = Mapping[str, Any]
P95 = 0.95
USD = DecimalField(max_digits=12, decimal_places=6)
TYPES = Suggestion.Type.values


def kpis(*, now: datetime) -> list[Kpi]:
    """Return every KPI at `now` with its state and its values of the last 28 UTC days."""
    measured = _run_kpis(now) | _decision_kpis(now) | _money_kpis(now)
    measured |= {"validation_failure_rate": _validation_failures(now), "silent_readers": _silent_readers(now)}
    return kpis_with_state(measured, daily_cap_usd=settings.ADVISOR_DAILY_CAP_USD)


def _run_kpis(now: datetime) -> dict[str, Measured]:
    ended = AUTOMATIC.exclude(status__in=ACTIVE).filter(finished_at__gt=_since(now), finished_at__lte=now)
    rows = list(
        ended.annotate(date=TruncDate("finished_at", tzinfo=UTC))
        .order_by()
        .values("date")
        .annotate(
            runs=Count("pk"),
            waited=Count("pk", filter=Q(trigger=Run.Trigger.UI)),
            failed=Count("pk", filter=Q(status=Run.Status.AGENT_ERROR)),
            late=Count("pk", filter=Q(status=Run.Status.AGENT_TIMEOUT)),
            all_turns=Sum("turns"),
            tokens=Sum(F("input_tokens") + F("output_tokens")),
            paid=Count("pk", filter=Q(cost_usd__gt=0)),
            cost=Sum("cost_usd"),
        )
    )
    made = Suggestion.objects.filter(run_id__in=ended.values("pk")).exclude(status__in=Suggestion.UNSEEN)
    runs = sum(row["runs"] for row in rows)
    return {
        "turns_per_run": _ratio(rows, "all_turns", "runs", now),
        "tokens_per_run": _ratio(rows, "tokens", "runs", now),
        "cost_per_run": _ratio(rows, "cost", "paid", now),
        "run_failure_rate": _ratio(rows, "failed", "runs", now),
        "run_timeout_rate": _ratio(rows, "late", "runs", now),
        "suggestions_per_run": Measured(made.count() / runs if runs else None, runs),
        "latency_p95": _latency(ended, sum(row["waited"] for row in rows)),
    }


def _latency(ended: QuerySet[Run], waited: int) -> Measured:
    """The 95th percentile of the runs a reader waited for, from request to end."""
    if not waited:
        return Measured(None, 0)
    took = ExpressionWrapper(F("finished_at") - F("created_at"), output_field=DurationField())
    ordered = ended.filter(trigger=Run.Trigger.UI).annotate(took=took).order_by("took")
    rank = min(waited - 1, int(P95 * waited))
    value = ordered.values_list("took", flat=True)[rank : rank + 1]
    return Measured(next((one.total_seconds() for one in value), None), waited)


def _decision_kpis(now: datetime) -> dict[str, Measured]:
    """The share accepted of those accepted or rejected; others were not decided by the reader."""
    answered = (Outcome.Result.ACCEPTED, Outcome.Result.REJECTED)
    rows = list(
        Outcome.objects.filter(kind=Outcome.Kind.DECISION, outcome__in=answered)
        .filter(decided_at__gt=_since(now), decided_at__lte=now)
        .exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
        .annotate(date=TruncDate("decided_at", tzinfo=UTC))
        .order_by()
        .values("date", "suggestion_type")
        .annotate(decided=Count("pk"), accepted=Count("pk", filter=Q(outcome=Outcome.Result.ACCEPTED)))
    )
    by_type = {
        f"acceptance_{kind}": _ratio(
            [row for row in rows if row["suggestion_type"] == kind], "accepted", "decided", now
        )
        for kind in TYPES
    }
    return by_type | {"acceptance_rate": _ratio(rows, "accepted", "decided", now)}


def _money_kpis(now: datetime) -> dict[str, Measured]:
    """The cost of the most expensive UTC day in the ledger, open reservations in full."""
    booked = Coalesce("settled_usd", "reserved_usd", output_field=USD)
    rows = (
        Spend.objects.filter(surface=Spend.Surface.ADVISOR, day__in=_days(now))
        .order_by()
        .values_list("day")
        .annotate(usd=Sum(booked))
    )
    spent = {day: float(usd) for day, usd in rows}
    by_day = [spent.get(day) for day in _days(now)]
    return {"cost_per_day": Measured(max(spent.values(), default=None), len(spent), by_day)}


def _validation_failures(now: datetime) -> Measured:
    writes = Step.objects.filter(tool="write_suggestion", at__gt=_since(now), at__lte=now)
    rows = (
        writes.exclude(error_code__in=NOT_FAILURES)
        .annotate(date=TruncDate("at", tzinfo=UTC))
        .order_by()
        .values("date")
        .annotate(tried=Count("pk"), refused=Count("pk", filter=~Q(error_code="")))
    )
    return _ratio(list(rows), "refused", "tried", now)


def _silent_readers(now: datetime) -> Measured:
    """The share of readers without a suggestion in six weeks, among those who could have had one.

    Those are active, have fifty ratings, the first at least six weeks ago, and a completed run within the six
    weeks that found a pattern in their ratings.
    """
    since = now - timedelta(days=SILENT_DAYS)
    ratings = Feedback.objects.order_by().values("reader_id").annotate(n=Count("pk"), first=Min("at"))
    known = ratings.filter(n__gte=SILENT_THUMBS, first__lte=since).values("reader_id")
    own = Run.objects.filter(reader_id=OuterRef("pk"), status=Run.Status.COMPLETED, finished_at__gt=since)
    asked = Suggestion.objects.filter(reader_id=OuterRef("pk"), created_at__gt=since)
    counts = (
        Reader.objects.filter(is_active=True, pk__in=known)
        .filter(Exists(own.filter(meta__patterns_found__gte=1)))
        .annotate(asked=Exists(asked.exclude(status__in=Suggestion.UNSEEN)))
        .aggregate(readers=Count("pk"), silent=Count("pk", filter=Q(asked=False)))
    )
    readers = counts["readers"]
    return Measured(counts["silent"] / readers if readers else None, readers)


def _ratio(rows: Sequence[Row], top: str, bottom: str, now: datetime) -> Measured:
    """The sum of one column over that of another, in total and by day."""

    def share(some: Sequence[Row]) -> float | None:
        over = sum(row[bottom] for row in some)
        return float(sum(row[top] or 0 for row in some)) / over if over else None

    by_day = [share([row for row in rows if row["date"] == day]) for day in _days(now)]
    return Measured(share(rows), sum(row[bottom] for row in rows), by_day)


def _since(now: datetime) -> datetime:
    return now - timedelta(days=WINDOW_DAYS)


def _days(now: datetime) -> list[date]:
    """The last 28 UTC days, today last."""
    today = now.astimezone(UTC).date()
    return [today - timedelta(days=back) for back in range(WINDOW_DAYS - 1, -1, -1)]
