"""What memories are worth by readers' answers, and what telling them is worth against not telling them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When

from advisor.kpis import NOT_FAILURES
from advisor.memory.credit import REVERTED, Emission, Fate, Verdicts, judge, outcome_of
from advisor.memory.uplift import Arm, Difference, difference_of
from advisor.memory.writes import WRITE
from advisor.models import GuidanceEvent, Memory, Run, Step
from suggestions.models import Outcome, Suggestion
from suggestions.profile import ACCEPTED, REJECTED

log = structlog.get_logger(__name__)
# What has no answer by then gets none: suggestions wait 14 days, a put-off one a little longer.
LOOKED_BACK = timedelta(days=90)
RUNS_AT_ONCE = 200
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED, Suggestion.Status.DRAFT)
# One change of one run of one reader.
Unit = tuple[UUID, UUID, str, str]


class CreditTaken(Exception):
    """Somebody else credited the same events meanwhile; nothing of this round was written."""


@dataclass(frozen=True, slots=True)
class UpliftReport:
    """Told against held out since a moment: how often suggestions were accepted, how often writes failed.

    `mixed` are changes of a run about which something was told and something held out; they count for
    neither.
    """

    since: datetime
    until: datetime
    accepted: Difference
    failed_writes: Difference
    mixed: int

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "accepted": self.accepted.as_dict(),
            "failed_writes": self.failed_writes.as_dict(),
            "mixed": self.mixed,
        }


def guidance_credit(*, now: datetime) -> dict[str, int]:
    """Credit memories with what readers made of the suggestions they were told about; safe to repeat.

    Returns how many `events` got an outcome, and how many times memories were borne out (`helpful`) or not
    (`unhelpful`). What is told and answered is counted once, by a conditional update of the event; eight
    queries or so for each 200 runs. Raises `CreditTaken` where another did the same at the same time.
    """
    totals = {"events": 0, "helpful": 0, "unhelpful": 0}
    runs = _open(now).order_by("run_id").values_list("run_id", flat=True).distinct()
    for some in _chunks(list(runs)):
        with transaction.atomic():
            verdicts = _verdicts(some, now)
            _settle(verdicts)
            _reward(verdicts)
        totals["events"] += sum(map(len, verdicts.events.values()))
        totals["helpful"] += verdicts.helpful.total()
        totals["unhelpful"] += verdicts.unhelpful.total()
    log.info("guidance_credited", **totals)
    return totals


def uplift_report(*, since: datetime, now: datetime) -> UpliftReport:
    """What was told since then against what was held out, by the outcomes credited so far; two queries.

    A suggestion counts once for each change of a run, as accepted where the yes stood for 14 days. A write
    counts as the next one after the call that something was told to: what a run reads with a result it can
    only heed from then on.
    """
    rows = GuidanceEvent.objects.filter(_emitted(), at__gte=since, at__lte=now, n__gt=0, run__isnull=False)
    columns = ("reader_id", "run_id", "suggestion_type", "target_key", "tool", "held_out", "outcome", "at")
    events = list(rows.order_by("at", "pk").values(*columns))
    arms, mixed = _answered(events)
    return UpliftReport(
        since=since,
        until=now,
        accepted=difference_of(*arms),
        failed_writes=difference_of(*_written(events, since, now)),
        mixed=mixed,
    )


def _emitted() -> Q:
    """The calls that were told something, or would have been."""
    return Q(held_out=True) | ~Q(told=[])


def _open(now: datetime) -> QuerySet[GuidanceEvent]:
    """What was told about a change and has no outcome yet."""
    rows = GuidanceEvent.objects.filter(_emitted(), helpful=None, outcome="", at__gt=now - LOOKED_BACK)
    return rows.exclude(Q(suggestion_type="") | Q(target_key="") | Q(run=None))


def _chunks(runs: Sequence[UUID | None]) -> Iterator[list[UUID]]:
    known = [run for run in runs if run is not None]
    for start in range(0, len(known), RUNS_AT_ONCE):
        yield known[start : start + RUNS_AT_ONCE]


def _verdicts(runs: Sequence[UUID], now: datetime) -> Verdicts:
    """What the answers so far mean for the open events of these runs; four queries."""
    units: defaultdict[Unit, list[Emission]] = defaultdict(list)
    held = _open(now).filter(run_id__in=runs).select_for_update().order_by("pk")
    for event in held:
        assert event.run_id is not None  # as `_open` leaves those out
        unit = (event.reader_id, event.run_id, event.suggestion_type, event.target_key)
        units[unit].append(Emission(event.pk, tuple(event.told), event.held_out))
    fates, over = _fates(runs), _over(runs)
    told = {one for emissions in units.values() for emission in emissions for one in emission.told}
    polarity = dict(Memory.objects.filter(pk__in=told).values_list("pk", "polarity"))
    verdicts = Verdicts()
    found = (
        (emissions, outcome_of(fates.get(unit, ()), run_over=unit[1] in over, now=now))
        for unit, emissions in units.items()
    )
    judge(found, polarity, verdicts)
    return verdicts


def _fates(runs: Sequence[UUID]) -> Mapping[Unit, Sequence[Fate]]:
    """What became of each suggestion of these runs that was not taken back at once; one query."""
    own = Outcome.objects.filter(suggestion=OuterRef("pk"))
    decisions, reverts = own.filter(kind=Outcome.Kind.DECISION), own.filter(kind=Outcome.Kind.REVERT)
    unseen = (Suggestion.Status.TAKEN_BACK, Suggestion.Status.DISCARDED)
    rows = (
        Suggestion.objects.filter(run_id__in=runs)
        .exclude(status__in=unseen)
        .annotate(
            decision=Subquery(decisions.values("outcome")[:1]),
            decided_at=Subquery(decisions.values("decided_at")[:1]),
            reverted_at=Subquery(reverts.values("decided_at")[:1]),
        )
        .order_by("pk")
    )
    fates: defaultdict[Unit, list[Fate]] = defaultdict(list)
    unit_columns = ("reader_id", "run_id", "suggestion_type", "target_key")
    for *unit, status, decision, decided_at, reverted_at in rows.values_list(
        *unit_columns, "status", "decision", "decided_at", "reverted_at"
    ):
        fate = Fate(decision or "", decided_at, reverted_at, waits=status in WAITING)
        fates[unit[0], unit[1], unit[2], unit[3]].append(fate)
    return fates


def _over(runs: Sequence[UUID]) -> frozenset[UUID]:
    rows = Run.objects.filter(pk__in=runs, finished_at__isnull=False)
    return frozenset(rows.values_list("pk", flat=True))


def _settle(verdicts: Verdicts) -> None:
    """Give the events their outcome; one query for each of the few there are. Raises `CreditTaken`."""
    for (outcome, helpful), ids in verdicts.events.items():
        waiting = GuidanceEvent.objects.filter(pk__in=ids, helpful=None, outcome="")
        if waiting.update(outcome=outcome, helpful=helpful) != len(ids):
            raise CreditTaken(f"{len(ids)} events of outcome {outcome} were no longer all open.")


def _reward(verdicts: Verdicts) -> None:
    """Add to the memories' counts in the database, whatever they are by now; one query."""
    ids = verdicts.helpful.keys() | verdicts.unhelpful.keys()
    if ids:
        Memory.objects.filter(pk__in=ids).update(
            helpful=F("helpful") + _gains(verdicts.helpful),
            unhelpful=F("unhelpful") + _gains(verdicts.unhelpful),
        )


def _gains(counts: Mapping[int, int]) -> Case:
    by_count: defaultdict[int, list[int]] = defaultdict(list)
    for memory, count in counts.items():
        by_count[count].append(memory)
    gains = [When(pk__in=ids, then=Value(count)) for count, ids in sorted(by_count.items())]
    return Case(*gains, default=Value(0), output_field=IntegerField())


def _answered(events: Iterable[Mapping[str, Any]]) -> tuple[tuple[Arm, Arm], int]:
    """Accepted of answered for changes told of and held out, and how many changes were both."""
    units: defaultdict[Unit, set[tuple[bool, str]]] = defaultdict(set)
    for event in events:
        unit = (event["reader_id"], event["run_id"], event["suggestion_type"], event["target_key"])
        if event["suggestion_type"] and event["target_key"]:
            units[unit].add((event["held_out"], event["outcome"]))
    counts = {False: [0, 0], True: [0, 0]}
    mixed = 0
    for seen in units.values():
        arms, outcomes = {arm for arm, _ in seen}, {outcome for _, outcome in seen}
        if len(arms) > 1:
            mixed += 1
        elif outcomes & {ACCEPTED, REJECTED, REVERTED}:
            counts[arms.pop()][0] += ACCEPTED in outcomes
            counts[next(iter(seen))[0]][1] += 1
    return (Arm(*counts[False]), Arm(*counts[True])), mixed


def _written(events: Sequence[Mapping[str, Any]], since: datetime, now: datetime) -> tuple[Arm, Arm]:
    """Failed of next writes after something was told and after it was held out; one query."""
    rows = Step.objects.filter(
        kind=Step.Kind.TOOL,
        tool=WRITE,
        at__gte=since,
        at__lte=now,
        run_id__in=GuidanceEvent.objects.filter(_emitted(), at__gte=since, n__gt=0).values("run_id"),
    )
    writes: defaultdict[UUID, list[tuple[datetime, str]]] = defaultdict(list)
    for run_id, at, code in rows.order_by("run_id", "n").values_list("run_id", "at", "error_code"):
        writes[run_id].append((at, code))
    counts = {False: [0, 0], True: [0, 0]}
    for event in events:
        later: list[str] = [code for at, code in writes[event["run_id"]] if at >= event["at"]]
        # The call that it was told to is the first of them, where that was a write itself.
        later = later[1:] if event["tool"] == WRITE else later
        judged = [code for code in later if code not in NOT_FAILURES]
        if judged:
            counts[event["held_out"]][0] += bool(judged[0])
            counts[event["held_out"]][1] += 1
    return Arm(*counts[False]), Arm(*counts[True])
