"""A rated item has its place among the items of its source on the page that showed it."""

from datetime import timedelta

import pytest

from digest.feedback.places import feedback_placed
from digest.feedback.selectors import feedback_recent
from digest.feedback.services import feedback_set
from digest.models import Exposure, Item, Reader
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def items(ada) -> list[Item]:
    """Three items of one source of Ada's, and one of another."""
    one, other = (SubscriptionFactory(reader=ada, feed=FeedFactory()).feed for _ in range(2))
    return [ItemFactory(source=feed.source, feed=feed) for feed in (one, one, one, other)]


def show(reader: Reader, items: list[Item], at, door: str = Exposure.Door.PAGE) -> None:
    same = {"slot": "ranked", "propensity": 1.0, "score": 1.0, "config_version": 0, "shown_at": at}
    for rank, item in enumerate(items, start=1):
        Exposure.objects.create(reader=reader, item=item, date=at.date(), door=door, rank=rank, **same)


def places(reader: Reader, items: list[Item], at) -> list[int]:
    """Return the places of the items, all of which the reader rates at `at`."""
    for item in items:
        feedback_set(reader=reader, item_id=item.pk, useful=True, now=at)
    placed = feedback_placed(reader_id=reader.pk, rated=feedback_recent(reader_id=reader.pk))
    found = {one.item_id: one.place for one in placed}
    return [found[item.pk] for item in items]


def test_a_place_counts_the_items_of_the_same_source_alone(ada, items, now):
    first, second, third, other = items
    show(ada, [third, other, first, second], now - HOUR)
    assert places(ada, items, now) == [2, 3, 1, 1]


def test_what_no_page_or_mail_showed_before_the_thumb_has_no_place(ada, ben, items, now):
    show(ada, items[:1], now - HOUR, Exposure.Door.FEED)
    show(ben, items[1:2], now - HOUR)
    show(ada, items[2:3], now + HOUR)
    assert places(ada, items, now) == [0, 0, 0, 0]


def test_the_last_page_before_the_thumb_counts(ada, items, now):
    show(ada, items, now - DAY)
    show(ada, items[1:], now - HOUR, Exposure.Door.MAIL)
    assert places(ada, items, now) == [1, 1, 2, 1]


def test_a_page_that_is_built_again_counts_all_that_it_has_shown(ada, items, now):
    show(ada, items[:1], now - 2 * HOUR)
    show(ada, items[1:], now - HOUR)
    assert sorted(places(ada, items[:3], now)) == [1, 2, 3]


def test_places_take_one_query(ada, items, now, django_assert_num_queries):
    show(ada, items, now - HOUR)
    places(ada, items, now)
    recent = feedback_recent(reader_id=ada.pk)
    with django_assert_num_queries(1):
        feedback_placed(reader_id=ada.pk, rated=recent)
    with django_assert_num_queries(0):
        assert feedback_placed(reader_id=ada.pk, rated=[]) == []
