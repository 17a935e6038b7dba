"""What models cost: the ledger in sums, month to date. Every amount is USD; open calls count as reserved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, DecimalField, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from digest.models import Item, Spend, SpendRefusal, Summary
from digest.summary_entities import OFFLINE

USD = DecimalField(max_digits=12, decimal_places=6)
MICRO_USD = Decimal("0.000001")
BOOKED = Coalesce("settled_usd", "reserved_usd", output_field=USD)
CHART_DAYS = 30
ROWS_MAX = 20
INGEST, ADVISOR = Spend.Surface.INGEST.value, Spend.Surface.ADVISOR.value


@dataclass(frozen=True, slots=True)
class CostLine:
    """The calls of one group: a surface and purpose, a model, a reader or a run.

    `saved` is what the provider's cache saved; `open` is the part of `usd` that is reserved and not settled.
    """

    name: str
    calls: int
    usd: Decimal
    saved: Decimal
    open: Decimal
    input_tokens: int
    cached_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class DayLine:
    """One UTC day."""

    day: date
    ingest: Decimal
    advisor: Decimal

    @property
    def total(self) -> Decimal:
        """Both surfaces."""
        return self.ingest + self.advisor


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """Calls that a cap did not let through."""

    code: str
    surface: str
    purpose: str
    calls: int
    asked: Decimal
    last_at: datetime


@dataclass(frozen=True, slots=True)
class CapLine:
    """A cap of one surface for one UTC day, and what is left of it today."""

    surface: str
    cap: Decimal
    spent: Decimal

    @property
    def left(self) -> Decimal:
        """What may still be spent today."""
        return max(Decimal(0), self.cap - self.spent)


@dataclass(frozen=True, slots=True)
class Reused:
    """What the cache by content saved: items that share a text with one a model had already summarised."""

    items: int
    usd: Decimal


@dataclass(frozen=True, slots=True)
class Costs:
    """Everything at one moment. `total` is the month to date; `days` are the last 30."""

    month: date
    total: CostLine
    surfaces: tuple[CostLine, ...]
    models: tuple[CostLine, ...]
    readers: tuple[CostLine, ...]
    runs: tuple[CostLine, ...]
    days: tuple[DayLine, ...]
    refused: tuple[RefusedLine, ...]
    caps: tuple[CapLine, ...]
    reused: Reused


def costs_at(*, now: datetime) -> Costs:
    """The month of `now` so far, by UTC days; nine queries however long the ledger is.

    Readers and runs are the 20 dearest and the 20 latest.
    """
    today = now.astimezone(UTC).date()
    first = today.replace(day=1)
    month = Spend.objects.filter(day__gte=first, day__lte=today).order_by()
    surfaces = _lines(month, ("surface", "purpose"))
    days = _days(today)
    return Costs(
        month=first,
        total=_sum(surfaces),
        surfaces=tuple(sorted(surfaces, key=lambda line: line.name)),
        models=tuple(_lines(month, ("model",))),
        readers=tuple(_lines(month.exclude(reader=None), ("reader__username",))[:ROWS_MAX]),
        runs=_runs(month),
        days=days,
        refused=_refused(first, today),
        caps=_caps(days[-1]),
        reused=_reused(first, now),
    )


def _lines(rows: QuerySet[Spend], keys: tuple[str, ...]) -> list[CostLine]:
    """The rows in groups, the dearest first."""
    groups: Iterable[Mapping[str, Any]] = rows.values(*keys).annotate(**_sums())
    lines = [_line(" · ".join(str(group[key]) for key in keys), group) for group in groups]
    return sorted(lines, key=lambda line: (-line.usd, line.name))


def _sums() -> dict[str, Any]:
    nothing = Value(Decimal(0), output_field=USD)
    return {
        "calls": Count("pk"),
        "usd": Coalesce(Sum(BOOKED), nothing),
        "saved": Coalesce(Sum("saved_usd"), nothing),
        "open_usd": Coalesce(Sum("reserved_usd", filter=Q(settled_usd=None)), nothing),
        "sent": Sum("input_tokens"),
        "cached": Sum("cached_tokens"),
        "said": Sum("output_tokens"),
    }


def _line(name: str, group: Mapping[str, Any]) -> CostLine:
    return CostLine(
        name=name,
        calls=group["calls"],
        usd=_usd(group["usd"]),
        saved=_usd(group["saved"]),
        open=_usd(group["open_usd"]),
        input_tokens=group["sent"] or 0,
        cached_tokens=group["cached"] or 0,
        output_tokens=group["said"] or 0,
    )


def _usd(value: Decimal | float | None) -> Decimal:
    """An exact amount: SQLite sums decimals as floats, and rounding takes the last digits' noise away."""
    return Decimal(str(value or 0)).quantize(MICRO_USD)


def _sum(lines: Iterable[CostLine]) -> CostLine:
    """All lines as one."""
    counted = list(lines)
    return CostLine(
        "all",
        sum(line.calls for line in counted),
        sum((line.usd for line in counted), Decimal(0)),
        sum((line.saved for line in counted), Decimal(0)),
        sum((line.open for line in counted), Decimal(0)),
        sum(line.input_tokens for line in counted),
        sum(line.cached_tokens for line in counted),
        sum(line.output_tokens for line in counted),
    )


def _runs(month: QuerySet[Spend]) -> tuple[CostLine, ...]:
    rows = month.exclude(run_id=None).values("run_id", "surface").annotate(last=Max("created_at"), **_sums())
    latest: Iterable[Mapping[str, Any]] = rows.order_by("-last")[:ROWS_MAX]
    return tuple(_line(f"{row['surface']} · {row['run_id']}", row) for row in latest)


def _days(today: date) -> tuple[DayLine, ...]:
    """The last 30 days, oldest first, those without a call included."""
    first = today - timedelta(days=CHART_DAYS - 1)
    rows = Spend.objects.filter(day__gte=first, day__lte=today).order_by().values_list("day", "surface")
    spent = {(day, surface): _usd(usd) for day, surface, usd in rows.annotate(usd=Sum(BOOKED))}
    days = (first + timedelta(days=n) for n in range(CHART_DAYS))
    nothing = Decimal(0)
    return tuple(
        DayLine(day, spent.get((day, INGEST), nothing), spent.get((day, ADVISOR), nothing)) for day in days
    )


def _refused(first: date, today: date) -> tuple[RefusedLine, ...]:
    rows = SpendRefusal.objects.filter(day__gte=first, day__lte=today).order_by()
    groups: Iterable[Mapping[str, Any]] = (
        rows.values("code", "surface", "purpose")
        .annotate(calls=Count("pk"), asked=Sum("asked_usd"), last_at=Max("created_at"))
        .order_by("-last_at")
    )
    return tuple(RefusedLine(**{**group, "asked": _usd(group["asked"])}) for group in groups)


def _caps(today: DayLine) -> tuple[CapLine, ...]:
    return (
        CapLine(INGEST, _usd(settings.LLM_DAILY_CAP_USD), today.ingest),
        CapLine(ADVISOR, _usd(settings.ADVISOR_DAILY_CAP_USD), today.advisor),
    )


def _reused(first: date, now: datetime) -> Reused:
    """Each further item with a summarised text would have cost as much again."""
    same = Item.objects.filter(fingerprint=OuterRef("fingerprint")).order_by()
    twins = same.values("fingerprint").annotate(n=Count("pk")).values("n")
    made = Summary.objects.exclude(model=OFFLINE).filter(
        created_at__gte=datetime(first.year, first.month, 1, tzinfo=UTC), created_at__lte=now
    )
    further = made.annotate(further=Subquery(twins) - 1).filter(further__gt=0)
    found = further.aggregate(items=Sum("further"), usd=Sum(F("further") * F("cost_usd"), output_field=USD))
    return Reused(found["items"] or 0, _usd(found["usd"]))
