"""The headstrong agent's runs with guidance and without, on the real tools, rules and memories.

Every simulated reader has the same sources and earlier answers; only the order in which the agent proposes is
drawn. Accept rates are expectations: the mean chance, over what was stored, that its reader accepts it.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
from django.db import transaction

from advisor.agent import agent_run
from advisor.entities import Limits, StepRecord, ToolContext
from advisor.evaluation.guidance_agent import (
    PROPOSED,
    SOURCES,
    WRITE,
    HeadstrongModel,
    Source,
    history_lines,
    host_of,
    proposal_of,
)
from advisor.guidance.engine import guide_for
from advisor.guidance.state import RunState, state_keep
from advisor.guidance.tunables import tunables
from advisor.models import Run
from advisor.tools.registry import dispatch, schemas
from config.guidance_bench.store import NOW
from digest.llm.ledger import advisor_account
from digest.services.importing import feedback_import
from ranking.body import body_default
from suggestions.entities import BOOST_SOURCE, SOURCE_WEIGHTS
from suggestions.models import Suggestion
from suggestions.services.outcomes import Ending, outcome_draft, profile_lock, profile_update

LIMITS = Limits(turns=20, tool_calls=30, history_turns=15, timeout_s=600)
STOPPED = ("blocked", "held")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Course:
    """What became of one run's writes."""

    failed: int
    stopped: int
    stored: int
    accepted: float


def agent_measure(*, seed: int, readers: int) -> list[Row]:
    """A row for each way to run, and one that compares them. Everything is undone."""
    rng = np.random.default_rng([seed, 71])
    courses: dict[bool, list[Course]] = {False: [], True: []}
    with transaction.atomic():
        for n in range(readers):
            name = f"headstrong{seed}n{n}"
            order = [PROPOSED[i] for i in rng.permutation(len(PROPOSED))]
            reader_id = _reader(name)
            for guided in (False, True):
                courses[guided].append(_course(name, reader_id, order, guided=guided, seed=seed))
        transaction.set_rollback(True)
    rows = {guided: _row(guided, found) for guided, found in courses.items()}
    before, after = rows[False], rows[True]
    fewer = 1 - after["failed_writes"] / before["failed_writes"] if before["failed_writes"] else None
    known = before["accept_rate"] is not None and after["accept_rate"] is not None
    gained = after["accept_rate"] - before["accept_rate"] if known else None
    compared = {
        "name": "agent",
        "failed_fewer": None if fewer is None else round(fewer, 4),
        "accepted_more": None if gained is None else round(gained, 4),
    }
    return [before, after, compared]


def _course(name: str, reader_id: UUID, order: list[Source], *, guided: bool, seed: int) -> Course:
    """One run; what it stored is taken back, so that the other one begins where this one did."""
    steps: list[StepRecord] = []
    sid = transaction.savepoint()
    run = _run(reader_id, uuid5(NAMESPACE_URL, f"{name}:{guided}"))
    context = ToolContext(reader_id, run.pk, NOW, lambda: None)
    state_keep(run_id=run.pk, state=RunState(), tunables=tunables())
    guide = guide_for(run=run, context=context, moment=_clock()) if guided else None
    agent_run(
        context=context,
        models=[HeadstrongModel([proposal_of(name, source) for source in order])],
        dispatch=lambda call: dispatch(context, call),
        schemas=schemas(),
        limits=LIMITS,
        ledger=advisor_account(reader_id=reader_id, run_id=run.pk, now=NOW),
        record=steps.append,
        guide=guide,
    )
    stored = set(Suggestion.objects.filter(run_id=run.pk).values_list("target_key", flat=True))
    transaction.savepoint_rollback(sid)
    codes = Counter(step.error_code for step in steps if step.tool == WRITE)
    stopped = sum(codes[code] for code in STOPPED)
    failed = sum(count for code, count in codes.items() if code and code not in STOPPED)
    chances = [source.accepts for source in SOURCES if host_of(name, source) in stored]
    return Course(failed, stopped, len(chances), sum(chances))


def _row(guided: bool, courses: list[Course]) -> Row:
    stored = sum(course.stored for course in courses)
    accepted = sum(course.accepted for course in courses)
    return {
        "name": f"agent {'with' if guided else 'without'} guidance",
        "runs": len(courses),
        "failed_writes": sum(course.failed for course in courses),
        "stopped_writes": sum(course.stopped for course in courses),
        "stored": stored,
        "accept_rate": round(accepted / stored, 4) if stored else None,
    }


def _clock() -> Any:
    """A clock that moves 30 seconds with every look, so that cooldowns are those of a real run."""
    looks = iter(range(10_000))
    return lambda: NOW + timedelta(seconds=30 * next(looks))


def _run(reader_id: UUID, run_id: UUID) -> Run:
    return Run.objects.create(
        pk=run_id,
        reader_id=reader_id,
        day=NOW.date(),
        trigger=Run.Trigger.UI,
        status=Run.Status.RUNNING,
        fence=1,
        attempt=1,
        created_at=NOW,
        started_at=NOW,
    )


def _reader(name: str) -> UUID:
    """A reader with thumbs, three months of answers, and one suggestion that waits."""
    imported = feedback_import(lines=history_lines(name, NOW), now=NOW)
    reader_id = UUID(imported.reader_ids[name])
    profile_lock(reader_id=reader_id, now=NOW)
    for source in SOURCES:
        for days in source.refused_days:
            _answered(reader_id, name, source, NOW - timedelta(days=days), Suggestion.Status.REJECTED)
        for days in source.accepted_days:
            _answered(reader_id, name, source, NOW - timedelta(days=days), Suggestion.Status.ACCEPTED)
        if source.pending:
            _suggestion(reader_id, name, source, NOW - timedelta(days=1), Suggestion.Status.PENDING)
    profile_update(reader_id=reader_id, now=NOW)
    return reader_id


def _answered(reader_id: UUID, name: str, source: Source, at: datetime, status: str) -> None:
    """One suggestion about the source with the reader's answer."""
    suggestion = _suggestion(reader_id, name, source, at, status)
    after = body_default() if status == Suggestion.Status.ACCEPTED else None
    ending = Ending(status, body_default(), after, user_reason="")
    outcome_draft(suggestion=suggestion, ending=ending, evidence=[], now=at).save(force_insert=True)


def _suggestion(reader_id: UUID, name: str, source: Source, at: datetime, status: str) -> Suggestion:
    more = source.suggestion_type == BOOST_SOURCE
    return Suggestion.objects.create(
        reader_id=reader_id,
        suggestion_type=source.suggestion_type,
        field=SOURCE_WEIGHTS,
        target_key=host_of(name, source),
        label=host_of(name, source),
        current_value="1.0",
        suggested_value="1.3" if more else "0.7",
        reason="The thumbs say so.",
        confidence="medium",
        p_helpful=0.85,
        config_version=0,
        status=status,
        created_at=at,
        resolved_at=None if status == Suggestion.Status.PENDING else at,
    )
