"""Plain counts of guidance in the current database, and the measured effect of its advice."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Min

from advisor.guidance.events import Arm, Difference, uplift_report
from advisor.models import GuidanceEvent

Json = dict[str, Any]


def guidance_counts() -> Json:
    """`levels`: calls by how loudly they were told something, `held out` apart; the comparison of told
    against held out (`accepted`) as hits and total of either side."""
    events = GuidanceEvent.objects.filter(n__gt=0)
    rows = events.order_by().values_list("level", "holdout").annotate(times=Count("pk"))
    levels: dict[str, int] = {}
    for level, holdout, times in rows:
        name = "held out" if holdout else level
        levels[name] = levels.get(name, 0) + times
    span = events.aggregate(first=Min("at"), last=Max("at"))
    if span["first"] is None:
        return {"levels": levels, "accepted": arms(None)}
    found = uplift_report(since=span["first"], now=span["last"] + timedelta(days=1))
    return {"levels": levels, "accepted": arms(found)}


def arms(found: Difference | None) -> dict[str, list[int]]:
    """Return [hits, total] for shown and for held-out advice; zeros if nothing was found."""
    told, held_out = (found.treated, found.control) if found else (Arm(0, 0), Arm(0, 0))
    return {"told": [told.hits, told.total], "held_out": [held_out.hits, held_out.total]}
