"""How feeds do: in words for readers, in filters and actions for operators."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.admin import CONDITIONS
from digest.apps import check_fetching
from digest.daily.item_words import feed_health
from digest.feeds.health import feed_condition, feed_trouble
from digest.feeds.selectors import feed_facts, feeds_due
from digest.models import Feed
from digest.sources.list_page import sources_page
from tests.support.factories import FeedFactory, ReaderFactory, SubscriptionFactory

DAY = timedelta(days=1)
LIST = "admin:digest_feed_changelist"
MOVING = ({"moved_url": "https://new.example/feed"}, {"answered_by": "new.example"}, {})


@pytest.fixture
def site(operator) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def feeds(db) -> list[Feed]:
    """Feeds in every state, fetched or not, failing or not, lively or not."""
    now = timezone.now()
    return [
        FeedFactory(state=state, failures=failures, last_fetched_at=fetched, last_new_at=new)
        for state in Feed.State.values
        for failures in (0, 2)
        for fetched in (None, now - DAY)
        for new in (None, now - DAY, now - 70 * DAY)
    ]


def test_the_filters_part_the_feeds_as_the_word_beside_each_does(site, feeds):
    words = {}
    for feed in feeds:
        words.setdefault(feed_condition(feed_facts(feed), now=timezone.now()).value, set()).add(feed.pk)
    for condition in CONDITIONS:
        page = site.get(reverse(LIST), {"condition": condition.value})
        assert {row.pk for row in page.context["cl"].queryset} == words[condition.value], condition
    assert sum(map(len, words.values())) == len(feeds)


def test_feeds_in_trouble_are_the_same_to_operators_and_to_their_readers(site, feeds, ada):
    now = timezone.now()
    feeds += [FeedFactory(last_fetched_at=now, last_new_at=now, **moving) for moving in MOVING]
    for feed in feeds:
        SubscriptionFactory(reader=ada, feed=feed)
    FeedFactory(state="gone")  # nobody reads it
    page = site.get(reverse(LIST), {"condition": "trouble", "all": ""})
    listed = {row.pk for row in page.context["cl"].queryset}
    assert listed == {feed.pk for feed in feeds if feed_trouble(feed_facts(feed), now=now)}
    assert len(listed) == sources_page(ada, now)["trouble"]


def test_an_operator_takes_up_a_feed_that_was_given_up_and_pauses_another(site):
    gone = FeedFactory(state="gone", failures=12, missing=10, error_message="Nothing there.")
    lively = FeedFactory(state="active")
    for action, feed in (("check_soon", gone), ("pause", lively)):
        site.post(reverse(LIST), {"action": action, "_selected_action": [feed.pk]})
        feed.refresh_from_db()
    assert (gone.state, gone.missing) == ("active", 0)
    assert gone.next_check_at <= timezone.now() and lively.state == "paused"


def test_a_feed_that_is_to_be_fetched_soon_counts_as_failing_until_it_was(site):
    failing = FeedFactory(
        state="active", failures=3, error_code="connect_failed", error_message="It was not there."
    )
    gone = FeedFactory(state="gone", failures=10, missing=10, error_message="Nothing there.")
    for feed in (failing, gone):
        SubscriptionFactory(reader=ReaderFactory(), feed=feed)
    chosen = [failing.pk, gone.pk]
    site.post(reverse(LIST), {"action": "check_soon", "_selected_action": chosen})
    page = site.get(reverse(LIST), {"condition": "failing"})
    assert {row.pk: (row.failures, row.error_message) for row in page.context["cl"].queryset} == {
        failing.pk: (3, "It was not there."),
        gone.pk: (10, "Nothing there."),
    }
    assert set(feeds_due(now=timezone.now())) == {failing, gone}


def test_a_paused_feed_stays_paused_until_it_is_resumed(site):
    paused, lively, file = (FeedFactory(state=state) for state in ("paused", "active", "imported"))
    chosen = [paused.pk, lively.pk, file.pk]
    page = site.post(reverse(LIST), {"action": "check_soon", "_selected_action": chosen}, follow=True)
    texts = [str(message) for message in page.context["messages"]]
    assert [words.split(";")[0].split(":")[0].rstrip(".") for words in texts] == [
        "1 feed is asked at the next round",
        "1 feed is still paused",
        "1 feed is not asked",
    ]
    paused.refresh_from_db()
    assert paused.state == "paused"
    site.post(reverse(LIST), {"action": "resume", "_selected_action": chosen})
    paused.refresh_from_db()
    file.refresh_from_db()
    assert (paused.state, file.state) == ("active", "imported")


def test_a_feed_that_nobody_asks_has_no_next_check(site, now):
    for state in Feed.State.values:
        FeedFactory(state=state, next_check_at=now)
    page = site.get(reverse(LIST)).content.decode()
    assert page.count("18 March 2026") == 1


def test_a_reader_is_told_what_a_feed_brings_and_when_it_is_asked_again(now):
    words = feed_health(
        "active", "", 0, now - DAY / 24, now, last_new=now - 3 * DAY, next_check=now, every_minutes=300
    )
    assert words == "Last fetched 1 hour ago. The last new item came 3 days ago. Checked every 5 h."
    words = feed_health("active", "It broke.", 2, now - DAY, now, next_check=now + DAY / 6)
    assert words == "Failed 2 times in a row; last tried yesterday. It broke. It is tried again in about 4 h."
    assert feed_health("gone", "Ten times nothing.", 10, now, now) == "Ten times nothing."


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("FETCH_PORTS", [80, 70000], "tidings.E008"),
        ("FETCH_PORTS", [], "tidings.E008"),
        ("FETCH_HOST_GAP_S", -1.0, "tidings.E009"),
        ("FETCH_WORKERS", 0, "tidings.E009"),
    ],
)
def test_a_setting_that_cannot_be_is_told_at_the_start(settings, name, value, code):
    assert check_fetching() == []
    setattr(settings, name, value)
    assert [error.id for error in check_fetching()] == [code]


def test_errors_are_filtered_by_words_and_a_feed_without_one_offers_no_empty_word(site):
    FeedFactory()
    failing = FeedFactory(failures=1, error_code="http_error")
    FeedFactory(failures=1, error_code="timeout")
    page = site.get(reverse(LIST), {"error": "http_error"})
    assert [row.pk for row in page.context["cl"].queryset] == [failing.pk]
    [offered] = [spec for spec in page.context["cl"].filter_specs if spec.title == "error"]
    assert offered.lookup_choices == [("http_error", "http error"), ("timeout", "timeout")]


def test_a_day_and_an_hour_have_names_of_their_own(site):
    body = site.get(reverse("admin:digest_feed_add")).content.decode()
    assert body.count('aria-label="Date"') == body.count('aria-label="Time"') > 0
