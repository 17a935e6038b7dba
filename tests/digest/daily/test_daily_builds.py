"""Each reader's digest is there when their day begins, made for all of them together."""

from datetime import timedelta

import pytest

from digest.daily import services
from digest.daily.services import digests_build_missing
from digest.models import Digest
from tests.support.factories import FeedFactory, ItemFactory, ReaderFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def feed(now):
    feed = FeedFactory()
    ItemFactory.create_batch(3, source=feed.source, published_at=now - HOUR)
    return feed


@pytest.mark.parametrize("readers", [2, 20])
def test_many_days_begin_in_as_many_queries_as_few(feed, now, readers, django_assert_max_num_queries):
    for reader in ReaderFactory.create_batch(readers):
        SubscriptionFactory(reader=reader, feed=feed)
    with django_assert_max_num_queries(27):
        assert digests_build_missing(now=now) == readers
    assert {digest.impressions.count() for digest in Digest.objects.all()} == {3}
    with django_assert_max_num_queries(2):
        assert digests_build_missing(now=now) == 0


def test_only_those_whose_day_has_begun_get_one_and_a_standing_one_is_left_alone(feed, now):
    here, ahead = ReaderFactory(time_zone="UTC"), ReaderFactory(time_zone="Pacific/Auckland")
    for reader in (here, ahead):
        SubscriptionFactory(reader=reader, feed=feed)
    digests_build_missing(now=now - 12 * HOUR)
    standing = Digest.objects.get(reader=here)
    assert digests_build_missing(now=now) == 1  # in Auckland it is tomorrow
    assert Digest.objects.get(reader=here).built_at == standing.built_at
    assert ahead.digests.count() == 2


def test_an_unknown_zone_costs_no_other_reader_their_morning(feed, now):
    lost, ada = ReaderFactory(time_zone="Nowhere/Atall"), ReaderFactory()
    assert digests_build_missing(now=now) == 1
    assert ada.digests.exists() and not lost.digests.exists()


def test_told_to_stop_it_ends_after_the_readers_at_hand_and_goes_on_next_time(feed, now, monkeypatch):
    monkeypatch.setattr(services, "TOGETHER", 2)
    ReaderFactory.create_batch(5)
    asked = iter([False, True, True])
    assert digests_build_missing(now=now, stopping=lambda: next(asked)) == 2
    assert digests_build_missing(now=now) == 3
