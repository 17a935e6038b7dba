"""The alarm when nothing is fetched, and the word for how a feed does."""

from datetime import timedelta

import pytest
from django.core import mail
from django.core.cache import cache
from django.utils import timezone

from advisor.tasks import feeds_watch_task
from digest.feeds.health import FeedCondition, FeedFacts, feed_condition
from digest.feeds.selectors import fetching_trouble
from digest.models import Feed
from tests.support.factories import FeedFactory, ReaderFactory, SubscriptionFactory

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ACTIVE = Feed.State.ACTIVE


def fetched(now, minutes: float, **fields: object) -> Feed:
    """Return an active feed with a reader, tried this many minutes ago, and due again in an hour."""
    at = now - minutes * MINUTE
    return read(FeedFactory(**{"state": ACTIVE, "last_fetched_at": at, "next_check_at": now + HOUR} | fields))


def read(feed: Feed) -> Feed:
    return SubscriptionFactory(reader=ReaderFactory(), feed=feed).feed


@pytest.mark.django_db
def test_feeds_that_wait_while_none_is_fetched_are_an_alarm(now, settings):
    settings.FETCH_WATCHDOG_MINUTES = 120
    fetched(now, 300, next_check_at=now - 121 * MINUTE)
    assert "none was fetched" in fetching_trouble(now=now)
    fetched(now, 119)
    assert fetching_trouble(now=now) == ""


@pytest.mark.django_db
def test_nothing_due_is_no_alarm_and_neither_is_a_feed_nobody_asks(now):
    fetched(now, 600)
    for state in (Feed.State.PAUSED, Feed.State.GONE, Feed.State.IMPORTED):
        read(FeedFactory(state=state, next_check_at=now - 10 * HOUR))
    FeedFactory(state=ACTIVE, next_check_at=now - 10 * HOUR)  # has no readers
    assert fetching_trouble(now=now) == ""


@pytest.mark.django_db
def test_five_feeds_that_all_fail_are_an_alarm_and_four_are_their_own_affair(now, django_assert_num_queries):
    for n in range(4):
        fetched(now, 10 + n, failures=2)
    assert fetching_trouble(now=now) == ""
    fetched(now, 10, failures=1)
    with django_assert_num_queries(2):  # is the network down; the feeds
        assert "All 5 feeds" in fetching_trouble(now=now)
    fetched(now, 10)
    assert fetching_trouble(now=now) == ""


@pytest.mark.django_db
def test_the_watch_can_be_switched_off(now, settings):
    settings.FETCH_WATCHDOG_MINUTES = 0
    fetched(now, 9000, next_check_at=now - 10 * HOUR)
    assert fetching_trouble(now=now) == ""


@pytest.mark.django_db
def test_the_alarm_reaches_the_operators_by_mail_once(settings):
    settings.ALERT_EMAILS = ["olga@example.org"]
    cache.delete("alert:feeds_stalled")
    read(FeedFactory(state=ACTIVE, next_check_at=timezone.now() - timedelta(days=1)))
    feeds_watch_task()
    feeds_watch_task()
    assert [message.to for message in mail.outbox] == [["olga@example.org"]]
    assert "worker" in mail.outbox[0].body


@pytest.mark.parametrize(
    ("facts", "condition"),
    [
        ({"state": "active"}, FeedCondition.NEW),
        ({"state": "active", "fetched_at": 0}, FeedCondition.FINE),
        ({"state": "active", "fetched_at": 0, "failures": 1}, FeedCondition.FAILING),
        ({"state": "active", "failures": 1}, FeedCondition.FAILING),
        ({"state": "active", "fetched_at": 0, "last_new_at": 61}, FeedCondition.QUIET),
        ({"state": "active", "fetched_at": 0, "last_new_at": 61, "note": "empty"}, FeedCondition.DOUBTFUL),
        ({"state": "active", "fetched_at": 0, "failures": 1, "note": "empty"}, FeedCondition.FAILING),
        ({"state": "gone", "failures": 3}, FeedCondition.GONE),
        ({"state": "paused"}, FeedCondition.PAUSED),
        ({"state": "imported", "failures": 3}, FeedCondition.IMPORTED),
    ],
)
def test_a_feed_has_one_condition(now, facts, condition):
    times = {name: now - timedelta(days=days) for name, days in facts.items() if name.endswith("_at")}
    assert feed_condition(FeedFacts(**facts | times), now=now) == condition
