"""The advisor's API: ask for suggestions, watch a run."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Router, Schema, Status

from advisor.models import Run
from advisor.selectors import run_for, run_progress
from advisor.services.runs import GenerateResult, run_attend, run_request, run_wait
from digest.limits import GENERATE, limit_count
from digest.readers import reader_of

WAIT_S = 30.0

router = Router(tags=["advisor"])


class GenerateOut(Schema):
    """What a request for suggestions came to."""

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
    """How far a run has come; `steps` are the last twenty."""

    run_id: UUID
    status: str
    turns: int
    tool_calls: int
    suggestions_created: int
    suggestion_ids: list[int]
    reason: str
    model: str
    steps: list[StepOut]


@router.post("/suggestions/generate", response={200: GenerateOut, 202: RunOut}, exclude_none=True)
def suggestions_generate(request: HttpRequest) -> Status[Any]:
    """Ask for suggestions. Waits up to 30 s; `Prefer: respond-async` answers 202 with the run to poll.

    It answers at once where a worker is there to carry the run out; without one the run is carried out
    before the answer, which then shows its end.
    """
    reader = reader_of(request)
    now = timezone.now()
    limit_count(limit=GENERATE, who=reader.pk, now=now)
    result = run_request(reader=reader, trigger=Run.Trigger.UI, now=now)
    if result.run_id and result.status != "already_generated":
        run = run_for(reader.pk, result.run_id)
        if run is not None and "respond-async" in request.headers.get("prefer", ""):
            return Status(202, run_progress(run))
        result = run_wait(run_id=result.run_id, now=now, timeout_s=WAIT_S)
    return Status(200, _body(result))


@router.get("/runs/{uuid:run_id}", response=RunOut)
def runs_get(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """How far one of your runs has come; one that nobody took up is carried out. Another's is not found."""
    run = run_for(reader_of(request).pk, run_id)
    if run is None:
        raise Http404
    return run_progress(run_attend(run=run, now=timezone.now()))


def _body(result: GenerateResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "suggestions_created": result.suggestions_created,
        "suggestion_ids": list(result.suggestion_ids),
        "reason": result.reason,
        "run_id": result.run_id,
        "pending_count": result.pending_count or None,
    }
