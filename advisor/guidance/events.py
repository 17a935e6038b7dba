"""Events: one row a call, credited with readers' answers, counted by day, and deleted after their time.

A memory is credited by what the reader made of the suggestion that its run wrote about the same change: a no,
or a change taken back, at once; a yes 14 days after it. Advice is borne out by such a yes, a caution by a no.
A suggestion that was never written, or never answered, leaves the credit as it is. Whether the run did as
advised (`followed`) counts for nothing.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When

from advisor.entities import BYTES_PER_TOKEN, json_bytes
from advisor.guidance.entities import CallFacts, Level, Phase, Situation, Tunables, Why
from advisor.guidance.figures import (
    CONTROL,
    SHOWN,
    UPLIFT_WINDOW,
    calls_by_day,
    day_start,
    errors_by_day,
    uplift_report,
)
from advisor.guidance.packets import PACKETS_MAX
from advisor.guidance.wording import Advice, Scored
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket, Memory, Run
from digest.llm.entities import preview
from ranking.common.rows import BATCH, retention_start
from suggestions.entities import FenceLost
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.profile import ACCEPTED, REJECTED

log = structlog.get_logger(__name__)
Clock = Callable[[], float]
TEXT_CHARS, RULE_CHARS, CODE_CHARS = 600, 120, 60
FACTORS = ("relevance", "quality", "trust", "score")
SETTLED_AFTER = timedelta(days=14)
# What has no answer by then gets none: suggestions wait 14 days, a put-off one a little longer.
LOOKED_BACK = timedelta(days=90)
RUNS_AT_ONCE = 200
REVERTED, WITHHELD, UNANSWERED, OPEN = "reverted", "withheld", "unanswered", ""
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED, Suggestion.Status.DRAFT)
CHANGE = ("reader_id", "run_id", "suggestion_type", "target_key")
# A run stores its calls a little later than it makes them: a day is counted two hours after its end.
GRACE, DAY = timedelta(hours=2), timedelta(days=1)
# How far back days are counted; how long a stale packet shows why it is not used; and a year and a month.
EVENTS_SPAN, STALE_SPAN, DAYS_SPAN = timedelta(days=180), timedelta(days=1), timedelta(days=400)


class Fate(NamedTuple):
    """What became of a suggestion: `decision` is its outcome, empty while it waits; `waits` whether an answer
    may still come."""

    decision: str
    decided_at: datetime | None = None
    reverted_at: datetime | None = None
    waits: bool = False


@dataclass(slots=True)
class Look:
    """One call on its way through guidance: what is known of it, and the milliseconds of each stage.

    `n` is its number within the run; `error_code` what went wrong without stopping it.
    """

    n: int
    tool: str
    now: datetime
    tunables: Tunables
    clock: Clock = time.monotonic
    facts: CallFacts | None = None
    situation: Situation | None = None
    stages: dict[str, float] = field(default_factory=dict)
    packet: str = ""
    error_code: str = ""
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def ms(self) -> float:
        """Return the milliseconds since the call came."""
        return (self.clock() - self.began) * 1000

    @property
    def left_ms(self) -> float:
        """Return what is left of the time for guidance."""
        return self.tunables.budget_ms - self.ms

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, also one that breaks."""
        started = self.clock()
        try:
            yield
        finally:
            self.stages[name] = round((self.clock() - started) * 1000, 2)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Stores the events of one run."""

    run_id: UUID
    reader_id: UUID
    fence: Callable[[], None]

    def add(self, look: Look, advice: Advice) -> None:
        """Store what became of one call. Raises `FenceLost`."""
        with transaction.atomic():
            self.fence()
            self._event(look, advice).save(force_insert=True)

    def failed(self, look: Look, error: Exception, code: str = "") -> None:
        """Store that guidance broke; where not even that can be stored, log it. Raises `FenceLost`."""
        log.warning("guidance_failed", run_id=str(self.run_id), tool=look.tool, exc_info=error)
        look.error_code = code + type(error).__name__
        try:
            self.add(look, Advice(Level.SILENT, Why.FAILED))
        except FenceLost:
            raise
        except Exception as broken:
            log.warning("guidance_event_lost", run_id=str(self.run_id), error=type(broken).__name__)

    def _event(self, look: Look, advice: Advice) -> GuidanceEvent:
        situation = look.situation or Situation(self.reader_id, look.tool, Phase.EXPLORE)
        return GuidanceEvent(
            run_id=self.run_id,
            reader_id=self.reader_id,
            n=look.n,
            tool=preview(look.tool)[:64],
            phase=situation.phase.value if look.situation else "",
            suggestion_type=situation.suggestion_type,
            target_key=preview(situation.target_key),
            level=advice.level.value,
            why=advice.why.value,
            rule=advice.rule[:RULE_CHARS],
            text=preview(advice.text)[:TEXT_CHARS],
            tokens=round(json_bytes(advice.text) / BYTES_PER_TOKEN) if advice.text else 0,
            emitted_ids=[scored.memory.id for scored in advice.emitted],
            candidates=[_candidate(scored) for scored in advice.ranked],
            facts=dict(look.facts.values) if look.facts else {},
            holdout=advice.holdout,
            stages=look.stages,
            ms=round(look.ms),
            packet=look.packet,
            error_code=look.error_code[:CODE_CHARS],
            at=look.now,
        )


def guidance_credit(*, now: datetime) -> dict[str, int]:
    """Credit memories with what readers made of the suggestions they were about; safe to repeat.

    Returns how many `events` got an outcome, and how many times memories were borne out (`helpful`) or not
    (`unhelpful`). Open events are locked, so that each counts once; eight queries or so for each 200 runs.
    """
    totals = Counter(events=0, helpful=0, unhelpful=0)
    runs = list(_open(now).order_by("run_id").values_list("run_id", flat=True).distinct())
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
    calls: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    errors: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    pairs = ((calls_by_day, calls), (errors_by_day, errors))
    for read, by_day in pairs:
        for row in read(since=since, until=until):
            by_day[row.pop("day")].append(row)
    counted = [GuidanceDay(day=day, calls=calls[f"{day}"], errors=errors[f"{day}"]) for day in days]
    found = uplift_report(since=now - UPLIFT_WINDOW, now=now)
    counted[-1].uplift = {"accepted": [found.treated, found.control], "until": now.isoformat()}
    GuidanceDay.objects.bulk_create(counted, ignore_conflicts=True)
    return len(counted)


def guidance_prune(*, now: datetime) -> dict[str, int]:
    """Delete what has had its time: how many `events`, `packets` and `days`. Safe to repeat.

    Events go after the days that `guidance` in `KEEP_DAYS` gives them, never before their day is counted; of
    packets the newest 2,000 remain, and others for a day after they went stale; counts of days after 400.
    """
    since, events = retention_start("guidance", now), 0
    counted = GuidanceDay.objects.order_by("-day").values_list("day", flat=True).first()
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


def _candidate(scored: Scored) -> dict[str, Any]:
    """Return one memory that was weighed: its factors, its level, and why it was left out."""
    about = {"id": scored.memory.id, "kind": scored.memory.kind, "title": scored.memory.title}
    factors = {name: round(getattr(scored, name), 3) for name in FACTORS}
    return about | factors | {"level": scored.level.value, "why": scored.why}


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
    gains = {True: Counter[int](), False: Counter[int]()}
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
                gains[good][pk] += 1
    for (outcome, helpful, followed), ids in settled.items():
        rows = GuidanceEvent.objects.filter(pk__in=ids)
        rows.update(outcome=outcome, helpful=helpful, followed=followed)
    if ids := list(gains[True] | gains[False]):
        more = {
            name: F(name) + _gains(gains[good]) for name, good in (("helpful", True), ("unhelpful", False))
        }
        Memory.objects.filter(pk__in=ids).update(**more)
    counts = {"helpful": gains[True].total(), "unhelpful": gains[False].total()}
    return counts | {"events": sum(map(len, settled.values()))}


def _fates(runs: Sequence[UUID]) -> Mapping[tuple[Any, ...], Sequence[Fate]]:
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
    fates: defaultdict[tuple[Any, ...], list[Fate]] = defaultdict(list)
    columns = ("status", "decision", "decided_at", "reverted_at")
    for *change, status, decision, at, reverted_at in rows.order_by("pk").values_list(*CHANGE, *columns):
        fates[tuple(change)].append(Fate(decision or "", at, reverted_at, status in WAITING))
    return fates


def _gains(counts: Mapping[int, int]) -> Case:
    gains = [When(pk=pk, then=Value(count)) for pk, count in counts.items()]
    return Case(*gains, default=Value(0), output_field=IntegerField())
