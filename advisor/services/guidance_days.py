"""Days of guidance that are over are counted once, so that the figures need not read their events again."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from advisor.guidance.days import Row, calls_by_day, day_start, errors_by_day
from advisor.memory.uplift import Arm, Difference, difference_of
from advisor.models import GuidanceDay, GuidanceEvent
from advisor.services.guidance_credit import UpliftReport, uplift_report
from advisor.services.guidance_pruning import EVENTS_KEPT

# A run stores its calls a little later than it makes them: a day is counted two hours after its end.
GRACE = timedelta(hours=2)
# Answers take two weeks, and one call in ten is held out: a month would say nothing for long.
UPLIFT_WINDOW = timedelta(days=90)
DAY = timedelta(days=1)


def guidance_days_count(*, now: datetime) -> int:
    """Count each day that is over and not counted yet; how many. Safe to repeat; six queries, or two.

    With the newest of them goes what telling was worth by then. Where two count at once, the first stands.
    """
    last = GuidanceDay.objects.order_by("-day").values_list("day", flat=True).first()
    over = (now - GRACE).astimezone(UTC).date()
    first = max(last + DAY if last else _first(over), over - EVENTS_KEPT)
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
    """What telling was worth when the newest day was counted; one query. Two more before any day was."""
    kept = GuidanceDay.objects.filter(uplift__isnull=False).order_by("-day")
    found = kept.values_list("uplift", flat=True).first()
    return _read(found) if found else uplift_report(since=now - UPLIFT_WINDOW, now=now)


def _first(over: date) -> date:
    """The day of the oldest event there is; without any, the one before `over`."""
    oldest = GuidanceEvent.objects.order_by("at").values_list("at", flat=True).first()
    return oldest.astimezone(UTC).date() if oldest else over - DAY


def _of_days(rows: Iterable[Row]) -> defaultdict[str, list[Row]]:
    by_day: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_day[row["day"]].append({name: value for name, value in row.items() if name != "day"})
    return by_day


def _plain(report: UpliftReport) -> dict[str, Any]:
    """A report as its counts: all else follows from them."""
    pairs = {"accepted": report.accepted, "failed_writes": report.failed_writes}
    arms = {
        name: [[arm.hits, arm.total] for arm in (pair.told, pair.held_out)] for name, pair in pairs.items()
    }
    moments = {"since": report.since.isoformat(), "until": report.until.isoformat()}
    return moments | arms | {"mixed": report.mixed}


def _read(kept: Mapping[str, Any]) -> UpliftReport:
    def difference(name: str) -> Difference:
        told, held_out = (Arm(*pair) for pair in kept[name])
        return difference_of(told, held_out)

    return UpliftReport(
        since=datetime.fromisoformat(kept["since"]),
        until=datetime.fromisoformat(kept["until"]),
        accepted=difference("accepted"),
        failed_writes=difference("failed_writes"),
        mixed=kept["mixed"],
    )
