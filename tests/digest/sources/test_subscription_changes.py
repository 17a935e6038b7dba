"""Many subscriptions at once: folders, removal and undo, fetching now, weights; only the reader's own
change."""

from datetime import timedelta

import pytest

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.feeds.polling import MISSING_MAX
from digest.models import Feed, Reader, Subscription
from digest.sources.subscription_changes import (
    FETCH_PAUSE,
    feeds_fetch_now,
    folder_rename,
    subscriptions_move,
    subscriptions_move_back,
    subscriptions_remove,
    subscriptions_restore,
)
from digest.sources.weights import sources_weigh
from ranking.entities import InvalidSetting
from ranking.selectors import config_effective, config_versions
from tests.support.factories import FeedFactory, SourceFactory, SubscriptionFactory


def read(reader: Reader, number: int, **fields: object) -> list[int]:
    """Subscribe `reader` to this many feeds, each of its own source. Return their ids."""
    sources = [SourceFactory(key=f"s{n}.example", title=f"S{n}") for n in range(number)]
    return [SubscriptionFactory(reader=reader, feed=FeedFactory(source=s, **fields)).feed_id for s in sources]


def folders(reader: Reader) -> list[str]:
    return list(Subscription.objects.filter(reader=reader).order_by("pk").values_list("folder", flat=True))


def test_many_move_to_a_folder_and_others_subscriptions_stay(ada: Reader, ben: Reader):
    feeds = read(ada, 3)
    SubscriptionFactory(reader=ben, feed_id=feeds[0])
    assert subscriptions_move(reader=ada, feed_ids=feeds[:2], folder=" News \n") == dict.fromkeys(
        feeds[:2], ""
    )
    assert folders(ada) == ["News", "News", ""] and folders(ben) == [""]
    assert folder_rename(reader=ada, folder="News", name="World") == dict.fromkeys(feeds[:2], "News")
    assert len(folder_rename(reader=ada, folder="World", name="")) == 2
    assert folder_rename(reader=ada, folder="", name="All") == {}
    assert folders(ada) == ["", "", ""]


def test_a_move_is_undone_for_what_is_still_where_it_moved(ada: Reader, ben: Reader):
    feeds = read(ada, 3)
    subscriptions_move(reader=ada, feed_ids=feeds[:1], folder="Old")
    SubscriptionFactory(reader=ben, feed_id=feeds[0], folder="News")
    before = subscriptions_move(reader=ada, feed_ids=feeds, folder="News")
    subscriptions_move(reader=ada, feed_ids=feeds[2:], folder="Else")
    assert subscriptions_move_back(reader=ada, before=before, folder="News") == 2
    assert folders(ada) == ["Old", "", "Else"] and folders(ben) == ["News"]


def test_what_was_removed_comes_back_as_it_was(ada: Reader, ben: Reader, now):
    feeds = read(ada, 3)
    Subscription.objects.filter(feed_id=feeds[0]).update(folder="News", ai_enabled=False)
    before = Subscription.objects.filter(reader=ada).order_by("feed_id")
    kept = list(before.values("feed_id", "folder", "ai_enabled"))
    SubscriptionFactory(reader=ben, feed_id=feeds[0])
    removed = subscriptions_remove(reader=ada, feed_ids=[*feeds, 10**12], now=now)
    assert len(removed) == 3 and folders(ada) == [] and folders(ben) == [""]
    assert subscriptions_restore(reader=ada, removed=removed, now=now) == 3
    assert subscriptions_restore(reader=ada, removed=removed, now=now) == 3, "a second time changes nothing"
    assert list(before.values("feed_id", "folder", "ai_enabled")) == kept


def test_an_undo_keeps_to_the_limit_and_to_feeds_that_are_there(ada: Reader, now, settings):
    removed = subscriptions_remove(reader=ada, feed_ids=read(ada, 2), now=now)
    settings.SUBSCRIPTIONS_MAX = 1
    with pytest.raises(TooManySubscriptions):
        subscriptions_restore(reader=ada, removed=removed, now=now)
    Feed.objects.all().delete()
    with pytest.raises(FeedNotFound):
        subscriptions_restore(reader=ada, removed=removed, now=now)


def test_feeds_are_due_at_once_unless_tried_a_moment_ago(ada: Reader, ben: Reader, now):
    rested, lately, gone, paused, theirs = (
        FeedFactory(
            source=SourceFactory(key=f"{n}.example"),
            next_check_at=now + timedelta(days=1),
            **{"state": "active"} | fields,
        )
        for n, fields in enumerate(
            [
                {"last_fetched_at": now - FETCH_PAUSE},
                {"last_fetched_at": now - FETCH_PAUSE / 2},
                {"state": "gone", "last_fetched_at": now - timedelta(days=9)},
                {"state": "paused"},
                {},
            ]
        )
    )
    for feed in (rested, lately, gone, paused):
        SubscriptionFactory(reader=ada, feed=feed)
    SubscriptionFactory(reader=ben, feed=theirs)
    every = [feed.pk for feed in (rested, lately, gone, paused, theirs)]
    asked = feeds_fetch_now(reader=ada, feed_ids=every, now=now)
    assert (asked.due, asked.lately, asked.paused, asked.never) == (2, 1, 0, 1)
    due = Feed.objects.filter(next_check_at=now).order_by("pk")
    assert [feed.pk for feed in due] == [rested.pk, gone.pk]
    gone.refresh_from_db()
    assert (gone.state, gone.missing) == ("active", MISSING_MAX - 1), "the next 404 gives it up again"


def test_a_feed_whose_server_asked_for_a_pause_stays_for_it(ada: Reader, now):
    until = now + timedelta(hours=3)
    feeds = [
        FeedFactory(state=state, next_check_at=until, pause_until=until)
        for state in ("active", "gone", "refused")
    ]
    feeds.append(FeedFactory(state="active", next_check_at=until, pause_until=now - timedelta(minutes=1)))
    for feed in feeds:
        SubscriptionFactory(reader=ada, feed=feed)
    asked = feeds_fetch_now(reader=ada, feed_ids=[feed.pk for feed in feeds], now=now)
    assert (asked.due, asked.lately, asked.paused, asked.never) == (1, 0, 3, 0)
    assert asked.paused_until == until
    assert list(Feed.objects.filter(next_check_at=now)) == [feeds[-1]], (
        "a pause that is over holds nothing up"
    )


def test_a_level_is_the_weight_of_each_source_as_one_version(ada: Reader, ben: Reader, now):
    feeds = read(ada, 3)
    assert sources_weigh(reader=ada, feed_ids=feeds[:2], level="less", now=now) == 2
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 0.5, "s1.example": 0.5}
    assert sources_weigh(reader=ada, feed_ids=feeds[:1], level="1.25", now=now) == 1
    assert sources_weigh(reader=ada, feed_ids=feeds[1:], level="usual", now=now) == 2
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 1.25}
    assert len(config_versions(reader_id=ada.pk)) == 3
    assert sources_weigh(reader=ben, feed_ids=feeds, level="more", now=now) == 0
    assert config_versions(reader_id=ben.pk) == []
    for wrong in ("lots", "9", "nan", "0"):
        with pytest.raises(InvalidSetting):
            sources_weigh(reader=ada, feed_ids=feeds, level=wrong, now=now)


@pytest.mark.parametrize("number", [3, 300])
def test_changes_cost_the_same_for_three_and_three_hundred(
    ada: Reader, now, number: int, django_assert_max_num_queries
):
    feeds = read(ada, number)
    with django_assert_max_num_queries(5):
        before = subscriptions_move(reader=ada, feed_ids=feeds, folder="News")
    with django_assert_max_num_queries(9):  # SQLite takes 300 cases in a few parts
        assert subscriptions_move_back(reader=ada, before=before, folder="News") == number
    with django_assert_max_num_queries(5):
        feeds_fetch_now(reader=ada, feed_ids=feeds, now=now)
    with django_assert_max_num_queries(16):  # SQLite stores 300 held weights in three parts
        sources_weigh(reader=ada, feed_ids=feeds, level="less", now=now)
    with django_assert_max_num_queries(7):
        removed = subscriptions_remove(reader=ada, feed_ids=feeds, now=now)
    with django_assert_max_num_queries(9):  # and as many subscriptions
        assert subscriptions_restore(reader=ada, removed=removed, now=now) == number
