"""Subscribing by address: shared feeds, nothing fetched at the door, addresses checked."""

import pytest

from digest.errors import InvalidFeedUrl
from digest.models import Feed, Subscription
from digest.selectors import reader_sources
from digest.services.subscriptions import subscription_add, subscription_remove

URL = "https://news.example.org/feed.xml"


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
        "https://example.org/a b",
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
    assert subscription_remove(reader=ada, feed_id=feed.pk) is True
    assert subscription_remove(reader=ada, feed_id=feed.pk) is False
    assert [row.reader for row in Subscription.objects.all()] == [ben]
