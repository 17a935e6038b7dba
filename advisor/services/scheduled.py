"""Runs for many readers: whose turn it is, and what came of each."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from advisor.models import Run
from advisor.policy import Kind
from advisor.selectors import readers_due, readers_stirred, sufficiency_many
from advisor.services.checks import GenerateResult
from advisor.services.execute import LEASE_MARGIN_S
from advisor.services.failures import error_handle, kind_handle, retries_due, retry_note
from advisor.services.rationing import readers_ration
from advisor.services.runs import run_request, run_wait
from advisor.sufficiency import MISSING, missing_words
from digest.models import Reader

log = structlog.get_logger(__name__)

Report = dict[str, Any]


def readers_advise(*, now: datetime) -> list[GenerateResult]:
    """Request a scheduled run for each reader due whom the day's money covers (`readers_ration`).

    A request that breaks is the error policy's, and stops none of the others.
    """
    chosen = readers_ration(readers=readers_due(now=now), now=now)
    results = (_requested(reader, now) for reader in chosen)
    return [result for result in results if result is not None]


def retries_request(*, now: datetime) -> list[GenerateResult]:
    """Ask again for the scheduled runs that the error policy sends round again, once their wait is over.

    Each within its reader's attempts a day, and only while nothing else stands in its way.
    """
    results = []
    for run in retries_due(now=now):
        result = _requested(run.reader, now)
        retry_note(run=run, status=result.status if result else "broke", now=now)
        if result is not None:
            results.append(result)
    return results


def readers_thin(*, readers: Sequence[Reader], now: datetime) -> dict[UUID, str]:
    """What is missing, for those of `readers` of whom nothing but too little feedback is to be said.

    Three queries however many they are; whoever may have something else in the way is not among them.
    """
    if not settings.ADVISOR_ENABLED:
        return {}
    stirred = readers_stirred(now=now)
    needs = sufficiency_many(reader_ids=[reader.pk for reader in readers if reader.pk not in stirred])
    missing = {reader_id: missing_words(of_reader) for reader_id, of_reader in needs.items()}
    return {reader_id: words for reader_id, words in missing.items() if words}


def reader_advise(*, reader: Reader, now: datetime, force: bool, thin: str = "") -> Report:
    """Run the advisor for one reader in this process and report on it as `run_advisor --json` does.

    A reader of whom `readers_thin` found `thin` is left out without a query or an audit row.
    """
    began = time.monotonic()
    if thin:
        result = GenerateResult("skipped", thin)
    else:
        result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=force, inline=True)
    if result.status == "in_progress" and result.run_id:
        patience_s = settings.ADVISOR_SCHEDULED_TIMEOUT_S + LEASE_MARGIN_S
        result = run_wait(run_id=result.run_id, now=now, timeout_s=patience_s)
    run = Run.objects.filter(pk=result.run_id).first() if result.run_id else None
    return _report(reader.pk, result, run, time.monotonic() - began)


def _requested(reader: Reader, now: datetime) -> GenerateResult | None:
    try:
        result = run_request(reader=reader, trigger=Run.Trigger.SCHEDULED, now=now)
    except Exception as error:
        log.exception("advisor_request_failed", user_id=str(reader.pk))
        error_handle(error=error, where="request", now=now)
        return None
    if result.status == "skipped" and result.reason.startswith(MISSING):
        kind_handle(kind=Kind.NO_DATA, where="request", reason=result.reason, now=now, reader_id=reader.pk)
    return result


def _report(reader_id: UUID, result: GenerateResult, run: Run | None, seconds: float) -> Report:
    return {
        "reader_id": str(reader_id),
        "run_id": str(run.pk) if run else None,
        "status": result.status,
        "reason": result.reason,
        "suggestions_created": result.suggestions_created,
        "suggestion_ids": list(result.suggestion_ids),
        "skipped": _skipped(run.summary if run else None),
        "turns": run.turns if run else 0,
        "tool_calls": run.tool_calls if run else 0,
        "model": run.model if run else "",
        "cost_usd": float(run.cost_usd) if run else 0.0,
        "seconds": round(seconds, 3),
    }


def _skipped(summary: dict[str, Any] | None) -> list[dict[str, str]]:
    """The hypotheses a run left out, as far as its summary, which a model wrote, can be read."""
    rows = (summary or {}).get("skipped")
    keys = ("hypothesis", "reason_skipped")
    return [
        {key: str(row.get(key, "")) for key in keys}
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
