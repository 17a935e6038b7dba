"""An item that a reader really saw is logged once per door, and nothing removes the row."""

from datetime import timedelta

import pytest

from digest.daily.services import digest_build
from digest.daily.store import exposures_log
from digest.models import Digest, Exposure
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOUR = timedelta(hours=1)
PAGE, MAIL = Exposure.Door.PAGE, Exposure.Door.MAIL


@pytest.fixture
def digest(ada, now) -> Digest:
    source = SourceFactory(key="mine.example")
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    for n in range(3):
        ItemFactory(source=source, published_at=now - n * HOUR)
    return digest_build(reader=ada, date=now.date(), now=now)


def test_a_first_view_logs_each_item_as_it_was_shown(digest, ada, now):
    digest.impressions.filter(rank=2).update(slot="novelty", propensity=0.25)
    assert exposures_log(digest=digest, door=PAGE, now=now) == 3
    row = Exposure.objects.get(rank=2)
    shown = digest.impressions.get(rank=2)
    assert (row.reader, row.item, row.date, row.door) == (ada, shown.item, digest.date, "page")
    assert (row.slot, row.propensity, row.score) == ("novelty", 0.25, shown.score)
    assert (row.config_version, row.shown_at) == (0, now)
    assert Digest.objects.get().exposed_at == now


def test_a_second_view_costs_one_query_and_writes_nothing(digest, now, django_assert_num_queries):
    exposures_log(digest=digest, door=PAGE, now=now)
    before = list(Exposure.objects.order_by("pk").values())
    again = Digest.objects.get()
    with django_assert_num_queries(1):
        assert exposures_log(digest=again, door=PAGE, now=now + HOUR) == 0
    assert list(Exposure.objects.order_by("pk").values()) == before


def test_each_door_has_its_own_log_and_the_first_one_dates_the_digest(digest, now):
    exposures_log(digest=digest, door=MAIL, now=now)
    assert exposures_log(digest=digest, door=PAGE, now=now + HOUR) == 3
    assert Digest.objects.get().exposed_at == now


def test_building_again_keeps_the_log_and_the_next_view_adds_what_is_new(digest, ada, now):
    exposures_log(digest=digest, door=PAGE, now=now)
    first = set(Exposure.objects.values_list("item_id", "rank"))
    ItemFactory(source_id="mine.example", published_at=now + HOUR)
    again = digest_build(reader=ada, date=now.date(), now=now + HOUR)
    assert again.exposed_at is None and Digest.objects.get().exposed_at is None
    assert exposures_log(digest=again, door=PAGE, now=now + HOUR) == 4  # all moved down by one
    assert first < set(Exposure.objects.values_list("item_id", "rank"))
    assert Digest.objects.get().exposed_at == now + HOUR


def test_a_build_that_changes_scores_alone_counts_as_seen(digest, ada, now):
    exposures_log(digest=digest, door=PAGE, now=now)
    again = digest_build(reader=ada, date=now.date(), now=now + HOUR)
    assert (again.built_at, again.exposed_at) == (now + HOUR, now)
    assert exposures_log(digest=again, door=PAGE, now=now + HOUR) == 0


def test_two_first_views_at_once_log_each_item_once(digest, now):
    twin = Digest.objects.get()
    exposures_log(digest=digest, door=PAGE, now=now)
    exposures_log(digest=twin, door=PAGE, now=now + HOUR)
    assert Exposure.objects.count() == 3
    assert Digest.objects.get().exposed_at == now
