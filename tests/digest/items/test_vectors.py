"""The taste profile follows the ratings, and each item becomes a vector once."""

from datetime import timedelta

import numpy as np
import pytest

from digest.feedback.services import feedback_clear, feedback_set, weights_update
from digest.items.vectors import (
    item_vectors_prune,
    item_vectors_update,
    profile_refresh,
    profiles_rebuild,
    taste_unpack,
)
from digest.models import Feedback, ItemVector, Reader, TasteProfile, TermCounts
from ranking import similarity
from ranking.similarity import profile_of
from tests.support.factories import FeedbackFactory, FeedFactory, ItemFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
TITLES = ["Solar panels on roofs", "Football cup final", "Parliament votes on a budget", "New guitar strings"]


@pytest.fixture(autouse=True)
def one_like_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let single likes show the arithmetic."""
    monkeypatch.setattr(similarity, "LIKES_MIN", 0.5)


@pytest.fixture
def items(ada):
    """Four items of a source Ada reads."""
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    return [ItemFactory(source=feed.source, title=title) for title in TITLES]


def profile(reader: Reader) -> np.ndarray:
    row = TasteProfile.objects.get(reader=reader)
    return profile_of(taste_unpack(bytes(row.terms), row.likes, row.dislikes))


def rebuilt(reader: Reader, now) -> np.ndarray:
    """Return the profile computed from all ratings."""
    profiles_rebuild(reader_ids=[reader.pk], now=now)
    return profile(reader)


def test_each_item_is_made_a_vector_once_and_again_when_its_words_change(items, now):
    assert item_vectors_update(now=now) == 4
    assert item_vectors_update(now=now) == 0
    assert TermCounts.objects.get().documents == 4
    before = bytes(ItemVector.objects.get(item=items[0]).terms)
    items[0].title, items[0].fingerprint = "Wind turbines at sea", "changed"
    items[0].save()
    assert item_vectors_update(now=now) == 1
    assert bytes(ItemVector.objects.get(item=items[0]).terms) != before


def test_old_items_wait_until_somebody_rates_them(ada, items, now):
    old = ItemFactory(title="An old story", published_at=now - 90 * DAY)
    item_vectors_update(now=now)
    assert not ItemVector.objects.filter(item=old).exists()
    FeedbackFactory(reader=ada, item=old)
    profile_refresh(reader_id=ada.pk, now=now)
    assert ItemVector.objects.filter(item=old).exists()


def test_unused_old_vectors_are_deleted(ada, items, now):
    item_vectors_update(now=now)
    FeedbackFactory(reader=ada, item=items[0])
    assert item_vectors_prune(now=now) == 0
    assert item_vectors_prune(now=now + 91 * DAY) == 3
    assert ItemVector.objects.get().item == items[0]


def test_changing_and_deleting_a_rating_gives_the_profile_of_the_remaining_ones(ada, items, now):
    for n, useful in enumerate([True, False, True]):
        feedback_set(reader=ada, item_id=items[n].pk, useful=useful, now=now)
    three = profile(ada)
    feedback_set(reader=ada, item_id=items[3].pk, useful=True, now=now + DAY)
    feedback_set(reader=ada, item_id=items[3].pk, useful=False, now=now + 2 * DAY)
    turned = profile(ada)
    assert not np.allclose(turned, three, atol=1e-3)
    assert np.allclose(turned, rebuilt(ada, now + 2 * DAY), atol=1e-3)
    feedback_clear(reader=ada, item_id=items[3].pk)
    assert np.allclose(profile(ada), rebuilt(ada, now + 2 * DAY), atol=1e-3)
    # The three that are left, two days older: the same direction, a little shorter.
    assert profile(ada) @ three / np.linalg.norm(profile(ada)) / np.linalg.norm(three) > 0.999


def test_deleting_the_only_rating_empties_the_profile(ada, items, now):
    feedback_set(reader=ada, item_id=items[0].pk, useful=True, now=now)
    feedback_clear(reader=ada, item_id=items[0].pk)
    assert not profile(ada).any()


def test_the_same_rating_again_counts_once(ada, items, now):
    feedback_set(reader=ada, item_id=items[0].pk, useful=True, now=now)
    feedback_set(reader=ada, item_id=items[0].pk, useful=True, now=now)
    assert TasteProfile.objects.get().likes == pytest.approx(1)
    assert profile_refresh(reader_id=ada.pk, now=now) is False


def test_a_rating_two_months_old_weighs_half(ada, items, now):
    FeedbackFactory(reader=ada, item=items[0], at=now - 60 * DAY)
    FeedbackFactory(reader=ada, item=items[1], useful=False, at=now)
    profile_refresh(reader_id=ada.pk, now=now)
    row = TasteProfile.objects.get()
    assert (row.likes, row.dislikes) == (pytest.approx(0.5), pytest.approx(1))
    # The same, kept up day by day.
    feedback_set(reader=ada, item_id=items[2].pk, useful=True, now=now + 60 * DAY)
    assert TasteProfile.objects.get().likes == pytest.approx(1.25)


def test_a_refresh_adds_imported_ratings_and_removes_deleted_ones(ada, items, now):
    for item in items:
        FeedbackFactory(reader=ada, item=item)
    assert profile_refresh(reader_id=ada.pk, now=now) is True
    assert TasteProfile.objects.get().likes == pytest.approx(4, rel=0.02)
    Feedback.objects.filter(item=items[0]).delete()
    profile_refresh(reader_id=ada.pk, now=now)
    assert TasteProfile.objects.get().likes == pytest.approx(3, rel=0.02)


def test_the_learning_cycle_rebuilds_the_profile(ada, items, now):
    FeedbackFactory(reader=ada, item=items[0])
    weights_update(reader_id=ada.pk, now=now)
    assert profile(ada).any()


def test_profiles_computed_together_are_those_computed_alone(ada, ben, items, now):
    for n, (reader, useful) in enumerate([(ada, True), (ada, False), (ben, True), (ben, True)]):
        FeedbackFactory(reader=reader, item=items[n], useful=useful, at=now - n * DAY)
    FeedbackFactory(reader=ben, item=items[0], useful=False, at=now)
    alone = [rebuilt(reader, now) for reader in (ada, ben)]
    TasteProfile.objects.all().delete()
    profiles_rebuild(reader_ids=[ada.pk, ben.pk], now=now)
    assert np.array_equal([profile(ada), profile(ben)], alone) and not np.array_equal(*alone)
    assert not profile_refresh(reader_id=ben.pk, now=now), "it tells exactly which ratings are in it"


def test_a_profile_whose_ratings_are_gone_is_computed_as_empty(ada, items, now):
    feedback_set(reader=ada, item_id=items[0].pk, useful=True, now=now)
    Feedback.objects.all().delete()
    assert not rebuilt(ada, now).any()


def test_a_reader_without_ratings_has_no_profile(ada, ben, items, now):
    feedback_set(reader=ada, item_id=items[0].pk, useful=True, now=now)
    assert profile_refresh(reader_id=ben.pk, now=now) is False
    assert not TasteProfile.objects.filter(reader=ben).exists()


def test_the_queries_of_a_rating_do_not_grow_with_earlier_ones(ada, items, now, django_assert_num_queries):
    for _ in range(40):
        FeedbackFactory(reader=ada)
    profile_refresh(reader_id=ada.pk, now=now)
    FeedbackFactory(reader=ada, item=items[0])
    item_vectors_update(now=now)
    # Ratings, profile, known vectors; savepoint, locked profile, ratings, one vector, save, release.
    with django_assert_num_queries(9):
        profile_refresh(reader_id=ada.pk, now=now)
    with django_assert_num_queries(2):
        profile_refresh(reader_id=ada.pk, now=now)
