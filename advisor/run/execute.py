"""The execution of a run: claimed by one worker at a time, fenced while it writes, always ended.

The agent's loop yields steps; `_drive` stores each, answers its tool calls with guidance beside them, and has
proposals reviewed. If the models store nothing for the reader, the planner gets the run (`_is_handed_over`).
A suggestion is stored by the tool `write_suggestion` (`advisor/tools/drafts.py`, `suggestions/services`).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import close_old_connections
from django.utils import translation
from structlog.contextvars import bound_contextvars

from advisor.agent.error_policy import KIND_OF_STOP, error_kind_handle, run_end_handle
from advisor.agent.loop import (
    Ended,
    ModelAnswered,
    RunBudget,
    Steps,
    ToolAnswered,
    ToolCalled,
    agent_run,
)
from advisor.agent.planner import StatisticalPlanner
from advisor.guidance.engine import guide_for
from advisor.guidance.run_context import reader_facts, targets_refused
from advisor.models import Decision, Run, Step
from advisor.prompts import PromptUnusable, opening_messages, prompt_load, quotes_prompt
from advisor.review.compose import context_with_reviewers
from advisor.review.context import review_totals
from advisor.run.calls import RunCalls
from advisor.run.ownership import RunClock, StepLog, fence_of, run_owned
from advisor.run.workers import lease_renewal
from advisor.run_values import (
    ASKED_BY,
    BY_PLANNER,
    DEFERRED,
    PLANNER_LABEL,
    PLANNER_MODEL,
    Limits,
    RunEnd,
    RunTotals,
    StopReason,
    ToolContext,
)
from advisor.selectors import (
    ATTEMPTS_MAX,
    run_change_found,
    run_cost_usd,
    run_suggestion_ids,
    run_totals,
    worker_alive,
)
from advisor.tools.registry import schemas
from digest.feeds.selectors import models_allowed
from digest.llm.client import chain_configured
from digest.llm.entities import DeadlineExceeded, Message, Model, ModelUnavailable, preview
from digest.llm.ledger import advisor_account
from digest.llm.phishing import phishing_problem
from digest.llm.providers import chain_begins_with_own
from digest.models import Reader
from ranking.common.isolation import isolate
from ranking.common.rows import retention_start, rows_delete
from suggestions.proposals import FenceLost
from suggestions.sentences import model_adds, reason_clean
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
# Errors of a model's step after which its server is not asked for reviews either.
PROVIDER_FAILED = (ModelUnavailable.code, DeadlineExceeded.code)
# Ends after which nothing more is tried: another worker has the run, or the fault is ours and must be seen.
NOT_HANDED_OVER = (StopReason.FENCE_LOST, StopReason.DATABASE, StopReason.CRASHED)


def run_execute(*, run_id: UUID, now: datetime) -> bool:
    """Claim a queued run and carry it out. Return `False` if there was none to claim.

    The run ends in a final status with its reason, and its writes stay, whatever breaks on the way. If the
    process dies, or the database fails again while that end is stored, `runs_reconcile` ends it.
    """
    run = _claim(run_id, now)
    if run is None:
        return False
    run_clock = RunClock(now)
    end: RunEnd | None = None
    log.info("advisor_run_started", user_id=str(run.reader_id), run_id=str(run.pk), trigger=run.trigger)
    # Every line that this thread logs meanwhile carries the id of the run.
    named = bound_contextvars(**{"gen_ai.conversation.id": str(run.pk)})
    # Prompts and stored texts are in one language, independent of the waiting page's.
    with translation.override(settings.LANGUAGE_CODE), named:
        try:
            limits = run_limits(run.trigger, is_queued=is_queued_for_own_model(now=now))
            with _lease(run, run_clock, limits):
                work = _work_of(run, limits, run_clock)
                end = _drive(work, _models_part)
                if _is_handed_over(work, end):
                    end = _merge(work, end, _drive(work, _planner_part))
                _finish(work, end)
        except Exception as error:
            _fail(run, _crash(run, error), end, now=run_clock.now)
    return True


def run_limits(trigger: str, *, is_queued: bool = False) -> Limits:
    """Return the caps of a run. Somebody waits for an interactive one, so it gets less time.

    If it is `is_queued`, a worker has it and the page polls, so no request waits for it.
    """
    hurries = trigger in INTERACTIVE and not is_queued
    return Limits(
        turns=settings.ADVISOR_MAX_TURNS,
        tool_calls=settings.ADVISOR_MAX_TOOL_CALLS,
        history_turns=settings.ADVISOR_HISTORY_TURNS,
        timeout_s=settings.ADVISOR_TIMEOUT_S if hurries else settings.ADVISOR_SCHEDULED_TIMEOUT_S,
    )


def is_queued_for_own_model(*, now: datetime) -> bool:
    """Return whether the first model is one of the operator's own and a worker carries runs out.

    Without a graphics card such a model needs minutes, which no page may hang for.
    """
    try:
        is_own = chain_begins_with_own()
    except ValueError:  # a wrong chain, which the run itself ends with
        return False
    return is_own and (bool(settings.REDIS_URL) or worker_alive(now=now))


def models_for(reader: Reader) -> list[Model]:
    """Return the configured chain; empty if the reader turned models off."""
    chain = chain_configured()
    return chain if chain and models_allowed(reader_id=reader.pk) else []


def _claim(run_id: UUID, now: datetime) -> Run | None:
    """Take a queued run by raising its fence: of many workers, the database lets one through.

    The claim is the last statement, so a run whose claim fails is still queued.
    """
    queued = Run.objects.filter(pk=run_id, status=Run.Status.QUEUED, attempt__lt=ATTEMPTS_MAX)
    run = queued.select_related("reader").first()
    if run is None:
        return None
    claim = {
        "status": Run.Status.RUNNING,
        "attempt": run.attempt + 1,
        "fence": run.fence + 1,
        "lease_until": now + LEASE,
        "started_at": now,
    }
    if not queued.filter(fence=run.fence).update(**claim):
        return None
    for column, value in claim.items():
        setattr(run, column, value)
    return run


def _lease(run: Run, run_clock: RunClock, limits: Limits) -> AbstractContextManager[None]:
    """Return a context in which the lease is renewed while the run goes on, as long as it may."""
    return lease_renewal(
        renew=lambda: bool(run_owned(run).update(lease_until=run_clock.now + LEASE)),
        clock=run_clock.read,
        beat_s=BEAT_S,
        lasting_s=limits.timeout_s + LEASE_MARGIN_S,
        failure_event="advisor_beat_failed",
    )


@dataclass(slots=True)
class _Work:
    """A run under way: its caps, its clock, its stored steps and its tool calls.

    `models` are those that it may ask, `None` before that is known. `label` is the planner's name when it
    finishes the run in a model's place. It is "" for a reader without models, for whom nobody was replaced.
    """

    run: Run
    limits: Limits
    clock: RunClock
    steps: StepLog
    calls: RunCalls
    models: list[Model] | None = None
    has_dead_provider: bool = False

    @property
    def is_deferred(self) -> bool:
        """Return whether the day's money did not cover models for this run."""
        return bool(self.run.meta.get(DEFERRED))

    @property
    def label(self) -> str:
        """Return the label of a run that the planner finishes."""
        return "" if self.models == [] and not self.is_deferred else PLANNER_LABEL

    def review(self, *, is_free: bool) -> None:
        """Set the reviewers; `is_free`: rules alone, which cost nothing."""
        self.calls.context = context_with_reviewers(
            self.calls.context,
            self.run,
            interactive=is_free,
            timeout_s=self.limits.timeout_s,
            moment=self.clock.read,
        )

    def budget(self, totals: RunTotals, timeout_s: float) -> RunBudget:
        """Return the run's caps with their use so far, and the account that pays for its calls."""
        now = self.calls.context.now
        ledger = advisor_account(reader_id=self.run.reader_id, run_id=self.run.pk, now=now)
        return RunBudget(replace(self.limits, timeout_s=timeout_s), ledger, totals)


def _work_of(run: Run, limits: Limits, clock: RunClock) -> _Work:
    fence = fence_of(run)
    calls = RunCalls(ToolContext(run.reader_id, run.pk, clock.started_at, fence))
    return _Work(run, limits, clock, StepLog(run, fence, clock), calls)


def _drive(work: _Work, part: Callable[[_Work], Steps]) -> RunEnd:
    """Carry out one part of a run: store its steps, answer its tool calls, return its end.

    A crash is an end like any other, with its message.
    """
    try:
        steps, outcome = part(work), None
        while True:
            match steps.send(outcome):
                case ToolCalled(call=call):
                    outcome = work.calls.answer(call)
                case Ended(end=end):
                    return end
                case ModelAnswered(step=step) | ToolAnswered(step=step):
                    work.has_dead_provider |= step.error_code in PROVIDER_FAILED
                    if step.model == PLANNER_MODEL and work.has_dead_provider:
                        # The chain failed. Reviewers that ask its server would use up the time left.
                        work.review(is_free=True)
                    work.steps.add(step)
                    outcome = None
    except PromptUnusable as error:
        return RunEnd(StopReason.PROMPT_UNUSABLE, str(error))
    except FenceLost as error:
        return RunEnd(StopReason.FENCE_LOST, f"Another worker took this run over. {error}")
    except Exception as error:
        return _crash(work.run, error)


def _crash(run: Run, error: Exception) -> RunEnd:
    """Log an error of ours and return it as the end of the run; replace a connection that it broke."""
    log.exception("advisor_run_crashed", run_id=str(run.pk))
    is_database = isinstance(error, DatabaseFailure)
    if is_database:
        close_old_connections()
    reason = StopReason.DATABASE if is_database else StopReason.CRASHED
    return RunEnd(reason, f"Something broke inside the run: {type(error).__name__}: {error}")


def _models_part(work: _Work) -> Steps:
    """Return the steps of the chain's models, with the planner behind them.

    Raises `PromptUnusable`.
    """
    run = work.run
    work.models = [] if work.is_deferred else models_for(run.reader)
    work.calls.context = replace(work.calls.context, reads_closely=bool(work.models))
    work.review(is_free=work.is_deferred or run.trigger in INTERACTIVE)
    guide = work.calls.guide = guide_for(run=run, context=work.calls.context, moment=work.clock.read)
    if guide:
        guide.is_read = bool(work.models)
    facts = guide.reader_facts() if guide else reader_facts(reader_id=run.reader_id, now=work.clock.now)
    opening = opening_messages(prompt_load(), work.calls.context, guidance=guide.start() if guide else "")
    used = RunTotals(**run_totals(run_id=run.pk) | {"model": ""}) if run.is_resumed else RunTotals()
    return agent_run(
        opening=opening,
        models=[*work.models, StatisticalPlanner(facts)],
        schemas=schemas(),
        budget=work.budget(used, work.limits.timeout_s),
    )


def _planner_part(work: _Work) -> Steps:
    """Return the steps of the planner alone, after the models stored nothing for the reader.

    It proposes nothing about a target that was refused in this run, and reads no prompt. Rules review it,
    because they cost nothing and the failure of the models' run may affect their reviews, too.
    """
    run = work.run
    work.calls.context = replace(work.calls.context, reads_closely=False)
    work.review(is_free=True)
    known = reader_facts(reader_id=run.reader_id, now=work.clock.now)
    facts = replace(known, refused=targets_refused(run_id=run.pk))
    opening: list[Message] = [{"role": "user", "content": ""}]
    budget = work.budget(RunTotals(), PLANNER_TIMEOUT_S)
    planner = [StatisticalPlanner(facts)]
    return agent_run(opening=opening, models=planner, schemas=schemas(), budget=budget)


def _is_handed_over(work: _Work, end: RunEnd) -> bool:
    """Return whether the planner takes the run over from the models, which stored nothing for the reader."""
    # A planner that had the run for itself gains nothing by a second one, but it needs no prompt.
    alone = work.models == [] and end.reason is not StopReason.PROMPT_UNUSABLE
    done = end.totals.model == PLANNER_MODEL and end.reason is StopReason.DONE
    if alone or done or end.reason in NOT_HANDED_OVER:
        return False
    return not run_suggestion_ids(run_id=work.run.pk)


def _merge(work: _Work, end: RunEnd, finished: RunEnd) -> RunEnd:
    """Return the end of a run that was handed over: the models' reason with the planner's result."""
    if finished.reason is StopReason.FENCE_LOST:
        return finished
    if finished.reason is not StopReason.DONE:
        return end
    end = replace(end, finished_by=work.label)
    if run_suggestion_ids(run_id=work.run.pk):
        return replace(end, summary=finished.summary)
    silence = str((finished.summary or {}).get("reason", ""))
    return replace(end, summary=end.summary or finished.summary, silence=silence)


def _finish(work: _Work, end: RunEnd) -> None:
    """Store how the run ended; for one that another worker took over store only a decision."""
    run = work.run
    if end.totals.model == PLANNER_MODEL and not end.finished_by:
        # The planner took over within the models' own conversation.
        end = replace(end, finished_by=work.label)
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
        meta=_meta(run, end, work.calls.as_meta(suggestions_count)),
        summary=end.summary,
        lease_until=None,
        finished_at=work.clock.now,
    )
    if not ended:
        decision_add(run=run, action="run_lost", reason=end.message, now=work.clock.now)
        return
    if status == Run.Status.AGENT_ERROR:
        decision_add(run=run, action="run_failed", reason=end.message, now=work.clock.now, code=end.reason)
    elif end.finished_by and not run.meta.get(DEFERRED):
        decision_add(
            run=run, action="run_handed_over", reason=end.message, now=work.clock.now, code=end.reason
        )
    run_end_handle(run=run, end=end, now=work.clock.now, is_retry_wanted=status != Run.Status.COMPLETED)
    log.info(
        "advisor_run_completed",
        user_id=str(run.reader_id),
        run_id=str(run.pk),
        status=status,
        suggestions_count=suggestions_count,
        cost_usd=cost,
        **totals,
    )


def _fail(run: Run, crash: RunEnd, end: RunEnd | None, *, now: datetime) -> None:
    """Store the end of a run that broke outside its conversation, before or after this had its own `end`.

    The reason is stored before the figures, because these may be what broke. A conversation that had failed
    keeps its reason, and the error policy reacts to both failures.
    """
    why = crash
    if end and end.reason is not StopReason.DONE:
        why = replace(end, message=f"{end.message} {crash.message}")
    ended = run_owned(run).update(
        status=STATUS_OF.get(why.reason, Run.Status.AGENT_ERROR),
        stop_reason=why.reason,
        message=preview(why.message),
        summary=end.summary if end else None,
        lease_until=None,
        finished_at=now,
    )
    if ended:
        decision_add(run=run, action="run_failed", reason=why.message, now=now, code=why.reason)
    run_end_handle(run=run, end=end or crash, now=now)
    if end:
        kind = KIND_OF_STOP[crash.reason]
        error_kind_handle(kind=kind, where="run", reason=crash.message, now=now, run=run)
    with isolate("run", run.pk, "advisor_run_uncounted", counted=False):
        figures = {"cost_usd": run_cost_usd(run_id=run.pk)} | run_totals(run_id=run.pk)
        Run.objects.filter(pk=run.pk, fence=run.fence).update(**figures)


def _meta(run: Run, end: RunEnd, counts: dict[str, Any]) -> dict[str, Any]:
    """Return a run's `meta`: its counts, its request, its reviews, and whether the planner finished it."""
    requested = {key: run.meta[key] for key in (DEFERRED, ASKED_BY) if key in run.meta}
    meta: dict[str, Any] = {**counts, **requested, "review": review_totals(run_id=run.pk)}
    if end.finished_by:
        meta["finished_by"] = end.finished_by
    return meta


def _message(end: RunEnd, suggestions_count: int, *, found: str, model: str) -> str:
    """Return why the run ended, safe to store. Without suggestions it begins with the `found` change and its
    reason.

    A model's reason is marked as its own. It is left out unless a reader may see it; the step keeps it.
    """
    if suggestions_count and end.finished_by:
        return BY_PLANNER
    if suggestions_count or end.reason is not StopReason.DONE:
        return preview(f"{found} {end.message}".strip())
    given = (end.summary or {}).get("reason")
    reason = given.strip()[:REASON_CHARS_MAX] if isinstance(given, str) else ""
    if model == PLANNER_MODEL and not end.silence:
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
