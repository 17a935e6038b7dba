"""The costs page: sums of the ledger for the month to date, estimates, and the chart of the last days.

Every amount is in USD. Calls that are not settled count with the money reserved for them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Avg, Count, DecimalField, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.llm.entities import PriceUnknown, Usage
from digest.llm.prices import INPUT_SAFETY, cost_usd, tokens_estimated
from digest.llm.providers import ModelRef, chain_refs, provider_endpoint
from digest.models import Item, Spend, SpendRefusal, Summary
from digest.requests import reader_of
from digest.summaries.selectors import texts_waiting
from digest.summaries.summarise import BATCH, OFFLINE, SHOWN_CHARS
from ranking.common.charts import BarChart, bars_stack

USD = DecimalField(max_digits=12, decimal_places=6)
MICRO_USD = Decimal("0.000001")
BOOKED = Coalesce("settled_usd", "reserved_usd", output_field=USD)
# The chart of the last days, in its own units.
CHART_DAYS, CHART_WIDTH, CHART_HEIGHT = 30, 600, 160
# Readers and runs that are listed.
ROWS_MAX = 20
INGEST, ADVISOR = Spend.Surface.INGEST.value, Spend.Surface.ADVISOR.value
# The period that an estimate looks back on.
HISTORY_DAYS, RUNS_COUNTED = 30, 50
# Tokens that one call may put out (`digest.llm.client`), and about those of its prompt.
OUTPUT_TOKENS, PROMPT_CHARS = 1_500, 2_600


@dataclass(frozen=True, slots=True)
class CostLine:
    """The calls of one group: a surface and purpose, a model, a reader or a run.

    `saved` was saved by the provider's cache. `open` is the part of `usd` that is reserved and not settled.
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
        """Return the sum of both surfaces."""
        return self.ingest + self.advisor


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """Calls that a cap refused."""

    code: str
    surface: str
    purpose: str
    calls: int
    asked: Decimal
    last_at: datetime


@dataclass(frozen=True, slots=True)
class CapLine:
    """The cap of one surface for a UTC day, and the money spent of it."""

    surface: str
    cap: Decimal
    spent: Decimal

    @property
    def left(self) -> Decimal:
        """Return the money that may still be spent today."""
        return max(Decimal(0), self.cap - self.spent)


@dataclass(frozen=True, slots=True)
class Reused:
    """Items whose text was summarised already for another item, and the money saved by it."""

    items: int
    usd: Decimal


@dataclass(frozen=True, slots=True)
class Costs:
    """All sums at one moment. `total` is the month to date; `days` are the last 30."""

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


def costs_of_month(*, now: datetime) -> Costs:
    """Return the sums of the month of `now` so far, by UTC days, in nine queries.

    Readers are the 20 that cost most, runs the 20 latest.
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
        refused=_refusals_since(first, today),
        caps=_caps(days[-1]),
        reused=_reuse_since(first, now),
    )


def _lines(rows: QuerySet[Spend], keys: tuple[str, ...]) -> list[CostLine]:
    """Return the rows in groups, the most expensive first."""
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
        "received": Sum("output_tokens"),
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
        output_tokens=group["received"] or 0,
    )


def _usd(value: Decimal | float | None) -> Decimal:
    """Round to a millionth: SQLite sums decimals as floats."""
    return Decimal(str(value or 0)).quantize(MICRO_USD)


def _sum(lines: Iterable[CostLine]) -> CostLine:
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
    """Return the last 30 days, oldest first, including days without a call."""
    first = today - timedelta(days=CHART_DAYS - 1)
    rows = Spend.objects.filter(day__gte=first, day__lte=today).order_by().values_list("day", "surface")
    spent = {(day, surface): _usd(usd) for day, surface, usd in rows.annotate(usd=Sum(BOOKED))}
    days = (first + timedelta(days=n) for n in range(CHART_DAYS))
    nothing = Decimal(0)
    return tuple(
        DayLine(day, spent.get((day, INGEST), nothing), spent.get((day, ADVISOR), nothing)) for day in days
    )


def _refusals_since(first: date, today: date) -> tuple[RefusedLine, ...]:
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


def _reuse_since(first: date, now: datetime) -> Reused:
    """Count each further item with a summarised text as one more summary at the same cost."""
    same = Item.objects.filter(fingerprint=OuterRef("fingerprint")).order_by()
    twins = same.values("fingerprint").annotate(n=Count("pk")).values("n")
    made = Summary.objects.exclude(model=OFFLINE).filter(
        created_at__gte=datetime(first.year, first.month, 1, tzinfo=UTC), created_at__lte=now
    )
    further = made.annotate(further=Subquery(twins) - 1).filter(further__gt=0)
    found = further.aggregate(items=Sum("further"), usd=Sum(F("further") * F("cost_usd"), output_field=USD))
    return Reused(found["items"] or 0, _usd(found["usd"]))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of one run in USD, within its caps. `basis` says how it was estimated."""

    name: str
    usd: Decimal
    basis: str


def estimates_at(*, now: datetime) -> tuple[Estimate, ...]:
    """Return estimates of the next advisor run and of tonight's summaries; four queries at most."""
    return _advisor_estimate(now), _summaries_estimate(now)


def _advisor_estimate(now: datetime) -> Estimate:
    """Take the mean of recent paid runs, or the cap of a run if there was none."""
    name, cap = "the next advisor run", Decimal(str(settings.ADVISOR_RUN_CAP_USD))
    if not _models_of("advisor"):
        return Estimate(name, Decimal(0), "no provider is configured: the statistical planner is free")
    rows = Spend.objects.filter(
        surface=ADVISOR, run_id__isnull=False, created_at__gt=now - timedelta(days=HISTORY_DAYS)
    )
    runs = rows.values("run_id").annotate(usd=Sum(BOOKED), last=Max("created_at")).order_by("-last")
    costs = [Decimal(str(run["usd"])) for run in runs[:RUNS_COUNTED]]
    if not costs:
        return Estimate(name, cap, "the cap of a run: none was paid for in the last 30 days")
    mean = sum(costs, Decimal(0)) / len(costs)
    return Estimate(name, mean.quantize(MICRO_USD), f"the mean of the last {len(costs)} paid runs")


def _summaries_estimate(now: datetime) -> Estimate:
    """Count the texts that wait and may be sent, each at the mean cost so far or the worst case."""
    name, refs = "tonight's summaries", _models_of("summary")
    if not refs:
        return Estimate(name, Decimal(0), "no provider is configured: extracts are free")
    texts = min(texts_waiting(now=now), settings.LLM_SUMMARIES_PER_NIGHT)
    recent = Summary.objects.exclude(model=OFFLINE).filter(created_at__gt=now - timedelta(days=HISTORY_DAYS))
    made = recent.aggregate(mean=Avg("cost_usd", output_field=USD), count=Count("pk"))
    each = Decimal(str(made["mean"])) if made["count"] else _worst_each(refs)
    basis = f"the mean of {made['count']} so far" if made["count"] else "the worst case: none was made yet"
    whole = min(texts * each, Decimal(str(settings.LLM_DAILY_CAP_USD)))
    return Estimate(name, whole.quantize(MICRO_USD), f"{texts} texts; each at {basis}")


def _models_of(purpose: str) -> list[ModelRef]:
    try:
        return [ref for ref in chain_refs(purpose) if provider_endpoint(ref.provider)]
    except ValueError:
        return []  # `manage.py check` names the entry at fault


def _worst_each(refs: list[ModelRef]) -> Decimal:
    """Return a text's share of the most expensive call of the first model with a known price."""
    tokens = tokens_estimated(PROMPT_CHARS + BATCH * SHOWN_CHARS) * INPUT_SAFETY
    usage = Usage(input_tokens=tokens, written_tokens=tokens, output_tokens=OUTPUT_TOKENS)
    for ref in refs:
        try:
            return cost_usd(ref, usage) / BATCH
        except PriceUnknown:
            continue
    return Decimal(0)


@dataclass(frozen=True, slots=True)
class CostsPage:
    """The page's data. `chart_words` is the chart as a sentence."""

    costs: Costs
    estimates: tuple[Estimate, ...]
    chart: BarChart
    chart_words: str


def costs_page(now: datetime) -> CostsPage:
    """Return all costs of models, at `now`."""
    costs = costs_of_month(now=now)
    rows = [(float(day.ingest), float(day.advisor)) for day in costs.days]
    chart = bars_stack(rows, width=CHART_WIDTH, height=CHART_HEIGHT)
    spent = [day for day in costs.days if day.total]
    if spent:
        most = max(spent, key=lambda day: day.total)
        words = (
            f"{len(spent)} of the last {len(costs.days)} days cost something, "
            f"most of all {most.day:%d %B} with ${usd_words(most.total)}. The table below has each of them."
        )
    else:
        words = f"Nothing was spent in the last {len(costs.days)} days."
    return CostsPage(costs, estimates_at(now=now), chart, words)


def usd_words(amount: Decimal) -> str:
    """Return an amount with two decimals, or two significant digits below a cent: 1.20, 0.0031."""
    if not amount or abs(amount) >= Decimal("0.01"):
        return f"{amount:.2f}"
    return f"{Decimal(f'{amount:.2g}'):f}"


@login_required
@require_safe
def costs(request: HttpRequest) -> HttpResponse:
    """Show spend by surface, model, run, reader and day, refusals, and estimates; for operators only."""
    if not reader_of(request).is_staff:
        raise PermissionDenied("Only operators may see what models cost.")
    return render(request, "digest/costs.html", {"page": costs_page(timezone.now())})
