"""What guidance did of late: days that are over by their kept counts, the rest counted in the database.

A fixed number of queries for any number of calls.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from advisor.guidance.dashboard import StageLine
from advisor.guidance.days import calls_by_day, day_start, errors_by_day
from advisor.guidance.entities import LOUDNESS, Level
from advisor.guidance.stages import passed, stages_missing
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket

WINDOW_DAYS = 28
# Percentiles and what became of single memories are read off the newest calls only.
SAMPLE = 5_000
ERRORS_MAX = 20
# Why of an event that says that a packet could not be exported: of no call, so it counts as none.
EXPORT_FAILED = "export_"
P50, P95 = 0.50, 0.95
LOUD = (Level.BLOCK, Level.WARNING, Level.NOTE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of swallowed error: its code, how often, and when last."""

    code: str
    times: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Packets:
    """How many packets are ready (fresh and valid), stale (past their time) and invalid, and their uses."""

    ready: int
    stale: int
    invalid: int
    uses: int

    @property
    def total(self) -> int:
        """All packets that are kept."""
        return self.ready + self.stale + self.invalid


@dataclass(frozen=True, slots=True)
class Observed:
    """The window in figures. Courses have one count a UTC day, oldest first, the day of asking last.

    `levels` are calls by how loudly they were told something, with `held out` apart; `reasons` calls that
    were told nothing, by why; `kept_back` memories of the sample by what kept them back.
    """

    days: tuple[date, ...]
    calls: int
    levels: Mapping[str, Sequence[int]]
    reasons: Mapping[str, Sequence[int]]
    kept_back: Mapping[str, int]
    stages: tuple[StageLine, ...]
    missing: tuple[str, ...]
    sampled: int
    p95_ms: float | None
    faults: tuple[Fault, ...]
    packets: Packets

    @property
    def absent(self) -> tuple[str, ...]:
        """The missing stages that ran in no call of the sample."""
        seen = {stage.name for stage in self.stages}
        return tuple(name for name in self.missing if name not in seen)

    @property
    def told(self) -> int:
        """Calls that got a block, a warning or a note."""
        return sum(sum(self.levels[level]) for level in LOUD)

    @property
    def held_out(self) -> int:
        """Calls that would have been told something and were left out at random."""
        return sum(self.levels[HELD_OUT])

    @property
    def drawn(self) -> int:
        """Calls that chance might have held out: those told a warning or a note, and those it did."""
        return sum(sum(self.levels[level]) for level in (Level.WARNING, Level.NOTE)) + self.held_out

    @property
    def failed(self) -> int:
        """Calls in which guidance broke and the run went on without."""
        return sum(self.reasons.get("failed", ()))


HELD_OUT = "held out"
# Loudest first, as stacks are read from the bottom.
SERIES = (*(level.value for level in reversed(LOUDNESS) if level is not Level.SILENT), HELD_OUT)


def guidance_observed(*, now: datetime, days: int = WINDOW_DAYS) -> Observed:
    """The last `days` UTC days up to `now`; five queries.

    Days that are counted (`GuidanceDay`) are taken as counted: only the events of later ones are read.
    """
    window = [now.astimezone(UTC).date() - timedelta(days=back) for back in range(days - 1, -1, -1)]
    counted = list(GuidanceDay.objects.filter(day__gte=window[0], day__lt=window[-1]).order_by("day"))
    since = day_start(counted[-1].day + timedelta(days=1) if counted else window[0])
    rows = [{"day": day.day.isoformat()} | row for day in counted for row in day.calls]
    rows += calls_by_day(since=since, until=now)
    errors = [row for day in counted for row in day.errors] + errors_by_day(since=since, until=now)
    events = events_between(window[0], now)
    columns = ("stages", "why", "packet", "candidates", "ms")
    sample = list(events.order_by("-at", "-id").values_list(*columns)[:SAMPLE])
    missing = stages_missing(passed(*row[:4]) for row in sample)
    return Observed(
        days=tuple(window),
        calls=sum(row["times"] for row in rows),
        levels=_levels(rows, window),
        reasons=_reasons(rows, window),
        kept_back=dict(kept_back(row[3] for row in sample).most_common()),
        stages=stages_of([row[0] for row in sample], missing),
        missing=missing,
        sampled=len(sample),
        p95_ms=percentile([row[4] for row in sample], P95),
        faults=_faults(errors),
        packets=packets_standing(now=now),
    )


def events_between(first: date, now: datetime) -> Any:
    """The calls from the UTC day `first` up to `now`, without what was told at a run's start."""
    return GuidanceEvent.objects.filter(at__gte=day_start(first), at__lte=now, n__gt=0)


def packets_standing(*, now: datetime) -> Packets:
    """How the packets stand; one query."""
    valid = Q(invalid_at=None)
    return Packets(
        **GuidancePacket.objects.aggregate(
            ready=Count("pk", filter=valid & Q(expires_at__gt=now)),
            stale=Count("pk", filter=valid & Q(expires_at__lte=now)),
            invalid=Count("pk", filter=~valid),
            uses=Sum("uses", default=0),
        )
    )


def kept_back(weighed: Iterable[Any]) -> Counter[str]:
    """What kept memories back, over the candidates of many calls; told ones are in none."""
    return Counter(
        str(one["why"])
        for candidates in weighed
        for one in candidates or ()
        if isinstance(one, dict) and one.get("why")
    )


def stages_of(samples: Sequence[Any], missing: Collection[str] = ()) -> tuple[StageLine, ...]:
    """The stages of many calls, slowest first; percentiles are over the calls in which a stage ran.

    Those of `missing` are marked.
    """
    took: dict[str, list[float]] = {}
    for sample in samples:
        for name, ms in (sample or {}).items():
            took.setdefault(name, []).append(float(ms))
    found = [
        StageLine(
            name,
            share=len(ran) / len(samples),
            p50=percentile(ran, P50) or 0.0,
            p95=percentile(ran, P95) or 0.0,
            missing=name in missing,
        )
        for name, ran in took.items()
    ]
    return tuple(sorted(found, key=lambda stage: (-stage.p95, stage.name)))


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value at `share` of the ordered `values` (nearest rank), `None` without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _levels(rows: Sequence[Mapping[str, Any]], window: Sequence[date]) -> dict[str, list[int]]:
    def name(row: Mapping[str, Any]) -> str:
        return HELD_OUT if row["held_out"] else row["level"]

    return {series: _course([row for row in rows if name(row) == series], window) for series in SERIES}


def _reasons(rows: Sequence[Mapping[str, Any]], window: Sequence[date]) -> dict[str, list[int]]:
    silent = [row for row in rows if row["level"] == Level.SILENT and not row["held_out"]]
    found: Counter[str] = Counter()
    for row in silent:
        found[row["why"]] += row["times"]
    order = [why for why, _ in found.most_common()]
    return {why: _course([row for row in silent if row["why"] == why], window) for why in order}


def _course(rows: Sequence[Mapping[str, Any]], window: Sequence[date]) -> list[int]:
    by_day: Counter[str] = Counter()
    for row in rows:
        by_day[row["day"]] += row["times"]
    return [by_day[day.isoformat()] for day in window]


def _faults(rows: Iterable[Mapping[str, Any]]) -> tuple[Fault, ...]:
    """The errors of several days by code, the most frequent first."""
    times: Counter[str] = Counter()
    last: dict[str, datetime] = {}
    for row in rows:
        code, at = row["code"], datetime.fromisoformat(row["last"])
        times[code] += row["times"]
        last[code] = max(at, last.get(code, at))
    order = sorted(times, key=lambda code: (-times[code], code))
    return tuple(Fault(code, times[code], last[code]) for code in order[:ERRORS_MAX])
