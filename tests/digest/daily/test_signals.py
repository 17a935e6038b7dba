"""Signals beyond an item's text: similarity to the reader's taste, and sums over other readers."""

from datetime import datetime

import pytest

from digest.daily.candidates import signals_for
from digest.feedback.services import feedback_set
from digest.items.vectors import item_vectors_update
from digest.models import Item, Reader
from tests.support.community import item_figure, tastes
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(ada) -> list[Item]:
    """Two items about solar power and two about football, in a source Ada reads."""
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    titles = ["Solar panels on roofs", "Cheaper solar panels", "Football cup final", "Football league opens"]
    return [ItemFactory(source=feed.source, title=title) for title in titles]


@pytest.fixture
def known(items, now) -> list[int]:
    item_vectors_update(now=now)
    return [item.pk for item in items]


def rates(reader: Reader, item_ids: list[int], now: datetime) -> dict[int, float]:
    """Return the community's figures of the items as this reader gets them."""
    return dict(signals_for(reader_ids=[reader.pk], item_ids=item_ids, now=now)[reader.pk].community)


def test_a_liked_item_makes_its_like_similar_and_not_the_others(ada, known, now):
    solar, more_solar, cup, league = known
    for _ in range(5):
        liked = ItemFactory(source=Item.objects.get(pk=solar).source, title="Solar panels on roofs")
        item_vectors_update(now=now)
        feedback_set(reader=ada, item_id=liked.pk, useful=True, now=now)
    feedback_set(reader=ada, item_id=cup, useful=False, now=now)
    similarity = signals_for(reader_ids=[ada.pk], item_ids=known, now=now)[ada.pk].similarity
    assert similarity[more_solar] > 0 and similarity[league] == 0


def test_what_was_rated_already_is_like_nothing(ada, known, now):
    feedback_set(reader=ada, item_id=known[0], useful=True, now=now)
    assert signals_for(reader_ids=[ada.pk], item_ids=known, now=now)[ada.pk].similarity[known[0]] == 0


def test_a_reader_without_thumbs_has_no_signals_and_ben_none_of_adas(ada, ben, known, now):
    feedback_set(reader=ada, item_id=known[0], useful=True, now=now)
    signals = signals_for(reader_ids=[ben.pk], item_ids=known, now=now)[ben.pk]
    assert (dict(signals.similarity), dict(signals.community)) == ({}, {})


def test_many_readers_get_what_each_would_get_alone(ada, ben, known, now):
    feedback_set(reader=ada, item_id=known[0], useful=True, now=now)
    FeedbackFactory(reader=ben, item_id=known[2])
    both = signals_for(reader_ids=[ada.pk, ben.pk], item_ids=known, now=now)
    for reader in (ada, ben):
        alone = signals_for(reader_ids=[reader.pk], item_ids=known, now=now)[reader.pk]
        assert dict(both[reader.pk].similarity) == dict(alone.similarity)


def test_it_takes_as_many_queries_however_many_items_and_readers(
    ada, ben, known, now, django_assert_num_queries
):
    feedback_set(reader=ada, item_id=known[0], useful=True, now=now)
    for count in (2, 4):
        # Tastes, vectors, rated items; sharing readers, figures of sources and of items; implicit feedback.
        with django_assert_num_queries(7):
            signals_for(reader_ids=[ada.pk, ben.pk], item_ids=known[:count], now=now)


def test_without_items_nothing_is_asked(ada, django_assert_num_queries, now):
    with django_assert_num_queries(0):
        assert dict(signals_for(reader_ids=[ada.pk], item_ids=[], now=now)[ada.pk].similarity) == {}


def test_what_the_community_found_useful_is_said_in_coarse_steps(ada, known, now):
    solar, roofs, cup, league = known
    tastes(now)
    for item, likes in ((solar, 80), (cup, 3), (league, 25)):
        item_figure(item, now, likes, 100)
    # Likes beyond half the usual rate of one half, of 120: 55, -22 (never below -.15), 0; one has no figure.
    assert rates(ada, known, now) == {solar: 0.45, cup: -0.15}
    assert rates(ada, [roofs], now) == {}


def test_the_switch_turns_it_off(ada, known, now, settings):
    item_figure(known[0], now, 80, 100)
    assert rates(ada, known, now)
    settings.PEERS_ENABLED = False
    assert rates(ada, known, now) == {}
