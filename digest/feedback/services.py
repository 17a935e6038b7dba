"""Store and delete ratings with their reasons, and learn source weights from them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from digest.days import utc_day
from digest.errors import FeedbackMissing, UnknownReasonTag
from digest.feedback.peers import community_deviation
from digest.feedback.reasons import reason_tags_map
from digest.feedback.selectors import feedback_tallies, reason_tag_spellings
from digest.items.reading import item_read, items_unread
from digest.items.selectors import item_get
from digest.items.vectors import profile_prune, profile_refresh
from digest.models import Feedback, FeedbackTag, Reader
from ranking.learning import learn
from ranking.selectors import config_effective, weights_on_hold
from ranking.services import weights_learn


def feedback_set(
    *,
    reader: Reader,
    item_id: int,
    useful: bool,
    now: datetime,
    tags: Sequence[str] | None = None,
    propensity: float | None = None,
) -> Feedback:
    """Store the reader's rating of an item and its article, in place of an earlier one.

    `tags` are the reasons for it (`None`: unchanged). A `propensity` makes it the answer to a question that
    was asked with this probability. The same rating again changes neither its time nor its
    reasons; the opposite one deletes the reasons of the first. Raises `ItemNotFound` for an item the reader
    may not see, `UnknownReasonTag` for a reason outside the taxonomy; then nothing is stored.
    """
    slugs = None if tags is None else _slugs(tags)
    item = item_get(reader_id=reader.pk, item_id=item_id)
    origin = Feedback.Origin.READING if propensity is None else Feedback.Origin.INTERVIEW
    rating = {
        "useful": useful,
        "at": now,
        "day": utc_day(now),
        "origin": origin,
        "propensity": propensity,
    }
    with transaction.atomic():
        feedback, created = Feedback.objects.select_for_update().get_or_create(
            reader=reader, article=item.article, defaults=rating | {"item": item}
        )
        if not created and feedback.useful != useful:
            for name, value in rating.items():
                setattr(feedback, name, value)
            feedback.other_reasons = []  # the old reasons contradict the new rating
            feedback.save(update_fields=[*rating, "other_reasons"])
            slugs = slugs or ()
        if slugs is not None:
            _tags_store(feedback, slugs)
    profile_refresh(reader_id=reader.pk, now=now)
    return feedback


def feedback_tags_set(*, reader: Reader, item_id: int, tags: Sequence[str]) -> Feedback:
    """Replace the reasons of an existing rating by `tags`.

    Raises `FeedbackMissing` where there is no rating, and as `feedback_set` does.
    """
    slugs = _slugs(tags)
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    with transaction.atomic():
        feedback = Feedback.objects.select_for_update().filter(reader=reader, article=article).first()
        if feedback is None:
            raise FeedbackMissing(gettext("There is no thumb on this item yet. Give one, then say why."))
        _tags_store(feedback, slugs)
    return feedback


def feedback_clear(*, reader: Reader, item_id: int) -> bool:
    """Delete the reader's rating and its reasons; return whether there was one. Raises `ItemNotFound`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    deleted, _ = Feedback.objects.filter(reader=reader, article=article).delete()
    if deleted:
        profile_prune(reader_id=reader.pk)
    return deleted > 0


def feedback_give(
    *, reader: Reader, item_id: int, useful: bool, now: datetime, tags: Sequence[str] | None = None
) -> Feedback:
    """Rate an item, and mark what is not useful as read, as of that moment. Raises as `feedback_set` does."""
    feedback = feedback_set(reader=reader, item_id=item_id, useful=useful, now=now, tags=tags)
    if not useful:
        item_read(reader=reader, item_id=item_id, now=feedback.at)
    return feedback


def feedback_take_back(*, reader: Reader, item_id: int) -> bool:
    """Delete the reader's rating, and mark as unread what `feedback_give` alone marked as read.

    Returns whether there was a rating. Raises `ItemNotFound`.
    """
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    rating = Feedback.objects.filter(reader=reader, article=article, useful=False).first()
    if rating:
        items_unread(reader=reader, item_ids=[item_id], at=rating.at)
    return feedback_clear(reader=reader, item_id=item_id)


def answers_undo(*, reader_id: UUID, item_ids: Sequence[int]) -> int:
    """Delete the reader's answers about `item_ids`; return how many.

    A rating that was changed while reading, since, is no answer any more and stays.
    """
    answers = Feedback.objects.filter(
        reader_id=reader_id, item__in=item_ids, origin=Feedback.Origin.INTERVIEW
    )
    count = answers.count()
    answers.delete()
    if count:
        profile_prune(reader_id=reader_id)
    return count


def _slugs(tags: Sequence[str]) -> tuple[str, ...]:
    slugs, unknown = reason_tags_map(tags, reason_tag_spellings())
    if unknown:
        listed = ", ".join(f"“{tag[:40]}”" for tag in unknown)
        raise UnknownReasonTag(
            gettext("{listed} is not a reason we know. Choose from the reasons of the item.").format(
                listed=listed
            )
        )
    return slugs


def _tags_store(feedback: Feedback, slugs: Sequence[str]) -> None:
    FeedbackTag.objects.filter(feedback=feedback).exclude(tag_id__in=slugs).delete()
    rows = [FeedbackTag(feedback=feedback, tag_id=slug) for slug in slugs]
    FeedbackTag.objects.bulk_create(rows, ignore_conflicts=True)
    feedback.has_reason = bool(slugs or feedback.other_reasons)
    feedback.save(update_fields=["has_reason"])


def weights_update(*, reader_id: UUID, now: datetime) -> int:
    """Run one learning cycle for the reader; return how many source weights changed.

    Sources the reader has locked, or decided on within the last 14 days, do not change. Where the community's
    figure of a source is published, the prior moves towards it. The taste profile is computed again, which
    removes rounding errors of adding and subtracting.
    """
    effective = config_effective(reader_id=reader_id)
    fixed = dict.fromkeys(weights_on_hold(reader_id=reader_id, now=now), "held")
    fixed |= dict.fromkeys(effective.config.locked, "locked")
    tallies = feedback_tallies(reader_id=reader_id, now=now)
    deviation = community_deviation(reader_id=reader_id, now=now) if tallies else {}
    changes = learn(tallies, effective, on_hold=fixed, deviation=deviation)
    profile_refresh(reader_id=reader_id, now=now, rebuild=True)
    return weights_learn(reader_id=reader_id, changes=changes, now=now)
