"""The error policy at work: each use of the table is a `Decision` row, and a retry really happens."""

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef

from advisor.entities import RunEnd
from advisor.models import Decision, Run, Step
from advisor.policy import (
    KIND_OF_TOOL_CODE,
    POLICY,
    Action,
    Kind,
    action_of,
    kind_of_exception,
    kind_of_stop,
    wait_of,
)
from advisor.services.alerts import alert_raise
from digest.llm.model_text import preview

log = structlog.get_logger(__name__)

ACTOR = "policy"
RETRIES = (Action.RETRY_AFTER, Action.RETRY_ONCE)
RETRIED = "retried"
# How far back an earlier retry counts as "again", and a retry still to come is looked for.
MEMORY = timedelta(days=1)


def error_handle(*, error: BaseException, where: str, now: datetime, run: Run | None = None) -> Action:
    """Apply the policy to an exception that reached a door: a job, a request, a task. Never raises."""
    return kind_handle(
        kind=kind_of_exception(error),
        where=where,
        reason=f"{type(error).__name__}: {error}",
        now=now,
        run=run,
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def run_end_handle(*, run: Run, end: RunEnd, now: datetime) -> None:
    """Apply the policy to how a run ended, and to the tools that failed in it. Never raises.

    Only a scheduled run is tried again by itself: behind any other stands somebody who can ask again.
    """
    try:
        codes = Step.objects.filter(run=run, error_code__in=KIND_OF_TOOL_CODE)
        for tool, code in codes.order_by("tool").values_list("tool", "error_code").distinct():
            reason = f"{tool} failed with {code}; the run went on without it."
            kind_handle(kind=KIND_OF_TOOL_CODE[code], where=f"tool {tool}", reason=reason, now=now, run=run)
    except Exception:
        log.exception("policy_failed", run_id=str(run.pk))
    if kind := kind_of_stop(end.reason):
        kind_handle(
            kind=kind, where="run", reason=end.message, now=now, run=run, retry_after_s=end.retry_after_s
        )


def kind_handle(
    *,
    kind: Kind,
    where: str,
    reason: str,
    now: datetime,
    run: Run | None = None,
    reader_id: UUID | None = None,
    retry_after_s: float | None = None,
) -> Action:
    """Do what the table says about an error of this kind and note it; returns what was done. Never raises.

    `where` names what failed ("run", "job fetch"). A database error alerts before anything is stored,
    since storing may be what fails next.
    """
    if kind is Kind.DATABASE:
        alert_raise(kind=kind, where=where, reason=reason, now=now)
    try:
        with transaction.atomic():
            action = action_of(kind, _earlier(run, now))
            data = {"kind": kind, "where": where} | _not_before(run, wait_of(action, retry_after_s), now)
            Decision.objects.create(
                run=run,
                reader_id=run.reader_id if run else reader_id,
                actor=ACTOR,
                action=action,
                reason=preview(f"{POLICY[kind].why} {reason}"),
                data=data,
                at=now,
            )
    except Exception:
        log.exception("policy_failed", where=where, kind=kind)
        return Action.SKIP_AND_LOG
    log.warning("policy_applied", kind=kind, action=action, where=where)
    return action


def retries_due(*, now: datetime) -> list[Run]:
    """The scheduled runs whose retry is due and has not been asked for yet, oldest first; one query."""
    asked = Decision.objects.filter(actor=ACTOR, action=RETRIED, run=OuterRef("run"))
    rows = (
        Decision.objects.filter(actor=ACTOR, action__in=RETRIES, at__gt=now - MEMORY)
        .filter(run__trigger=Run.Trigger.SCHEDULED, run__reader__is_active=True)
        .exclude(Exists(asked))
        .select_related("run__reader")
        .order_by("at")
    )
    return [
        row.run
        for row in rows
        if row.run and "not_before" in row.data and datetime.fromisoformat(row.data["not_before"]) <= now
    ]


def retry_note(*, run: Run, status: str, now: datetime) -> None:
    """Note that the retry of `run` was asked for and what the request came to, so that it is asked once."""
    reason = f"Asked again after {run.stop_reason}: {status}."
    Decision.objects.create(
        run=run, reader_id=run.reader_id, actor=ACTOR, action=RETRIED, reason=reason, at=now
    )


def _earlier(run: Run | None, now: datetime) -> int:
    """How often the policy has sent this reader's runs round again within a day.

    A run that somebody asked for counts as its own second chance: whoever asked may ask again.
    """
    if run is None or run.trigger != Run.Trigger.SCHEDULED:
        return int(run is not None)
    rows = Decision.objects.filter(actor=ACTOR, action=Action.RETRY_ONCE, reader_id=run.reader_id)
    return rows.filter(at__gt=now - MEMORY).count()


def _not_before(run: Run | None, wait: timedelta | None, now: datetime) -> dict[str, str]:
    """From when a scheduled run may be asked for again; nothing for what is not asked for again."""
    if run is None or run.trigger != Run.Trigger.SCHEDULED or wait is None:
        return {}
    return {"not_before": (now + wait).isoformat()}
