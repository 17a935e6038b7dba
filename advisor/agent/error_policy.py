"""Apply the error policy: one table with the reaction to each kind of error.

| kind | first time | again | why |
|---|---|---|---|
| rate_limit | retry after the wait | the same, within the day's attempts | the provider said when |
| no_data | skip | skip | nothing is wrong; there is not enough feedback yet |
| database | alert | alert | nothing works without it, and only a person can mend it |
| generation | retry once | skip | a model may do better the second time, not the third |
| unknown | skip and log | skip and log | one reader's trouble must not become everyone's |

Each use of the table is a `Decision` row, a retry or an alert.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

import structlog
from django.conf import settings
from django.core.cache import cache
from django.core.mail import send_mail
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef

from advisor.agent.alerts import alert_remember
from advisor.models import Decision, Run, Step
from advisor.run_values import RunEnd, StopReason
from digest.llm.entities import preview
from ranking.common.clocks import SKEW
from ranking.common.damage import is_damage
from ranking.common.isolation import Failures

log = structlog.get_logger(__name__)

# During an outage, each further alert of its kind renews the silence. An alert an hour after the last one is
# a new outage.
QUIET_S = 3600
REASON_CHARS_MAX = 500
ACTOR = "policy"
RETRIED = "retried"
# How far back an earlier retry counts as "again", and a retry still to come is looked for.
RETRY_WINDOW = timedelta(days=1)


class Kind(StrEnum):
    """The kind of an error."""

    RATE_LIMIT = "rate_limit"
    NO_DATA = "no_data"
    DATABASE = "database"
    GENERATION = "generation"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """A reaction to an error; the action of the policy's `Decision` row."""

    RETRY_AFTER = "retry_after"
    RETRY_ONCE = "retry_once"
    SKIP = "skip"
    SKIP_AND_LOG = "skip_and_log"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One row of the table: the first reaction, every later one, and why."""

    first: Action
    again: Action
    why: str


POLICY = {
    Kind.RATE_LIMIT: PolicyRule(Action.RETRY_AFTER, Action.RETRY_AFTER, "The provider asked to wait."),
    Kind.NO_DATA: PolicyRule(Action.SKIP, Action.SKIP, "There is not enough to go by yet."),
    Kind.DATABASE: PolicyRule(
        Action.ALERT, Action.ALERT, "The database failed; only a person can mend that."
    ),
    Kind.GENERATION: PolicyRule(Action.RETRY_ONCE, Action.SKIP, "A model may do better once, not twice."),
    Kind.UNKNOWN: PolicyRule(
        Action.SKIP_AND_LOG, Action.SKIP_AND_LOG, "Nobody knows this error; see the log."
    ),
}
KIND_OF_STOP = {
    StopReason.RATE_LIMITED: Kind.RATE_LIMIT,
    StopReason.DATABASE: Kind.DATABASE,
    StopReason.DEADLINE: Kind.GENERATION,
    StopReason.TURN_LIMIT: Kind.GENERATION,
    StopReason.TOOL_CALL_LIMIT: Kind.GENERATION,
    StopReason.REPEATED_FAILURE: Kind.GENERATION,
    StopReason.MODELS_EXHAUSTED: Kind.GENERATION,
    StopReason.MODEL_REFUSED: Kind.GENERATION,
    StopReason.PROMPT_UNUSABLE: Kind.UNKNOWN,
    StopReason.CRASHED: Kind.UNKNOWN,
}
RETRIES = (Action.RETRY_AFTER, Action.RETRY_ONCE)
RETRIED_KINDS = (Kind.RATE_LIMIT, Kind.GENERATION)
# Error codes of tool steps that are failures of ours. A refusal by a rule is an answer, no error.
KIND_OF_TOOL_CODE = {"tool_failed": Kind.UNKNOWN, "database_failed": Kind.DATABASE}
# By the names of an exception's classes, nearest first, so that this table needs none of their packages.
KIND_OF_EXCEPTION = {
    "RateLimitError": Kind.RATE_LIMIT,
    "InterfaceError": Kind.DATABASE,
    "DatabaseError": Kind.DATABASE,
    "ModelError": Kind.GENERATION,
}
# The wait if the provider asked for none: long enough for a limit per minute to pass.
WAIT_DEFAULT_S = 300.0
# A wait longer than this is the next day's business.
WAIT_MAX_S = 6 * 3600.0


def kind_of_stop(reason: StopReason) -> Kind | None:
    """Return the kind of a run's end; `None` for one that is no error (done, out of money, taken over)."""
    return KIND_OF_STOP.get(reason)


def kind_of_exception(error: BaseException) -> Kind:
    """Return the kind of an exception: by a wait it carries, else by its classes, else unknown."""
    if getattr(error, "retry_after_s", None) is not None:
        return Kind.RATE_LIMIT
    for cls in type(error).__mro__:
        if kind := KIND_OF_EXCEPTION.get(cls.__name__):
            return kind
    return Kind.UNKNOWN


def action_of(kind: Kind, earlier: int) -> Action:
    """Return the reaction to an error of this kind that was retried `earlier` times today."""
    rule = POLICY[kind]
    return rule.again if earlier else rule.first


def wait_of(action: Action, retry_after_s: float | None) -> timedelta | None:
    """Return the wait until the retry that `action` asks for; `None` when it asks for none."""
    if action is Action.RETRY_ONCE:
        return timedelta(0)
    if action is not Action.RETRY_AFTER:
        return None
    wait = WAIT_DEFAULT_S if retry_after_s is None else max(retry_after_s, 0.0)
    return timedelta(seconds=min(wait, WAIT_MAX_S))


def alert_raise(*, kind: str, where: str, reason: str, now: datetime) -> bool:
    """Log `alert_raised` and mail it to ALERT_EMAILS. Return whether a mail was sent.

    One mail for each kind and outage, counted in the cache, because the database may be the failed part.
    For a day, /readyz and the admin's first page tell of an alert about the database.
    Never raises: an alert must not become the second failure.
    """
    try:
        first = _first_of_outage(kind)
        log.error("alert_raised", kind=kind, where=where, reason=reason[:REASON_CHARS_MAX], first=first)
        if kind == Kind.DATABASE or is_damage(reason):
            _remember(where, reason[:REASON_CHARS_MAX], now)
        if not first or not settings.ALERT_EMAILS:
            return False
        return bool(send_mail(*_mail(kind, where, reason, now), None, settings.ALERT_EMAILS))
    except Exception:
        log.exception("alert_failed", kind=kind)
        return False


def failures_alert(*, failures: Failures, name: str, where: str, now: datetime) -> dict[str, int]:
    """Raise an alert for each kind of row that failed in a job. Return the counts, for reports."""
    for kind in failures.counts():
        alert_raise(kind=f"{kind}_{name}", where=where, reason=failures.words(), now=now)
    return failures.counts()


def page_failure_alert(*, error: BaseException | None, now: datetime, where: str = "A page") -> None:
    """Raise an alert if a request or command failed with `error` because the database is damaged. Never
    raises."""
    if isinstance(error, DatabaseError) and is_damage(str(error)):
        reason = f"{type(error).__name__}: {error}"
        alert_raise(kind=Kind.DATABASE, where=where, reason=reason, now=now)


def _remember(where: str, reason: str, now: datetime) -> None:
    try:
        alert_remember(where=where, reason=reason, now=now)
    except Exception:  # a full disk, or a cache that does not answer
        log.warning("alert_not_remembered", exc_info=True)


def _first_of_outage(kind: str) -> bool:
    """Return whether this kind was quiet before; a cache that fails counts as quiet."""
    try:
        if cache.add(f"alert:{kind}", 1, QUIET_S):
            return True
        cache.touch(f"alert:{kind}", QUIET_S)
        return False
    except Exception:
        log.warning("alert_cache_failed", kind=kind)
        return True


def _mail(kind: str, where: str, reason: str, now: datetime) -> tuple[str, str]:
    """Return subject and body, in plain text; `reason` may contain anything, so it is not in the subject."""
    body = (
        f"{where} failed at {now:%Y-%m-%d %H:%M} UTC with an error of the kind “{kind}”:\n\n"
        f"{reason[:REASON_CHARS_MAX]}\n\n"
        "The decisions and runs in the admin and the log around this time say more. No further mail of this "
        "kind is sent before it has been quiet for an hour.\n"
    )
    return f"Tidings: {kind} error needs a person", body


def error_handle(*, error: BaseException, where: str, now: datetime, run: Run | None = None) -> Action:
    """Apply the policy to an exception of a job, a request or a task. Never raises."""
    return error_kind_handle(
        kind=kind_of_exception(error),
        where=where,
        reason=f"{type(error).__name__}: {error}",
        now=now,
        run=run,
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def run_end_handle(*, run: Run, end: RunEnd, now: datetime, is_retry_wanted: bool = True) -> None:
    """Apply the policy to the end of a run, and to the tools that failed in it. Never raises.

    Only a scheduled run is retried automatically. For any other, somebody waits and can ask again. No retry
    is wanted if the planner finished the run, because its suggestions wait for the reader.
    """
    try:
        codes = Step.objects.filter(run=run, error_code__in=KIND_OF_TOOL_CODE)
        for tool, code in codes.order_by("tool").values_list("tool", "error_code").distinct():
            reason = f"{tool} failed with {code}; the run went on without it."
            error_kind_handle(
                kind=KIND_OF_TOOL_CODE[code], where=f"tool {tool}", reason=reason, now=now, run=run
            )
    except Exception:
        log.exception("policy_failed", run_id=str(run.pk))
    if (kind := kind_of_stop(end.reason)) and (is_retry_wanted or kind not in RETRIED_KINDS):
        error_kind_handle(
            kind=kind, where="run", reason=end.message, now=now, run=run, retry_after_s=end.retry_after_s
        )


def error_kind_handle(
    *,
    kind: Kind,
    where: str,
    reason: str,
    now: datetime,
    run: Run | None = None,
    reader_id: UUID | None = None,
    retry_after_s: float | None = None,
) -> Action:
    """React to an error of this kind as the table says. Store and return the reaction. Never raises.

    `where` names the failed part ("run", "job fetch"). A database error alerts before anything is stored,
    because storing may fail next.
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
    """Return the scheduled runs whose retry is due and not requested yet, oldest first: one query."""
    requested = Decision.objects.filter(actor=ACTOR, action=RETRIED, run=OuterRef("run"))
    rows = (
        Decision.objects.filter(actor=ACTOR, action__in=RETRIES, at__gt=now - RETRY_WINDOW)
        .filter(run__trigger=Run.Trigger.SCHEDULED, run__reader__is_active=True)
        .exclude(Exists(requested))
        .select_related("run__reader")
        .order_by("at")
    )
    return [
        row.run
        for row in rows
        if row.run and "not_before" in row.data and datetime.fromisoformat(row.data["not_before"]) <= now
    ]


def retry_record(*, run: Run, status: str, now: datetime) -> None:
    """Store that the retry of `run` was requested, and its status, so that it is requested once."""
    reason = f"Asked again after {run.stop_reason}: {status}."
    Decision.objects.create(
        run=run, reader_id=run.reader_id, actor=ACTOR, action=RETRIED, reason=reason, at=now
    )


def _earlier(run: Run | None, now: datetime) -> int:
    """Return how often the policy retried this reader's runs within a day.

    A run on request counts as one retry, because its requester may ask again.
    """
    if run is None or run.trigger != Run.Trigger.SCHEDULED:
        return int(run is not None)
    rows = Decision.objects.filter(actor=ACTOR, action=Action.RETRY_ONCE, reader_id=run.reader_id)
    return rows.filter(at__gt=now - RETRY_WINDOW, at__lte=now + SKEW).count()


def _not_before(run: Run | None, wait: timedelta | None, now: datetime) -> dict[str, str]:
    """Return the earliest time of a scheduled run's retry, or nothing if it is not retried."""
    if run is None or run.trigger != Run.Trigger.SCHEDULED or wait is None:
        return {}
    return {"not_before": (now + wait).isoformat()}
