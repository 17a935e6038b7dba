"""The execution of a run: claimed by one worker at a time, fenced while it writes, always ended.

While it works each step is stored as a row, and what it reads is counted.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Max, QuerySet
from django.utils import translation
from structlog.contextvars import bound_contextvars

from advisor.agent.error_policy import run_end_handle
from advisor.agent.loop import agent_run
from advisor.agent.planner import NAME as PLANNER
from advisor.agent.planner import StatisticalPlanner
from advisor.entities import (
    BY_PLANNER,
    PLANNER_LABEL,
    Limits,
    RunEnd,
    RunTotals,
    StepRecord,
    StopReason,
    ToolContext,
    ToolOutcome,
    json_object_or_empty,
    thumbs_weighed,
)
from advisor.guidance.engine import Guide, guide_for
from advisor.guidance.entities import ReaderFacts
from advisor.guidance.run_context import reader_facts, targets_refused
from advisor.models import Decision, Run, Step
from advisor.prompts import quotes_prompt
from advisor.review.compose import context_with_reviewers
from advisor.review.context import review_totals
from advisor.run.workers import lease_renewal
from advisor.selectors import (
    ATTEMPTS_MAX,
    run_change_found,
    run_cost_usd,
    run_suggestion_ids,
    run_totals,
)
from advisor.tools.registry import dispatch, schemas
from digest.feeds.selectors import models_allowed
from digest.llm.client import chain_configured
from digest.llm.entities import Model, ToolCall, preview
from digest.llm.ledger import advisor_account
from digest.llm.phishing import phishing_problem
from digest.models import Reader
from ranking.common.rows import retention_start, rows_delete
from suggestions.entities import Fence, FenceLost
from suggestions.explain import model_adds, reason_clean
from suggestions.wording import NO_CHANGE

log = structlog.get_logger(__name__)

# A dead worker's run is taken up within a minute: its lease, the reconciler's 15 seconds, and the queue.
# Three heartbeats in a row may come late before that.
LEASE = timedelta(seconds=20)
BEAT_S = 5.0
# The lease of a run that hangs is renewed until this long after its deadline: that is before Celery's hard
# limit (a minute).
LEASE_MARGIN_S = 30
INTERACTIVE = (Run.Trigger.UI, Run.Trigger.MCP)
STATUS_OF = {
    StopReason.DONE: Run.Status.COMPLETED,
    StopReason.DEADLINE: Run.Status.AGENT_TIMEOUT,
    StopReason.BUDGET: Run.Status.BUDGET_EXCEEDED,
}
REASON_CHARS_MAX = 500
# The planner takes a second or two; its time is not the models', which may have used theirs up.
PLANNER_TIMEOUT_S = 15.0
# Ends after which nothing more is tried: another worker has the run, or the fault is ours and must be seen.
NOT_HANDED_OVER = (StopReason.FENCE_LOST, StopReason.DATABASE, StopReason.CRASHED)


def run_owned(run: Run) -> QuerySet[Run]:
    """Return `run` as a query that is empty once it is over or another worker took it over."""
    return Run.objects.filter(pk=run.pk, fence=run.fence, status=Run.Status.RUNNING)


def fence_of(run: Run) -> Fence:
    """Return a check that `run` is still ours, to be made inside the transaction of each of its writes.

    The check is an update, so that it also keeps a reclaim waiting until that transaction is over.
    """

    def fence() -> None:
        if not run_owned(run).update(fence=run.fence):
            raise FenceLost(f"Run {run.pk} is held by another worker or over.")

    return fence


@dataclass(slots=True)
class RunClock:
    """The time during a run: the moment it began plus what a monotonic clock has counted since."""

    started_at: datetime
    clock: Callable[[], float] = time.monotonic
    _zero: float = field(init=False)

    def __post_init__(self) -> None:
        self._zero = self.clock()

    @property
    def now(self) -> datetime:
        """Return the current time."""
        return self.started_at + timedelta(seconds=self.clock() - self._zero)


@dataclass(slots=True)
class StepLog:
    """Stores each step in a transaction of its own, so that a later failure loses nothing."""

    run: Run
    fence: Fence
    clock: RunClock
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.n = Step.objects.filter(run=self.run).aggregate(last=Max("n"))["last"] or 0

    def __call__(self, step: StepRecord) -> None:
        """Store one step. Raises `FenceLost` for a run that was reclaimed."""
        with transaction.atomic():
            self.fence()
            Step.objects.create(run=self.run, n=self.n + 1, at=self.clock.now, **asdict(step))
        self.n += 1


@dataclass(slots=True)
class CountingDispatch:
    """Runs tool calls and counts their results, whatever a model may claim later."""

    context: ToolContext
    items_analyzed: int = 0
    patterns_found: int = 0
    suggestions_generated: int = 0

    def __call__(self, call: ToolCall) -> ToolOutcome:
        """Run one call through the registry."""
        outcome = dispatch(self.context, call)
        if call.name == "write_suggestion":
            self.suggestions_generated += 1
        elif call.name == "query_user_feedback" and not outcome.error_code:
            meta = json_object_or_empty(outcome.content).get("meta", {})
            self.items_analyzed = thumbs_weighed(meta)
            self.patterns_found = meta.get("patterns_found", 0)
        return outcome

    def as_meta(self, suggestions_count: int) -> dict[str, int]:
        """Return the counts as `Run.meta` stores them; `suggestions_count` suggestions passed the rules."""
        return {
            "items_analyzed": self.items_analyzed,
            "patterns_found": self.patterns_found,
            "suggestions_generated": self.suggestions_generated,
            "suggestions_after_validation": suggestions_count,
        }


def run_execute(*, run_id: UUID, now: datetime) -> bool:
    """Claim a queued run and carry it out; `False` when there was none to claim.

    Whatever happens inside, the run ends in a final status with its reason, and what it wrote stays. Only
    where the process dies, `runs_reconcile` ends it.
    """
    run = _claim(run_id, now)
    if run is None:
        return False
    run_clock = RunClock(now)
    dispatcher = CountingDispatch(ToolContext(run.reader_id, run.pk, now, fence_of(run)))
    log.info("advisor_run_started", user_id=str(run.reader_id), run_id=str(run.pk), trigger=run.trigger)
    # Every line that this thread logs meanwhile carries the id of the run.
    named = bound_contextvars(**{"gen_ai.conversation.id": str(run.pk)})
    # Prompts, and what is stored, are in one language, whoever's page waits for them.
    with translation.override(settings.LANGUAGE_CODE), named, _lease(run, run_clock):
        _finish(run, _end_of(run, dispatcher, run_clock), dispatcher, run_clock)
    return True


def run_limits(trigger: str) -> Limits:
    """Return the caps of a run: someone waits for an interactive one, so it gets less time."""
    interactive = trigger in INTERACTIVE
    return Limits(
        turns=settings.ADVISOR_MAX_TURNS,
        tool_calls=settings.ADVISOR_MAX_TOOL_CALLS,
        history_turns=settings.ADVISOR_HISTORY_TURNS,
        timeout_s=settings.ADVISOR_TIMEOUT_S if interactive else settings.ADVISOR_SCHEDULED_TIMEOUT_S,
    )


def models_for(reader: Reader) -> list[Model]:
    """Return the configured chain; empty if the reader turned models off."""
    chain = chain_configured()
    return chain if chain and models_allowed(reader_id=reader.pk) else []


def _claim(run_id: UUID, now: datetime) -> Run | None:
    """Take a queued run by raising its fence: of many workers, the database lets one through."""
    queued = Run.objects.filter(pk=run_id, status=Run.Status.QUEUED, attempt__lt=ATTEMPTS_MAX)
    claimed = queued.update(
        status=Run.Status.RUNNING,
        attempt=F("attempt") + 1,
        fence=F("fence") + 1,
        lease_until=now + LEASE,
        started_at=now,
    )
    return Run.objects.select_related("reader").get(pk=run_id) if claimed else None


def _lease(run: Run, run_clock: RunClock) -> AbstractContextManager[None]:
    """Return a context in which the lease is renewed while the run goes on, as long as it may."""
    return lease_renewal(
        renew=lambda: bool(run_owned(run).update(lease_until=run_clock.now + LEASE)),
        clock=lambda: run_clock.now,
        beat_s=BEAT_S,
        lasting_s=run_limits(run.trigger).timeout_s + LEASE_MARGIN_S,
        failure_event="advisor_beat_failed",
    )


@dataclass(slots=True)
class _Work:
    """A run under way: its tools, its caps, its steps and its guidance."""

    run: Run
    dispatcher: CountingDispatch
    clock: RunClock
    limits: Limits
    steps: StepLog
    guide: Guide | None = None
    models: list[Model] | None = None

    @property
    def is_deferred(self) -> bool:
        """Return whether the day's money did not cover models for this run."""
        return bool(self.run.meta.get("deferred"))

    @property
    def label(self) -> str:
        """Return who finishes the run if the planner does: no news for a reader who has no models."""
        return "" if self.models == [] and not self.is_deferred else PLANNER_LABEL

    def review(self, *, is_free: bool) -> None:
        """Set the reviewers; `is_free`: rules alone, which cost nothing."""
        self.dispatcher.context = context_with_reviewers(
            replace(self.dispatcher.context, review=None),
            self.run,
            interactive=is_free,
            timeout_s=self.limits.timeout_s,
            moment=lambda: self.clock.now,
        )

    def loop(self, models: list[Model], **more: Any) -> RunEnd:
        """Run the loop with these models."""
        return agent_run(
            context=self.dispatcher.context,
            models=models,
            dispatch=self.dispatcher,
            schemas=schemas(),
            ledger=advisor_account(
                reader_id=self.run.reader_id, run_id=self.run.pk, now=self.dispatcher.context.now
            ),
            record=self.steps,
            guide=self.guide,
            **{"limits": self.limits} | more,
        )


def _end_of(run: Run, dispatcher: CountingDispatch, run_clock: RunClock) -> RunEnd:
    """Return how the run ended: by the models, or by the planner if they stored nothing for the reader."""
    work = _Work(
        run, dispatcher, run_clock, run_limits(run.trigger), StepLog(run, dispatcher.context.fence, run_clock)
    )
    end = _safely(lambda: _by_models(work), run)
    if end.totals.model == PLANNER and end.reason is StopReason.DONE:
        return replace(end, finished_by=work.label)
    # A planner that had the run for itself gains nothing by a second one, but it needs no prompt.
    alone = work.models == [] and end.reason is not StopReason.PROMPT_UNUSABLE
    if alone or end.reason in NOT_HANDED_OVER:
        return end
    return _safely(lambda: _by_planner(work, end), run, otherwise=end)


def _safely(act: Callable[[], RunEnd], run: Run, otherwise: RunEnd | None = None) -> RunEnd:
    """Return the end that `act` comes to; a crash is an end like any other, with its message.

    `otherwise` is the end of a run whose second part crashed.
    """
    try:
        return act()
    except FenceLost as error:
        return RunEnd(StopReason.FENCE_LOST, str(error))
    except Exception as error:
        log.exception("advisor_run_crashed", run_id=str(run.pk))
        reason = StopReason.DATABASE if isinstance(error, DatabaseError) else StopReason.CRASHED
        crashed = RunEnd(reason, f"Something broke inside the run: {type(error).__name__}: {error}")
        return otherwise or crashed


def _by_models(work: _Work) -> RunEnd:
    """Run the loop with the models of the chain, and the planner behind them."""
    run = work.run
    work.models = [] if work.is_deferred else models_for(run.reader)
    work.review(is_free=work.is_deferred or run.trigger in INTERACTIVE)
    work.guide = guide_for(run=run, context=work.dispatcher.context, moment=lambda: work.clock.now)
    facts = _facts_of(work)
    used = RunTotals(**run_totals(run_id=run.pk) | {"model": ""})
    return work.loop([*work.models, StatisticalPlanner(facts)], used=used)


def _facts_of(work: _Work) -> ReaderFacts:
    if work.guide:
        return work.guide.reader_facts()
    return reader_facts(reader_id=work.run.reader_id, now=work.clock.now)


def _by_planner(work: _Work, end: RunEnd) -> RunEnd:
    """Hand a run that stored nothing for its reader to the planner; return its end, whose reason stays.

    The planner proposes nothing about a target that was refused in this run. Rules review it: it costs
    nothing, and what broke the models' run may break their reviews.
    """
    run = work.run
    if run_suggestion_ids(run_id=run.pk):
        # The planner may have taken over within the models' time, and stored before that was up.
        return replace(end, finished_by=work.label) if end.totals.model == PLANNER else end
    work.review(is_free=True)
    known = reader_facts(reader_id=run.reader_id, now=work.clock.now)
    facts = replace(known, refused=targets_refused(run_id=run.pk))
    limits = replace(work.limits, timeout_s=PLANNER_TIMEOUT_S)
    finished = work.loop([StatisticalPlanner(facts)], limits=limits, prompt=None)
    if finished.reason is StopReason.FENCE_LOST:
        return finished
    if finished.reason is not StopReason.DONE:
        return end
    end = replace(end, finished_by=work.label)
    if run_suggestion_ids(run_id=run.pk):
        return replace(end, summary=finished.summary)
    silence = str((finished.summary or {}).get("reason", ""))
    return replace(end, summary=end.summary or finished.summary, silence=silence)


def _finish(run: Run, end: RunEnd, dispatcher: CountingDispatch, run_clock: RunClock) -> None:
    """Store how the run ended; for one that another worker took over store only a decision."""
    suggestions_count = len(run_suggestion_ids(run_id=run.pk))
    found = "" if suggestions_count else run_change_found(run_id=run.pk)
    status = STATUS_OF.get(end.reason, Run.Status.AGENT_ERROR)
    if suggestions_count and end.finished_by:
        status = Run.Status.COMPLETED
    cost, totals = run_cost_usd(run_id=run.pk), run_totals(run_id=run.pk)
    ended = run_owned(run).update(
        status=status,
        stop_reason=end.reason,
        message=_message(end, suggestions_count, found=found, model=str(totals["model"])),
        cost_usd=cost,
        **totals,
        meta=_meta(run, end, dispatcher.as_meta(suggestions_count)),
        summary=end.summary,
        lease_until=None,
        finished_at=run_clock.now,
    )
    if not ended:
        decision_add(run=run, action="run_lost", reason=end.message, now=run_clock.now)
        return
    if status == Run.Status.AGENT_ERROR:
        decision_add(run=run, action="run_failed", reason=end.message, now=run_clock.now, code=end.reason)
    elif end.finished_by and not run.meta.get("deferred"):
        decision_add(
            run=run, action="run_handed_over", reason=end.message, now=run_clock.now, code=end.reason
        )
    run_end_handle(run=run, end=end, now=run_clock.now, is_retry_wanted=status != Run.Status.COMPLETED)
    log.info(
        "advisor_run_completed",
        user_id=str(run.reader_id),
        run_id=str(run.pk),
        status=status,
        suggestions_count=suggestions_count,
        cost_usd=cost,
        **totals,
    )


def _meta(run: Run, end: RunEnd, counts: dict[str, int]) -> dict[str, Any]:
    """Return what `Run.meta` keeps of a run: its counts, its reviews, and whether the planner made it."""
    meta: dict[str, Any] = {**counts, "review": review_totals(run_id=run.pk)}
    if run.meta.get("deferred"):
        meta["deferred"] = True
    if end.finished_by:
        meta["finished_by"] = end.finished_by
    return meta


def _message(end: RunEnd, suggestions_count: int, *, found: str, model: str) -> str:
    """Return why the run ended, fit for storing; if it made no suggestions, what it `found` and its reason.

    A model's reason is marked as its own. It is left out unless a reader may see it; the step keeps it.
    """
    if suggestions_count and end.finished_by:
        return BY_PLANNER
    if suggestions_count or end.reason is not StopReason.DONE:
        return preview(f"{found} {end.message}".strip())
    given = (end.summary or {}).get("reason")
    reason = given.strip()[:REASON_CHARS_MAX] if isinstance(given, str) else ""
    if model == PLANNER and not end.silence:
        return preview(found or reason or end.message)
    if not reason or reason == end.silence or quotes_prompt(reason):
        return preview(found or end.silence or end.message)
    words = found or end.silence or NO_CHANGE
    return words if phishing_problem(reason) else f"{words} {model_adds(reason_clean(reason))}"


def decision_add(*, run: Run, action: str, reason: str, now: datetime, **data: Any) -> None:
    """Store a decision about a run; `reason` may contain anything a provider answered."""
    Decision.objects.create(
        run=run,
        reader_id=run.reader_id,
        actor="runs",
        action=action,
        reason=preview(reason),
        data=data,
        at=now,
    )


def traces_prune(*, now: datetime) -> int:
    """Delete steps of runs and decisions older than `traces` in `KEEP_DAYS`; return how many.

    Runs, votes, judgments, suggestions and outcomes stay: the autonomy report and the profiles use them.
    """
    since = retention_start("traces", now)
    if since is None:
        return 0
    return sum(rows_delete(rows.all(), at="at", before=since) for rows in (Step.objects, Decision.objects))
