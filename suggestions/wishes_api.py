"""API endpoints of wishes in a reader's own words: drafts of changes, and accepting one."""

from dataclasses import asdict

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import ConfigDict, StrictStr

from digest.requests import reader_of
from digest.throttling import DECIDE, GENERATE, limit_count
from suggestions.api import SuggestionError
from suggestions.entities import Refusal
from suggestions.services.wishes import WishDraft, wish_accept, wishes_draft

router = Router(tags=["suggestions"])


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
    moves = [
        WishMoveOut.model_validate(asdict(item))
        for item in (*preview.enters, *preview.leaves, *preview.moves)
    ]
    return WishDraftOut(
        draft=draft.signed,
        **draft.change.as_dict(),
        sentence=draft.sentence,
        about=draft.about,
        items=items,
        moves=moves,
    )
