"""Events, one row a call: credited with readers' answers, counted in figures, deleted after their term.

A memory is credited by the reader's answer to the suggestion that its run wrote about the same change: a no
or an undo at once, a yes after 14 days. A yes confirms advice, and a no confirms a caution. A suggestion that
was never written or answered leaves the credit unchanged. Whether the run followed the advice (`followed`)
does not count.

The effect of guidance is the difference between treated calls and control calls. Its interval is Newcombe's
hybrid score interval (Statistics in Medicine 17 (1998) 873-890, method 10) at 95 %. With fewer than 20 on
either side there is no conclusion.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import structlog
from django.db import transaction
from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Cast, Left

from advisor.guidance.situations import LOUDNESS, Level, Why
from advisor.models import GuidanceEvent, Memory, Run
from digest.days import day_begin
from ranking.common.isolation import isolate_batches
from ranking.common.rows import retention_start, rows_delete
from ranking.learning import wilson
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.profile import ACCEPTED, REJECTED

log = structlog.get_logger(__name__)
SETTLED_AFTER = timedelta(days=14)
# No answer comes after this time: suggestions wait 14 days, a put-off one a little longer.
LOOKED_BACK = timedelta(days=90)
RUNS_AT_ONCE = 200
REVERTED, WITHHELD, UNANSWERED, OPEN = "reverted", "withheld", "unanswered", ""
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED, Suggestion.Status.DRAFT)
CHANGE = ("reader_id", "run_id", "suggestion_type", "target_key")
# Calls that got something, and calls that would have, but were left out at random.
SHOWN, CONTROL = ~Q(("emitted_ids", [])), Q(("holdout", True))
WINDOW_DAYS, SAMPLE, ERRORS_MAX = 28, 5_000, 20
# Answers take two weeks, and one call in ten is control: a month would show nothing for long.
UPLIFT_WINDOW = timedelta(days=90)
LOUD = (Level.BLOCK, Level.WARNING, Level.NOTE)
HOLDOUT = "control"
SERIES = (*(level.value for level in reversed(LOUDNESS) if level is not Level.SILENT), HOLDOUT)
CASES_MIN = 20


class Fate(NamedTuple):
    """The fate of a suggestion. `decision` is its outcome, empty while it waits. `waits` tells whether an
    answer may still come."""

    decision: str
    decided_at: datetime | None = None
    reverted_at: datetime | None = None
    waits: bool = False


def guidance_credit(*, now: datetime) -> dict[str, int]:
    """Credit memories with readers' answers to the suggestions they were about. Safe to repeat.

    Returns how many `events` got an outcome, and how many times memories were borne out (`helpful`) or not
    (`unhelpful`). Open events are locked, so that each counts once; eight queries or so for each 200 runs.
    """
    totals = Counter(events=0, helpful=0, unhelpful=0)
    runs = list(_open(now).order_by("run_id").values_list("run_id", flat=True).distinct())
    readers = dict(Run.objects.filter(pk__in=runs).values_list("pk", "reader_id"))

    @transaction.atomic
    def credit(some: Sequence[UUID]) -> dict[str, int]:
        return _credit(some, now)

    for counts in isolate_batches(
        runs, credit, event="guidance_credit_failed", size=RUNS_AT_ONCE, key_of=readers.get
    ):
        totals.update(counts)
    log.info("guidance_credited", **totals)
    return dict(totals)


def outcome_of(fates: Sequence[Fate], *, run_over: bool, now: datetime) -> str:
    """Return the newest answer to the suggestions about one change; `OPEN` if there is none yet."""
    if not fates:
        return WITHHELD if run_over else OPEN
    answered = [fate for fate in fates if fate.decision in (ACCEPTED, REJECTED)]
    if not answered:
        return OPEN if any(fate.waits for fate in fates) else UNANSWERED
    last = max(answered, key=lambda fate: (fate.decided_at or now, fate.decision))
    if last.decision == REJECTED:
        return REJECTED
    if last.reverted_at is not None:
        return REVERTED
    settled = last.decided_at is not None and now - last.decided_at >= SETTLED_AFTER
    return ACCEPTED if settled else OPEN


def borne_out(polarity: int, outcome: str) -> bool | None:
    """Return whether the reader's answer bears out a memory of that polarity; `None` for no answer."""
    return (outcome == ACCEPTED) is (polarity >= 0) if outcome in (ACCEPTED, REJECTED, REVERTED) else None


def guidance_prune(*, now: datetime) -> int:
    """Delete events older than the days that `guidance` in `KEEP_DAYS` gives them; how many."""
    since = retention_start("guidance", now)
    return rows_delete(GuidanceEvent.objects.all(), at="at", before=since) if since else 0


def _open(now: datetime) -> QuerySet[GuidanceEvent]:
    """Return the emissions about a change that have no outcome yet."""
    rows = GuidanceEvent.objects.filter(SHOWN | CONTROL, helpful=None, outcome="", at__gt=now - LOOKED_BACK)
    return rows.exclude(Q(suggestion_type="") | Q(target_key="") | Q(run=None))


def _credit(runs: Sequence[UUID], now: datetime) -> dict[str, int]:
    """Settle the open events of these runs by the answers so far, and credit each memory once a change."""
    changes: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    events = _open(now).filter(run_id__in=runs).select_for_update().order_by("pk")
    for event in events.values("pk", "emitted_ids", "holdout", *CHANGE):
        changes[tuple(event[name] for name in CHANGE)].append(event)
    fates = _fates(runs)
    over = set(Run.objects.filter(pk__in=runs, finished_at__isnull=False).values_list("pk", flat=True))
    used = {pk for own in changes.values() for event in own for pk in event["emitted_ids"]}
    polarity = dict(Memory.objects.filter(pk__in=used).values_list("pk", "polarity"))
    settled: defaultdict[tuple[str, bool | None, bool | None], list[int]] = defaultdict(list)
    gains = {"helpful": Counter[int](), "unhelpful": Counter[int]()}
    for change, own in changes.items():
        outcome = outcome_of(fates.get(change, ()), run_over=change[1] in over, now=now)
        credited: set[int] = set()
        for event in own if outcome != OPEN else ():
            known = [] if event["holdout"] else [pk for pk in event["emitted_ids"] if pk in polarity]
            first = polarity[known[0]] if known else 0
            helpful = borne_out(first, outcome) if known else None
            followed = (outcome != WITHHELD) is (first > 0) if first else None
            settled[outcome, helpful, followed].append(event["pk"])
            credited.update(known)
        for pk in credited:
            if (good := borne_out(polarity[pk], outcome)) is not None:
                gains["helpful" if good else "unhelpful"][pk] += 1
    for (outcome, helpful, followed), ids in settled.items():
        found = {"outcome": outcome, "helpful": helpful, "followed": followed}
        GuidanceEvent.objects.filter(pk__in=ids).update(**found)
    more: dict[str, Any] = {}
    for name, counts in gains.items():
        cases = (When(pk=pk, then=count) for pk, count in counts.items())
        more[name] = F(name) + Case(*cases, default=0, output_field=IntegerField())
    Memory.objects.filter(pk__in=[pk for counts in gains.values() for pk in counts]).update(**more)
    return {name: counts.total() for name, counts in gains.items()} | {
        "events": sum(map(len, settled.values()))
    }


def _fates(runs: Sequence[UUID]) -> Mapping[tuple[Any, ...], Sequence[Fate]]:
    """Return the outcome of each suggestion of these runs that was not taken back at once; one query."""
    own = Outcome.objects.filter(suggestion=OuterRef("pk"))
    decisions, reverts = own.filter(kind=Outcome.Kind.DECISION), own.filter(kind=Outcome.Kind.REVERT)
    unseen = (Suggestion.Status.TAKEN_BACK, Suggestion.Status.DISCARDED)
    rows = Suggestion.objects.filter(run_id__in=runs).exclude(status__in=unseen)
    rows = rows.annotate(
        decision=Subquery(decisions.values("outcome")[:1]),
        decided_at=Subquery(decisions.values("decided_at")[:1]),
        reverted_at=Subquery(reverts.values("decided_at")[:1]),
    )
    fates: defaultdict[tuple[Any, ...], list[Fate]] = defaultdict(list)
    columns = ("status", "decision", "decided_at", "reverted_at")
    for *change, status, decision, at, reverted_at in rows.order_by("pk").values_list(*CHANGE, *columns):
        fates[tuple(change)].append(Fate(decision or "", at, reverted_at, status in WAITING))
    return fates


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
    """A number of hits in a total."""

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
    events = GuidanceEvent.objects.filter(at__gte=day_begin(window[0], UTC), at__lte=now)
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
    changes: defaultdict[tuple[Any, ...], set[tuple[bool, str]]] = defaultdict(set)
    for *change, arm, outcome in rows.values_list(*CHANGE, "holdout", "outcome"):
        changes[tuple(change)].add((arm, outcome))
    counts: dict[bool, list[bool]] = {False: [], True: []}
    for found in changes.values():
        arms, outcomes = {arm for arm, _ in found}, {outcome for _, outcome in found}
        if len(arms) == 1 and outcomes & {ACCEPTED, REJECTED, REVERTED}:
            counts[arms.pop()].append(ACCEPTED in outcomes)
    treated, control = (Arm(sum(counts[arm]), len(counts[arm])) for arm in (False, True))
    return difference_of(treated, control)


def difference_of(treated: Arm, control: Arm) -> Difference:
    """Return the difference of two shares with its certainty and the conclusion from it."""
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
