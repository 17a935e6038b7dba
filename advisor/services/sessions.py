"""Manual use of the tools: a session is a run of its own, driven from outside instead of by the loop.

It stands apart from the reader's run of the day: it neither takes that place nor waits for it, since it
spends nothing and somebody sits before it. What it may write is held in by the same rules, cooldowns, three
suggestions a session and the reviewers; what it wrote counts as made today. Guidance looks at its calls as
at the loop's; only the packet a run starts with is missing, as nothing here opens a conversation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings

from advisor.conversation import object_of
from advisor.dispatch import ToolRunner
from advisor.entities import ToolContext, ToolOutcome
from advisor.guidance.engine import Guide, guide_for
from advisor.models import Run
from advisor.review.seats import context_reviewed
from advisor.selectors import run_suggestion_ids, run_totals
from advisor.services.execute import ATTEMPTS_MAX
from advisor.services.recording import Elapsed, Findings, StepLog, fence_of
from advisor.tools.registry import schemas
from digest.days import day_of
from digest.llm.entities import ToolCall
from digest.models import Reader
from digest.selectors.subscriptions import models_allowed

log = structlog.get_logger(__name__)

# A session renews its lease each minute. One that was killed is ended by the reconciler once it runs out.
LEASE_S = 300
ENDED = "The session ended."


class SessionRefused(Exception):
    """Why there is no session for this reader; the message says what to do."""


@dataclass(slots=True)
class Session:
    """One open session: its run, the fence of that run, what it has found so far, and its guidance."""

    run: Run
    findings: Findings
    steps: StepLog
    calls: int = field(default=0)
    guide: Guide | None = None


def session_open(*, reader: Reader, now: datetime) -> Session:
    """Begin a session as a running run of trigger `mcp`. Raises `SessionRefused`.

    Refused where the advisor is off, the account inactive, or the reader turned models off: whatever speaks
    MCP is a model or hands its words to one.
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
    findings = Findings(ToolContext(reader.pk, run.pk, now, fence))
    session = Session(run, findings, StepLog(run, fence, Elapsed(now)))
    session.guide = guide_for(run=run, context=findings.context, moment=lambda: session.steps.elapsed.now)
    return session


def session_call(*, session: Session, name: str, arguments: Mapping[str, Any], now: datetime) -> ToolOutcome:
    """Run one tool for the session's reader as the loop would: validated, reviewed, retried once, recorded.

    Raises `FenceLost` once the session is over: its lease ran out, or it was closed.
    """
    session.calls += 1
    context = replace(session.findings.context, now=now, review=None)
    moment = Elapsed(now)
    session.steps.elapsed = moment
    session.findings.context = context_reviewed(
        context,
        session.run,
        interactive=True,
        timeout_s=settings.ADVISOR_TIMEOUT_S,
        moment=lambda: moment.now,
    )
    call = ToolCall(f"mcp-{session.calls}", name, json.dumps(dict(arguments), ensure_ascii=False))
    content, _ = ToolRunner(session.findings, session.steps, schemas(), guide=session.guide).run(call)
    told = object_of(content)
    return ToolOutcome(content, "" if told.get("success", True) else str(told.get("error", "")))


def session_renew(*, session: Session, now: datetime) -> bool:
    """Keep the session alive; `False` once it is over."""
    until = now + timedelta(seconds=LEASE_S)
    held = Run.objects.filter(pk=session.run.pk, fence=session.run.fence, status=Run.Status.RUNNING)
    return bool(held.update(lease_until=until))


def session_close(*, session: Session, now: datetime) -> bool:
    """End the session's run as completed, with its counts; `False` when it was over before."""
    if session.guide:
        session.guide.close()
    kept = len(run_suggestion_ids(run_id=session.run.pk))
    held = Run.objects.filter(pk=session.run.pk, fence=session.run.fence, status=Run.Status.RUNNING)
    ended = held.update(
        status=Run.Status.COMPLETED,
        stop_reason="session_ended",
        message=ENDED,
        **run_totals(run_id=session.run.pk),
        meta=session.findings.as_meta(kept),
        lease_until=None,
        finished_at=now,
    )
    if ended:
        event = {"user_id": str(session.run.reader_id), "run_id": str(session.run.pk)}
        log.info("advisor_run_completed", **event, status="completed", suggestions_count=kept)
    return bool(ended)
