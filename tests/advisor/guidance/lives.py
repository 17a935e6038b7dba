"""Readers' decisions and runs' attempts, as rows. They are created in bulk and are the same every time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from advisor.models import GuidanceEvent, Memory, Run, Step
from digest.models import Reader
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.services import profile_lock, profile_update
from tests.support.changes import FIELD_OF_TYPE
from tests.support.factories import CLOCK

DAY = timedelta(days=1)
SOURCE = "loved.example"


def suggestion(reader: Reader, kind: str = "boost_source", target: str = SOURCE, **given: Any) -> Suggestion:
    """Return an unsaved suggestion, made ten days before anything is asked."""
    fields = {
        "reader": reader,
        "suggestion_type": kind,
        "field": FIELD_OF_TYPE[kind],
        "target_key": target,
        "label": target,
        "suggested_value": "1.3",
        "reason": "A reason",
        "confidence": "high",
        "p_helpful": 0.9,
        "config_version": 0,
        "created_at": CLOCK - 10 * DAY,
    }
    return Suggestion(**{**fields, **given})


def decided(
    reader: Reader,
    outcomes: Sequence[str],
    kind: str = "boost_source",
    target: str | None = SOURCE,
    *,
    days_ago: float = 5,
    **given: Any,
) -> list[Outcome]:
    """Return one decision for each of `outcomes`, `days_ago`; without a target, each about another.

    "helped", "harmed" and "reverted" were accepted first; `given` are fields of the decisions.
    """
    at, rows = CLOCK - days_ago * DAY, []
    status = {"rejected": "rejected", "expired": "expired"}
    made = Suggestion.objects.bulk_create(
        suggestion(reader, kind, target or f"target{n}.example", status=status.get(outcome, "accepted"))
        for n, outcome in enumerate(outcomes)
    )
    for each, outcome in zip(made, outcomes, strict=True):
        first = outcome if outcome in status else "accepted"
        rows.append(_outcome(each, "decision", first, at, **given))
        if outcome in ("helped", "harmed"):
            rows.append(_outcome(each, "effect", outcome, at + DAY))
        if outcome == "reverted":
            rows.append(_outcome(each, "revert", outcome, at + DAY))
    stored = Outcome.objects.bulk_create(rows)
    with transaction.atomic():
        profile_lock(reader_id=reader.pk, now=CLOCK)
        profile_update(reader_id=reader.pk, now=CLOCK)
    return stored


def _outcome(of: Suggestion, kind: str, outcome: str, at: datetime, **given: Any) -> Outcome:
    return Outcome(
        suggestion=of,
        reader_id=of.reader_id,
        kind=kind,
        outcome=outcome,
        suggestion_type=of.suggestion_type,
        target_key=of.target_key,
        config_before={},
        created_at=of.created_at,
        decided_at=at,
        **given,
    )


def answered(of: Suggestion, outcome: str, at: datetime, kind: str = "decision") -> Outcome:
    """Store the reader's answer to a suggestion, or its outcome."""
    if kind == "decision":
        Suggestion.objects.filter(pk=of.pk).update(status=outcome)
    row = _outcome(of, kind, outcome, at)
    row.save()
    return row


def ran(reader: Reader, *, at: datetime = CLOCK - DAY, over: bool = True) -> Run:
    """Return a run of the reader."""
    return Run.objects.create(
        reader=reader,
        day=at.date(),
        trigger="mcp",
        status="completed" if over else "running",
        created_at=at,
        started_at=at,
        finished_at=at + timedelta(minutes=5) if over else None,
    )


def wrote(run: Run, n: int, code: str = "", **arguments: Any) -> Step:
    """Return a write of a run as its `n`th step, `n` seconds after it began."""
    given = {
        "suggestion_type": "boost_source",
        "target": SOURCE,
        "suggested_value": 1.3,
        "evidence": [],
        "reason": "Because.",
    }
    return Step.objects.create(
        run=run,
        n=n,
        kind="tool",
        tool="write_suggestion",
        arguments={**given, **arguments},
        error_code=code,
        at=run.created_at + timedelta(seconds=n),
    )


def remember(reader: Reader | None, key: str = "one", **fields: Any) -> Memory:
    """Return a memory that is in force."""
    given = {
        "kind": "pattern",
        "title": key,
        "text": f"When asked: do {key}. Because it helped.",
        "polarity": 1,
    }
    return Memory.objects.create(
        reader=reader, key=key, valid_from=CLOCK, updated_at=CLOCK, **{**given, **fields}
    )


def told(run: Run, *memories: Memory, n: int = 1, holdout: bool = False, **fields: Any) -> GuidanceEvent:
    """Store the guidance for the `n`th call of a run about boosting the source."""
    given: dict[str, Any] = {
        "tool": "write_suggestion",
        "phase": "write",
        "suggestion_type": "boost_source",
        "target_key": SOURCE,
        "level": "silent" if holdout else "note",
        "why": "held_out" if holdout else "told",
        "at": run.created_at + timedelta(seconds=n - 0.5),
    }
    ids = [] if holdout else [memory.pk for memory in memories]
    return GuidanceEvent.objects.create(
        run=run, reader_id=run.reader_id, n=n, emitted_ids=ids, holdout=holdout, **{**given, **fields}
    )
