"""The costs page and its API, put together: sums, estimates, the chart."""

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from digest.charts import Columns, columns
from digest.selectors.cost_estimates import Estimate, estimates_at
from digest.selectors.costs import Costs, costs_at


@dataclass(frozen=True, slots=True)
class CostsPage:
    """What operators see."""

    costs: Costs
    estimates: tuple[Estimate, ...]
    chart: Columns
    chart_words: str


def costs_page(now: datetime) -> CostsPage:
    """Everything about what models cost, at `now`."""
    costs = costs_at(now=now)
    rows = [(float(day.ingest), float(day.advisor)) for day in costs.days]
    spent = [day for day in costs.days if day.total]
    if spent:
        most = max(spent, key=lambda day: day.total)
        words = (
            f"{len(spent)} of the last {len(costs.days)} days cost something, "
            f"most of all {most.day:%d %B} with ${usd_words(most.total)}. The table below has each of them."
        )
    else:
        words = f"Nothing was spent in the last {len(costs.days)} days."
    return CostsPage(costs, estimates_at(now=now), columns(rows), words)


def usd_words(amount: Decimal) -> str:
    """An amount in cents, or with two digits that count where it is less: 1.20, 0.0031."""
    if not amount or abs(amount) >= Decimal("0.01"):
        return f"{amount:.2f}"
    return f"{Decimal(f'{amount:.2g}'):f}"


def costs_json(page: CostsPage) -> dict[str, Any]:
    """The page as plain JSON values; amounts as strings, exact to a millionth."""
    body = asdict(page.costs)
    body["days"] = [{**asdict(day), "total": day.total} for day in page.costs.days]
    body["caps"] = [{**asdict(cap), "left": cap.left} for cap in page.costs.caps]
    body["estimates"] = [asdict(estimate) for estimate in page.estimates]
    plain: dict[str, Any] = _plain(body)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
