"""Figures over the events of guidance: calls, silence, errors, and what guidance is worth.

Worth is the difference between treated calls and control calls. Its interval is Newcombe's hybrid score
interval (Statistics in Medicine 17 (1998) 873-890, method 10) at 95 %. Below 20 on either side nothing is
concluded.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from django.db.models import CharField, Count, Max, Q
from django.db.models.functions import Cast, Left

from advisor.guidance.entities import LOUDNESS, Level, Why
from advisor.models import GuidanceEvent
from ranking.learning import wilson
from suggestions.outcomes.profile import ACCEPTED, REJECTED

# Calls that got something, and calls that would have, but were left out at random.
SHOWN, CONTROL = ~Q(("emitted_ids", [])), Q(("holdout", True))
WINDOW_DAYS, SAMPLE, ERRORS_MAX = 28, 5_000, 20
# Answers take two weeks, and one call in ten is control: a month would show nothing for long.
UPLIFT_WINDOW = timedelta(days=90)
LOUD = (Level.BLOCK, Level.WARNING, Level.NOTE)
HOLDOUT = "control"
SERIES = (*(level.value for level in reversed(LOUDNESS) if level is not Level.SILENT), HOLDOUT)
CASES_MIN = 20


@dataclass(frozen=True, slots=True)
class Observed:
    """The window in figures. Series have one count a UTC day, oldest first, the day of asking last.

    `levels` are calls by how loud guidance was, with control calls apart; `reasons` silent calls by why;
    `faults` (code, times, last).
    """

    days: tuple[date, ...]
    calls: int
    levels: Mapping[str, Sequence[int]]
    reasons: Mapping[str, Sequence[int]]
    p95_ms: float | None
    faults: Sequence[tuple[str, int, datetime]]

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
    """Return the figures of the last `days` UTC days up to `now`; two queries for any number of calls.

    They are counted from the events when asked for, so the time events are stored bounds the window.
    """
    window = [now.astimezone(UTC).date() - timedelta(days=back) for back in range(days - 1, -1, -1)]
    events = GuidanceEvent.objects.filter(at__gte=datetime.combine(window[0], time.min, UTC), at__lte=now)
    # Left(text) instead of TruncDate, which on SQLite is a Python function called for each row.
    rows: Any = events.order_by().annotate(day=Left(Cast("at", CharField()), 10))
    rows = rows.values_list("day", "level", "why", "holdout", "error_code")
    levels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    faults: dict[str, tuple[int, datetime]] = {}
    counted = rows.annotate(times=Count("pk"), calls=Count("pk", filter=Q(n__gt=0)), last=Max("at"))
    for day, level, why, holdout, code, times, calls, last in counted:
        levels[HOLDOUT if holdout else level][day] += calls
        if calls and level == Level.SILENT and not holdout:
            reasons[why][day] += calls
        if code:
            before, latest = faults.get(code, (0, last))
            faults[code] = (before + times, max(latest, last))
    newest = list(events.filter(n__gt=0).order_by("-at", "-id").values_list("ms", flat=True)[:SAMPLE])
    commonest = sorted(reasons, key=lambda why: -reasons[why].total())
    order = sorted(faults, key=lambda code: (-faults[code][0], code))[:ERRORS_MAX]
    return Observed(
        days=tuple(window),
        calls=sum(counts.total() for counts in levels.values()),
        levels={name: [levels[name][f"{day}"] for day in window] for name in SERIES},
        reasons={why: [reasons[why][f"{day}"] for day in window] for why in commonest},
        p95_ms=float(np.percentile(newest, 95, method="higher")) if newest else None,
        faults=[(code, *faults[code]) for code in order],
    )


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
        return Difference(treated, control, None, None, None, "too_few")
    low, high = newcombe(treated, control)
    verdict = "higher" if low > 0 else "lower" if high < 0 else "not_clear"
    verdict = "too_few" if min(treated.total, control.total) < CASES_MIN else verdict
    difference = round(treated.hits / treated.total - control.hits / control.total, 4)
    return Difference(treated, control, difference, round(low, 4), round(high, 4), verdict)


def newcombe(first: Arm, second: Arm) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two shares of something."""
    p1, p2 = first.hits / first.total, second.hits / second.total
    (l1, u1), (l2, u2) = (wilson(arm.hits, arm.total) for arm in (first, second))
    low = p1 - p2 - sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2)
    return low, p1 - p2 + sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2)
