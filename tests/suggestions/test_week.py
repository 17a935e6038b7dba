"""A change is tried on the reader's last week: which articles would have been among the first ten."""

from datetime import timedelta
from functools import partial

import pytest

from digest.models import Feed, Item, Reader
from ranking.selectors import config_effective
from suggestions.changes.never_missed import NEVER_MISS
from suggestions.changes.topics import ADD_TOPIC
from suggestions.changes.weights import BOOST_SOURCE, REDUCE_SOURCE
from suggestions.proposals import WeekEffect
from suggestions.rules import visibility_refusal
from suggestions.week import suggestion_weeks, week_for
from tests.support.browser import suggested
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.suggestion_worlds import LOVED, PLAIN

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SOURCES = (PLAIN, "other.example", "third.example", "fourth.example", LOVED)


@pytest.fixture
def busy(ada: Reader, now):
    """Ten days of twenty articles of five sources; the loved source has the oldest of each round."""
    for key in SOURCES:
        SubscriptionFactory(reader=ada, feed=FeedFactory(source=SourceFactory(key=key)))
    for day in range(10):
        for n in range(20):
            key = SOURCES[n % len(SOURCES)]
            at = now - day * DAY - timedelta(minutes=10 * n)
            ItemFactory(source=SourceFactory(key=key), title=f"{key} {day} {n}", published_at=at)
    return ada


def effect_of(reader: Reader, change, now) -> WeekEffect:
    before = config_effective(reader_id=reader.pk)
    (effect,) = week_for(reader_id=reader.pk, before=before, changes=[change], now=now).effects([change])
    return effect


def boost(reader: Reader, key: str = LOVED, weight: float = 1.3):
    return BOOST_SOURCE.change(key, config_effective(reader_id=reader.pk), weight)


def test_more_of_a_source_brings_its_articles_into_the_first_ten_of_every_day(busy, now):
    effect = effect_of(busy, boost(busy), now)
    assert {item.source for item in effect.enters} == {LOVED}
    assert LOVED not in {item.source for item in effect.leaves}
    days = {item.title.split()[1] for item in effect.enters}
    assert len(days) >= 5 and days <= {str(n) for n in range(8)}, "of the last week, not of the days before"
    assert effect.places >= 5 and effect.items_a_day == pytest.approx(20, abs=3)
    assert effect.about == sum(20 // len(SOURCES) for _ in range(7))


def test_the_newest_day_comes_first(busy, now):
    days = [int(item.title.split()[1]) for item in effect_of(busy, boost(busy), now).enters]
    assert days[0] == min(days) and days[-1] == max(days)


def test_less_of_a_source_takes_its_articles_out(busy, now):
    change = REDUCE_SOURCE.change(PLAIN, config_effective(reader_id=busy.pk), 0.7)
    effect = effect_of(busy, change, now)
    assert {item.source for item in effect.leaves} == {PLAIN}


def test_what_was_rated_is_gone_from_the_days_after(busy, now):
    before = effect_of(busy, boost(busy), now)
    today = next(one for one in before.enters if one.title.split()[1] == "0")
    old = next(one for one in before.enters if one.title.split()[1] == "3")
    for one, at in ((today, now), (old, now - 6 * DAY)):
        FeedbackFactory(reader=busy, item=Item.objects.get(pk=one.item_id), useful=True, at=at)
    entering = {one.item_id for one in effect_of(busy, boost(busy), now).enters}
    assert today.item_id in entering, "what is rated today stands on today's page"
    assert old.item_id not in entering


def test_a_change_that_moves_nothing_has_no_effect(busy, now):
    effect = effect_of(busy, boost(busy, "nowhere.example"), now)
    assert (effect.enters, effect.leaves, effect.places, effect.reordered) == ((), (), 0, 0)
    assert visibility_refusal(boost(busy, "nowhere.example"), effect).code == "moves_nothing"


def test_a_rare_topic_counts_if_it_would_have_shown_one_article_in_four_weeks(busy, now):
    feeds = [Feed.objects.get(source_id=key) for key in SOURCES]
    for n in range(10 * 12, 36 * 12):  # a full page every day before
        feed = feeds[n % len(feeds)]
        at = now - n // 12 * DAY - timedelta(minutes=n % 12)
        ItemFactory(feed=feed, source=feed.source, title=f"Plain {n}", published_at=at)
    at = now - 20 * DAY - timedelta(hours=4)
    rare = ItemFactory(feed=feeds[0], source=feeds[0].source, title="The zebra crossing", published_at=at)
    change = ADD_TOPIC.stored("zebra", "Zebra", "")
    effect = effect_of(busy, change, now)
    assert (effect.days, [item.item_id for item in effect.enters]) == (28, [rare.pk])
    assert visibility_refusal(change, effect) is None
    assert effect_of(busy, ADD_TOPIC.stored("quagga", "Quagga", ""), now).places == 0


def test_the_queries_do_not_grow_with_the_changes(busy, now, django_assert_max_num_queries):
    changes = [boost(busy, key) for key in SOURCES]
    before = config_effective(reader_id=busy.pk)
    with django_assert_max_num_queries(11):
        week_for(reader_id=busy.pk, before=before, changes=changes, now=now).effects(changes)


def test_a_card_names_last_what_its_reader_rated_against_it(busy, now):
    suggestion = suggested(
        busy, suggestion_type="boost_source", field="source_weights", target_key=LOVED, suggested_value="1.3"
    )
    before = config_effective(reader_id=busy.pk)
    week = partial(suggestion_weeks, reader_id=busy.pk, before=before, suggestions=[suggestion], now=now)
    enters = week()[suggestion.pk].enters
    disliked = Item.objects.get(pk=enters[0].item_id)
    FeedbackFactory(reader=busy, item=disliked, useful=False, at=now)
    enters = week()[suggestion.pk].enters
    ids = [one.item_id for one in enters]
    assert len(ids) > 1 and (disliked.pk not in ids or ids[-1] == disliked.pk)


def never_miss(reader: Reader, key: str):
    return NEVER_MISS.change(key, True)


@pytest.mark.parametrize("others", [4, 24], ids=["few sources", "many sources"])
@pytest.mark.parametrize(
    "hours", [range(0, 240, 12), (*range(30, 42), *range(80, 92))], ids=["two a day", "bursts"]
)
def test_never_missing_a_source_takes_none_of_its_own_articles_away(ada, now, hours, others):
    """Each has a place of its own once, so it is never gone: of a burst, some wait for the next day."""
    for n in range(others):
        feed = FeedFactory(source=SourceFactory(key=f"loud{n}.example"))
        SubscriptionFactory(reader=ada, feed=feed)
        for hour in range(0, 10 * 24, 6):
            ItemFactory(feed=feed, source=feed.source, published_at=now - timedelta(hours=hour, minutes=n))
    rare = FeedFactory(source=SourceFactory(key=LOVED))
    SubscriptionFactory(reader=ada, feed=rare)
    for hour in hours:
        ItemFactory(feed=rare, source=rare.source, published_at=now - timedelta(hours=hour, minutes=30))
    effect = effect_of(ada, never_miss(ada, LOVED), now)
    assert LOVED not in {one.source for one in effect.leaves}
    entering = [one for one in effect.enters if one.source == LOVED]
    assert 0 < len(entering) <= len([hour for hour in hours if hour < 7 * 24])
