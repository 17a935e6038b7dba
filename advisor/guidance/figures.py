"""Figures over the events of guidance: calls, silence, stages, errors, and what guidance is worth.

Worth is the difference between treated calls and control calls. Its interval is Newcombe's hybrid score
interval (Statistics in Medicine 17 (1998) 873-890, method 10) at 95 %. Below 20 on either side nothing is
concluded.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from typing import Any, NamedTuple

from django.db.models import CharField, Count, Max, Q, Sum
from django.db.models.functions import Cast, Left

from advisor.guidance.entities import LOUDNESS, Level, Why
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket
from ranking.learning import wilson
from suggestions.outcomes.profile import ACCEPTED, REJECTED

# Calls that got something, and calls that would have, but were left out at random.
SHOWN, CONTROL = ~Q(("emitted_ids", [])), Q(("holdout", True))
WINDOW_DAYS, SAMPLE, ERRORS_MAX = 28, 5_000, 20
# Answers take two weeks, and one call in ten is control: a month would show nothing for long.
UPLIFT_WINDOW = timedelta(days=90)
# How the error code of an event begins where a note could not be written: of no call, so it counts as none.
EXPORT_FAILED = "export_"
LOUD = (Level.BLOCK, Level.WARNING, Level.NOTE)
HOLDOUT = "control"
SERIES = (*(level.value for level in reversed(LOUDNESS) if level is not Level.SILENT), HOLDOUT)
CASES_MIN = 20
HIGHER, LOWER, NOT_CLEAR, TOO_FEW = "higher", "lower", "not_clear", "too_few"


class Stage(NamedTuple):
    """One stage: the share of calls it ran in, 0 to 1, and its milliseconds at two percentiles."""

    name: str
    share: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Observed:
    """The window in figures. Series have one count a UTC day, oldest first, the day of asking last.

    `levels` are calls by how loud guidance was, with control calls apart; `reasons` silent calls by why;
    `faults` (code, times, last); `packets` counts by state, and
    uses.
    """

    days: tuple[date, ...]
    calls: int
    levels: Mapping[str, Sequence[int]]
    reasons: Mapping[str, Sequence[int]]
    stages: tuple[Stage, ...]
    sampled: int
    p95_ms: float | None
    faults: tuple[tuple[str, int, datetime], ...]
    packets: Mapping[str, int]

    @property
    def holdout(self) -> int:
        """Return the calls that would have got something and were left out at random."""
        return sum(self.levels[HOLDOUT])

    @property
    def failed(self) -> int:
        """Return the calls in which guidance broke and the run went on without."""
        return sum(self.reasons.get(Why.FAILED, ()))

    @property
    def summary(self) -> list[tuple[str, object]]:
        """Return the window in a few figures, each with its name."""
        emitted = sum(sum(self.levels[level]) for level in LOUD)
        return [
            ("Calls looked at", self.calls),
            ("Block, warning or note", f"{emitted} ({emitted / max(1, self.calls):.1%})"),
            ("Control calls", self.holdout),
            ("Guidance failed, the run went on", f"{self.failed} ({self.failed / max(1, self.calls):.1%})"),
            ("95th percentile", "no data yet" if self.p95_ms is None else f"{self.p95_ms:.0f} ms"),
            ("Packets", "{ready} ready, {stale} stale, {invalid} invalid".format(**self.packets)),
            ("Uses of packets", self.packets["uses"]),
        ]


class Arm(NamedTuple):
    """So many of so many."""

    hits: int
    total: int


class Difference(NamedTuple):
    """The share of treated calls less the share of control calls, with its 95 % interval.

    `verdict` is `higher`, `lower`, `not_clear` or `too_few`.
    """

    treated: Arm
    control: Arm
    difference: float | None
    low: float | None
    high: float | None
    verdict: str

    @property
    def words(self) -> str:
        """Return the verdict in one sentence."""
        if self.difference is None:
            return "Nothing to compare yet."
        figures = f"{self.difference:+.1%} (95 %: {self.low:+.1%} to {self.high:+.1%})"
        return f"{figures}: {self.verdict.replace('_', ' ')}."


def guidance_observed(*, now: datetime, days: int = WINDOW_DAYS) -> Observed:
    """Return the figures of the last `days` UTC days up to `now`; five queries for any number of calls."""
    window = [now.astimezone(UTC).date() - timedelta(days=back) for back in range(days - 1, -1, -1)]
    counted = list(GuidanceDay.objects.filter(day__gte=window[0], day__lt=window[-1]).order_by("day"))
    since = day_start(counted[-1].day + timedelta(days=1) if counted else window[0])
    rows = [{"day": f"{day.day}"} | row for day in counted for row in day.calls]
    rows += calls_by_day(since=since, until=now)
    errors = [row for day in counted for row in day.errors] + errors_by_day(since=since, until=now)
    levels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        levels[HOLDOUT if row["holdout"] else row["level"]][row["day"]] += row["times"]
        if row["level"] == Level.SILENT and not row["holdout"]:
            reasons[row["why"]][row["day"]] += row["times"]
    events = GuidanceEvent.objects.filter(at__gte=day_start(window[0]), at__lte=now, n__gt=0)
    sample = list(events.order_by("-at", "-id").values_list("stages", "ms")[:SAMPLE])
    commonest = sorted(reasons, key=lambda why: -reasons[why].total())
    return Observed(
        days=tuple(window),
        calls=sum(row["times"] for row in rows),
        levels={name: [levels[name][f"{day}"] for day in window] for name in SERIES},
        reasons={why: [reasons[why][f"{day}"] for day in window] for why in commonest},
        stages=stages_of([stages for stages, _ in sample]),
        sampled=len(sample),
        p95_ms=percentile([ms for _, ms in sample], 0.95),
        faults=_faults(errors),
        packets=_packets(now),
    )


def calls_by_day(*, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the calls of that time: `times` by `day` (ISO), `level`, `why`, `holdout`. One query."""
    rows = _dated(since, until).filter(n__gt=0).values("day", "level", "why", "holdout")
    return list(rows.annotate(times=Count("pk")))


def errors_by_day(*, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the swallowed errors of that time: `times` and `last` (ISO) by `day` and `code`. One query."""
    rows = _dated(since, until).exclude(error_code="").values_list("day", "error_code")
    found = rows.annotate(times=Count("pk"), last=Max("at"))
    names = ("day", "code", "times", "last")
    return [dict(zip(names, (*row[:3], row[3].isoformat()), strict=True)) for row in found]


def day_start(day: date) -> datetime:
    """Return the moment at which a UTC day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def stages_of(sample: Sequence[Mapping[str, float]]) -> tuple[Stage, ...]:
    """Return the stages of many calls, slowest first, given as milliseconds by stage."""
    took: defaultdict[str, list[float]] = defaultdict(list)
    for stages in sample:
        for name, ms in stages.items():
            took[name].append(float(ms))
    found = [
        Stage(name, len(ms) / len(sample), percentile(ms, 0.5) or 0.0, percentile(ms, 0.95) or 0.0)
        for name, ms in took.items()
    ]
    return tuple(sorted(found, key=lambda stage: (-stage.p95, stage.name)))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value at `share` of the ordered `values` (nearest rank), `None` without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def uplift_latest(*, now: datetime) -> tuple[Difference, datetime]:
    """Return what guidance was worth when the newest day was counted, and when; one query, or two."""
    counted = GuidanceDay.objects.filter(uplift__isnull=False).order_by("-day")
    found = counted.values_list("uplift", flat=True).first()
    if not found:
        return uplift_report(since=now - UPLIFT_WINDOW, now=now), now
    treated, control = (Arm(*arm) for arm in found["accepted"])
    return difference_of(treated, control), datetime.fromisoformat(found["until"])


def uplift_report(*, since: datetime, now: datetime) -> Difference:
    """Compare how often suggestions were accepted after treated and control calls since then; one query.

    A suggestion counts once for each change of a run, by the outcome credited so far, as accepted 14 days
    after the yes. A change of a run with calls of both sorts counts for neither.
    """
    rows = GuidanceEvent.objects.filter(SHOWN | CONTROL, at__gte=since, at__lte=now, n__gt=0)
    rows = rows.exclude(Q(run=None) | Q(suggestion_type="") | Q(target_key=""))
    about = ("reader_id", "run_id", "suggestion_type", "target_key")
    changes: defaultdict[tuple[Any, ...], set[tuple[bool, str]]] = defaultdict(set)
    for *change, arm, outcome in rows.values_list(*about, "holdout", "outcome"):
        changes[tuple(change)].add((arm, outcome))
    counts: dict[bool, list[bool]] = {False: [], True: []}
    for found in changes.values():
        arms, outcomes = {arm for arm, _ in found}, {outcome for _, outcome in found}
        if len(arms) == 1 and outcomes & {ACCEPTED, REJECTED, "reverted"}:
            counts[arms.pop()].append(ACCEPTED in outcomes)
    treated, control = (Arm(sum(counts[arm]), len(counts[arm])) for arm in (False, True))
    return difference_of(treated, control)


def difference_of(treated: Arm, control: Arm) -> Difference:
    """Return the difference of two shares, how sure it is, and what may be concluded from it."""
    if not (treated.total and control.total):
        return Difference(treated, control, None, None, None, TOO_FEW)
    low, high = newcombe(treated, control)
    verdict = HIGHER if low > 0 else LOWER if high < 0 else NOT_CLEAR
    verdict = TOO_FEW if min(treated.total, control.total) < CASES_MIN else verdict
    difference = round(treated.hits / treated.total - control.hits / control.total, 4)
    return Difference(treated, control, difference, round(low, 4), round(high, 4), verdict)


def newcombe(first: Arm, second: Arm) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two shares of something."""
    p1, p2 = first.hits / first.total, second.hits / second.total
    (l1, u1), (l2, u2) = (wilson(arm.hits, arm.total) for arm in (first, second))
    low = p1 - p2 - sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2)
    return low, p1 - p2 + sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2)


def _dated(since: datetime, until: datetime) -> Any:
    # Left(text) instead of TruncDate, which on SQLite is a Python function called for each row.
    events = GuidanceEvent.objects.filter(at__gte=since, at__lte=until).order_by()
    return events.annotate(day=Left(Cast("at", CharField()), 10))


def _faults(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, int, datetime], ...]:
    times, last = Counter[str](), dict[str, str]()
    for row in rows:
        times[row["code"]] += row["times"]
        last[row["code"]] = max(row["last"], last.get(row["code"], ""))
    order = sorted(times, key=lambda code: (-times[code], code))[:ERRORS_MAX]
    return tuple((code, times[code], datetime.fromisoformat(last[code])) for code in order)


def _packets(now: datetime) -> dict[str, int]:
    valid = Q(invalid_at=None)
    return GuidancePacket.objects.aggregate(
        ready=Count("pk", filter=valid & Q(expires_at__gt=now)),
        stale=Count("pk", filter=valid & Q(expires_at__lte=now)),
        invalid=Count("pk", filter=~valid),
        uses=Sum("uses", default=0),
    )
