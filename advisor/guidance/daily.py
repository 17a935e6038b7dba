"""The nightly work on guidance: days that are over are counted once, and what has had its time is deleted."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from advisor.guidance.audit import calls_by_day, day_start, errors_by_day
from advisor.guidance.credit import Arm, Difference, UpliftReport, difference_of, uplift_report
from advisor.guidance.packets import PACKETS_MAX
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket
from ranking.common.rows import BATCH, retention_start

# A run stores its calls a little later than it makes them: a day is counted two hours after its end.
GRACE = timedelta(hours=2)
# Answers take two weeks, and one call in ten is control: a month would say nothing for long.
UPLIFT_WINDOW = timedelta(days=90)
# How far back days are counted; how long a stale packet shows why it is not used; and a year and a month.
EVENTS_SPAN, STALE_SPAN, DAYS_SPAN = timedelta(days=180), timedelta(days=1), timedelta(days=400)
DAY = timedelta(days=1)


def guidance_days_count(*, now: datetime) -> int:
    """Count each day that is over and not counted yet; how many. Safe to repeat; six queries, or two.

    With the newest of them goes what guidance was worth by then. Where two count at once, the first remains.
    """
    last = GuidanceDay.objects.order_by("-day").values_list("day", flat=True).first()
    over = (now - GRACE).astimezone(UTC).date()
    oldest = GuidanceEvent.objects.order_by("at").values_list("at", flat=True).first() if not last else None
    first = last + DAY if last else oldest.astimezone(UTC).date() if oldest else over - DAY
    first = max(first, over - EVENTS_SPAN)
    days = [first + n * DAY for n in range((over - first).days)]
    if not days:
        return 0
    since, until = day_start(first), day_start(over) - timedelta(microseconds=1)
    calls = _of_days(calls_by_day(since=since, until=until))
    errors = _of_days(errors_by_day(since=since, until=until))
    rows = [GuidanceDay(day=day, calls=calls[f"{day}"], errors=errors[f"{day}"]) for day in days]
    rows[-1].uplift = _plain(uplift_report(since=now - UPLIFT_WINDOW, now=now))
    GuidanceDay.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def uplift_latest(*, now: datetime) -> UpliftReport:
    """Return what guidance was worth when the newest day was counted; one query, three before any was."""
    counted = GuidanceDay.objects.filter(uplift__isnull=False).order_by("-day")
    found = counted.values_list("uplift", flat=True).first()
    return _read(found) if found else uplift_report(since=now - UPLIFT_WINDOW, now=now)


def guidance_prune(*, now: datetime) -> dict[str, int]:
    """Delete what has had its time: how many `events`, `packets` and `days`. Safe to repeat.

    Events go after the days that `guidance` in `KEEP_DAYS` gives them, never before their day is counted;
    packets a day after they went stale, the newest 2,000 apart, as those have notes; counts of days after
    400.
    """
    since = retention_start("guidance", now)
    counted = GuidanceDay.objects.order_by("-day").values_list("day", flat=True).first()
    events = 0
    if counted and since is not None:
        before = min(since, day_start(counted + DAY))
        events = _delete(GuidanceEvent.objects.filter(at__lt=before).order_by("at"))
    noted = GuidancePacket.objects.order_by("-made_at", "-pk").values_list("pk", flat=True)[:PACKETS_MAX]
    stale = GuidancePacket.objects.filter(expires_at__lt=now - STALE_SPAN).exclude(pk__in=list(noted))
    days, _ = GuidanceDay.objects.filter(day__lt=(now - DAYS_SPAN).date()).delete()
    return {"events": events, "packets": _delete(stale.order_by("pk")), "days": days}


def _delete(rows: QuerySet[Any]) -> int:
    gone = 0
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        rows.model._default_manager.filter(pk__in=batch).delete()
        gone += len(batch)
    return gone


def _of_days(rows: Iterable[Mapping[str, Any]]) -> defaultdict[str, list[dict[str, Any]]]:
    by_day: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_day[row["day"]].append({name: value for name, value in row.items() if name != "day"})
    return by_day


def _plain(report: UpliftReport) -> dict[str, Any]:
    """Return a report as its counts: all else follows from them."""
    moments = {"since": report.since.isoformat(), "until": report.until.isoformat(), "mixed": report.mixed}
    pairs = {"accepted": report.accepted, "failed_writes": report.failed_writes}
    arms = ((name, (pair.treated, pair.control)) for name, pair in pairs.items())
    return moments | {name: [[arm.hits, arm.total] for arm in pair] for name, pair in arms}


def _read(counts: Mapping[str, Any]) -> UpliftReport:
    def difference(name: str) -> Difference:
        treated, control = (Arm(*pair) for pair in counts[name])
        return difference_of(treated, control)

    since, until = (datetime.fromisoformat(counts[name]) for name in ("since", "until"))
    return UpliftReport(since, until, difference("accepted"), difference("failed_writes"), counts["mixed"])
