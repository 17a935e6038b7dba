"""KPIs of an installation: their counts in eight queries, thresholds, states, texts and sparklines.

The thresholds were chosen before there was data of any installation. "Suggestions per run" has none: no
suggestion is often right, so readers without suggestions are watched instead.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
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

from advisor.conversation import WRITE_TOOL
from advisor.models import Run, Step
from advisor.selectors import ACTIVE_STATUSES, LOOP_RUNS
from digest.models import Feedback, Reader, Spend
from ranking.common.charts import line_points, line_stretches, polyline
from suggestions.changes.registry import KINDS, SUGGESTED
from suggestions.models import Outcome, Suggestion

SHARE, USD, SECONDS, NUMBER = "share", "usd", "seconds", "number"
WINDOW_DAYS = 28
SILENT_DAYS, SILENT_RATINGS_MIN = 42, 50
# Error codes of a tool call that belong to a review, to guidance, to the end of a run or to
# today's page, which the caller cannot know: no failures.
NOT_FAILURES = (
    "review_improve",
    "review_refused",
    "reflector_refused",
    "blocked",
    "not_executed",
    "moves_nothing",
)
# Of a sparkline, in pixels.
WIDTH, HEIGHT, MARGIN = 120, 24, 2
Row = Mapping[str, Any]
P95 = 0.95
USD_FIELD = DecimalField(max_digits=12, decimal_places=6)
TYPES = tuple(KINDS)


class State(StrEnum):
    """The state of a KPI against its threshold."""

    OK = "ok"
    ALERT = "alert"
    NO_DATA = "no_data"
    WATCHED = "watched"


# A mark that needs no colour, and its text.
MARKS = {
    State.OK: ("✓", "ok"),
    State.ALERT: ("▲", "alert"),
    State.NO_DATA: ("–", "no data yet"),
    State.WATCHED: ("·", "watched"),
}


@dataclass(frozen=True, slots=True)
class KpiDefinition:
    """The definition of a KPI: its text, its unit and its threshold.

    It is an alert `below` or `above` the threshold (without either: only watched), from `n_min` cases on.
    """

    key: str
    label: str
    unit: str
    case_noun: str
    below: float | None = None
    above: float | None = None
    n_min: int = 1
    days: int = WINDOW_DAYS


KPI_DEFINITIONS = (
    KpiDefinition("acceptance_rate", "Suggestions accepted", SHARE, "decisions", below=0.30, n_min=10),
    *(
        KpiDefinition(
            f"acceptance_{kind.name}", f"… of {kind.texts.targets}", SHARE, "decisions", below=0.20, n_min=5
        )
        for kind in SUGGESTED
    ),
    KpiDefinition(
        "silent_readers",
        "Readers with preferences who get no suggestion",
        SHARE,
        "readers",
        above=0.20,
        n_min=5,
        days=SILENT_DAYS,
    ),
    KpiDefinition(
        "validation_failure_rate", "Proposals that a rule refused", SHARE, "proposals", above=0.50, n_min=10
    ),
    KpiDefinition("turns_per_run", "Model turns a run", NUMBER, "runs", above=30),
    KpiDefinition("cost_per_run", "Cost of a run that cost anything", USD, "runs", above=0.50),
    KpiDefinition("cost_per_day", "Cost of the dearest day", USD, "days", above=1.00),
    KpiDefinition("run_failure_rate", "Runs that failed", SHARE, "runs", above=0.10, n_min=10),
    KpiDefinition("run_timeout_rate", "Runs out of time", SHARE, "runs", above=0.05, n_min=10),
    KpiDefinition("latency_p95", "Wait for a run, 95 of 100 within", SECONDS, "runs", above=30.0, n_min=5),
    KpiDefinition("tokens_per_run", "Tokens a run", NUMBER, "runs"),
    KpiDefinition("suggestions_per_run", "Suggestions a run", NUMBER, "runs"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured KPI: its value over `n` cases (`None` without any), and its values by day."""

    value: float | None
    n: int
    by_day: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Kpi:
    """A KPI with its state."""

    definition: KpiDefinition
    measured: Measured
    state: State

    @property
    def mark(self) -> str:
        """Return the mark of the state."""
        return MARKS[self.state][0]

    @property
    def state_text(self) -> str:
        """Return the state as text; too few cases differ from none."""
        if self.state is State.NO_DATA and self.measured.n:
            return "too few yet"
        return MARKS[self.state][1]

    @property
    def value_text(self) -> str:
        """Return the value with its unit; a dash without cases."""
        return "–" if self.measured.value is None else value_format(self.measured.value, self.definition.unit)

    @property
    def basis_text(self) -> str:
        """Return the basis of the value: "12 decisions in 28 days"."""
        return f"{_counted_noun(self.measured.n, self.definition.case_noun)} in {self.definition.days} days"

    @property
    def threshold_text(self) -> str:
        """Return when it is an alert, and from how many cases on."""
        definition = self.definition
        limit = definition.below if definition.below is not None else definition.above
        if limit is None:
            return "none"
        side = "below" if definition.below is not None else "above"
        least = (
            f", from {_counted_noun(definition.n_min, definition.case_noun)} on"
            if definition.n_min > 1
            else ""
        )
        return f"{side} {value_format(limit, definition.unit)}{least}"


def kpis_with_state(measured: Mapping[str, Measured], *, daily_cap_usd: float = 1.00) -> list[Kpi]:
    """Return every KPI with its state; the threshold of a day's cost is its cap."""
    limits = {"cost_per_day": daily_cap_usd}
    return [
        _with_state(definition, measured.get(definition.key, Measured(None, 0)), limits)
        for definition in KPI_DEFINITIONS
    ]


def value_format(value: float, unit: str) -> str:
    """Return a value with its unit."""
    if unit == SHARE:
        return f"{value:.0%}"
    if unit == USD:
        return f"${value:.4f}" if 0 < value < 0.01 else f"${value:.2f}"
    if unit == SECONDS:
        return f"{value:.1f} s".replace(".0 ", " ")
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _counted_noun(n: int, plural: str) -> str:
    return f"{n:,} {plural[:-1] if n == 1 else plural}"


def _with_state(definition: KpiDefinition, measured: Measured, limits: Mapping[str, float]) -> Kpi:
    above = limits.get(definition.key, definition.above)
    definition = replace(definition, above=above)
    if measured.value is None or measured.n < definition.n_min:
        return Kpi(definition, measured, State.NO_DATA)
    if definition.below is None and above is None:
        return Kpi(definition, measured, State.WATCHED)
    low = definition.below is not None and measured.value < definition.below
    high = above is not None and measured.value > above
    return Kpi(definition, measured, State.ALERT if low or high else State.OK)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Points `x,y` within 120 × 24: a line for each stretch of days, single days as dots; and its text."""

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    text: str


def sparkline(by_day: Sequence[float | None], shown: Callable[[float], str]) -> Sparkline | None:
    """Return the chart of daily values, oldest first; `None` for fewer than two days with a value."""
    known = [value for value in by_day if value is not None]
    if len(known) < 2:
        return None
    low, high = min(0.0, *known), max(known)
    points = line_points(by_day, low=low, high=high, width=WIDTH, height=HEIGHT, margin=MARGIN)
    stretches = line_stretches(points)
    lines = tuple(polyline(stretch) for stretch in stretches if len(stretch) > 1)
    dots = tuple(stretch[0] for stretch in stretches if len(stretch) == 1)
    text = (
        f"{len(known)} of the last {len(by_day)} days: from {shown(min(known))} to {shown(high)}, "
        f"last {shown(known[-1])}."
    )
    return Sparkline(lines, dots, text)


def kpis(*, now: datetime) -> list[Kpi]:
    """Return every KPI at `now` with its state and its values of the last 28 UTC days."""
    measured = _run_kpis(now) | _decision_kpis(now) | _money_kpis(now)
    measured |= {"validation_failure_rate": _validation_failures(now), "silent_readers": _silent_readers(now)}
    return kpis_with_state(measured, daily_cap_usd=settings.ADVISOR_DAILY_CAP_USD)


def _run_kpis(now: datetime) -> dict[str, Measured]:
    ended = LOOP_RUNS.exclude(status__in=ACTIVE_STATUSES).filter(
        finished_at__gt=_since(now), finished_at__lte=now
    )
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
    booked = Coalesce("settled_usd", "reserved_usd", output_field=USD_FIELD)
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
    writes = Step.objects.filter(tool=WRITE_TOOL, at__gt=_since(now), at__lte=now)
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
    known = ratings.filter(n__gte=SILENT_RATINGS_MIN, first__lte=since).values("reader_id")
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
    """Return the sum of one column over that of another, in total and by day."""

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
