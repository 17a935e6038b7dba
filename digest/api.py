"""The feedback doors of the API: thumbs, their undoing, and the reasons on offer."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from digest.api_reading import router as reading_router
from digest.models import ReasonTag
from digest.readers import reader_of
from digest.selectors import feedback_by_items, item_get, reason_tags
from digest.selectors.summaries import reasons_suggested_for
from digest.services.feedback import feedback_clear, feedback_set

router = Router(tags=["feedback"])
router.add_router("", reading_router)

Reason = Annotated[str, Field(max_length=200)]


class FeedbackIn(Schema):
    """A thumb (`true` or 1: useful) and, if given, all the reasons for it."""

    useful: bool
    reason_tags: Annotated[list[Reason], Field(max_length=20)] | None = None


class FeedbackOut(Schema):
    """The thumb as it is stored now."""

    item_id: int
    useful: bool
    reason_tags: list[str]
    at: datetime


class ClearedOut(Schema):
    """Whether there was a thumb to take back."""

    item_id: int
    cleared: bool


class ReasonOut(Schema):
    """One reason of the taxonomy."""

    tag: str
    label: str
    set: bool


class SuggestedOut(Schema):
    """A reason worked out for the very item: the tag it counts as, in words of its own."""

    tag: str
    text: str


class ReasonsOut(Schema):
    """The reasons an item's thumb can have; `useful` is the thumb, `null` before there is one."""

    item_id: int
    useful: bool | None
    suggested: list[SuggestedOut]
    valued: list[ReasonOut]
    disliked: list[ReasonOut]


@router.post("/items/{int:item_id}/feedback", response=FeedbackOut)
def feedback_post(request: HttpRequest, item_id: int, body: FeedbackIn) -> FeedbackOut:
    """Give an item a thumb, in place of an earlier one."""
    feedback = feedback_set(
        reader=reader_of(request),
        item_id=item_id,
        useful=body.useful,
        tags=body.reason_tags,
        now=timezone.now(),
    )
    tags = sorted(tag.slug for tag in feedback.tags.all())
    return FeedbackOut(item_id=item_id, useful=feedback.useful, reason_tags=tags, at=feedback.at)


@router.delete("/items/{int:item_id}/feedback", response=ClearedOut)
def feedback_delete(request: HttpRequest, item_id: int) -> ClearedOut:
    """Take the thumb and its reasons back."""
    cleared = feedback_clear(reader=reader_of(request), item_id=item_id)
    return ClearedOut(item_id=item_id, cleared=cleared)


@router.get("/items/{int:item_id}/reasons", response=ReasonsOut)
def reasons_get(request: HttpRequest, item_id: int) -> ReasonsOut:
    """The reasons on offer for an item, and those that are set."""
    reader = reader_of(request)
    item = item_get(reader_id=reader.pk, item_id=item_id)
    suggested = reasons_suggested_for(reader_id=reader.pk, items=[item]).get(item_id, ())
    thumb = feedback_by_items(reader_id=reader.pk, item_ids=[item_id]).get(item_id)
    chosen = thumb.tags if thumb else ()
    offered = reason_tags()
    return ReasonsOut(
        item_id=item_id,
        useful=thumb.useful if thumb else None,
        suggested=[SuggestedOut(tag=reason.tag, text=reason.text) for reason in suggested],
        valued=_reasons(offered, ReasonTag.Kind.VALUED, chosen),
        disliked=_reasons(offered, ReasonTag.Kind.DISLIKED, chosen),
    )


def _reasons(offered: list[ReasonTag], kind: ReasonTag.Kind, chosen: tuple[str, ...]) -> list[ReasonOut]:
    return [
        ReasonOut(tag=tag.slug, label=tag.label, set=tag.slug in chosen)
        for tag in offered
        if tag.kind == kind
    ]
