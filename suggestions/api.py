"""API endpoints of the suggestions room: suggestions, the question of a run, and the reader's answers."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from digest.feeds.identity import web_url
from digest.requests import reader_of
from digest.throttling import DECIDE, WISH, limit_count, long_work
from ranking.former_texts import text_today
from suggestions.changes.weights import weight_parse
from suggestions.models import Suggestion
from suggestions.notes import NO_NOTE, notes_shown
from suggestions.outcomes.services import evidence_summary
from suggestions.planner.checking import HEADLINES
from suggestions.proposals import Refusal, Resolved
from suggestions.questions import ANSWERS_MAX
from suggestions.selectors import evidence_muted, question_open, suggestions_pending
from suggestions.sentences import answer_kind, confidence_stated, teaching_of
from suggestions.services import resolve
from suggestions.services.answers import question_answer
from suggestions.services.checks import suggestion_check, suggestion_check_begin
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.wishes import WishDraft, wish_accept, wishes_draft
from suggestions.waiting import suggestions_wait_until

STATUS_OF_CODE = {
    "not_found": 404,
    "already_resolved": 409,
    "already_checked": 409,
    "config_changed": 409,
    "too_many_changes": 429,
}
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


class CheckFoundOut(Schema):
    """The result of a check: of `rated` answers about the target `liked`, and P(helpful) before and after."""

    liked: int
    rated: int
    p_before: float
    p_after: float
    at: datetime


class AskedOut(Schema):
    """A question of an earlier run with the reader's answer, which led to a suggestion."""

    question: str
    answer: str


class SuggestionOut(Schema):
    """One pending suggestion. Weights are strings; `current_value` is `null` for a new topic.

    `other_names` are those that a new topic gets. `reason` is the server's sentence. `model_note` is a
    model's addition to it, or "" if none is shown. `asked` is the answer that led to it, else `null`.
    `checked` is the finding of the reader's check by headlines, `null` before it. `waits_until` is when it
    expires if the reader stays here: 14 days from their next visit, 90 days at most.
    """

    suggestion_id: int
    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str | None
    suggested_value: str
    other_names: list[str]
    asked: AskedOut | None
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
    waits_until: datetime
    checked: CheckFoundOut | None


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
    """One answer of accept-all: `error` and `message` if it was refused, else `teaches`."""

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
    mine = Suggestion.objects.filter(reader_id=reader_id, status=Suggestion.Status.PENDING)
    ends = suggestions_wait_until(rows=mine, now=timezone.now())
    rows = [
        _suggestion(row, notes.get(row.pk, NO_NOTE).text, muted, ends[row.pk])
        for row in pending
        if row.pk in ends
    ]
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


def _suggestion(row: Suggestion, note: str, muted: Collection[int], end: datetime) -> SuggestionOut:
    evidence = evidence_summary(evidence=[one for one in row.evidence.all() if one.item_id not in muted])
    for one in evidence:
        one["url"] = web_url(one["url"])  # an item without an address has a name of ours, which opens nothing
    return SuggestionOut(
        suggestion_id=row.pk,
        suggestion_type=row.suggestion_type,
        field=row.field,
        target_key=row.target_key,
        label=row.label,
        current_value=row.current_value or None,
        suggested_value=row.suggested_value,
        other_names=row.other_names,
        asked=AskedOut(question=row.question.text, answer=row.question.answer) if row.question else None,
        reason=row.reason,
        model_note=note,
        confidence=confidence_stated(row.confidence, row.forecast),
        expected_impact=row.expected_impact,
        evidence_count=len(evidence),
        evidence=evidence,
        forecast=row.forecast,
        validation_notes=[text_today(str(note)) for note in row.validation_notes],
        status=row.status,
        created_at=row.created_at,
        waits_until=end,
        checked=CheckFoundOut.model_validate(row.checked) if row.checked else None,
    )


class CheckHeadlineOut(Schema):
    """A headline to answer, without its source."""

    item_id: int
    title: str


class CheckOut(Schema):
    """The headlines that check a suggestion, in the order in which they are to be shown."""

    suggestion_id: int
    headlines: list[CheckHeadlineOut]


class CheckAnswerIn(Schema):
    """One answer; a skipped headline has none."""

    model_config = ConfigDict(extra="forbid")

    item_id: Annotated[StrictInt, Field(ge=1, lt=2**63)]
    useful: StrictBool


class CheckIn(Schema):
    """The answers to the headlines of a check."""

    model_config = ConfigDict(extra="forbid")

    answers: Annotated[list[CheckAnswerIn], Field(max_length=HEADLINES)] = []


class CheckDoneOut(Schema):
    """A check that counted: `status` is `pending` or `withdrawn`, the rest as in `CheckFoundOut`."""

    success: bool = True
    suggestion_id: int
    status: str
    confidence: str
    liked: int
    rated: int
    p_before: float
    p_after: float


@router.get("/suggestions/{int:suggestion_id}/check", response=CheckOut)
def suggestion_check_get(request: HttpRequest, suggestion_id: int) -> CheckOut:
    """Return the headlines that check a pending suggestion; changes nothing."""
    found = suggestion_check_begin(reader=reader_of(request), suggestion_id=suggestion_id, now=timezone.now())
    if isinstance(found, Refusal):
        raise SuggestionError.of(found)
    headlines = [CheckHeadlineOut(item_id=one.item_id, title=one.title) for one in found.headlines]
    return CheckOut(suggestion_id=suggestion_id, headlines=headlines)


@router.post("/suggestions/{int:suggestion_id}/check", response=CheckDoneOut)
def suggestion_check_post(
    request: HttpRequest, suggestion_id: int, body: CheckIn | None = None
) -> CheckDoneOut:
    """Store the answers as ratings; the suggestion grows surer, less sure, or withdraws itself."""
    _deciding(request)
    answers = {one.item_id: one.useful for one in body.answers} if body else {}
    done = suggestion_check(
        reader=reader_of(request), suggestion_id=suggestion_id, answers=answers, now=timezone.now()
    )
    if isinstance(done, Refusal):
        raise SuggestionError.of(done)
    return CheckDoneOut(
        suggestion_id=done.suggestion_id,
        status=done.status,
        confidence=done.confidence,
        liked=done.liked,
        rated=done.rated,
        p_before=round(done.before, 3),
        p_after=round(done.after, 3),
    )


class QuestionOut(Schema):
    """A question of a run, in a model's words. `titles` are those of the rated articles it is about."""

    question_id: int
    text: str
    answers: list[str]
    titles: list[str]
    asked_at: datetime


class QuestionOpenOut(Schema):
    """The question that waits for an answer, `null` if none does."""

    question: QuestionOut | None


class QuestionAnswerIn(Schema):
    """The number of one of the answers, counted from 0. Without it the reader would rather not say."""

    model_config = ConfigDict(extra="forbid")

    choice: Annotated[StrictInt, Field(ge=0, lt=ANSWERS_MAX)] | None = None


class QuestionAnsweredOut(Schema):
    """An answer that was stored, in its words; "" if the reader would not say."""

    success: bool = True
    question_id: int
    answer: str


@router.get("/question", response=QuestionOpenOut)
def question_get(request: HttpRequest) -> QuestionOpenOut:
    """Return the question that a run asks the reader; none of a reader who wants no suggestions."""
    row = question_open(reader_id=reader_of(request).pk, now=timezone.now())
    if row is None:
        return QuestionOpenOut(question=None)
    asked = QuestionOut(
        question_id=row.pk, text=row.text, answers=row.answers, titles=row.titles, asked_at=row.asked_at
    )
    return QuestionOpenOut(question=asked)


@router.post("/question/{int:question_id}/answer", response=QuestionAnsweredOut)
def question_answer_post(
    request: HttpRequest, question_id: int, body: QuestionAnswerIn | None = None
) -> QuestionAnsweredOut:
    """Store the reader's answer. It is evidence of the next run, and can be given once."""
    _deciding(request)
    choice = body.choice if body else None
    done = question_answer(
        reader=reader_of(request), question_id=question_id, choice=choice, now=timezone.now()
    )
    if isinstance(done, Refusal):
        raise SuggestionError.of(done)
    return QuestionAnsweredOut(question_id=done.pk, answer=done.answer)


class WishIn(Schema):
    """The reader's wish in their own words: at most 500 characters."""

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
    mute its last day, `true` for ever, `false` for none. `within` is the key of the only source of a mute.
    `items` are the newest of the `about` items of the last seven days that it is about. `likely`: the words
    leave it open, and `question` has the other meanings.
    """

    draft: str
    field: str
    direction: str
    kind: str
    within: str
    target: str
    before: float | bool | str | None
    after: float | bool | str | None
    sentence: str
    about: int
    likely: bool
    items: list[WishItemOut]
    moves: list[WishMoveOut]


class WishChoiceOut(Schema):
    """One answer to the question: its label, and the words to send instead."""

    label: str
    words: str


class WishQuestionOut(Schema):
    """A question to answer before anything can be proposed."""

    text: str
    choices: list[WishChoiceOut]


class WishSearchOut(Schema):
    """A change of saved searches that waits for a yes, and how many items the search finds."""

    draft: str
    sentence: str
    q: str
    finds: int


class WishesOut(Schema):
    """The result of the words. `notes` name the parts that were not understood or cannot be done.

    `left` are the words of what was too much for one time, to be sent again; "" for none.
    """

    drafts: list[WishDraftOut]
    searches: list[WishSearchOut]
    question: WishQuestionOut | None
    notes: list[str]
    left: str


class WishAcceptIn(Schema):
    """The draft to accept."""

    model_config = ConfigDict(extra="forbid")

    draft: StrictStr


class WishAcceptOut(Schema):
    """A change that took effect, with the version of the settings that it made; `null` for a search."""

    success: bool = True
    sentence: str
    config_version: int | None


@router.post("/suggestions/wishes", response=WishesOut)
def wishes_post(request: HttpRequest, body: WishIn) -> WishesOut:
    """Read the reader's wish in their own words. Return drafts or a question. Nothing is changed."""
    reader, now = reader_of(request), timezone.now()
    limit_count(limit=WISH, who=reader.pk, now=now)
    with long_work(reader.pk):
        answer = wishes_draft(reader=reader, words=body.words, now=now)
    if isinstance(answer, Refusal):
        raise SuggestionError.of(answer)
    question = WishQuestionOut.model_validate(asdict(answer.question)) if answer.question else None
    drafts = [_wish_draft(draft) for draft in answer.drafts]
    searches = [
        WishSearchOut(draft=one.signed, sentence=one.sentence, q=one.query, finds=one.finds)
        for one in answer.searches
    ]
    notes = list(answer.notes)
    return WishesOut(drafts=drafts, searches=searches, question=question, notes=notes, left=answer.left)


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
        likely=draft.is_likely,
        items=items,
        moves=moves,
    )
