"""The messages of the digest and the sources page if nothing comes in: offline is not the same as no news."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.feeds.connect import ADDRESS_QUESTION
from digest.feeds.health import FeedCounts, FeedFacts, feed_counts
from digest.models import Feed, Reader
from tests.support.browser import fresh_item, subscribe

TODAY, SOURCES = "/", "/ui/sources"
LOST = f"There is no host “lost.example” on the public internet. {ADDRESS_QUESTION}"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def feeds(reader: Reader, count: int) -> list[Feed]:
    """Return `count` new feeds of the reader, never tried."""
    found = [subscribe(reader, f"s{n}.example").feed for n in range(count)]
    Feed.objects.update(state="active")
    return found


def tried(found: list[Feed], failures: int = 0) -> None:
    """Mark every feed as tried just now, with this many failures."""
    for feed in found:
        feed.state, feed.failures, feed.last_fetched_at = "active", failures, timezone.now()
        feed.error_message = LOST if failures else ""
        feed.save()


def test_only_polled_feeds_are_counted(now):
    facts = [FeedFacts("active"), FeedFacts("active", 2, now), FeedFacts("active", 0, now)]
    fixed = [FeedFacts("gone", 9, now), FeedFacts("paused", 1, now), FeedFacts("imported")]
    assert feed_counts([*facts, *fixed], now=now) == FeedCounts(polled=3, waiting=1, failing=1)
    assert not feed_counts([], now=now).none_answers
    assert not feed_counts([FeedFacts("active", 1, now)], now=now).none_answers  # one may well be gone
    assert feed_counts([FeedFacts("active", 1, now)] * 2, now=now).none_answers


def test_a_reader_none_of_whose_feeds_could_be_fetched_does_not_read_that_there_was_no_news(
    page, ada: Reader
):
    found = feeds(ada, 3)
    tried(found, failures=1)
    body = page.get(TODAY).content.decode()
    assert "None of your 3 feeds could be fetched" in body and "published nothing" not in body
    tried(found[:2])
    body = page.get(TODAY).content.decode()
    assert "1 of your 3 feeds could not be fetched; the others published nothing" in body
    tried(found)
    body = page.get(TODAY).content.decode()
    assert "Your sources published nothing" in body and "could" not in body.split("Nothing in your digest")[1]


def test_one_feed_that_fails_is_named_as_one(page, ada: Reader):
    tried(feeds(ada, 1), failures=1)
    assert "Your feed could not be fetched" in page.get(TODAY).content.decode()


def test_feeds_that_wait_are_counted_against_all(page, ada: Reader):
    found = feeds(ada, 2)
    ada.subscriptions.update(created_at=timezone.now())
    assert "Fetching your 2 new feeds: 0 done so far.</p>" in page.get(TODAY).content.decode()
    tried(found[:1], failures=1)
    assert "Fetching your 2 new feeds: 1 done so far. 0 items came. " in page.get(TODAY).content.decode()


def test_a_page_whose_feeds_no_worker_came_for_stops_asking(page, ada: Reader):
    feeds(ada, 2)  # subscribed to two months ago
    body = page.get(TODAY).content.decode()
    assert "Your feeds have not been fetched yet: look again later." in body
    assert "data-watched" not in body and "refresh" not in body


def test_where_every_feed_fails_the_page_says_once_that_the_machine_may_be_offline(page, ada: Reader):
    found = feeds(ada, 3)
    tried(found, failures=1)
    body = page.get(SOURCES).content.decode()
    assert body.count("may be offline") == 1 and ADDRESS_QUESTION not in body
    assert body.count("There is no host") == 3
    tried(found[:1])
    body = page.get(SOURCES).content.decode()
    assert "may be offline" not in body and body.count(ADDRESS_QUESTION) == 2


def test_today_says_which_chosen_sources_could_not_be_fetched(page, ada: Reader):
    fresh_item(ada)
    feeds(ada, 2)
    found = list(Feed.objects.order_by("pk"))
    tried(found, failures=1)
    tried(found[:1])
    Feed.objects.filter(pk=found[0].pk).update(last_new_at=timezone.now())
    Feed.objects.filter(failures__gt=0).update(error_code="not_found")
    Reader.objects.filter(pk=ada.pk).update(sources_filled_at=timezone.now())
    body = page.get(TODAY).content.decode()
    assert '<a href="/ui/sources">2 of your 3 sources</a> could not be fetched yet' in body
    assert "no network" not in body, "one feed was reached"
    tried(found[:1], failures=1)
    Feed.objects.update(error_code="connect_failed")
    assert "This site seems to have no network" in page.get(TODAY).content.decode()
    Reader.objects.filter(pk=ada.pk).update(sources_filled_at=timezone.now() - timedelta(days=2))
    assert "could not be fetched yet" not in page.get(TODAY).content.decode()


@pytest.mark.parametrize(("other", "is_offline"), [("timeout", True), ("not_a_feed", False)])
def test_a_site_that_reaches_no_feed_says_so_on_an_empty_page(page, ada: Reader, other, is_offline):
    found = feeds(ada, 2)
    tried(found, failures=1)
    Feed.objects.update(error_code="connect_failed")
    Feed.objects.filter(pk=found[0].pk).update(error_code=other)
    Reader.objects.filter(pk=ada.pk).update(sources_filled_at=timezone.now())
    body = page.get(TODAY).content.decode()
    assert "None of your 2 feeds could be fetched" in body
    assert ("This site seems to have no network" in body) is is_offline
