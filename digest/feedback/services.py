"""Store and delete ratings with their reasons, and learn source weights from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext

from digest.days import utc_day
from digest.errors import FeedbackMissing, InvalidRating, UnknownReasonTag
from digest.feedback.peers import community_deviation_many
from digest.feedback.reasons import (
    OTHER_REASON_MAX_CHARS,
    OTHER_REASONS_MAX,
    OWN_WORDS_MAX,
    own_words_clean,
    reason_tags_map,
)
from digest.feedback.selectors import feedback_tallies_many, reason_tag_spellings
from digest.items.reading import article_forget, item_read, items_unread
from digest.items.selectors import item_get
from digest.items.vectors import profile_prune, profile_refresh, profiles_rebuild
from digest.models import Feedback, FeedbackTag, Reader, Reading
from ranking.common.isolation import isolate_batches
from ranking.entities import EffectiveConfig, SourceTally
from ranking.language import quoted
from ranking.learning import HOLD_DAYS, learn
from ranking.selectors import config_effective_many, readers_learned, weights_decided_many
from ranking.services import weights_learn
from ranking.taste.entities import TasteLevel

# How many readers learn in one transaction.
TOGETHER = 100


def feedback_set(
    *,
    reader: Reader,
    item_id: int,
    useful: bool,
    now: datetime,
    tags: Sequence[str] | None = None,
    words: Sequence[str] | None = None,
    origin: str = Feedback.Origin.READING,
    propensity: float | None = None,
) -> Feedback:
    """Store the reader's rating of an item and its article. It replaces an earlier one.

    `tags` are the reasons, `words` those in the reader's own words; `None` leaves them unchanged.
    `propensity` is the probability with which the question of an interview was asked. The same rating again
    changes neither time nor reasons. The opposite rating deletes the earlier reasons. A rating of not useful
    takes back that the article was named.

    Raises `ItemNotFound` if the reader may not see the item, `UnknownReasonTag` for a reason outside the
    taxonomy, and `InvalidRating` for too many words. Then nothing is stored.
    """
    slugs = None if tags is None else _slugs(tags)
    item = item_get(reader_id=reader.pk, item_id=item_id)
    rating = {
        "useful": useful,
        "at": now,
        "day": utc_day(now),
        "origin": origin,
        "propensity": propensity,
        "rated_title": item.title,
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
        if words is not None:
            feedback.other_reasons = _own_words(words, OTHER_REASONS_MAX)
        if slugs is not None or words is not None:
            _reasons_store(feedback, slugs)
        if not useful:
            article_forget(reader=reader, article=item.article)
    profile_refresh(reader_id=reader.pk, now=now)
    return feedback


def feedback_tags_set(*, reader: Reader, item_id: int, tags: Sequence[str]) -> Feedback:
    """Replace the reasons of an existing rating with `tags`.

    Raises `FeedbackMissing` if there is no rating; otherwise as `feedback_set` does.
    """
    slugs = _slugs(tags)
    with transaction.atomic():
        feedback = _rated(reader, item_id)
        _reasons_store(feedback, slugs)
    return feedback


def feedback_words_set(*, reader: Reader, item_id: int, words: Sequence[str]) -> tuple[str, ...]:
    """Replace what the reader wrote beside an existing rating with `words`; return the lines that are new.

    Raises `FeedbackMissing` if there is no rating, and `InvalidRating` for too many lines or too long ones.
    """
    with transaction.atomic():
        feedback = _rated(reader, item_id)
        before = feedback.other_reasons
        feedback.other_reasons = _own_words(words, max(OWN_WORDS_MAX, len(before)))
        _reasons_store(feedback, None)
    return tuple(line for line in feedback.other_reasons if line not in before)


def _rated(reader: Reader, item_id: int) -> Feedback:
    """Return the reader's rating of an item, locked. Raises `FeedbackMissing`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    feedback = Feedback.objects.select_for_update().filter(reader=reader, article=article).first()
    if feedback is None:
        raise FeedbackMissing(gettext("You have not rated this item yet. Rate it, then say why."))
    return feedback


def feedback_clear(*, reader: Reader, item_id: int) -> bool:
    """Delete the reader's rating and its reasons; return whether there was one. Raises `ItemNotFound`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    deleted, _ = Feedback.objects.filter(reader=reader, article=article).delete()
    if deleted:
        profile_prune(reader_id=reader.pk)
    return deleted > 0


def feedback_give(
    *,
    reader: Reader,
    item_id: int,
    useful: bool,
    now: datetime,
    tags: Sequence[str] | None = None,
    words: Sequence[str] | None = None,
    origin: str = Feedback.Origin.READING,
    propensity: float | None = None,
) -> Feedback:
    """Rate an item. If it is not useful or answers an interview, mark it as read at the same moment.

    The arguments and errors are those of `feedback_set`.
    """
    feedback = feedback_set(
        reader=reader,
        item_id=item_id,
        useful=useful,
        now=now,
        tags=tags,
        words=words,
        origin=origin,
        propensity=propensity,
    )
    if not useful or origin == Feedback.Origin.INTERVIEW:
        item_read(reader=reader, item_id=item_id, now=feedback.at)
    return feedback


def feedback_take_back(*, reader: Reader, item_id: int) -> bool:
    """Delete the reader's rating, and mark the item as unread if only `feedback_give` had marked it as read.

    Return whether there was a rating. Raises `ItemNotFound`.
    """
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    rating = Feedback.objects.filter(reader=reader, article=article).first()
    if rating:
        items_unread(reader=reader, item_ids=[item_id], at=rating.at)
    return feedback_clear(reader=reader, item_id=item_id)


def answers_undo(*, reader_id: UUID, item_ids: Sequence[int]) -> int:
    """Delete the reader's interview answers about `item_ids`, and their read marks; return how many.

    A rating that the reader has changed since then, while reading, is no answer any more and stays.
    """
    answers = Feedback.objects.filter(
        reader_id=reader_id, item__in=item_ids, origin=Feedback.Origin.INTERVIEW
    )
    count = answers.count()
    marked = answers.filter(article=OuterRef("article"), at=OuterRef("read_at"))
    Reading.objects.filter(Exists(marked), reader_id=reader_id).update(read_at=None)
    answers.delete()
    if count:
        profile_prune(reader_id=reader_id)
    return count


def _slugs(tags: Sequence[str]) -> tuple[str, ...]:
    slugs, unknown = reason_tags_map(tags, reason_tag_spellings())
    if unknown:
        listed = ", ".join(quoted(tag[:40]) for tag in unknown)
        raise UnknownReasonTag(
            gettext("{listed} is not a reason we know. Choose from the reasons of the item.").format(
                listed=listed
            )
        )
    return slugs


def _own_words(words: Sequence[str], most: int) -> list[str]:
    """Return the lines to store. Raises `InvalidRating` if they are more than `most`, or one is too long."""
    lines = own_words_clean(words)
    if len(lines) > most or any(len(line) > OTHER_REASON_MAX_CHARS for line in lines):
        message = gettext("In your own words: at most {lines} lines of {chars} characters each.")
        raise InvalidRating(message.format(lines=most, chars=OTHER_REASON_MAX_CHARS))
    return list(lines)


def _reasons_store(feedback: Feedback, slugs: Sequence[str] | None) -> None:
    """Store the reader's own words, and the reasons of the taxonomy unless they are `None`."""
    tags = FeedbackTag.objects.filter(feedback=feedback)
    if slugs is not None:
        tags.exclude(tag_id__in=slugs).delete()
        rows = [FeedbackTag(feedback=feedback, tag_id=slug) for slug in slugs]
        FeedbackTag.objects.bulk_create(rows, ignore_conflicts=True)
    feedback.has_reason = bool(feedback.other_reasons or slugs or (slugs is None and tags.exists()))
    feedback.save(update_fields=["has_reason", "other_reasons"])


def weights_update(*, reader_id: UUID, now: datetime) -> int:
    """Run one learning cycle for one reader; return how many weights changed."""
    return weights_update_many(reader_ids=[reader_id], now=now)


def weights_update_many(*, reader_ids: Sequence[UUID], now: datetime) -> int:
    """Run one learning cycle for each of about a hundred readers; return how many weights changed.

    A source does not change if its reader has locked it, decided on it within the last 14 days, or given it
    no thumb since then: the thumbs before the decision are those it was made on. If the community's figure of
    a source is published, the prior moves towards it. Taste profiles are recomputed. The number of
    queries does not depend on the number of readers.
    """
    effective = config_effective_many(reader_ids=reader_ids)
    decided = weights_decided_many(reader_ids=reader_ids)
    tallies = feedback_tallies_many(reader_ids=reader_ids, now=now)
    deviation = community_deviation_many(reader_ids=tallies.keys(), now=now)
    changes = {
        pk: learn(
            tallies.get(pk, ()),
            effective[pk],
            on_hold=_resting(effective[pk], tallies.get(pk, ()))
            | dict.fromkeys(_decided_sources(decided.get(pk, {}), tallies.get(pk, ()), now), "held")
            | dict.fromkeys(effective[pk].config.locked, "locked"),
            deviation=deviation.get(pk),
        )
        for pk in reader_ids
    }
    profiles_rebuild(reader_ids=reader_ids, now=now)
    return weights_learn(changes=changes, now=now)


def _decided_sources(
    decided: Mapping[str, datetime], tallies: Sequence[SourceTally], now: datetime
) -> Iterator[str]:
    """Yield the sources that stay as their reader decided."""
    latest = {tally.source: tally.latest for tally in tallies}
    for source, at in decided.items():
        thumb = latest.get(source)
        if now < at + timedelta(days=HOLD_DAYS) or thumb is None or thumb <= at:
            yield source


def _resting(effective: EffectiveConfig, tallies: Sequence[SourceTally]) -> dict[str, str]:
    """Return the sources that the loop leaves alone, either all or none. It does if the reader's taste counts
    instead.

    Their snapshots still show the result of the thumbs for each source.
    """
    rests = effective.config.taste is not TasteLevel.OFF
    return dict.fromkeys((tally.source for tally in tallies), "taste") if rests else {}


@dataclass(frozen=True, slots=True)
class CyclesReport:
    """Counts over many readers' learning cycles: cycles done and failed, and source weights moved."""

    done: int = 0
    failed: int = 0
    moved: int = 0

    def __add__(self, other: "CyclesReport") -> "CyclesReport":
        return CyclesReport(self.done + other.done, self.failed + other.failed, self.moved + other.moved)


def cycles_run(*, reader_ids: Sequence[UUID], now: datetime) -> CyclesReport:
    """Run one learning cycle for each reader who had none this UTC day, a hundred at a time.

    If a hundred fail together, they are tried one by one, so a fault hits one reader.
    """

    def learn_together(some: Sequence[UUID]) -> tuple[int, CyclesReport]:
        learned = readers_learned(since=now.astimezone(UTC).date(), among=some)
        due = [pk for pk in some if pk not in learned]
        moved = weights_update_many(reader_ids=due, now=now) if due else 0
        return len(some), CyclesReport(done=len(due), moved=moved)

    rounds = list(isolate_batches(reader_ids, learn_together, event="weights_update_failed", size=TOGETHER))
    report = sum((report for _, report in rounds), CyclesReport())
    return replace(report, failed=len(reader_ids) - sum(tried for tried, _ in rounds))
