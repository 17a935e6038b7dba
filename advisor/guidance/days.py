"""Calls and errors of guidance counted by UTC day, as the figures show them and `GuidanceDay` keeps them."""

from datetime import UTC, date, datetime
from typing import Any

from django.db.models import CharField, Count, Max
from django.db.models.functions import Cast, Left

from advisor.models import GuidanceEvent

Row = dict[str, Any]


def day_start(day: date) -> datetime:
    """The moment at which a UTC day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def calls_by_day(*, since: datetime, until: datetime) -> list[Row]:
    """The calls from `since` up to `until`: `times` by `day` (ISO), `level`, `why`, `held_out`. One query.

    What was told at a run's start is no call.
    """
    rows = _dated(since, until).filter(n__gt=0).values("day", "level", "why", "held_out")
    return list(rows.annotate(times=Count("pk")))


def errors_by_day(*, since: datetime, until: datetime) -> list[Row]:
    """The swallowed errors of that time: `times` and the `last` (ISO) by `day` and `code`. One query."""
    rows = _dated(since, until).exclude(error_code="").values("day", "error_code")
    found = rows.annotate(times=Count("pk"), last=Max("at"))
    return [
        {"day": row["day"], "code": row["error_code"], "times": row["times"], "last": row["last"].isoformat()}
        for row in found
    ]


def _dated(since: datetime, until: datetime) -> Any:
    # Left(text) instead of TruncDate, which on SQLite is a Python function called for each row. Stored
    # times are UTC, and so is the connection.
    events = GuidanceEvent.objects.filter(at__gte=since, at__lte=until).order_by()
    return events.annotate(day=Left(Cast("at", CharField()), 10))
