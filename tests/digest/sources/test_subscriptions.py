"""Subscribing by address: shared feeds, nothing fetched at the door, addresses checked."""

from datetime import timedelta

import pytest

from digest.daily.services import digest_current
from digest.errors import InvalidFeedUrl
from digest.feedback.services import feedback_set
from digest.items.selectors import reader_sources
from digest.models import Feed, Subscription
from digest.sources.subscription_changes import subscriptions_remove
from digest.sources.subscriptions import subscription_add
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

URL = "https://news.example.org/feed.xml"
HOUR = timedelta(hours=1)


def test_a_new_address_becomes_a_feed_that_is_due_at_once(ada, now):
    subscription = subscription_add(reader=ada, url=f"  {URL}\n", now=now)
    feed = subscription.feed
    assert (feed.url, feed.next_check_at, feed.last_fetched_at) == (URL, now, None)
    assert reader_sources(reader_id=ada.id) == [feed.source_id]


def test_two_readers_share_one_feed_and_asking_twice_changes_nothing(ada, ben, now):
    first = subscription_add(reader=ada, url=URL, now=now)
    assert subscription_add(reader=ada, url=URL, now=now) == first
    assert subscription_add(reader=ben, url=URL, now=now).feed == first.feed
    assert (Feed.objects.count(), Subscription.objects.count()) == (1, 2)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "news",
        "ftp://example.org/feed",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://ada:secret@example.org/feed",
        "https://exam ple.org/a",
        "https://example.org/" + "x" * 2100,
    ],
)
def test_what_is_no_plain_web_address_is_refused(ada, now, url):
    with pytest.raises(InvalidFeedUrl):
        subscription_add(reader=ada, url=url, now=now)
    assert not Feed.objects.exists()


def test_leaving_a_feed_leaves_it_to_the_others(ada, ben, now):
    feed = subscription_add(reader=ada, url=URL, now=now).feed
    subscription_add(reader=ben, url=URL, now=now)
    assert subscriptions_remove(reader=ada, feed_ids=[feed.pk], now=now)
    assert not subscriptions_remove(reader=ada, feed_ids=[feed.pk], now=now + HOUR)
    assert [row.reader for row in Subscription.objects.all()] == [ben]
    ada.refresh_from_db()
    assert ada.sources_left_at == now  # removing a feed that was not read does not count


def test_a_feed_that_is_left_is_gone_from_todays_digest_at_once_but_for_what_was_rated(ada, ben, now):
    for reader in (ada, ben):
        for key in ("left.example", "kept.example"):
            SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    others = [ItemFactory(source_id="kept.example") for _ in range(3)]
    left = [ItemFactory(source_id="left.example", published_at=now - HOUR) for _ in range(2)]
    day, soon = now.date(), now + HOUR / 6
    first = {reader.pk: digest_current(reader=reader, date=day, now=now) for reader in (ada, ben)}
    feedback_set(reader=ada, item_id=left[1].pk, useful=True, now=now)
    before = list(first[ada.pk].impressions.values_list("item", flat=True))

    feed_id = ada.subscriptions.get(feed__source="left.example").feed_id
    subscriptions_remove(reader=ada, feed_ids=[feed_id], now=soon)
    again = digest_current(reader=ada, date=day, now=soon)
    shown = list(again.impressions.values_list("item", flat=True))
    assert set(shown) == {left[1].pk, *(item.pk for item in others)}
    assert shown.index(left[1].pk) == before.index(left[1].pk)
    assert again.built_at == soon and digest_current(reader=ada, date=day, now=soon).built_at == soon
    assert digest_current(reader=ben, date=day, now=soon).built_at == now  # other readers' digests stay
