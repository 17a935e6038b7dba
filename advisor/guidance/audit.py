"""The audit of guidance: one row a call, what a reader's runs got before, and the figures over many rows."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import CharField, Count, Max, Q, Sum
from django.db.models.functions import Cast, Left

from advisor.audit.kpis import NOT_FAILURES
from advisor.entities import BYTES_PER_TOKEN, json_bytes
from advisor.guidance.entities import LOUDNESS, Advice, CallFacts, Level, Scored, Situation, Tunables, Why
from advisor.guidance.gate import TOOL_COOLDOWN_S, Seen
from advisor.guidance.situations import WRITE
from advisor.models import GuidanceDay, GuidanceEvent, GuidancePacket, Step
from digest.llm.entities import preview
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)
Clock = Callable[[], float]
TEXT_CHARS, RULE_CHARS, CODE_CHARS = 600, 120, 60
WINDOW_DAYS, SAMPLE, ERRORS_MAX, RECENT_MAX = 28, 5_000, 20, 200
# The error code of an event that says that a note could not be written: of no call, so it counts as none.
EXPORT_FAILED = "export_"
LOUD = (Level.BLOCK, Level.WARNING, Level.NOTE)
HOLDOUT = "held out"
SERIES = (*(level.value for level in reversed(LOUDNESS) if level is not Level.SILENT), HOLDOUT)
# The stages in their order, the share of calls below which one is missing, and why a call may end early.
FACTS, PACKET, RANK, GATE = STAGES = ("facts", "packet", "rank", "gate")
MISSING_SHARE = 0.5
EARLY = frozenset({Why.BLOCKED, Why.OUT_OF_TIME, Why.FAILED, Why.NOTHING_KNOWN})
# Milliseconds at the 95th percentile from which a stage is warm and hot.
HEAT = ((40.0, "●●● hot"), (10.0, "●● warm"), (0.0, "● cool"))


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


class Ledger:
    """Stores the events of one run. A row that cannot be stored now is stored with the next one."""

    def __init__(self, *, run_id: UUID, reader_id: UUID, fence: Callable[[], None]) -> None:
        self.run_id, self.reader_id, self.fence = run_id, reader_id, fence
        self._waiting: list[GuidanceEvent] = []

    def add(self, look: Look, advice: Advice) -> None:
        """Store what became of one call, and what waited. Raises `FenceLost`."""
        event = self._row(look, advice)
        with transaction.atomic():
            self.fence()
            GuidanceEvent.objects.bulk_create([event, *self._waiting])
        self._waiting = []

    def failed(self, look: Look, error: Exception) -> None:
        """Store that guidance broke, on its own; waits where nothing can be stored. Raises `FenceLost`."""
        log.warning("guidance_failed", run_id=str(self.run_id), tool=look.tool, exc_info=error)
        look.error_code = type(error).__name__
        event = self._row(look, Advice(Level.SILENT, Why.FAILED))
        try:
            with transaction.atomic():
                self.fence()
                event.save(force_insert=True)
        except FenceLost:
            raise
        except Exception as broken:
            log.warning("guidance_event_waits", run_id=str(self.run_id), error=type(broken).__name__)
            event.pk = None
            self._waiting.append(event)

    def _row(self, look: Look, advice: Advice) -> GuidanceEvent:
        situation = look.situation
        return GuidanceEvent(
            run_id=self.run_id,
            reader_id=self.reader_id,
            n=look.n,
            tool=preview(look.tool)[:64],
            phase=situation.phase.value if situation else "",
            suggestion_type=situation.suggestion_type if situation else "",
            target_key=preview(situation.target_key) if situation else "",
            level=advice.level.value,
            why=advice.why.value,
            rule=advice.rule[:RULE_CHARS],
            text=preview(advice.text)[:TEXT_CHARS],
            tokens=round(json_bytes(advice.text) / BYTES_PER_TOKEN) if advice.text else 0,
            told=[scored.memory.id for scored in advice.emitted],
            candidates=[_candidate(scored) for scored in advice.ranked],
            facts=dict(look.facts.values) if look.facts else {},
            held_out=advice.holdout,
            stages=look.stages,
            ms=round(look.ms),
            packet=look.packet,
            error_code=look.error_code[:CODE_CHARS],
            at=look.now,
        )


def run_progress(*, run_id: UUID) -> tuple[int, int, set[str]]:
    """Return a run's calls so far, its writes that failed in a row, and its blocks as `rule|target`."""
    rows = GuidanceEvent.objects.filter(run_id=run_id)
    calls = rows.aggregate(last=Max("n"))["last"] or 0
    writes = Step.objects.filter(run_id=run_id, kind=Step.Kind.TOOL, tool=WRITE).order_by("-n")
    failed_writes = 0
    for code in writes.values_list("error_code", flat=True)[:10]:
        if not code or code in NOT_FAILURES:
            break
        failed_writes += 1
    blocks = rows.filter(level=Level.BLOCK).values_list("rule", "target_key")
    return calls, failed_writes, {f"{rule}|{target}" for rule, target in blocks}


def seen_lately(*, look: Look, run_id: UUID, facts: CallFacts, signatures: Mapping[int, str]) -> Seen:
    """Return what this reader's runs got within `shown_ttl_s`, and this run at any time; one query.

    `signatures` are those of the memories in use, by id, the ones about a target negative: what a run's start
    says of one target may be said again beside a write about it.
    """
    since = look.now - timedelta(seconds=look.tunables.shown_ttl_s)
    rows = GuidanceEvent.objects.filter(
        Q(at__gt=since) | Q(run_id=run_id),
        reader_id=facts.situation.reader_id,
        level__in=(*LOUD[1:], "whisper"),
    ).order_by("-at")
    shown: set[int] = set()
    tools: set[str] = set()
    for n, tool, at, emitted, candidates in rows.values_list("n", "tool", "at", "told", "candidates")[
        :RECENT_MAX
    ]:
        named = {one["id"] for one in candidates if one["level"] == Level.WHISPER and not one["why"]}
        shown |= {pk for pk in {*emitted, *named} if n or -pk not in signatures}
        if emitted and (look.now - at).total_seconds() < TOOL_COOLDOWN_S:
            tools.add(tool)
    texts = {signatures[pk] for pk in shown if signatures.get(pk)}
    return Seen(frozenset(shown), frozenset(texts), frozenset(tools), facts.current)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: the share of calls it ran in, 0 to 1, and its milliseconds at two percentiles."""

    name: str
    share: float
    p50: float
    p95: float
    missing: bool

    @property
    def heat(self) -> str:
        """Return how hot it runs, by its 95th percentile."""
        return next(word for least, word in HEAT if self.p95 >= least) if self.share else "○ never"


@dataclass(frozen=True, slots=True)
class Observed:
    """The window in figures. Series have one count a UTC day, oldest first, the day of asking last.

    `levels` are calls by how loud guidance was, with `held out` apart; `reasons` silent calls by why;
    `left_out` memories of the sample by why; `faults` (code, times, last); `packets` counts by state, and
    uses.
    """

    days: tuple[date, ...]
    calls: int
    levels: Mapping[str, Sequence[int]]
    reasons: Mapping[str, Sequence[int]]
    left_out: Mapping[str, int]
    stages: tuple[Stage, ...]
    sampled: int
    p95_ms: float | None
    faults: tuple[tuple[str, int, datetime], ...]
    packets: Mapping[str, int]

    @property
    def emitted(self) -> int:
        """Return the calls that got a block, a warning or a note."""
        return sum(sum(self.levels[level]) for level in LOUD)

    @property
    def holdout(self) -> int:
        """Return the calls that would have got something and were left out at random."""
        return sum(self.levels[HOLDOUT])

    @property
    def failed(self) -> int:
        """Return the calls in which guidance broke and the run went on without."""
        return sum(self.reasons.get(Why.FAILED, ()))

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the stages that ran in fewer than half of the calls they are for."""
        return tuple(stage.name for stage in self.stages if stage.missing)

    @property
    def summary(self) -> list[tuple[str, object]]:
        """Return the window in a few figures, each with its name."""
        packets = "{ready} ready, {stale} stale, {invalid} invalid".format(**self.packets)
        return [
            ("Calls looked at", self.calls),
            ("Block, warning or note", f"{self.emitted} ({self.emitted / max(1, self.calls):.1%})"),
            ("Held out at random", self.holdout),
            ("Guidance failed, the run went on", f"{self.failed} ({self.failed / max(1, self.calls):.1%})"),
            ("95th percentile", "no data yet" if self.p95_ms is None else f"{self.p95_ms:.0f} ms"),
            ("Packets", packets),
            ("Uses of packets", self.packets["uses"]),
        ]


def guidance_observed(*, now: datetime, days: int = WINDOW_DAYS) -> Observed:
    """Return the figures of the last `days` UTC days up to `now`; five queries for any number of calls.

    Days that are counted (`GuidanceDay`) are taken as counted: only the events of later ones are read.
    """
    window = [now.astimezone(UTC).date() - timedelta(days=back) for back in range(days - 1, -1, -1)]
    counted = list(GuidanceDay.objects.filter(day__gte=window[0], day__lt=window[-1]).order_by("day"))
    since = day_start(counted[-1].day + timedelta(days=1) if counted else window[0])
    rows = [{"day": f"{day.day}"} | row for day in counted for row in day.calls]
    rows += calls_by_day(since=since, until=now)
    errors = [row for day in counted for row in day.errors] + errors_by_day(since=since, until=now)
    silent = [row for row in rows if row["level"] == Level.SILENT and not row["held_out"]]
    reasons = Counter[str]()
    for row in silent:
        reasons[row["why"]] += row["times"]
    events = GuidanceEvent.objects.filter(at__gte=day_start(window[0]), at__lte=now, n__gt=0)
    columns = ("stages", "why", "packet", "candidates", "ms")
    sample = list(events.order_by("-at", "-id").values_list(*columns)[:SAMPLE])
    left_out = Counter(str(one["why"]) for row in sample for one in row[3] or () if one.get("why"))
    return Observed(
        days=tuple(window),
        calls=sum(row["times"] for row in rows),
        levels={name: _series([row for row in rows if _level(row) == name], window) for name in SERIES},
        reasons={
            why: _series([row for row in silent if row["why"] == why], window)
            for why, _ in reasons.most_common()
        },
        left_out=dict(left_out.most_common()),
        stages=stages_of(sample),
        sampled=len(sample),
        p95_ms=percentile([row[4] for row in sample], 0.95),
        faults=_faults(errors),
        packets=_packets(now),
    )


def calls_by_day(*, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the calls of that time: `times` by `day` (ISO), `level`, `why`, `held_out`. One query."""
    rows = _dated(since, until).filter(n__gt=0).values("day", "level", "why", "held_out")
    return list(rows.annotate(times=Count("pk")))


def errors_by_day(*, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return the swallowed errors of that time: `times` and `last` (ISO) by `day` and `code`. One query."""
    rows = _dated(since, until).exclude(error_code="").values("day", "error_code")
    found = rows.annotate(times=Count("pk"), last=Max("at"))
    return [
        {"day": row["day"], "code": row["error_code"], "times": row["times"], "last": row["last"].isoformat()}
        for row in found
    ]


def day_start(day: date) -> datetime:
    """Return the moment at which a UTC day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def stages_due(why: str, packet: str, candidates: object) -> set[str]:
    """Return the stages a call should have gone through: the facts always, ranking where no packet was found,
    the gate where something was left to weigh."""
    if why in EARLY:
        return {FACTS}
    return {FACTS, PACKET} | ({GATE} if candidates else set()) | (set() if packet else {RANK})


def stages_of(sample: Sequence[Sequence[Any]]) -> tuple[Stage, ...]:
    """Return the stages of many calls, slowest first, given as (stages, why, packet, candidates, …)."""
    due, ran, took = Counter[str](), Counter[str](), dict[str, list[float]]()
    for stages, why, packet, candidates, *_ in sample:
        wanted = stages_due(why, packet, candidates)
        due.update(wanted)
        ran.update(wanted & (stages or {}).keys())
        for name, ms in (stages or {}).items():
            took.setdefault(name, []).append(float(ms))
    missing = {name for name in STAGES if ran[name] < MISSING_SHARE * due[name]}
    found = [
        Stage(
            name,
            len(ms) / len(sample),
            percentile(ms, 0.5) or 0.0,
            percentile(ms, 0.95) or 0.0,
            name in missing,
        )
        for name, ms in took.items()
    ]
    absent = [Stage(name, 0.0, 0.0, 0.0, True) for name in STAGES if name in missing and name not in took]
    return tuple(sorted([*found, *absent], key=lambda stage: (-stage.p95, stage.name)))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value at `share` of the ordered `values` (nearest rank), `None` without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def signatures_of(memories: Sequence[Any]) -> dict[int, str]:
    """Return the signatures that `seen_lately` asks for."""
    found = {memory.id: memory.text_sig for memory in memories}
    return found | {-memory.id: "" for memory in memories if memory.target_key}


def _candidate(scored: Scored) -> dict[str, Any]:
    """Return one memory that was weighed: its factors, its level, and why it was left out."""
    factors = {name: round(getattr(scored, name), 3) for name in ("relevance", "quality", "trust", "score")}
    about = {"id": scored.memory.id, "kind": scored.memory.kind.value, "title": scored.memory.title}
    return about | factors | {"level": scored.level.value, "why": scored.why}


def _dated(since: datetime, until: datetime) -> Any:
    # Left(text) instead of TruncDate, which on SQLite is a Python function called for each row.
    events = GuidanceEvent.objects.filter(at__gte=since, at__lte=until).order_by()
    return events.annotate(day=Left(Cast("at", CharField()), 10))


def _level(row: Mapping[str, Any]) -> str:
    return HOLDOUT if row["held_out"] else str(row["level"])


def _series(rows: Sequence[Mapping[str, Any]], window: Sequence[date]) -> list[int]:
    by_day = Counter[str]()
    for row in rows:
        by_day[row["day"]] += row["times"]
    return [by_day[f"{day}"] for day in window]


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
