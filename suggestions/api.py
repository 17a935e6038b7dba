"""API endpoints of the suggestions room: the pending suggestions and the reader's answers."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from digest.feeds.identity import web_url
from digest.requests import reader_of
from digest.throttling import DECIDE, GENERATE, limit_count, long_work
from suggestions.changes.weights import weight_parse
from suggestions.models import Suggestion
from suggestions.notes import NO_NOTE, notes_shown
from suggestions.outcomes.services import evidence_summary
from suggestions.proposals import Refusal, Resolved
from suggestions.selectors import evidence_muted, suggestions_pending
from suggestions.sentences import answer_kind, confidence_stated, teaching_of
from suggestions.services import resolve
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.wishes import WishDraft, wish_accept, wishes_draft

STATUS_OF_CODE = {"not_found": 404, "already_resolved": 409, "config_changed": 409}
STATUS_DEFAULT = 422


class SuggestionError(Exception):
    """A refused request. The API answers `{"error": code, "message": message, **data}` with `status`."""

    def __init__(self, code: str, message: str, status: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, dict(data or {})

    @classmethod
    def of(cls, refusal: Refusal) -> "SuggestionError":
        """Return the error for `refusal`."""
        status = STATUS_OF_CODE.get(refusal.code, STATUS_DEFAULT)
        return cls(refusal.code, refusal.message, status, refusal.data)


router = Router(tags=["suggestions"])


class SuggestionOut(Schema):
    """One pending suggestion. Weights are strings; `current_value` is `null` for a new topic.

    `reason` is the server's sentence; `model_note` what a model adds to it, "" where nothing is shown.
    """

    suggestion_id: int
    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str | None
    suggested_value: str
    reason: str
    model_note: str
    confidence: str
    expected_impact: str
    evidence_count: int
    evidence: list[dict[str, Any]]
    forecast: dict[str, Any]
    validation_notes: list[str]
    status: str
    created_at: datetime


class SuggestionsOut(Schema):
    """The pending suggestions, in the order in which they were made."""

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
    """A decision that took effect; `teaches` is a sentence on its effect on later suggestions."""

    success: bool = True
    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str
    teaches: str = ""


class ResultOut(Schema):
    """One answer of accept-all: `error` and `message` where it was refused, else `teaches`."""

    suggestion_id: int
    status: str
    teaches: str | None = None
    error: str | None = None
    message: str | None = None


class ResultsOut(Schema):
    """The result of each pending suggestion, failures included."""

    success: bool = True
    accepted_count: int
    results: list[ResultOut]


@router.get("/suggestions", response=SuggestionsOut)
def suggestions_get(request: HttpRequest) -> SuggestionsOut:
    """Return the pending suggestions with their evidence and forecast."""
    reader_id = reader_of(request).pk
    suggestions_sweep(now=timezone.now(), reader_id=reader_id)
    pending = suggestions_pending(reader_id=reader_id)
    notes = notes_shown(pending)
    muted = evidence_muted(reader_id=reader_id, suggestions=pending, now=timezone.now())
    rows = [_suggestion(row, notes.get(row.pk, NO_NOTE).text, muted) for row in pending]
    return SuggestionsOut(suggestions=rows, count=len(rows))


@router.post("/suggestions/accept-all", response=ResultsOut)
def suggestions_accept_all_post(request: HttpRequest) -> ResultsOut:
    """Accept each pending suggestion on its own; one that cannot be applied does not stop the rest."""
    answers = resolve.suggestions_accept_all(reader_id=_deciding(request), now=timezone.now())
    results = [_result(answer) for answer in answers]
    accepted = sum(result.error is None for result in results)
    return ResultsOut(accepted_count=accepted, results=results)


@router.post("/suggestions/{int:suggestion_id}/accept", response=DecisionOut)
def suggestion_accept_post(
    request: HttpRequest, suggestion_id: int, body: DecisionIn | None = None
) -> DecisionOut:
    """Apply a suggestion, exactly as agreed."""
    body = body or DecisionIn()
    value = None if body.value is None else weight_parse(body.value)
    if body.value is not None and value is None:
        raise SuggestionError("invalid_weight", "The value must be a plain number such as 1.3.", 422)
    accept = partial(resolve.suggestion_accept, user_reason=body.user_reason, value=value)
    return _answer(request, suggestion_id, accept, "accept", body)


@router.post("/suggestions/{int:suggestion_id}/reject", response=DecisionOut)
def suggestion_reject_post(
    request: HttpRequest, suggestion_id: int, body: DecisionIn | None = None
) -> DecisionOut:
    """Reject a suggestion, with a reason if there is one."""
    body = body or DecisionIn()
    reject = partial(resolve.suggestion_reject, user_reason=body.user_reason)
    return _answer(request, suggestion_id, reject, "reject", body)


@router.post("/suggestions/{int:suggestion_id}/snooze", response=DecisionOut)
def suggestion_snooze_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Snooze a suggestion for 7 days."""
    return _answer(request, suggestion_id, resolve.suggestion_snooze, "snooze")


@router.post("/suggestions/{int:suggestion_id}/never", response=DecisionOut)
def suggestion_never_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Reject a suggestion and never get one about its target again."""
    return _answer(request, suggestion_id, resolve.suggestion_never, "never")


@router.post("/suggestions/{int:suggestion_id}/revert", response=DecisionOut)
def suggestion_revert_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Revert the change of an accepted suggestion."""
    return _answer(request, suggestion_id, resolve.suggestion_revert, "revert")


@router.post("/suggestions/{int:suggestion_id}/undo", response=DecisionOut)
def suggestion_undo_post(request: HttpRequest, suggestion_id: int) -> DecisionOut:
    """Undo the last answer: revert an accepted change, make a rejected or snoozed one pending again."""
    return _answer(request, suggestion_id, resolve.suggestion_undo, "undo")


def _deciding(request: HttpRequest) -> UUID:
    """Return the reader who answers. Raises `TooManyRequests`."""
    reader_id = reader_of(request).pk
    limit_count(limit=DECIDE, who=reader_id, now=timezone.now())
    return reader_id


def _answer(
    request: HttpRequest,
    suggestion_id: int,
    decide: Callable[..., Resolved | Refusal],
    verb: str,
    body: DecisionIn | None = None,
) -> DecisionOut:
    outcome = decide(reader_id=_deciding(request), suggestion_id=suggestion_id, now=timezone.now())
    if isinstance(outcome, Refusal):
        raise SuggestionError.of(outcome)
    kind = answer_kind(verb, body.dict() if body else {}, outcome.status)
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
        teaches = teaching_of(answer_kind("accept", {}, answer.status))
        return ResultOut(suggestion_id=answer.suggestion_id, status=answer.status, teaches=teaches)
    return ResultOut(
        suggestion_id=answer.data["suggestion_id"],
        status="failed",
        error=answer.code,
        message=answer.message,
    )


def _suggestion(row: Suggestion, note: str, muted: Collection[int]) -> SuggestionOut:
    evidence = evidence_summary(evidence=[one for one in row.evidence.all() if one.item_id not in muted])
    for one in evidence:
        one["url"] = web_url(one["url"])  # what has no address goes by a name of ours, which opens nowhere
    return SuggestionOut(
        suggestion_id=row.pk,
        suggestion_type=row.suggestion_type,
        field=row.field,
        target_key=row.target_key,
        label=row.label,
        current_value=row.current_value or None,
        suggested_value=row.suggested_value,
        reason=row.reason,
        model_note=note,
        confidence=confidence_stated(row.confidence, row.forecast),
        expected_impact=row.expected_impact,
        evidence_count=len(evidence),
        evidence=evidence,
        forecast=row.forecast,
        validation_notes=row.validation_notes,
        status=row.status,
        created_at=row.created_at,
    )


class WishIn(Schema):
    """What the reader wants, in their own words: at most 500 characters."""

    model_config = ConfigDict(extra="forbid")

    words: StrictStr


class WishItemOut(Schema):
    """An item that a draft is about."""

    item_id: int
    title: str
    source: str


class WishMoveOut(WishItemOut):
    """An item of today's digest that would change places; `null`: it is not in it."""

    before: int | None
    after: int | None


class WishDraftOut(Schema):
    """One change that waits for a yes. `draft` names it for a day, to the reader it was made for alone.

    `before` and `after` are those of the setting: a weight, a boost, hours, whether a topic is there; of a
    mute its last day, `true` for ever, `false` for none. `items` are the newest of the `about` items of the
    last seven days that it is about.
    """

    draft: str
    field: str
    direction: str
    kind: str
    target: str
    before: float | bool | str | None
    after: float | bool | str | None
    sentence: str
    about: int
    items: list[WishItemOut]
    moves: list[WishMoveOut]


class WishChoiceOut(Schema):
    """One answer to the question: its label, and the words to send instead."""

    label: str
    words: str


class WishQuestionOut(Schema):
    """What has to be known before anything can be proposed."""

    text: str
    choices: list[WishChoiceOut]


class WishesOut(Schema):
    """What the words came to; `notes` say what was not understood or cannot be done."""

    drafts: list[WishDraftOut]
    question: WishQuestionOut | None
    notes: list[str]


class WishAcceptIn(Schema):
    """The draft to accept."""

    model_config = ConfigDict(extra="forbid")

    draft: StrictStr


class WishAcceptOut(Schema):
    """A change that took effect, with the version of the settings that it made."""

    success: bool = True
    sentence: str
    config_version: int


@router.post("/suggestions/wishes", response=WishesOut)
def wishes_post(request: HttpRequest, body: WishIn) -> WishesOut:
    """Read what the reader wants in their own words; return drafts or a question. Nothing is changed."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=GENERATE, who=reader.pk, now=now)
    with long_work(reader.pk):
        answer = wishes_draft(reader=reader, words=body.words, now=now)
    if isinstance(answer, Refusal):
        raise SuggestionError.of(answer)
    question = WishQuestionOut.model_validate(asdict(answer.question)) if answer.question else None
    drafts = [_wish_draft(draft) for draft in answer.drafts]
    return WishesOut(drafts=drafts, question=question, notes=list(answer.notes))


@router.post("/suggestions/wishes/accept", response=WishAcceptOut)
def wishes_accept_post(request: HttpRequest, body: WishAcceptIn) -> WishAcceptOut:
    """Make the change of a draft; the words stay with the version of the settings."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=DECIDE, who=reader.pk, now=now)
    done = wish_accept(reader=reader, signed=body.draft, now=now)
    if isinstance(done, Refusal):
        raise SuggestionError.of(done)
    return WishAcceptOut(sentence=done.sentence, config_version=done.config_version)


def _wish_draft(draft: WishDraft) -> WishDraftOut:
    preview = draft.preview
    items = [WishItemOut(item_id=i.item_id, title=i.title, source=i.source) for i in draft.items]
    changed = (*preview.enters, *preview.leaves, *preview.moves)
    moves = [WishMoveOut.model_validate(asdict(item)) for item in changed]
    return WishDraftOut(
        draft=draft.signed,
        **draft.change.as_dict(),
        sentence=draft.sentence,
        about=draft.about,
        items=items,
        moves=moves,
    )
