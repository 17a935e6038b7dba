"""The suggestion doors of the API: what waits, and the reader's answers to it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from digest.limits import DECIDE, limit_count
from digest.readers import reader_of
from suggestions.entities import Refusal, Resolved
from suggestions.errors import SuggestionError
from suggestions.models import Suggestion
from suggestions.selectors import suggestions_pending
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.outcomes import evidence_summary
from suggestions.services.resolve import (
    suggestion_accept,
    suggestion_never,
    suggestion_reject,
    suggestion_revert,
    suggestion_snooze,
    suggestions_accept_all,
)
from suggestions.services.undo import suggestion_undo
from suggestions.teaching import answer_kind, teaching_of
from suggestions.values import weight_parse

router = Router(tags=["suggestions"])


class SuggestionOut(Schema):
    """One pending suggestion. Weights are strings; `current_value` is `null` for a new topic."""

    suggestion_id: int
    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str | None
    suggested_value: str
    reason: str
    confidence: str
    expected_impact: str
    evidence_count: int
    evidence: list[dict[str, Any]]
    forecast: dict[str, Any]
    validation_notes: list[str]
    status: str
    created_at: datetime


class SuggestionsOut(Schema):
    """All that waits, in the order in which it was made."""

    suggestions: list[SuggestionOut]
    count: int


class DecisionIn(Schema):
    """An answer; everything is optional. `value`: the weight the reader chooses instead, on accept only.

    Anything else is refused, since a misspelt or misplaced `value` must not agree to the proposed one.
    """

    model_config = ConfigDict(extra="forbid")

    user_reason: Annotated[str, Field(max_length=500)] = ""
    value: StrictFloat | StrictInt | StrictStr | None = None


class DecisionOut(Schema):
    """A decision that took effect; `teaches` says in a sentence what is learnt from it."""

    success: bool = True
    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str
    teaches: str = ""


class ResultOut(Schema):
    """One answer of accept-all; `error` and `message` where it was refused, else what it `teaches`."""

    suggestion_id: int
    status: str
    teaches: str | None = None
    error: str | None = None
    message: str | None = None


class ResultsOut(Schema):
    """What became of each pending suggestion; what failed says so in its own result."""

    success: bool = True
    accepted_count: int
    results: list[ResultOut]


@router.get("/suggestions", response=SuggestionsOut)
def suggestions_get(request: HttpRequest) -> SuggestionsOut:
    """The pending suggestions with their evidence and forecast."""
    reader_id = reader_of(request).pk
    suggestions_sweep(now=timezone.now(), reader_id=reader_id)
    rows = [_suggestion(row) for row in suggestions_pending(reader_id=reader_id)]
    return SuggestionsOut(suggestions=rows, count=len(rows))


@router.post("/suggestions/accept-all", response=ResultsOut)
def suggestions_accept_all_post(request: HttpRequest) -> ResultsOut:
    """Accept each pending suggestion on its own; one that cannot be applied does not hold up the rest."""
    answers = suggestions_accept_all(reader_id=_deciding(request), now=timezone.now())
    results = [_result(answer) for answer in answers]
    accepted = sum(result.error is None for result in results)
    return ResultsOut(accepted_count=accepted, results=results)


@router.post("/suggestions/{int:suggestion_id}/accept", response=DecisionOut)
def suggestion_accept_post(
    request: HttpRequest, suggestion_id: int, body: DecisionIn | None = None
) -> DecisionOut:
    """Apply a suggestion, exactly as agreed."""
    given = body or DecisionIn()
    value = None if given.value is None else weight_parse(given.value)
    if given.value is not None and value is None:
        raise SuggestionError("invalid_weight", "The value must be a plain number such as 1.3.", 422)
    return _answer(
        suggestion_accept(
            reader_id=_deciding(request),
            suggestion_id=suggestion_id,
            now=timezone.now(),
            user_reason=given.user_reason,
            value=value,
        ),
        "accept",
        given,
    )


@router.post("/suggestions/{int:suggestion_id}/reject", response=DecisionOut)
def suggestion_reject_post(
    request: HttpRequest, suggestion_id: int, body: DecisionIn | None = None
) -> DecisionOut:
    """Turn a suggestion down, with a reason if there is one."""
    given = body or DecisionIn()
    return _answer(
        suggestion_reject(
            reader_id=_deciding(request),
            suggestion_id=suggestion_id,
            now=timezone.now(),
            user_reason=given.user_reason,
        ),
        "reject",
        given,
    )


@router.post("/suggestions/{int:suggestion_id}/snooze", response=DecisionOut)
def suggestion_snooze_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Not now: back after 7 days."""
    reader_id = _deciding(request)
    outcome = suggestion_snooze(reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now())
    return _answer(outcome, "snooze")


@router.post("/suggestions/{int:suggestion_id}/never", response=DecisionOut)
def suggestion_never_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Turn a suggestion down and never hear of its target again."""
    reader_id = _deciding(request)
    outcome = suggestion_never(reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now())
    return _answer(outcome, "never")


@router.post("/suggestions/{int:suggestion_id}/revert", response=DecisionOut)
def suggestion_revert_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Put the target of an accepted suggestion back as it was."""
    reader_id = _deciding(request)
    outcome = suggestion_revert(reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now())
    return _answer(outcome, "revert")


@router.post("/suggestions/{int:suggestion_id}/undo", response=DecisionOut)
def suggestion_undo_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Take the last answer back: put an accepted change back, let a dismissed or put-off one wait again."""
    reader_id = _deciding(request)
    outcome = suggestion_undo(reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now())
    return _answer(outcome, "undo")


def _deciding(request: HttpRequest) -> UUID:
    """The reader who answers. Raises `TooManyRequests`."""
    reader_id = reader_of(request).pk
    limit_count(limit=DECIDE, who=reader_id, now=timezone.now())
    return reader_id


def _answer(outcome: Resolved | Refusal, verb: str, said: DecisionIn | None = None) -> DecisionOut:
    if isinstance(outcome, Refusal):
        raise SuggestionError.of(outcome)
    kind = answer_kind(verb, said.dict() if said else {}, outcome.status)
    return DecisionOut(
        suggestion_id=outcome.suggestion_id,
        status=outcome.status,
        outcome_id=outcome.outcome_id,
        config_updated=outcome.config_updated,
        config_version=outcome.config_version,
        note=outcome.note,
        teaches=teaching_of(kind),
    )


def _result(answer: Resolved | Refusal) -> ResultOut:
    if isinstance(answer, Resolved):
        taught = teaching_of(answer_kind("accept", {}, answer.status))
        return ResultOut(suggestion_id=answer.suggestion_id, status=answer.status, teaches=taught)
    return ResultOut(
        suggestion_id=answer.data["suggestion_id"],
        status="failed",
        error=answer.code,
        message=answer.message,
    )


def _suggestion(row: Suggestion) -> SuggestionOut:
    evidence = evidence_summary(evidence=row.evidence.all())
    return SuggestionOut(
        suggestion_id=row.pk,
        suggestion_type=row.suggestion_type,
        field=row.field,
        target_key=row.target_key,
        label=row.label,
        current_value=row.current_value or None,
        suggested_value=row.suggested_value,
        reason=row.reason,
        confidence=row.confidence,
        expected_impact=row.expected_impact,
        evidence_count=len(evidence),
        evidence=evidence,
        forecast=row.forecast,
        validation_notes=row.validation_notes,
        status=row.status,
        created_at=row.created_at,
    )
