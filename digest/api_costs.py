"""The operators' door to what models cost."""

from datetime import date, datetime

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema

from digest.costs_page import costs_json, costs_page
from digest.errors import OperatorsOnly
from digest.readers import reader_of

router = Router(tags=["costs"])


class LineOut(Schema):
    """The calls of one group; amounts in USD as text, exact to a millionth."""

    name: str
    calls: int
    usd: str
    saved: str
    open: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class DayOut(Schema):
    """One UTC day."""

    day: date
    ingest: str
    advisor: str
    total: str


class RefusedOut(Schema):
    """Calls that a cap did not let through."""

    code: str
    surface: str
    purpose: str
    calls: int
    asked: str
    last_at: datetime


class CapOut(Schema):
    """A surface's cap for today, and what is left of it."""

    surface: str
    cap: str
    spent: str
    left: str


class ReusedOut(Schema):
    """What summaries shared by items with the same text saved."""

    items: int
    usd: str


class EstimateOut(Schema):
    """What a run is expected to cost, and from what that is known."""

    name: str
    usd: str
    basis: str


class CostsOut(Schema):
    """The month to date in sums, the last 30 days, and what comes next."""

    month: date
    total: LineOut
    surfaces: list[LineOut]
    models: list[LineOut]
    readers: list[LineOut]
    runs: list[LineOut]
    days: list[DayOut]
    refused: list[RefusedOut]
    caps: list[CapOut]
    reused: ReusedOut
    estimates: list[EstimateOut]


@router.get("/costs", response=CostsOut)
def costs_get(request: HttpRequest) -> CostsOut:
    """What models cost, for operators."""
    if not reader_of(request).is_staff:
        raise OperatorsOnly("Only operators may see what models cost. Sign in as one.")
    return CostsOut.model_validate(costs_json(costs_page(timezone.now())))
