"""Manual sessions of the tools: a session is a run of its own, driven by an MCP client instead of the loop.

It neither replaces the reader's run of the day nor waits for it, since it spends nothing and somebody uses
it. The same rules, cooldowns, three suggestions a session and the reviewers limit what it writes; that counts
as made today. Guidance advises on its calls as on the loop's, but not at its start.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings

from advisor.agent.loop import ToolRunner
from advisor.entities import ToolContext, ToolOutcome, object_of
from advisor.guidance.engine import Guide, guide_for
from advisor.models import Run
from advisor.review.compose import context_with_reviewers
from advisor.run.execute import ATTEMPTS_MAX, CountingDispatch, RunClock, StepLog, fence_of, run_owned
from advisor.selectors import run_suggestion_ids, run_totals
from advisor.tools.registry import schemas
from digest.days import day_of
from digest.feeds.selectors import models_allowed
from digest.llm.entities import ToolCall
from digest.models import Reader

log = structlog.get_logger(__name__)

# A session renews its lease each minute. One that was killed is ended by the reconciler once it runs out.
LEASE_S = 300
ENDED = "The session ended."


class SessionRefused(Exception):
    """Raised where there is no session for this reader; the message gives the remedy."""


@dataclass(slots=True)
class Session:
    """One open session: its run, the counts and steps of that run, and its guidance."""

    run: Run
    findings: CountingDispatch
    steps: StepLog
    calls: int = field(default=0)
    guide: Guide | None = None


def session_open(*, reader: Reader, now: datetime) -> Session:
    """Begin a session as a running run of trigger `mcp`. Raises `SessionRefused`.

    Refused where the advisor is off, the account inactive, or the reader turned models off: an MCP client is
    a model or passes everything to one.
    """
    if not settings.ADVISOR_ENABLED:
        raise SessionRefused("The advisor is switched off here. Set ADVISOR_ENABLED=true.")
    if not reader.is_active:
        raise SessionRefused(f"The account of {reader.username} is not active. Activate it in the admin.")
    if not models_allowed(reader_id=reader.pk):
        raise SessionRefused(
            f"{reader.username} has turned models off, for everything or for a feed, so nothing of theirs is "
            "shown to one. Only they can turn them on, on their account and sources pages."
        )
    run = Run.objects.create(
        reader=reader,
        day=day_of(now, reader.zone),
        trigger=Run.Trigger.MCP,
        status=Run.Status.RUNNING,
        attempt=ATTEMPTS_MAX,
        fence=1,
        created_at=now,
        started_at=now,
        lease_until=now + timedelta(seconds=LEASE_S),
    )
    log.info("advisor_run_started", user_id=str(reader.pk), run_id=str(run.pk), trigger=run.trigger)
    fence = fence_of(run)
    findings = CountingDispatch(ToolContext(reader.pk, run.pk, now, fence))
    session = Session(run, findings, StepLog(run, fence, RunClock(now)))
    session.guide = guide_for(run=run, context=findings.context, moment=lambda: session.steps.elapsed.now)
    return session


def session_call(*, session: Session, name: str, arguments: Mapping[str, Any], now: datetime) -> ToolOutcome:
    """Run one tool for the session's reader as the loop would: validated, reviewed, retried once, recorded.

    Raises `FenceLost` once the session is over: its lease ran out, or it was closed.
    """
    session.calls += 1
    context = replace(session.findings.context, now=now, review=None)
    moment = RunClock(now)
    session.steps.elapsed = moment
    session.findings.context = context_with_reviewers(
        context,
        session.run,
        interactive=True,
        timeout_s=settings.ADVISOR_TIMEOUT_S,
        moment=lambda: moment.now,
    )
    # As text, since only parsed text is known to fit a JSON column.
    call = ToolCall(f"mcp-{session.calls}", name, json.dumps(dict(arguments), ensure_ascii=False))
    content, _ = ToolRunner(session.findings, session.steps, schemas(), guide=session.guide).run(call)
    result = object_of(content)
    return ToolOutcome(content, "" if result.get("success", True) else str(result.get("error", "")))


def session_renew(*, session: Session, now: datetime) -> bool:
    """Renew the session's lease; `False` once it is over."""
    until = now + timedelta(seconds=LEASE_S)
    return bool(run_owned(session.run).update(lease_until=until))


def session_close(*, session: Session, now: datetime) -> bool:
    """End the session's run as completed, with its counts; `False` when it was over before."""
    if session.guide:
        session.guide.close()
    suggestions_count = len(run_suggestion_ids(run_id=session.run.pk))
    ended = run_owned(session.run).update(
        status=Run.Status.COMPLETED,
        stop_reason="session_ended",
        message=ENDED,
        **run_totals(run_id=session.run.pk),
        meta=session.findings.as_meta(suggestions_count),
        lease_until=None,
        finished_at=now,
    )
    if ended:
        event = {"user_id": str(session.run.reader_id), "run_id": str(session.run.pk)}
        log.info("advisor_run_completed", **event, status="completed", suggestions_count=suggestions_count)
    return bool(ended)
