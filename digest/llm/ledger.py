"""Keep the spend ledger: reserve the worst case of a model call before it, and settle its cost afterwards.

A lock lets only one reservation of a surface run at a time, so concurrent runs together cannot pass a cap. An
open row counts with its reserved amount, a settled row with its settled amount. If a worker dies, its row
stays open and counts in full, because the provider may have billed the call.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_UP, Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce

from digest.llm.entities import BudgetRefusal, Caps, ModelError, Usage
from digest.llm.prices import cache_saved_usd
from digest.models import Spend, SpendRefusal

MICRO_USD = Decimal("0.000001")
# The number of our advisory locks. Any number works that no other advisory lock of the database uses.
LOCK_SPACE = 7_411
MODEL_CHARS_MAX = 80
ADVISOR, REVIEW, SUMMARY = "advisor", "review", "summary"
REFUSALS = {
    "day": ("budget_day", "Today's budget for all readers is used up; it starts afresh at midnight UTC."),
    "run": ("budget_run", "This run has used up its budget."),
    "reader_day": (
        "budget_reader",
        "This reader's budget for today is used up; it starts afresh at midnight UTC.",
    ),
}


@dataclass(frozen=True, slots=True)
class SpendAccount:
    """An account of one run in the ledger: surface, reader, run and caps of its calls."""

    surface: Spend.Surface
    reader_id: UUID | None
    run_id: UUID | None
    caps: Caps
    now: datetime
    purpose: str = ADVISOR

    def reserve(self, *, model: str, worst_case: Decimal) -> int | BudgetRefusal:
        """Reserve `worst_case` USD for this account. Return the id of the ledger's row, or the refusal."""
        spend = spend_reserve(account=self, model=model, worst_case=worst_case)
        return spend if isinstance(spend, BudgetRefusal) else spend.id


def spend_reserve(*, account: SpendAccount, model: str, worst_case: Decimal) -> Spend | BudgetRefusal:
    """Reserve `worst_case` USD for one call. If that would pass one of the caps, store and return a refusal.

    Runs in a short transaction of its own. Raises `RuntimeError` if called inside another transaction.
    """
    day, reserved = account.now.astimezone(UTC).date(), worst_case.quantize(MICRO_USD, ROUND_UP)
    call: dict[str, Any] = {
        "surface": account.surface,
        "reader_id": account.reader_id,
        "run_id": account.run_id,
        "purpose": account.purpose,
        "model": model[:MODEL_CHARS_MAX],
        "day": day,
        "created_at": account.now,
    }
    with transaction.atomic(durable=True):
        _surface_lock(account.surface)
        if refusal := _refusal(account, day, reserved):
            SpendRefusal.objects.create(**call, code=refusal.code, asked_usd=reserved)
            return refusal
        return Spend.objects.create(**call, reserved_usd=reserved)


def spend_settle(*, spend_id: int, usage: Usage, cost: Decimal, model: str = "") -> bool:
    """Book the real cost of a call in USD. Return `False` if it was settled before; the first booking counts.

    Also store the USD that the provider's cache saved on the input of `model`, by the price list.
    """
    saved = cache_saved_usd(model, usage) if usage.cached_tokens else Decimal(0)
    return bool(
        Spend.objects.filter(id=spend_id, settled_usd=None).update(
            settled_usd=cost.quantize(MICRO_USD, ROUND_UP),
            saved_usd=saved.quantize(MICRO_USD),
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
        )
    )


def spend_settle_worst(*, spend_id: int) -> bool:
    """Book an interrupted call at its worst case, because it may be billed. `False` if settled before."""
    return bool(Spend.objects.filter(id=spend_id, settled_usd=None).update(settled_usd=F("reserved_usd")))


def spend_release(*, spend_id: int) -> bool:
    """Book a call that the provider turned away as free, and keep the row. `False` if settled before."""
    return spend_settle(spend_id=spend_id, usage=Usage(), cost=Decimal(0))


def spend_settle_failed(spend_id: int | None, worst_case: Decimal, error: ModelError) -> Decimal:
    """Book a failed call at its worst case if it may be billed, else as free. Return the cost in USD."""
    if spend_id is None:
        return Decimal(0)
    if error.may_be_billed:
        spend_settle_worst(spend_id=spend_id)
        return worst_case
    spend_release(spend_id=spend_id)
    return Decimal(0)


def advisor_account(*, reader_id: UUID, run_id: UUID, now: datetime, purpose: str = ADVISOR) -> SpendAccount:
    """Return the account of an advisor run, with the caps of the settings. Its UTC day is that of `now`."""
    caps = Caps(
        day=Decimal(str(settings.ADVISOR_DAILY_CAP_USD)),
        run=Decimal(str(settings.ADVISOR_RUN_CAP_USD)),
        reader_day=Decimal(str(settings.ADVISOR_READER_DAILY_CAP_USD)),
    )
    return SpendAccount(Spend.Surface.ADVISOR, reader_id, run_id, caps, now, purpose)


def ingest_account(*, run_id: UUID, now: datetime, purpose: str = SUMMARY) -> SpendAccount:
    """Return the account of feed work (such as summaries). It has no reader and one cap for each UTC day."""
    day = Decimal(str(settings.LLM_DAILY_CAP_USD))
    return SpendAccount(
        Spend.Surface.INGEST, None, run_id, Caps(day=day, run=day, reader_day=day), now, purpose
    )


def _surface_lock(surface: Spend.Surface) -> None:
    """Make other reservations of `surface` wait until this transaction ends.

    SQLite needs no lock here, because our transactions hold its write lock from their start (IMMEDIATE).
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            number = Spend.Surface.values.index(surface)
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_SPACE, number])


def _refusal(account: SpendAccount, day: date, reserved: Decimal) -> BudgetRefusal | None:
    today, nothing = Q(day=day), Q(pk__in=[])
    this_run = Q(run_id=account.run_id) if account.run_id else nothing
    this_reader = Q(reader_id=account.reader_id) if account.reader_id else nothing
    booked = Coalesce("settled_usd", "reserved_usd")
    spent = Spend.objects.filter(today | this_run, surface=account.surface).aggregate(
        sum_day=Sum(booked, filter=today),
        sum_run=Sum(booked, filter=this_run),
        sum_reader_day=Sum(booked, filter=today & this_reader),
    )
    for name, (code, message) in REFUSALS.items():
        # SQLite sums decimals as floats. Rounding removes the noise in the last digits.
        if (spent[f"sum_{name}"] or Decimal(0)).quantize(MICRO_USD) + reserved > getattr(account.caps, name):
            return BudgetRefusal(code, message)
    return None
