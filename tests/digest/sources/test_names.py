"""Names typed under Sources find starters and widely read feeds, never feeds of few readers."""

from datetime import timedelta

import pytest
from django.test import Client

from digest.models import Reader, Subscription
from digest.sources.names import NamedFeed, feeds_named, is_name
from digest.sources.recommended import starter_interests
from tests.support.factories import CLOCK, FeedFactory, ReaderFactory, SourceFactory, SubscriptionFactory

PAGE = "/ui/sources"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]


def read_by(count: int, title: str = "Massicotte’s log", **fields: object) -> str:
    """Create a feed with this many readers. Return its address."""
    feed = FeedFactory(title=title, state="active", source=SourceFactory(key=f"log{count}.example"), **fields)
    for reader in ReaderFactory.create_batch(count):
        SubscriptionFactory(reader=reader, feed=feed)
    return feed.url


def named(name: str) -> list[NamedFeed]:
    return feeds_named(name=name, now=CLOCK)


@pytest.mark.parametrize("text", ["massicotte", "reddit r/python", "The Guardian", "Quanta: physics", "日本"])
def test_what_can_be_no_address_is_a_name(text):
    assert is_name(text)


@pytest.mark.parametrize("text", ["example.org", "https://x", "https://a b", "//x", "feed:x", "[::1]", ""])
def test_what_may_be_an_address_is_none(text):
    assert not is_name(text)


def test_starters_are_found_by_any_words_of_theirs():
    assert [feed.title for feed in named("  GUARDIAN world ")] == ["The Guardian: World"]
    assert "Ars Technica" in [feed.title for feed in named("technica")]
    assert named("guardian nobody") == [] == named("a / .")


def test_a_feed_is_found_from_its_fifth_reader_on():
    few, many = read_by(4), read_by(5)
    assert few not in [feed.url for feed in named("massicotte log")]
    assert many in [feed.url for feed in named("massicotte log")]


def test_five_accounts_of_yesterday_get_no_feed_found():
    read_by(5)
    Subscription.objects.update(created_at=CLOCK - timedelta(days=13))
    assert named("massicotte") == []


@pytest.mark.parametrize("change", [{"peers_enabled": False}, {"is_active": False}])
def test_readers_who_share_nothing_count_for_nothing(change):
    read_by(5)
    Reader.objects.filter(pk=Reader.objects.first().pk).update(**change)
    assert named("massicotte") == []


def test_what_fails_or_is_gone_is_not_offered():
    read_by(5, failures=3)
    read_by(6)
    assert len(named("massicotte")) == 1


def test_the_most_read_come_first_and_no_more_than_eight():
    for n in range(5, 15):
        read_by(n)
    found = [feed.url for feed in named("massicotte")]
    assert found == [f"https://log{n}.example/feed.xml" for n in range(14, 6, -1)]


def test_the_page_offers_what_it_found_and_nothing_is_added_yet(client: Client, ada: Reader):
    client.force_login(ada)
    secret = read_by(1, title="Massicotte, for members", url="https://m.example/feed?token=s3cret")
    public = read_by(5)
    answer = client.post(PAGE, {"url": "massicotte"})
    body = answer.content.decode()
    assert answer.status_code == 200 and f'value="{public}"' in body
    assert secret not in body and "s3cret" not in body
    assert not ada.subscriptions.exists()


def test_a_name_nobody_has_says_what_to_do(client: Client, ada: Reader):
    client.force_login(ada)
    answer = client.post(PAGE, {"url": "no such thing"})
    assert answer.status_code == 422
    assert "Type the site’s address, such as example.org" in answer.content.decode()


def test_what_the_reader_reads_already_is_called_so_and_nobody_elses(
    client: Client, ada: Reader, ben: Reader
):
    SubscriptionFactory(
        reader=ada, feed=FeedFactory(title="Quiet Port", source=SourceFactory(key="q.example"))
    )
    for reader, words in (
        (ada, "You read “Quiet Port” already"),
        (ben, "No source known here has that name"),
    ):
        client.force_login(reader)
        assert words in client.post(PAGE, {"url": "quiet port"}).content.decode()


def test_every_starter_can_be_found_by_its_title():
    for interest in starter_interests():
        for feed in interest.feeds:
            assert feed.url in [found.url for found in named(feed.title)]
