"""Ratings: one an item, with reasons of the taxonomy, and all can be deleted."""

from datetime import timedelta

import pytest

from digest.errors import FeedbackMissing, InvalidRating, ItemNotFound, UnknownReasonTag
from digest.feedback.selectors import feedback_recent
from digest.feedback.services import (
    feedback_clear,
    feedback_give,
    feedback_set,
    feedback_tags_set,
    feedback_take_back,
    feedback_words_set,
)
from digest.items.reading import item_read
from digest.models import Feedback, FeedbackTag, Item, Reader, Reading
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

HOUR = timedelta(hours=1)


def read_by(reader: Reader) -> Item:
    """Return an item of a source the reader is subscribed to."""
    feed = FeedFactory()
    SubscriptionFactory(reader=reader, feed=feed)
    return ItemFactory(source=feed.source)


@pytest.fixture
def item(ada) -> Item:
    return read_by(ada)


def slugs(feedback: Feedback) -> set[str]:
    return set(FeedbackTag.objects.filter(feedback=feedback).values_list("tag_id", flat=True))


def test_a_rating_is_stored_with_its_time_and_day(ada, item, now):
    feedback = feedback_set(reader=ada, item_id=item.id, useful=True, now=now)
    stored = Feedback.objects.get()
    assert (stored, stored.useful, stored.at, stored.has_reason) == (feedback, True, now, False)
    assert stored.day == int(now.timestamp() // 86400)


def test_the_opposite_rating_replaces_the_first_and_its_reasons(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, tags=["depth"], now=now)
    Feedback.objects.update(other_reasons=["so long"])
    feedback = feedback_set(reader=ada, item_id=item.id, useful=False, now=now + 24 * HOUR)
    stored = Feedback.objects.get()
    assert (stored.useful, stored.at, stored.has_reason) == (False, now + 24 * HOUR, False)
    assert stored.day == int(now.timestamp() // 86400) + 1
    assert slugs(feedback) == set() and stored.other_reasons == []


def test_the_same_rating_again_changes_neither_time_nor_reasons(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, tags=["depth"], now=now)
    feedback = feedback_set(reader=ada, item_id=item.id, useful=True, now=now + HOUR)
    assert (feedback.at, slugs(feedback), feedback.has_reason) == (now, {"depth"}, True)


def test_reasons_can_be_added_later_and_removed(ada, item, now):
    feedback = feedback_set(reader=ada, item_id=item.id, useful=False, tags=["hype", "shallow"], now=now)
    assert slugs(feedback) == {"hype", "shallow"}
    feedback_tags_set(reader=ada, item_id=item.id, tags=["shallow", "known"])
    assert slugs(feedback) == {"shallow", "known"}
    assert feedback_tags_set(reader=ada, item_id=item.id, tags=[]).has_reason is False
    assert slugs(feedback) == set()


def test_a_synonym_counts_as_its_tag_once(ada, item, now):
    feedback = feedback_set(reader=ada, item_id=item.id, useful=True, tags=["In-Depth", "depth"], now=now)
    assert slugs(feedback) == {"depth"}


def test_imported_reasons_outside_the_taxonomy_still_count_as_a_reason(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, now=now)
    Feedback.objects.update(other_reasons=["the maps"])
    assert feedback_tags_set(reader=ada, item_id=item.id, tags=[]).has_reason is True


@pytest.mark.parametrize("tags", [["nonsense"], ["depth", "nonsense"]])
def test_an_unknown_reason_is_refused_by_name_and_nothing_is_stored(ada, item, now, tags):
    with pytest.raises(UnknownReasonTag, match="nonsense") as refused:
        feedback_set(reader=ada, item_id=item.id, useful=True, tags=tags, now=now)
    assert refused.value.code == "unknown_reason_tag"
    assert not Feedback.objects.exists()


def test_reasons_need_a_rating(ada, item):
    with pytest.raises(FeedbackMissing):
        feedback_tags_set(reader=ada, item_id=item.id, tags=["depth"])


def test_deleting_a_rating_deletes_its_reasons_and_no_other_readers(ada, ben, item, now):
    SubscriptionFactory(reader=ben, feed=ada.subscriptions.get().feed)
    for reader in (ada, ben):
        feedback_set(reader=reader, item_id=item.id, useful=True, tags=["depth"], now=now)
    assert feedback_clear(reader=ada, item_id=item.id) is True
    assert feedback_clear(reader=ada, item_id=item.id) is False
    assert [row.reader for row in Feedback.objects.all()] == [ben]
    assert FeedbackTag.objects.count() == 1


@pytest.mark.parametrize("was_read", [False, True])
def test_what_was_dismissed_is_read_until_it_is_taken_back_unless_it_was_read_before(
    ada, item, now, was_read
):
    if was_read:
        item_read(reader=ada, item_id=item.id, now=now - HOUR)
    feedback_give(reader=ada, item_id=item.id, useful=False, now=now)
    row = Reading.objects.get(reader=ada)
    assert row.read_at and not row.opened_at and not Feedback.objects.get().useful
    assert feedback_take_back(reader=ada, item_id=item.id) is True
    row.refresh_from_db()
    assert bool(row.read_at) is was_read and not Feedback.objects.exists()
    assert feedback_take_back(reader=ada, item_id=item.id) is False


@pytest.mark.parametrize("known", [True, False])
def test_an_item_the_reader_may_not_see_is_not_found(ada, ben, now, known):
    item_id = read_by(ben).id if known else 999_999
    for attempt in (
        lambda: feedback_set(reader=ada, item_id=item_id, useful=True, now=now),
        lambda: feedback_tags_set(reader=ada, item_id=item_id, tags=[]),
        lambda: feedback_clear(reader=ada, item_id=item_id),
        lambda: feedback_give(reader=ada, item_id=item_id, useful=False, now=now),
        lambda: feedback_take_back(reader=ada, item_id=item_id),
    ):
        with pytest.raises(ItemNotFound):
            attempt()


def test_a_rating_can_change_after_unsubscribing(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, now=now)
    ada.subscriptions.all().delete()
    feedback_set(reader=ada, item_id=item.id, useful=False, now=now)
    assert [rated.useful for rated in feedback_recent(reader_id=ada.id)] == [False]


def test_a_thumb_keeps_the_title_that_was_rated(ada, item, now):
    def corrected(title: str) -> list[str]:
        Item.objects.filter(pk=item.pk).update(title=title)
        return [rated.title for rated in feedback_recent(reader_id=ada.pk)]

    Item.objects.filter(pk=item.pk).update(title="Ferries strike")
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    assert corrected("Ferry strike ends") == ["Ferries strike"]
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=now)
    assert corrected("Ferries sail") == ["Ferries strike"], "the same thumb again rates nothing new"
    feedback_set(reader=ada, item_id=item.pk, useful=False, now=now)
    assert corrected("Old news") == ["Ferries sail"], "the other thumb is of the title that stood there"
    Feedback.objects.update(rated_title="")
    assert corrected("Older news") == ["Older news"], "of an early thumb only the item’s title is known"


def test_own_words_are_stored_without_control_characters_and_can_be_emptied(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, tags=["depth"], now=now)
    typed = ["  more\x00 about\u202e\n sailing ", "", "More about sailing", "the maps"]
    assert feedback_words_set(reader=ada, item_id=item.id, words=typed) == ("More about sailing", "the maps")
    stored = Feedback.objects.get()
    assert (stored.other_reasons, stored.has_reason) == (["More about sailing", "the maps"], True)
    assert feedback_words_set(reader=ada, item_id=item.id, words=["the maps"]) == ()
    assert feedback_words_set(reader=ada, item_id=item.id, words=[""]) == ()
    stored.refresh_from_db()
    assert (stored.other_reasons, stored.has_reason, slugs(stored)) == ([], True, {"depth"})
    feedback_tags_set(reader=ada, item_id=item.id, tags=[])
    assert Feedback.objects.get().has_reason is False


def test_a_fourth_line_or_a_long_one_is_refused_and_an_import_of_more_stays(ada, item, now):
    feedback_set(reader=ada, item_id=item.id, useful=True, words=["one"], now=now)
    for words in (["1", "2", "3", "4"], ["x" * 201]):
        with pytest.raises(InvalidRating):
            feedback_words_set(reader=ada, item_id=item.id, words=words)
    assert Feedback.objects.get().other_reasons == ["one"]
    imported = [f"line {n}" for n in range(8)]
    Feedback.objects.update(other_reasons=imported)
    assert feedback_words_set(reader=ada, item_id=item.id, words=imported) == ()
    assert Feedback.objects.get().other_reasons == imported


def test_words_need_a_rating_of_ones_own(ada, ben, item, now):
    SubscriptionFactory(reader=ben, feed=ada.subscriptions.get().feed)
    feedback_set(reader=ben, item_id=item.id, useful=True, words=["bens"], now=now)
    with pytest.raises(FeedbackMissing):
        feedback_words_set(reader=ada, item_id=item.id, words=["adas"])
    assert [row.other_reasons for row in Feedback.objects.all()] == [["bens"]]
