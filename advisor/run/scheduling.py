"""Schedule runs: due readers, the expected cost, the day's budget, and reports.

If the money does not cover models for everyone who is due, it serves readers by the score below. The others
are deferred: the planner, which is free, makes their run.

    score = 1 × fresh + 1 × weeks waited + 0.5 × acceptance

`fresh` is the number of ratings since the last completed run over 20, at most 1. `acceptance` is the accepted
share of decided suggestions, shrunk towards one half. Fresh ratings and acceptance together are worth at most
a week and a half of waiting, and waiting has no upper bound, so nobody is deferred for ever. A deferred run
does not end the waiting. Ties: the longest wait, then the id. The number of queries does not depend on the
number of readers.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import Avg, Count, DecimalField, F, IntegerField, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from advisor.agent.error_policy import Kind, error_handle, error_kind_handle, retries_due, retry_record
from advisor.feedback_needed import MISSING_PREFIX
from advisor.models import Decision, Run, Step
from advisor.prompts import ADVISOR_PROMPT, PromptUnusable, prompt_load
from advisor.result_size import (
    BYTES_PER_TOKEN,
    CONFIG_TOKENS,
    FEEDBACK_TOKENS,
    OUTCOMES_TOKENS,
    PROFILE_TOKENS,
    WRITE_TOKENS,
)
from advisor.run.execute import LEASE_MARGIN_S
from advisor.run.request import GenerateResult, run_begin, run_request, run_wait, runs_claim
from advisor.run.why_none import advice_off
from advisor.selectors import (
    ACTIVE_STATUSES,
    LOOP_RUNS,
    feedback_missing_many,
    readers_due,
    readers_possibly_blocked,
)
from advisor.tools.registry import schemas
from digest.feeds.selectors import readers_without_models
from digest.llm.client import chain_configured
from digest.llm.entities import Model, PriceUnknown
from digest.models import Feedback, Reader, Spend
from ranking.common.isolation import READER, isolate
from suggestions.models import Outcome, Suggestion

# Our own weights: fresh ratings and waiting count the same; acceptance counts half, so that a reader who
# often rejects is not excluded for it.
FRESH_WEIGHT = 1.0
WAIT_WEIGHT = 1.0
ACCEPT_WEIGHT = 0.5
FRESH_FULL = 20
# Two assumed decisions, one of them accepted: a reader who never decided counts as one in two.
ACCEPT_PRIOR = (1, 2)
DAYS_PER_WEEK = 7
Report = dict[str, Any]
log = structlog.get_logger(__name__)

ACTOR = "decision_maker"
RUN, DEFERRED, RUN_ALL = "run", "deferred", "run_all"
BATCH = 2000
# Fewer finished runs than this do not give a reliable cost.
RUNS_ENOUGH = 5
RUNS_LOOKED_AT = 100
# Runs that were not left to the planner for want of money.
MODEL_RUNS = LOOP_RUNS.filter(meta__deferred__isnull=True)
COST_DAYS = 28
SECONDS_PER_DAY = 86_400
# A run before any was measured: its turns, and the tokens of its tool results by the tools' own budgets.
TYPICAL_TURNS = 8
TYPICAL_RESULT_TOKENS = FEEDBACK_TOKENS + CONFIG_TOKENS + PROFILE_TOKENS + OUTCOMES_TOKENS + WRITE_TOKENS
USD = DecimalField(max_digits=12, decimal_places=6)


@dataclass(frozen=True, slots=True)
class RunCandidate:
    """The facts for running one reader: ratings since the last run, days since, decisions so far."""

    reader_id: UUID
    fresh_ratings: int
    days_waited: float
    accepted: int
    decided: int


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Whether a reader's run may ask models or is deferred, with the score and the reason as a sentence."""

    reader_id: UUID
    runs: bool
    score: float
    reason: str


def priority_score(candidate: RunCandidate) -> float:
    """Return the score of a reader (see the module); never negative."""
    fresh = min(candidate.fresh_ratings, FRESH_FULL) / FRESH_FULL
    weeks = max(candidate.days_waited, 0.0) / DAYS_PER_WEEK
    accepted, decided = ACCEPT_PRIOR
    acceptance = (candidate.accepted + accepted) / (candidate.decided + decided)
    return FRESH_WEIGHT * fresh + WAIT_WEIGHT * weeks + ACCEPT_WEIGHT * acceptance


def runs_affordable(*, budget_left: Decimal, cost_per_run: Decimal, cap: Decimal) -> int | None:
    """Return how many runs the money covers, or `None` for any number if a run costs nothing.

    A day with all its money serves at least one run at any expected cost. Otherwise an estimate that is too
    high could never be corrected. The ledger still stops the run at its cap.
    """
    if cost_per_run <= 0:
        return None
    least = 1 if budget_left == cap and cap > 0 else 0
    return max(least, int(budget_left // cost_per_run))


def readers_choose(candidates: Sequence[RunCandidate], places: int | None) -> list[RunChoice]:
    """Return a choice for every reader, best first: the first `places` run (`None`: all of them do)."""
    ranked = sorted(candidates, key=lambda one: (-priority_score(one), -one.days_waited, str(one.reader_id)))
    served = len(ranked) if places is None else min(places, len(ranked))
    return [
        RunChoice(
            one.reader_id, n <= served, round(priority_score(one), 4), _reason(one, n, served, len(ranked))
        )
        for n, one in enumerate(ranked, start=1)
    ]


def _reason(candidate: RunCandidate, rank: int, served: int, due: int) -> str:
    facts = (
        f"{candidate.fresh_ratings} ratings since the last run, {candidate.days_waited:.0f} days ago; "
        f"{candidate.accepted} of {candidate.decided} suggestions accepted"
    )
    verdict = "Runs" if rank <= served else "Runs without a model"
    return f"{verdict}: place {rank} of {due}, and today's money covers {served}. {facts}."


def run_candidates(*, readers: Iterable[Reader], now: datetime) -> list[RunCandidate]:
    """Return the facts for each reader's priority: two queries.

    Ratings are counted since the last completed run. Waiting counts since the last run with any end (a run
    that fails every day must not look like a missing one), or since the account was made. Deferred runs count
    for neither.
    """
    ids = [reader.pk for reader in readers]
    decided = _decisions(ids)
    return [
        RunCandidate(
            reader_id=row["pk"],
            fresh_ratings=row["fresh"],
            days_waited=(now - (row["tried_at"] or row["date_joined"])).total_seconds() / SECONDS_PER_DAY,
            accepted=decided.get(row["pk"], (0, 0))[0],
            decided=decided.get(row["pk"], (0, 0))[1],
        )
        for row in _waiting(ids)
    ]


def run_cost_expected(*, models: Iterable[Model], now: datetime) -> Decimal:
    """Return the expected cost of a run, in USD, by the first model with a price; 0 if all are free.

    The mean of that model's last hundred finished runs within four weeks, reviews included; with fewer than
    five of them the worst case of a typical run, capped as a run is. One or two queries.
    """
    for model in models:
        try:
            worst = _typical_worst(model)
        except PriceUnknown:
            continue
        return (_cost_measured(model.name, now) if worst else None) or worst
    return Decimal(0)


def budget_left(*, cost_per_run: Decimal, now: datetime) -> Decimal:
    """Return the rest of the UTC day's budget after the shares of active runs; one query each."""
    day = now.astimezone(UTC).date()
    booked = Coalesce("settled_usd", "reserved_usd", output_field=USD)
    spent = Spend.objects.filter(surface=Spend.Surface.ADVISOR, day=day).aggregate(sum=Sum(booked))["sum"]
    under_way = MODEL_RUNS.filter(status__in=ACTIVE_STATUSES, reader__ai_enabled=True)
    promised = under_way.count() * cost_per_run
    return Decimal(str(settings.ADVISOR_DAILY_CAP_USD)) - (spent or Decimal(0)) - promised


def _waiting(ids: list[UUID]) -> Iterable[dict[str, Any]]:
    runs = MODEL_RUNS.filter(reader_id=OuterRef("pk")).order_by()
    last = runs.values("reader_id").annotate(at=Max("created_at")).values("at")
    # "Completed" filters the aggregate, not the rows: among the rows it leads SQLite to the index by status,
    # and so to everyone's runs for each rating.
    done = Max("created_at", filter=Q(status=Run.Status.COMPLETED))
    own = MODEL_RUNS.filter(reader_id=OuterRef("reader_id")).order_by()
    ended = own.values("reader_id").annotate(at=done)
    never = datetime(1970, 1, 1, tzinfo=UTC)
    fresh = (
        Feedback.objects.filter(reader_id=OuterRef("pk"))
        .filter(at__gt=Coalesce(Subquery(ended.values("at")), never))
        .order_by()
        .values("reader_id")
        .annotate(n=Count("pk"))
        .values("n")
    )
    counted = Coalesce(Subquery(fresh, output_field=IntegerField()), 0)
    rows = Reader.objects.filter(pk__in=ids).annotate(tried_at=Subquery(last), fresh=counted)
    columns = ("pk", "date_joined", "tried_at", "fresh")
    return (dict(zip(columns, row, strict=True)) for row in rows.values_list(*columns))


def _decisions(ids: list[UUID]) -> dict[UUID, tuple[int, int]]:
    """Return (accepted, decided) suggestions by reader."""
    accepted = Q(outcome=Outcome.Result.ACCEPTED)
    rows = (
        Outcome.objects.filter(reader_id__in=ids, kind=Outcome.Kind.DECISION)
        .filter(outcome__in=[Outcome.Result.ACCEPTED, Outcome.Result.REJECTED])
        .exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
        .order_by()
        .values_list("reader_id")
        .annotate(accepted=Count("pk", filter=accepted), decided=Count("pk"))
    )
    return {reader_id: (n_accepted, n_decided) for reader_id, n_accepted, n_decided in rows}


def _cost_measured(model: str, now: datetime) -> Decimal | None:
    runs = Run.objects.filter(model=model, finished_at__gt=now - timedelta(days=COST_DAYS), cost_usd__gt=0)
    latest = runs.order_by("-finished_at").values("pk")[:RUNS_LOOKED_AT]
    seen = Run.objects.filter(pk__in=latest).aggregate(n=Count("pk"), mean=Avg(F("cost_usd")))
    return Decimal(str(seen["mean"])) if seen["n"] >= RUNS_ENOUGH else None


def _typical_worst(model: Model) -> Decimal:
    """Return the worst case of a call half-way through a typical run, times its turns, capped as a run is."""
    try:
        prompt = prompt_load(ADVISOR_PROMPT)
    except PromptUnusable:
        return Decimal(0)
    half_way = prompt + "x" * (TYPICAL_RESULT_TOKENS * BYTES_PER_TOKEN // 2)
    worst = model.worst_case_usd([{"role": "system", "content": half_way}], schemas())
    return min(worst * TYPICAL_TURNS, Decimal(str(settings.ADVISOR_RUN_CAP_USD)))


@dataclass(frozen=True, slots=True)
class Ration:
    """The readers who run now, best first, and the ids of those who get the planner instead of a model."""

    readers: list[Reader]
    deferred: frozenset[UUID] = frozenset()


def readers_ration(*, readers: Sequence[Reader], now: datetime) -> Ration:
    """Return which of the due `readers` may ask models, best first if money does not cover all.

    Readers who cost nothing (AI off, no model configured, a local model, deferred) come last, so that their
    runs delay no chosen reader. If the money covers everyone, one decision is stored; otherwise one with
    score and reason for every reader who costs money. A constant number of queries.
    """
    chain = chain_configured()
    without_models = readers_without_models() if chain else set()
    paying = [reader for reader in readers if chain and reader.pk not in without_models]
    cost = run_cost_expected(models=chain, now=now) if paying else Decimal(0)
    if not cost:
        return Ration(list(readers))
    money = budget_left(cost_per_run=cost, now=now)
    cap = Decimal(str(settings.ADVISOR_DAILY_CAP_USD))
    places = runs_affordable(budget_left=money, cost_per_run=cost, cap=cap)
    choices = readers_choose(run_candidates(readers=paying, now=now), places)
    _decisions_add(choices, money, cost, now)
    by_id = {reader.pk: reader for reader in paying}
    served, deferred = (
        [by_id[one.reader_id] for one in choices if one.runs is runs] for runs in (True, False)
    )
    log.info("advisor_rationed", due=len(paying), served=len(served), cost_usd=str(cost), left=str(money))
    free = [reader for reader in readers if reader.pk not in by_id]
    return Ration([*served, *free, *deferred], frozenset(reader.pk for reader in deferred))


def _decisions_add(choices: Sequence[RunChoice], money: Decimal, cost: Decimal, now: datetime) -> None:
    facts = {"money_left_usd": f"{money:.6f}", "cost_per_run_usd": f"{cost:.6f}"}
    if all(choice.runs for choice in choices):
        reason = f"Today's money covers all {len(choices)} readers due."
        data = facts | {"readers": len(choices)}
        Decision.objects.create(actor=ACTOR, action=RUN_ALL, reason=reason, data=data, at=now)
        return
    Decision.objects.bulk_create(
        (
            Decision(
                reader_id=choice.reader_id,
                actor=ACTOR,
                action=RUN if choice.runs else DEFERRED,
                reason=choice.reason,
                data=facts | {"score": choice.score},
                at=now,
            )
            for choice in choices
        ),
        batch_size=BATCH,
    )


def readers_advise(*, now: datetime) -> list[GenerateResult]:
    """Request a scheduled run for each due reader, without models for readers that `readers_ration` defers.

    Runs without any possible obstacle are claimed together. The error policy handles a request that fails;
    the others go on.
    """
    ration = readers_ration(readers=readers_due(now=now), now=now)
    claimed = _claim(ration, now)
    results = (
        _request(reader, now, claimed.get(reader.pk), is_deferred=reader.pk in ration.deferred)
        for reader in ration.readers
    )
    return [result for result in results if result is not None]


def retries_request(*, now: datetime) -> list[GenerateResult]:
    """Request again the scheduled runs that the error policy retries, once their wait is over.

    Each counts as one of its reader's attempts a day, and needs the same conditions as any other.
    """
    results = []
    for run in retries_due(now=now):
        with isolate(READER, run.reader_id, "advisor_retry_failed"):
            result = _request(run.reader, now)
            retry_record(run=run, status=result.status if result else "broke", now=now)
            if result is not None:
                results.append(result)
    return results


def readers_lacking_feedback(*, readers: Sequence[Reader], now: datetime) -> dict[UUID, str]:
    """Return the missing feedback of the `readers` who lack only feedback.

    Three queries for any number. Readers with another possible obstacle are left out, and those for whom
    suggestions are switched off.
    """
    willing = [reader for reader in readers if not advice_off(reader)]
    if not willing:
        return {}
    excluded = readers_possibly_blocked(now=now)
    missing = feedback_missing_many(reader_ids=[r.pk for r in willing if r.pk not in excluded])
    return {reader_id: message for reader_id, message in missing.items() if message}


def reader_advise(*, reader: Reader, now: datetime, force: bool, missing_feedback: str = "") -> Report:
    """Run the advisor for one reader in this process and return the report of `run_advisor --json`.

    A reader with a message in `missing_feedback` (of `readers_lacking_feedback`) is skipped without a query
    or an audit row. A request that fails is reported as `agent_error`, so that the other readers get theirs.
    """
    began = time.monotonic()
    result = GenerateResult(Run.Status.AGENT_ERROR, "")
    with isolate(READER, reader.pk, "advisor_request_failed") as attempt:
        result = _advise(reader, now, force, missing_feedback)
    if error := attempt.error:
        error_handle(error=error, where="request", now=now)
        result = GenerateResult(Run.Status.AGENT_ERROR, f"{type(error).__name__}: {error}")
    run = Run.objects.filter(pk=result.run_id).first() if result.run_id else None
    return _report(reader.pk, result, run, time.monotonic() - began)


def _advise(reader: Reader, now: datetime, force: bool, missing_feedback: str) -> GenerateResult:
    """Request a run and wait for its end, in any process."""
    if missing_feedback:
        return GenerateResult("skipped", missing_feedback)
    result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=force, inline=True)
    if result.status != "in_progress" or not result.run_id:
        return result
    timeout_s = settings.ADVISOR_SCHEDULED_TIMEOUT_S + LEASE_MARGIN_S
    return replace(run_wait(run_id=result.run_id, now=now, timeout_s=timeout_s), began=result.began)


def _claim(ration: Ration, now: datetime) -> dict[UUID, Run]:
    """Return the runs that can be claimed together; none if that fails, so the fault stays with one."""
    with isolate(READER, f"{len(ration.readers)} together", "advisor_claims_failed", counted=False):
        return runs_claim(readers=ration.readers, now=now, deferred=ration.deferred)
    return {}


def _request(
    reader: Reader, now: datetime, claimed: Run | None = None, *, is_deferred: bool = False
) -> GenerateResult | None:
    """Begin the `claimed` run of the reader, or request one; `None` if that failed."""
    result = None
    with isolate(READER, reader.pk, "advisor_request_failed") as attempt:
        if claimed:
            return run_begin(run=claimed, now=now)
        scheduled = Run.Trigger.SCHEDULED
        result = run_request(reader=reader, trigger=scheduled, now=now, is_deferred=is_deferred)
    if attempt.error:
        error_handle(error=attempt.error, where="request", now=now)
    if result and result.status == "skipped" and result.reason.startswith(MISSING_PREFIX):
        error_kind_handle(
            kind=Kind.NO_DATA, where="request", reason=result.reason, now=now, reader_id=reader.pk
        )
    return result


def _report(reader_id: UUID, result: GenerateResult, run: Run | None, seconds: float) -> Report:
    return {
        "reader_id": str(reader_id),
        "run_id": str(run.pk) if run else None,
        "status": result.status,
        "reason": result.reason,
        "suggestions_created": result.suggestions_created,
        "suggestion_ids": list(result.suggestion_ids),
        "skipped": _skipped_hypotheses(run.summary if run else None),
        "turns": run.turns if run else 0,
        "tool_calls": run.tool_calls if run else 0,
        "model": run.model if run else "",
        "cost_usd": float(run.cost_usd) if run else 0.0,
        "seconds": round(seconds, 3),
        "meta": run.meta if run else {},
        "model_errors": _model_errors(run) if run and run.meta.get("finished_by") else [],
    }


def _model_errors(run: Run) -> list[str]:
    """Return the models that failed in a run, each with the code of its last error: "openai:m: bad_key"."""
    failed = Step.objects.filter(run=run, kind=Step.Kind.MODEL).exclude(error_code="").order_by("n")
    codes = dict(failed.values_list("model", "error_code"))
    return [f"{model}: {code}" for model, code in codes.items()]


def _skipped_hypotheses(summary: dict[str, Any] | None) -> list[dict[str, str]]:
    """Return the hypotheses a run skipped, as far as its summary, which a model wrote, can be read."""
    rows = (summary or {}).get("skipped")
    keys = ("hypothesis", "reason_skipped")
    return [
        {key: str(row.get(key, "")) for key in keys}
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
