"""What the decision maker looks at: who stands where, what a run costs, what is left of the day's money.

Read-only, and as many queries for ten thousand readers as for one.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Avg, Count, DecimalField, F, IntegerField, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from advisor.choosing import Standing
from advisor.models import Run
from advisor.prompts import ADVISOR, PromptUnusable, prompt_load
from advisor.selectors import ACTIVE, AUTOMATIC
from advisor.tools.budget import BYTES_PER_TOKEN
from advisor.tools.registry import schemas
from digest.llm.entities import Model, PriceUnknown
from digest.models import Feedback, Reader, Spend
from suggestions.models import Outcome, Suggestion

# Fewer finished runs than this say too little about what a run costs.
RUNS_ENOUGH = 5
RUNS_LOOKED_AT = 100
COST_DAYS = 28
SECONDS_PER_DAY = 86_400
# A run before any was measured: turns and tokens of tool results, by the tools' own budgets (2,000 of
# feedback, 500 of config, 500 of profile, 1,000 of outcomes, 100 a write).
TYPICAL_TURNS = 8
TYPICAL_RESULT_TOKENS = 4_100
USD = DecimalField(max_digits=12, decimal_places=6)


def standings(*, readers: Iterable[Reader], now: datetime) -> list[Standing]:
    """Where each reader stands, in two queries.

    Thumbs are counted since the last completed run, waiting since the last run whatever became of it (a run
    that fails every day must not look like one that never came), or since the account was made.
    """
    ids = [reader.pk for reader in readers]
    decided = _decisions(ids)
    return [
        Standing(
            reader_id=row["pk"],
            fresh_thumbs=row["fresh"],
            days_waited=(now - (row["tried_at"] or row["date_joined"])).total_seconds() / SECONDS_PER_DAY,
            accepted=decided.get(row["pk"], (0, 0))[0],
            decided=decided.get(row["pk"], (0, 0))[1],
        )
        for row in _waiting(ids)
    ]


def cost_expected(*, models: Iterable[Model], now: datetime) -> Decimal:
    """What one run of the first model with a known price will cost, in USD; 0 where none costs anything.

    The mean of that model's last hundred finished runs within four weeks, reviews included; with fewer than
    five of them the worst case of a typical run, capped as a run is. One or two queries.
    """
    for model in models:
        try:
            worst = _typical_worst(model)
        except PriceUnknown:
            continue
        return (_cost_measured(model.name, now) if worst else None) or worst
    return Decimal(0)


def money_left(*, cost_per_run: Decimal, now: datetime) -> Decimal:
    """What is left of the advisor's UTC day once runs under way have had their share; one query each."""
    day = now.astimezone(UTC).date()
    booked = Coalesce("settled_usd", "reserved_usd", output_field=USD)
    spent = Spend.objects.filter(surface=Spend.Surface.ADVISOR, day=day).aggregate(sum=Sum(booked))["sum"]
    under_way = AUTOMATIC.filter(status__in=ACTIVE, reader__ai_enabled=True)
    promised = under_way.count() * cost_per_run
    return Decimal(str(settings.ADVISOR_DAILY_CAP_USD)) - (spent or Decimal(0)) - promised


def _waiting(ids: list[UUID]) -> Iterable[dict[str, Any]]:
    runs = AUTOMATIC.filter(reader_id=OuterRef("pk")).order_by()
    last = runs.values("reader_id").annotate(at=Max("created_at")).values("at")
    # "Completed" filters the aggregate, not the rows: among the rows it leads SQLite to the index by status,
    # and so to everyone's runs for each thumb.
    done = Max("created_at", filter=Q(status=Run.Status.COMPLETED))
    own = AUTOMATIC.filter(reader_id=OuterRef("reader_id")).order_by()
    ended = own.values("reader_id").annotate(at=done)
    never = datetime(1970, 1, 1, tzinfo=UTC)
    fresh = (
        Feedback.objects.filter(reader_id=OuterRef("pk"))
        .filter(at__gt=Coalesce(Subquery(ended.values("at")), never))
        .order_by()
        .values("reader_id")
        .annotate(n=Count("pk"))
        .values("n")
    )
    counted = Coalesce(Subquery(fresh, output_field=IntegerField()), 0)
    rows = Reader.objects.filter(pk__in=ids).annotate(tried_at=Subquery(last), fresh=counted)
    columns = ("pk", "date_joined", "tried_at", "fresh")
    return (dict(zip(columns, row, strict=True)) for row in rows.values_list(*columns))


def _decisions(ids: list[UUID]) -> dict[UUID, tuple[int, int]]:
    """Per reader: suggestions accepted, and suggestions decided at all."""
    accepted = Q(outcome=Outcome.Result.ACCEPTED)
    rows = (
        Outcome.objects.filter(reader_id__in=ids, kind=Outcome.Kind.DECISION)
        .filter(outcome__in=[Outcome.Result.ACCEPTED, Outcome.Result.REJECTED])
        .exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
        .order_by()
        .values_list("reader_id")
        .annotate(accepted=Count("pk", filter=accepted), decided=Count("pk"))
    )
    return {reader_id: (yes, all_of_them) for reader_id, yes, all_of_them in rows}


def _cost_measured(model: str, now: datetime) -> Decimal | None:
    runs = Run.objects.filter(model=model, finished_at__gt=now - timedelta(days=COST_DAYS), cost_usd__gt=0)
    latest = runs.order_by("-finished_at").values("pk")[:RUNS_LOOKED_AT]
    seen = Run.objects.filter(pk__in=latest).aggregate(n=Count("pk"), mean=Avg(F("cost_usd")))
    return Decimal(str(seen["mean"])) if seen["n"] >= RUNS_ENOUGH else None


def _typical_worst(model: Model) -> Decimal:
    """The worst case of a call half-way through a typical run, times its turns, capped as a run is."""
    try:
        prompt = prompt_load(ADVISOR)
    except PromptUnusable:
        return Decimal(0)
    half_way = prompt + "x" * (TYPICAL_RESULT_TOKENS * BYTES_PER_TOKEN // 2)
    worst = model.worst_case_usd([{"role": "system", "content": half_way}], schemas())
    return min(worst * TYPICAL_TURNS, Decimal(str(settings.ADVISOR_RUN_CAP_USD)))
