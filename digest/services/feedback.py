"""Hearing back: a thumb, the reasons for it, and taking both back."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from digest.days import utc_day
from digest.errors import FeedbackMissing, UnknownReasonTag
from digest.models import Feedback, FeedbackTag, Reader
from digest.selectors import item_get
from digest.services.vectors import profile_refresh, profile_take_back
from digest.taxonomy import reason_tags_map


def feedback_set(
    *, reader: Reader, item_id: int, useful: bool, now: datetime, tags: Sequence[str] | None = None
) -> Feedback:
    """Store the reader's thumb on an item, in place of an earlier one.

    `tags` are the reasons for it (`None`: none given now). The same thumb again keeps its time and its
    reasons; the other one drops the reasons of the first. Raises `ItemNotFound` for an item the reader
    never had before them, `UnknownReasonTag` for a reason outside the taxonomy; then nothing is stored.
    """
    slugs = None if tags is None else _slugs(tags)
    item_get(reader_id=reader.pk, item_id=item_id)
    given = {"useful": useful, "at": now, "day": utc_day(now)}
    with transaction.atomic():
        feedback, created = Feedback.objects.select_for_update().get_or_create(
            reader=reader, item_id=item_id, defaults=given
        )
        if not created and feedback.useful != useful:
            _turn(feedback, given)
            slugs = slugs or ()
        if slugs is not None:
            _tags_store(feedback, slugs)
    profile_refresh(reader_id=reader.pk, now=now)
    return feedback


def feedback_tags_set(*, reader: Reader, item_id: int, tags: Sequence[str]) -> Feedback:
    """Make `tags` the reasons for a thumb that is already there.

    Raises `FeedbackMissing` where there is none, and as `feedback_set` does.
    """
    slugs = _slugs(tags)
    item_get(reader_id=reader.pk, item_id=item_id)
    with transaction.atomic():
        feedback = Feedback.objects.select_for_update().filter(reader=reader, item_id=item_id).first()
        if feedback is None:
            raise FeedbackMissing("There is no thumb on this item yet. Give one, then say why.")
        _tags_store(feedback, slugs)
    return feedback


def feedback_clear(*, reader: Reader, item_id: int) -> bool:
    """Take the reader's thumb and its reasons back; whether there was one. Raises `ItemNotFound`."""
    item_get(reader_id=reader.pk, item_id=item_id)
    deleted, _ = Feedback.objects.filter(reader=reader, item_id=item_id).delete()
    if deleted:
        profile_take_back(reader_id=reader.pk)
    return deleted > 0


def _slugs(tags: Sequence[str]) -> tuple[str, ...]:
    slugs, unknown = reason_tags_map(tags)
    if unknown:
        listed = ", ".join(f"“{tag[:40]}”" for tag in unknown)
        raise UnknownReasonTag(f"{listed} is not a reason we know. Choose from the reasons of the item.")
    return slugs


def _turn(feedback: Feedback, given: dict[str, object]) -> None:
    """Replace the thumb by its opposite; reasons for the old one no longer hold."""
    for name, value in given.items():
        setattr(feedback, name, value)
    feedback.other_reasons = []
    feedback.save(update_fields=[*given, "other_reasons"])


def _tags_store(feedback: Feedback, slugs: Sequence[str]) -> None:
    kept = FeedbackTag.objects.filter(feedback=feedback)
    kept.exclude(tag_id__in=slugs).delete()
    FeedbackTag.objects.bulk_create(
        [FeedbackTag(feedback=feedback, tag_id=slug) for slug in slugs], ignore_conflicts=True
    )
    feedback.has_reason = bool(slugs or feedback.other_reasons)
    feedback.save(update_fields=["has_reason"])
