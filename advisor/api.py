"""The advisor's API: request suggestions, poll a run."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Router, Schema, Status

from advisor.models import Run
from advisor.run.request import run_advance, run_request, run_wait
from advisor.selectors import run_for, run_progress
from digest.places import RUNS, turn_end
from digest.requests import reader_of
from digest.throttling import GENERATE, limit_count

WAIT_S = 30.0

router = Router(tags=["advisor"])


class GenerateOut(Schema):
    """The result of a request for suggestions."""

    status: str
    suggestions_created: int
    suggestion_ids: list[int]
    reason: str
    run_id: UUID | None = None
    pending_count: int | None = None


class StepOut(Schema):
    """One step of a run: a turn of a model, or a tool call."""

    n: int
    kind: str
    name: str
    error: str
    ms: int


class RunOut(Schema):
    """The progress of a run; `steps` are the last twenty.

    `finished_by` is `planner` if the planner finished a run for which models were configured, else empty.
    """

    run_id: UUID
    status: str
    turns: int
    tool_calls: int
    suggestions_created: int
    suggestion_ids: list[int]
    reason: str
    model: str
    finished_by: str
    steps: list[StepOut]


@router.post("/suggestions/generate", response={200: GenerateOut, 202: RunOut}, exclude_none=True)
def suggestions_generate(request: HttpRequest) -> Status[Any]:
    """Request suggestions. Waits up to 30 s; `Prefer: respond-async` returns 202 with the run to poll.

    It returns at once if a worker is there to execute the run. Without a worker the run is executed before
    the response, which then has its result. During a run another request is answered `in_progress` at once,
    with the run to poll. So is the first one if two others wait.
    """
    reader = reader_of(request)
    now = timezone.now()
    limit_count(limit=GENERATE, who=reader.pk, now=now)
    turn_end()
    result = run_request(reader=reader, trigger=Run.Trigger.UI, now=now)
    if result.run_id and result.status != "already_generated":
        run = run_for(reader.pk, result.run_id)
        if run is not None and "respond-async" in request.headers.get("prefer", ""):
            return Status(202, run_progress(run))
        if result.began:
            with RUNS.place(reader.pk) as may_wait:
                waited = run_wait(run_id=result.run_id, now=now, timeout_s=WAIT_S if may_wait else 0.0)
            result = replace(waited, began=True)
    body = {
        "status": result.status,
        "suggestions_created": result.suggestions_created,
        "suggestion_ids": list(result.suggestion_ids),
        "reason": result.reason,
        "run_id": result.run_id,
        "pending_count": result.pending_count or None,
    }
    return Status(200, body)


@router.get("/runs/{uuid:run_id}", response=RunOut)
def runs_get(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Return the progress of one of your runs. A run that no worker has taken is executed first."""
    run = run_for(reader_of(request).pk, run_id)
    if run is None:
        raise Http404
    turn_end()
    return run_progress(run_advance(run=run, now=timezone.now()))
