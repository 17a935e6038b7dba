"""Queries about runs: a reader's own, the progress of one, and which readers have enough feedback for one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from advisor.conversation import WRITE_TOOL, json_object_or_empty, refusal_code
from advisor.feedback_needed import FeedbackLimits, feedback_suffices, missing_message
from advisor.models import (
    Decision,
    GuidanceEvent,
    Heartbeat,
    Judgment,
    Memory,
    PanelVote,
    Run,
    Step,
    Tip,
)
from advisor.run_values import RUN_MONEY_SPENT, STOP_SENTENCES, StopReason
from digest.days import day_of
from digest.entities import FeedbackCounts
from digest.llm.ledger import REFUSALS
from digest.llm.phishing import phishing_problem
from digest.models import Feedback, Reader, Spend
from ranking.common.clocks import SKEW
from ranking.common.rows import export_rows
from ranking.common.text import topic_key
from suggestions.models import Suggestion
from suggestions.sentences import change_found_split, change_stopped
from suggestions.wording import CHANGE_IN_REVIEW

# The tools that judge a change before it is stored, or store it.
DRAFT_TOOLS = ("test_suggestion", "self_critique", "compare_configs", WRITE_TOOL)
ACTIVE_STATUSES = (Run.Status.QUEUED, Run.Status.RUNNING)
# Runs of the loop. A manual session is a run too, but blocks no other run.
LOOP_RUNS = Run.objects.exclude(trigger=Run.Trigger.MCP)
# How often a run is begun: once more than it was lost with its worker.
ATTEMPTS_MAX = 2
PROGRESS_STEPS = 20
HEARTBEAT_FRESH_S = 15
WEEK_DAYS = 7
JOB_PREFIX = "job:"
# The heartbeat of the last backup. `manage.py backup` writes it.
BACKUP_JOB = f"{JOB_PREFIX}backup"
# The loop's error code of a call that a cap prevented.
NOT_EXECUTED = "not_executed"
NO_FEEDBACK = FeedbackCounts(0, 0, 0, None, None)


def feedback_missing(*, reader_id: UUID) -> str:
    """Return the feedback that the reader still lacks for a run, in sentences; "" for none. One query."""
    return feedback_missing_many(reader_ids=[reader_id])[reader_id]


def feedback_missing_many(*, reader_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return `feedback_missing` of many readers, those without any rating too: one query."""
    ids = list(reader_ids)
    rows = (
        Feedback.objects.filter(reader_id__in=ids)
        .order_by()
        .values_list("reader_id")
        .annotate(
            total=Count("pk"),
            tagged=Count("pk", filter=Q(has_reason=True)),
            days=Max("day") - Min("day") + 1,
            first_at=Min("at"),
            last_at=Max("at"),
        )
    )
    counts = {reader_id: FeedbackCounts(*row) for reader_id, *row in rows}
    limits = _limits()
    return {rid: missing_message(counts.get(rid, NO_FEEDBACK), limits) for rid in ids}


def feedback_is_thin(*, reader_id: UUID) -> bool:
    """Return whether the reader gave a thumb, but too few for a run; one query, however many they gave."""
    limits = _limits()
    # Counting stops at a sufficient number.
    some = Feedback.objects.filter(reader_id=reader_id).order_by()[: limits.alone]
    row = some.aggregate(
        total=Count("pk"), tagged=Count("pk", filter=Q(has_reason=True)), first=Min("day"), last=Max("day")
    )
    if not row["total"]:
        return False
    counts = FeedbackCounts(row["total"], row["tagged"], row["last"] - row["first"] + 1, None, None)
    return not feedback_suffices(counts, limits)


def _limits() -> FeedbackLimits:
    return FeedbackLimits(settings.ADVISOR_MIN_ITEMS, settings.ADVISOR_MIN_DAYS, settings.ADVISOR_MIN_TAGGED)


def run_for(reader_id: UUID, run_id: UUID) -> Run | None:
    """Return the run, if it is this reader's."""
    return Run.objects.filter(pk=run_id, reader_id=reader_id).first()


def run_active(*, reader_id: UUID) -> Run | None:
    """Return the run that is queued or running for this reader."""
    return LOOP_RUNS.filter(reader_id=reader_id, status__in=ACTIVE_STATUSES).first()


def run_last(*, reader_id: UUID) -> Run | None:
    """Return the reader's latest run, successful or not."""
    return LOOP_RUNS.filter(reader_id=reader_id).order_by("-created_at").first()


def run_suggestion_ids(*, run_id: UUID) -> list[int]:
    """Return the suggestions a run wrote that the reader may see, oldest first."""
    rows = Suggestion.objects.filter(run_id=run_id).exclude(status__in=Suggestion.UNSEEN)
    return list(rows.order_by("pk").values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class NamesTried:
    """The other names that a run has tried for a topic, and the number of topics it has tried names for.

    The topic in question is one of these.
    """

    names: tuple[str, ...]
    topics: int


def names_tried(*, run_id: UUID, topic: str) -> NamesTried:
    """Return what a run has tried so far of `topic` ("": none) and others with other names; one query."""
    calls = Step.objects.filter(run_id=run_id, kind=Step.Kind.TOOL, tool__in=DRAFT_TOOLS)
    key = topic_key(topic)
    found, names = {key} if key else set(), dict[str, None]()
    for arguments in calls.values_list("arguments", flat=True):
        given = arguments if isinstance(arguments, dict) else {}
        for draft in (given, *(given.get("drafts") or ()), *(given.get("changes") or ())):
            if isinstance(draft, dict) and draft.get("other_names") and isinstance(draft.get("target"), str):
                found.add(topic_key(draft["target"]))
                if topic_key(draft["target"]) == key and isinstance(draft["other_names"], list):
                    names |= dict.fromkeys(one for one in draft["other_names"] if isinstance(one, str))
    return NamesTried(tuple(names), len(found))


def mcp_suggestions_count(*, reader_id: UUID, since: datetime) -> int:
    """Count the suggestions that MCP sessions begun since then wrote for the reader, drafts included."""
    runs = Run.objects.filter(reader_id=reader_id, trigger=Run.Trigger.MCP, created_at__gt=since)
    return Suggestion.objects.filter(reader_id=reader_id, run_id__in=runs.values("pk")).count()


def mcp_calls_count(*, reader_id: UUID, since: datetime) -> int:
    """Count the calls of the reader's MCP sessions since then, refused ones included."""
    runs = Run.objects.filter(reader_id=reader_id, trigger=Run.Trigger.MCP)
    return Step.objects.filter(run__in=runs.values("pk"), at__gt=since).count()


def run_suggestions_count(*, run_id: UUID) -> int:
    """Count the suggestions a run made that the reader may see: one that came back as a copy counts once."""
    rows = Suggestion.objects.filter(run_id=run_id).exclude(status__in=Suggestion.UNSEEN)
    return rows.values("field", "target_key").distinct().count()


def run_cost_usd(*, run_id: UUID) -> float:
    """Return the run's cost: settled calls, and the worst case of open ones."""
    rows = Spend.objects.filter(run_id=run_id)
    total = rows.aggregate(
        settled=Sum("settled_usd"), reserved=Sum("reserved_usd", filter=Q(settled_usd__isnull=True))
    )
    return float((total["settled"] or 0) + (total["reserved"] or 0))


def run_totals(*, run_id: UUID) -> dict[str, Any]:
    """Return the sums over the steps of a run so far, all its attempts: columns of `Run`."""
    answered = Q(kind=Step.Kind.MODEL, error_code="")
    steps = Step.objects.filter(run_id=run_id)
    totals = steps.aggregate(
        turns=Count("pk", filter=answered),
        tool_calls=Count("pk", filter=Q(kind=Step.Kind.TOOL) & ~Q(error_code=NOT_EXECUTED)),
        input_tokens=Coalesce(Sum("input_tokens"), 0),
        output_tokens=Coalesce(Sum("output_tokens"), 0),
    )
    model = steps.filter(answered).order_by("-n").values_list("model", flat=True).first()
    return totals | {"model": model or ""}


def run_reason(run: Run) -> str:
    """Return why a run ended, for its reader: our sentence about its result, if any, and the rest.

    Others' words are left out if they contain links or requests to the reader. A cap is named plainly.
    """
    found, rest = change_found_split(run.message)
    if run.status == Run.Status.COMPLETED:
        return found if phishing_problem(rest) else run.message
    stopped = STOP_SENTENCES.get(run.stop_reason, "")
    if run.stop_reason == StopReason.BUDGET and run.message.endswith(REFUSALS["run"][1]):
        stopped = RUN_MONEY_SPENT
    return f"{found} {stopped}".strip() if stopped else run.message


def run_change_found(*, run_id: UUID) -> str:
    """Return why the reader sees none of a run's changes: one is held, or the last refusal.

    In English, to be stored, or "" if the run tried to write nothing. At most two queries.
    """
    if Suggestion.objects.filter(run_id=run_id, status=Suggestion.Status.DRAFT).exists():
        return CHANGE_IN_REVIEW
    writes = Step.objects.filter(run_id=run_id, kind=Step.Kind.TOOL, tool=WRITE_TOOL)
    refused = writes.exclude(error_code__in=("", NOT_EXECUTED)).order_by("-n")
    last = refused.values_list("error_code", "result").first()
    return change_stopped(refusal_code(json_object_or_empty(last[1])) or last[0]) if last else ""


def run_progress(run: Run) -> dict[str, Any]:
    """Return the progress of a run: counts, suggestions written, last steps."""
    totals = run_totals(run_id=run.pk)
    steps = Step.objects.filter(run=run).order_by("-n")[:PROGRESS_STEPS]
    suggestion_ids = run_suggestion_ids(run_id=run.pk)
    return {
        "run_id": str(run.pk),
        "status": run.status,
        "turns": totals["turns"],
        "tool_calls": totals["tool_calls"],
        "suggestions_created": len(suggestion_ids),
        "suggestion_ids": suggestion_ids,
        "reason": run_reason(run),
        "model": totals["model"],
        "finished_by": run.meta.get("finished_by", ""),
        "steps": [_step(step) for step in reversed(steps)],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "n": step.n,
        "kind": step.kind,
        "name": step.tool or step.model,
        "error": step.error_code,
        "ms": step.ms,
    }


def worker_alive(*, now: datetime) -> bool:
    """Return whether an embedded worker sent a heartbeat within the last 15 seconds, by a right clock."""
    since = now - timedelta(seconds=HEARTBEAT_FRESH_S)
    return (
        Heartbeat.objects.filter(at__gte=since, at__lte=now + SKEW)
        .exclude(worker__startswith=JOB_PREFIX)
        .exists()
    )


def runs_of_day(*, reader_id: UUID, day: date) -> list[Run]:
    """Return the reader's runs of one of the reader's days, newest first."""
    return list(LOOP_RUNS.filter(reader_id=reader_id, day=day))


def runs_of_week(*, now: datetime) -> QuerySet[Run]:
    """Return all readers' completed runs of the last seven days, and of one more for zones that differ.

    Runs of later days do not count: the clock was wrong.
    """
    today = now.astimezone(UTC).date()
    since, until = today - timedelta(days=WEEK_DAYS + 1), today + timedelta(days=1)
    return LOOP_RUNS.filter(status=Run.Status.COMPLETED, day__gte=since, day__lte=until)


def readers_of_week(*, readers: Iterable[Reader], now: datetime) -> set[UUID]:
    """Return the `readers` with a completed run in the last seven dates of their zone. One query.

    It compares dates, not hours, so that a run that starts earlier in the night than last week's is not a day
    late.
    """
    wanted = {reader.pk: reader for reader in readers}
    rows = runs_of_week(now=now).order_by()
    if len(wanted) == 1:
        rows = rows.filter(reader_id__in=wanted)
    latest = rows.values_list("reader_id").annotate(day=Max("day"))
    return {
        reader_id
        for reader_id, day in latest
        if reader_id in wanted and day > day_of(now, wanted[reader_id].zone) - timedelta(days=WEEK_DAYS)
    }


def readers_possibly_blocked(*, now: datetime) -> set[UUID]:
    """Return readers for whom something other than their feedback may prevent a run: two queries.

    That is a run that is active or was completed this week, or a suggestion that is pending, snoozed or at
    most two days old. The result may have too many readers, never too few, on any day of theirs.
    """
    return _readers_with(runs_of_week(now=now) | LOOP_RUNS.filter(status__in=ACTIVE_STATUSES), now)


def readers_possibly_tried(*, now: datetime) -> set[UUID]:
    """Return readers for whom something of today may prevent a due run (`readers_due`): two queries.

    That is a run of today, or an active one, or a suggestion as in `readers_possibly_blocked`. Again the
    result may have too many readers.
    """
    yesterday = now.astimezone(UTC).date() - timedelta(days=1)
    return _readers_with(LOOP_RUNS.filter(Q(day__gte=yesterday) | Q(status__in=ACTIVE_STATUSES)), now)


def _readers_with(runs: QuerySet[Run], now: datetime) -> set[UUID]:
    """Return the readers of the runs, and of suggestions that wait or are at most two days old."""
    waiting = Q(status__in=[Suggestion.Status.PENDING, Suggestion.Status.SNOOZED])
    recent = Q(created_at__gt=now - timedelta(days=2))
    suggestions = Suggestion.objects.filter(waiting | recent)
    found = (rows.order_by().values_list("reader_id", flat=True).distinct() for rows in (runs, suggestions))
    return {reader_id for rows in found for reader_id in rows}


def readers_due(*, now: datetime) -> list[Reader]:
    """Return the readers due for a scheduled run: four queries.

    They have enough feedback, no run this week or under way, no suggestion that waits for an answer, and
    have not switched suggestions off.
    """
    willing = Reader.objects.filter(is_active=True, suggestions_enabled=True)
    active = LOOP_RUNS.filter(status__in=ACTIVE_STATUSES).values("reader_id")
    # An expired snooze counts as pending before the sweep runs.
    awake = Q(status=Suggestion.Status.SNOOZED, snoozed_until__lte=now)
    waiting = Suggestion.objects.filter(Q(status=Suggestion.Status.PENDING) | awake).values("reader_id")
    free = list(willing.exclude(pk__in=active).exclude(pk__in=waiting).order_by("date_joined", "pk"))
    done = readers_of_week(readers=free, now=now)
    readers = [reader for reader in free if reader.pk not in done]
    missing = feedback_missing_many(reader_ids=[reader.pk for reader in readers])
    return [reader for reader in readers if not missing[reader.pk]]


# Columns by which workers exclude each other: nothing about the reader.
_LEASE_COLUMNS = ("fence", "lease_until")


def reader_export_advisor(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """Yield (name, rows) of the reader's runs with steps, votes, judgments and decisions, and of guidance:
    the reader's own memories, its events and tips."""
    yield "runs", export_rows(Run.objects.filter(reader_id=reader_id), without=_LEASE_COLUMNS)
    yield "steps", export_rows(Step.objects.filter(run__reader_id=reader_id))
    yield "votes", export_rows(PanelVote.objects.filter(run__reader_id=reader_id))
    yield "judgments", export_rows(Judgment.objects.filter(run__reader_id=reader_id))
    yield "decisions", export_rows(Decision.objects.filter(reader_id=reader_id))
    yield "memories", export_rows(Memory.objects.filter(reader_id=reader_id))
    yield "guidance", export_rows(GuidanceEvent.objects.filter(reader_id=reader_id))
    yield "tips", export_rows(Tip.objects.filter(reader_id=reader_id))
