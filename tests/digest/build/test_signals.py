"""What a reader is told beyond an item's text: likeness to their own taste, and sums over others."""

from datetime import datetime, timedelta

import pytest

from digest.build.candidates import signals_for
from digest.feedback.peers import peers_cache_clear
from digest.feedback.services import feedback_set
from digest.items.vectors import item_vectors_update
from digest.models import Item, Reader
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


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
    """What others say of the items, as this reader is told."""
    return dict(signals_for(reader_ids=[reader.pk], item_ids=item_ids, now=now)[reader.pk].community)


def raters(count: int, now: datetime) -> list[Reader]:
    """Readers who count: twenty thumbs on ten days since a month, half of them up."""
    made = []
    old = [ItemFactory() for _ in range(20)]
    for _ in range(count):
        reader = ReaderFactory()
        for n, item in enumerate(old):
            FeedbackFactory(reader=reader, item=item, useful=n % 2 == 0, at=now - (30 - n) * DAY)
        made.append(reader)
    return made


def test_a_liked_item_makes_its_like_similar_and_not_the_others(ada, known, now):
    solar, more_solar, cup, league = known
    feedback_set(reader=ada, item_id=solar, useful=True, now=now)
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
        # Tastes, vectors, rated items; who shares, how many readers there are.
        with django_assert_num_queries(5):
            signals_for(reader_ids=[ada.pk, ben.pk], item_ids=known[:count], now=now)


def test_without_items_nothing_is_asked(ada, django_assert_num_queries, now):
    with django_assert_num_queries(0):
        assert dict(signals_for(reader_ids=[ada.pk], item_ids=[], now=now)[ada.pk].similarity) == {}


def test_what_twenty_others_found_useful_is_said_in_coarse_steps(ada, known, now):
    solar, _, cup, league = known
    readers = raters(20, now)
    for n, reader in enumerate(readers):
        FeedbackFactory(reader=reader, item_id=solar, useful=True, at=now - DAY)
        FeedbackFactory(reader=reader, item_id=cup, useful=False, at=now - DAY)
        if n < 4:
            FeedbackFactory(reader=reader, item_id=league, useful=True, at=now - DAY)
    sums = signals_for(reader_ids=[ada.pk], item_ids=known, now=now)[ada.pk].community
    # Twenty likes, three quarters of a like each beyond half their base rate: 15 / 40. Four are too few.
    assert sums == {solar: pytest.approx(0.375, abs=0.03), cup: pytest.approx(-0.125, abs=0.03)}
    assert all(round(value * 20, 6) == round(value * 20) for value in sums.values())


def test_below_twenty_raters_nobody_speaks(ada, known, now):
    for reader in raters(19, now):
        FeedbackFactory(reader=reader, item_id=known[0], at=now - DAY)
    assert rates(ada, known, now) == {}


def test_ones_own_thumb_and_that_of_who_does_not_share_are_left_out(known, now):
    readers = raters(25, now)
    for reader in readers[:6]:
        FeedbackFactory(reader=reader, item_id=known[0], at=now - DAY)
    assert rates(readers[10], known, now)
    Reader.objects.filter(pk=readers[0].pk).update(peers_enabled=False)
    # Five are left; for one of the five there are four others. It holds at once, whatever is kept.
    assert rates(readers[10], known, now)
    assert rates(readers[1], known, now) == {}
    # Who does not share is not served either.
    assert rates(readers[0], known, now) == {}


def test_a_thumb_counts_for_others_from_the_next_day_on(ada, known, now):
    for reader in raters(20, now):
        FeedbackFactory(reader=reader, item_id=known[0], at=now)
    assert rates(ada, known, now) == {}
    peers_cache_clear()
    assert rates(ada, known, now + DAY) != {}


def test_the_switch_turns_it_off(ada, known, now, settings):
    for reader in raters(20, now):
        FeedbackFactory(reader=reader, item_id=known[0], at=now - DAY)
    settings.PEERS_ENABLED = False
    assert rates(ada, known, now) == {}
