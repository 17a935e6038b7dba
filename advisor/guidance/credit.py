"""What memories are worth by readers' answers, and what guidance is worth against its control calls.

A memory is credited by what the reader made of the suggestion that its run wrote about the same change: a no,
or a change taken back, at once; a yes once it has stood for 14 days. Advice is borne out by such a yes, a
caution by a no. A suggestion that was never written, or never answered, leaves the credit as it is. Whether
the run did as advised (`followed`) counts for nothing.

The interval of a difference is Newcombe's hybrid score interval (Statistics in Medicine 17 (1998) 873-890,
method 10) at 95 %. Below 20 on either side nothing is concluded. A difference that may be nothing is called
so only where one of ten points would have shown: with 80 % power at 5 %, two-sided, that takes (1.960 +
0.842)² × 2 p (1 - p) / 0.1² on each side, 393 at p = 0.5.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, sqrt
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When

from advisor.audit.kpis import NOT_FAILURES
from advisor.guidance.situations import WRITE
from advisor.models import GuidanceEvent, Memory, Run, Step
from ranking.learning import Z_95, wilson
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.profile import ACCEPTED, REJECTED

log = structlog.get_logger(__name__)
SETTLED_AFTER = timedelta(days=14)
# What has no answer by then gets none: suggestions wait 14 days, a put-off one a little longer.
LOOKED_BACK = timedelta(days=90)
RUNS_AT_ONCE = 200
REVERTED, WITHHELD, UNANSWERED, OPEN = "reverted", "withheld", "unanswered", ""
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED, Suggestion.Status.DRAFT)
CASES_MIN, DIFFERENCE_MIN, Z_POWER, RATE_MIN = 20, 0.10, 0.841621, 0.1
HIGHER, LOWER, NO_DIFFERENCE, TOO_FEW = "higher", "lower", "no_difference", "too_few"
# One change of one run of one reader: reader, run, type, target.
Change = tuple[UUID, UUID, str, str]
CHANGE = ("reader_id", "run_id", "suggestion_type", "target_key")


class CreditTaken(Exception):
    """Somebody else credited the same events meanwhile; nothing of this round was written."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a suggestion: `decision` is its outcome, empty while it waits; `waits` whether an answer
    may still come."""

    decision: str
    decided_at: datetime | None = None
    reverted_at: datetime | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """So many of so many."""

    hits: int
    total: int

    @property
    def rate(self) -> float | None:
        """Return the share, `None` of nothing."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Difference:
    """The share of treated calls less the share of control calls, with its 95 % interval.

    `verdict` is `higher`, `lower`, `no_difference` or `too_few`; `needs` how many more cases the side that
    lacks most would take to show a difference of ten points.
    """

    treated: Arm
    control: Arm
    difference: float | None
    low: float | None
    high: float | None
    verdict: str
    needs: int

    @property
    def words(self) -> str:
        """Return the verdict in one sentence."""
        if self.difference is None or self.low is None or self.high is None:
            return f"Nothing to compare yet; needs {self.needs} more."
        figures = f"{self.difference:+.1%} (95 %: {self.low:+.1%} to {self.high:+.1%})"
        if self.verdict == TOO_FEW:
            return f"Too few to tell: {figures}; needs {self.needs} more."
        return f"{figures}: {self.verdict.replace('_', ' ')}."


@dataclass(frozen=True, slots=True)
class UpliftReport:
    """Treated calls against control calls: how often suggestions were accepted, how often writes failed.

    `mixed` are changes of a run with calls of both sorts; they count for neither.
    """

    since: datetime
    until: datetime
    accepted: Difference
    failed_writes: Difference
    mixed: int


def guidance_credit(*, now: datetime) -> dict[str, int]:
    """Credit memories with what readers made of the suggestions they spoke of; safe to repeat.

    Returns how many `events` got an outcome, and how many times memories were borne out (`helpful`) or not
    (`unhelpful`). Each counts once, by a conditional update of the event; eight queries or so for each 200
    runs. Raises `CreditTaken` where another did the same at the same time.
    """
    totals = Counter(events=0, helpful=0, unhelpful=0)
    runs = [run for run in _open(now).order_by("run_id").values_list("run_id", flat=True).distinct() if run]
    for start in range(0, len(runs), RUNS_AT_ONCE):
        with transaction.atomic():
            totals.update(_credit(runs[start : start + RUNS_AT_ONCE], now))
    log.info("guidance_credited", **totals)
    return dict(totals)


def outcome_of(fates: Sequence[Fate], *, run_over: bool, now: datetime) -> str:
    """Return what became of the suggestions about one change: the newest answer, `OPEN` for none yet."""
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


def uplift_report(*, since: datetime, now: datetime) -> UpliftReport:
    """Compare treated calls with control calls since then, by the outcomes credited so far; two queries.

    A suggestion counts once for each change of a run, as accepted where the yes stood for 14 days. A write
    counts as the next one after the call: what a run reads with a result it can only heed from then on.
    """
    rows = GuidanceEvent.objects.filter(_emitted(), at__gte=since, at__lte=now, n__gt=0, run__isnull=False)
    events = list(rows.order_by("at", "pk").values(*CHANGE, "tool", "held_out", "outcome", "at"))
    changes: defaultdict[Change, set[tuple[bool, str]]] = defaultdict(set)
    for event in events:
        if event["suggestion_type"] and event["target_key"]:
            changes[_change(event)].add((event["held_out"], event["outcome"]))
    counts: dict[bool, list[bool]] = {False: [], True: []}
    mixed = 0
    for found in changes.values():
        arms, outcomes = {arm for arm, _ in found}, {outcome for _, outcome in found}
        mixed += len(arms) > 1
        if len(arms) == 1 and outcomes & {ACCEPTED, REJECTED, REVERTED}:
            counts[arms.pop()].append(ACCEPTED in outcomes)
    accepted = difference_of(*(Arm(sum(hits), len(hits)) for hits in counts.values()))
    return UpliftReport(since, now, accepted, difference_of(*_next_writes(events, since, now)), mixed)


def difference_of(treated: Arm, control: Arm) -> Difference:
    """Return the difference of two shares, how sure it is, and what may be said of it."""
    needs = max(0, cases_needed(treated, control) - min(treated.total, control.total))
    if treated.rate is None or control.rate is None:
        return Difference(treated, control, None, None, None, TOO_FEW, needs)
    low, high = newcombe(treated, control)
    few = min(treated.total, control.total) < CASES_MIN
    same = TOO_FEW if needs else NO_DIFFERENCE
    verdict = TOO_FEW if few else HIGHER if low > 0 else LOWER if high < 0 else same
    difference = round(treated.rate - control.rate, 4)
    return Difference(treated, control, difference, round(low, 4), round(high, 4), verdict, needs)


def newcombe(first: Arm, second: Arm) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two shares of something."""
    p1, p2 = first.hits / first.total, second.hits / second.total
    (l1, u1), (l2, u2) = (wilson(arm.hits, arm.total) for arm in (first, second))
    low = p1 - p2 - sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2)
    return low, p1 - p2 + sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2)


def cases_needed(treated: Arm, control: Arm) -> int:
    """Return how many on each side would show a difference of ten points, at the share of both together."""
    total = treated.total + control.total
    share = (treated.hits + control.hits) / total if total else 0.5
    share = min(1 - RATE_MIN, max(RATE_MIN, share))
    return ceil((Z_95 + Z_POWER) ** 2 * 2 * share * (1 - share) / DIFFERENCE_MIN**2)


def _emitted() -> Q:
    return Q(held_out=True) | ~Q(told=[])


def _open(now: datetime) -> QuerySet[GuidanceEvent]:
    """Return the emissions about a change that have no outcome yet."""
    rows = GuidanceEvent.objects.filter(_emitted(), helpful=None, outcome="", at__gt=now - LOOKED_BACK)
    return rows.exclude(Q(suggestion_type="") | Q(target_key="") | Q(run=None))


def _change(event: Mapping[str, Any]) -> Change:
    return event["reader_id"], event["run_id"], event["suggestion_type"], event["target_key"]


def _credit(runs: Sequence[UUID], now: datetime) -> dict[str, int]:
    """Settle the open events of these runs by the answers so far, and credit each memory once a change."""
    changes: defaultdict[Change, list[GuidanceEvent]] = defaultdict(list)
    for event in _open(now).filter(run_id__in=runs).select_for_update().order_by("pk"):
        changes[_change(vars(event))].append(event)
    fates = _fates(runs)
    over = set(Run.objects.filter(pk__in=runs, finished_at__isnull=False).values_list("pk", flat=True))
    used = {pk for events in changes.values() for event in events for pk in event.told}
    polarity = dict(Memory.objects.filter(pk__in=used).values_list("pk", "polarity"))
    settled: defaultdict[tuple[str, bool | None, bool | None], list[int]] = defaultdict(list)
    gains = {True: Counter[int](), False: Counter[int]()}
    for change, events in changes.items():
        outcome = outcome_of(fates.get(change, ()), run_over=change[1] in over, now=now)
        if outcome == OPEN:
            continue
        credited: set[int] = set()
        for event in events:
            known = [] if event.held_out else [pk for pk in event.told if pk in polarity]
            helpful = borne_out(polarity[known[0]], outcome) if known else None
            followed = (
                (outcome != WITHHELD) is (polarity[known[0]] > 0) if known and polarity[known[0]] else None
            )
            settled[outcome, helpful, followed].append(event.pk)
            credited.update(known)
        for pk in credited:
            if (good := borne_out(polarity[pk], outcome)) is not None:
                gains[good][pk] += 1
    for (outcome, helpful, followed), ids in settled.items():
        waiting = GuidanceEvent.objects.filter(pk__in=ids, helpful=None, outcome="")
        if waiting.update(outcome=outcome, helpful=helpful, followed=followed) != len(ids):
            raise CreditTaken(f"{len(ids)} events of outcome {outcome} were no longer all open.")
    if ids := list(gains[True] | gains[False]):
        Memory.objects.filter(pk__in=ids).update(
            helpful=F("helpful") + _gains(gains[True]), unhelpful=F("unhelpful") + _gains(gains[False])
        )
    events_settled = sum(map(len, settled.values()))
    return {"events": events_settled, "helpful": gains[True].total(), "unhelpful": gains[False].total()}


def _fates(runs: Sequence[UUID]) -> Mapping[Change, Sequence[Fate]]:
    """Return what became of each suggestion of these runs that was not taken back at once; one query."""
    own = Outcome.objects.filter(suggestion=OuterRef("pk"))
    decisions, reverts = own.filter(kind=Outcome.Kind.DECISION), own.filter(kind=Outcome.Kind.REVERT)
    unseen = (Suggestion.Status.TAKEN_BACK, Suggestion.Status.DISCARDED)
    rows = Suggestion.objects.filter(run_id__in=runs).exclude(status__in=unseen)
    rows = rows.annotate(
        decision=Subquery(decisions.values("outcome")[:1]),
        decided_at=Subquery(decisions.values("decided_at")[:1]),
        reverted_at=Subquery(reverts.values("decided_at")[:1]),
    )
    fates: defaultdict[Change, list[Fate]] = defaultdict(list)
    for row in rows.order_by("pk").values(*CHANGE, "status", "decision", "decided_at", "reverted_at"):
        waits = row["status"] in WAITING
        fates[_change(row)].append(Fate(row["decision"] or "", row["decided_at"], row["reverted_at"], waits))
    return fates


def _gains(counts: Mapping[int, int]) -> Case:
    gains = [When(pk=pk, then=Value(count)) for pk, count in counts.items()]
    return Case(*gains, default=Value(0), output_field=IntegerField())


def _next_writes(events: Iterable[Mapping[str, Any]], since: datetime, now: datetime) -> tuple[Arm, Arm]:
    """Return failed of next writes after treated calls and after control calls; one query."""
    events = list(events)
    rows = Step.objects.filter(kind=Step.Kind.TOOL, tool=WRITE, at__gte=since, at__lte=now)
    rows = rows.filter(run_id__in={event["run_id"] for event in events})
    writes: defaultdict[UUID, list[tuple[datetime, str]]] = defaultdict(list)
    for run_id, at, code in rows.order_by("run_id", "n").values_list("run_id", "at", "error_code"):
        writes[run_id].append((at, code))
    counts: dict[bool, list[bool]] = {False: [], True: []}
    for event in events:
        later = [code for at, code in writes[event["run_id"]] if at >= event["at"]]
        # The call itself is the first of them, where that was a write.
        judged = [code for code in later[event["tool"] == WRITE :] if code not in NOT_FAILURES]
        if judged:
            counts[event["held_out"]].append(bool(judged[0]))
    return Arm(sum(counts[False]), len(counts[False])), Arm(sum(counts[True]), len(counts[True]))
