"""How feeds do: in words for readers, in filters and actions for operators."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from pytest_httpserver import HTTPServer

from digest.apps import check_fetching
from digest.daily.item_words import feed_health
from digest.feed_admin import CONDITIONS, KINDS, TO_DO, kind_of
from digest.feeds.health import FeedCondition, feed_condition, feed_trouble
from digest.feeds.rate_limit import _limiter
from digest.feeds.selectors import feed_facts, feeds_due
from digest.models import Feed
from digest.sources.list_page import sources_page
from digest.sources.private_feeds import private_feed_create
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    OperatorFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

DAY = timedelta(days=1)
LIST = "admin:digest_feed_changelist"
RSS = "<rss version='2.0'><channel><title>Lamps</title><item><title>A lamp</title></item></channel></rss>"
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
        FeedFactory(state=state, failures=failures, last_fetched_at=fetched, last_new_at=new, note=note)
        for state in Feed.State.values
        for failures in (0, 2)
        for fetched in (None, now - DAY)
        for new in (None, now - DAY, now - 70 * DAY)
        for note in ("", "broken")
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


def facts(site: Client, feed: Feed) -> dict[str, str]:
    """Return the facts on a feed's page by name."""
    context = site.get(reverse("admin:digest_feed_change", args=[feed.pk])).context
    return {fact.name: fact.value for fact in context["facts"]}


def test_a_feeds_page_says_its_state_why_and_what_to_do(site, ada):
    now = timezone.now()
    feed = FeedFactory(
        state="active",
        failures=3,
        error_code="http_503",
        error_message="The server answered 503.",
        last_fetched_at=now - DAY,
        next_check_at=now + DAY,
    )
    for reader in (ada, ReaderFactory()):
        SubscriptionFactory(reader=reader, feed=feed)
    for days in (1, 2, 9):
        ItemFactory(feed=feed, dated_at=now - days * DAY)
    told = facts(site, feed)
    assert told["State"].startswith(
        "Failing. Failed 3 times in a row; last tried yesterday. The server answered 503."
    )
    assert told["What to do"].startswith("Nothing at first: it is tried again by itself")
    assert told["Readers"] == "2" and told["Last fetch"].endswith("failed (http 503)")
    assert told["Items"] == "2, 1, 0, 0 in the last four weeks, the latest first"
    body = site.get(reverse("admin:digest_feed_change", args=[feed.pk])).content.decode()
    assert "Fetch now" in body and body.index("What to do") < body.index('name="title"')
    assert ada.username not in body.partition("<form")[2]


def test_every_condition_has_its_advice_and_a_page(site, feeds):
    assert set(TO_DO) == set(FeedCondition)
    for feed in feeds:
        condition = feed_condition(feed_facts(feed), now=timezone.now())
        SubscriptionFactory(reader=ReaderFactory(), feed=feed)
        told = facts(site, feed)
        assert told["State"].lower().startswith(condition.value) and told["What to do"] == TO_DO[condition]


def test_a_feed_without_readers_says_so(site):
    told = facts(site, FeedFactory(state="active", last_fetched_at=timezone.now()))
    assert (told["Readers"], told["What to do"]) == ("nobody", "Nothing: without readers it is not fetched.")


def test_who_reads_a_feed_is_a_list_for_operators_who_may_see_subscriptions(site, ada):
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    SubscriptionFactory(reader=ada, feed=FeedFactory())
    context = site.get(reverse("admin:digest_feed_change", args=[feed.pk])).context
    (href,) = [fact.href for fact in context["facts"] if fact.name == "Readers"]
    assert [row.feed_id for row in site.get(href).context["cl"].queryset] == [feed.pk]
    otto = OperatorFactory(username="otto", is_superuser=False)
    otto.user_permissions.add(Permission.objects.get(codename="view_feed"))
    site.force_login(otto)
    page = site.get(reverse("admin:digest_feed_change", args=[feed.pk]))
    assert [fact.href for fact in page.context["facts"] if fact.name == "Readers"] == [""]
    assert "Fetch now" not in page.content.decode()
    assert site.post(reverse("admin:digest_feed_fetch", args=[feed.pk])).status_code == 403


def test_fetch_now_fetches_at_once_and_says_what_came(site, httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = ["localhost", "127.0.0.1"], 0
    _limiter.cache_clear()
    httpserver.expect_ordered_request("/feed").respond_with_data(RSS, content_type="application/rss+xml")
    httpserver.expect_ordered_request("/feed").respond_with_data("", status=500)
    feed = FeedFactory(url=httpserver.url_for("/feed"), state="gone", missing=10)
    SubscriptionFactory(reader=ReaderFactory(), feed=feed)
    address = reverse("admin:digest_feed_fetch", args=[feed.pk])
    told = []
    for _ in range(2):
        page = site.post(address, follow=True)
        told += [str(message) for message in page.context["messages"]]
    assert told[0] == "Fetched: 1 new of 1 items." and feed.items.count() == 1
    assert told[1].startswith("The fetch failed. ")
    assert site.get(address).status_code == 405


def test_what_is_no_feed_to_fetch_is_named_and_not_fetched(site, ada):
    rows = {
        "newsletter": private_feed_create(
            reader=ada,
            address="newsletter:lamps@list.example",
            publisher="list.example",
            title="Lamps",
            state="waiting",
        ),
        "private feed": private_feed_create(
            reader=ada, address="https://p.example/secret-feed", publisher="p.example", title="P"
        ),
        "file": FeedFactory(url="file:one.xml", state="imported"),
        "imported ratings": FeedFactory(url="urn:tidings:source:1:x.example", state="imported"),
        "feed": FeedFactory(state="active"),
    }
    for word, feed in rows.items():
        kind = kind_of(feed)
        assert kind.label == word
        page = site.get(reverse(LIST), {"kind": kind.value})
        assert [row.pk for row in page.context["cl"].queryset] == [feed.pk], word
        assert "secret-feed" not in page.content.decode() and "urn:tidings" not in page.content.decode()
    assert len(KINDS) == len(rows)
    for word in ("newsletter", "file", "imported ratings"):
        site.post(reverse(LIST), {"action": "check_soon", "_selected_action": [rows[word].pk]})
        site.post(reverse("admin:digest_feed_fetch", args=[rows[word].pk]))
        before = rows[word].state
        rows[word].refresh_from_db()
        assert rows[word].state == before, word
        assert (
            "Fetch now"
            not in site.get(reverse("admin:digest_feed_change", args=[rows[word].pk])).content.decode()
        )


def named(site: Client, address: str) -> list[str]:
    """Return how each row of a list names its feed."""
    body = site.get(address).content.decode()
    return [strip_tags(cell) for cell in re.findall(r"field-(?:name|of)[^>]*>(.*?)</t[dh]>", body, re.DOTALL)]


def test_a_feed_is_added_by_its_address_alone_and_without_a_password(site, ada):
    source = SourceFactory(key="h.example")
    form = {"source": source.pk, "state": "active", "failures": 0, "missing": 0, "check_minutes": 60}
    form |= {"moved_sightings": 0}
    refused = site.post(reverse("admin:digest_feed_add"), form | {"url": "not an address"})
    assert refused.status_code == 200 and "This is not a web address" in refused.content.decode()
    site.post(reverse("admin:digest_feed_add"), form | {"url": "https://olga:canary@H.example/feed"})
    assert Feed.objects.get().url == "https://h.example/feed"
    own = private_feed_create(
        reader=ada, address="https://p.example/feed", publisher="p.example", title="Lamps"
    )
    there = reverse("admin:digest_feed_change", args=[own.pk])
    site.post(there, form | {"url": own.url, "source": own.source_id, "title": "More lamps"})
    own.refresh_from_db()
    assert own.title == "More lamps" and own.url.startswith("private:")


def test_feeds_with_one_title_or_none_are_told_apart_without_a_secret_of_their_addresses(site, ada):
    source = SourceFactory(key="h.example", title="Harbour Post")
    addresses = [
        "https://h.example/town/feed",
        "https://h.example/sport/feed",
        "http://h.example/sport/feed",
        "https://h.example/feed?token=canary-1",
        "https://h.example/feed?token=canary-2",
        "https://olga:canary-3@h.example/feed",
    ]
    feeds = [
        FeedFactory(url=url, source=source, title=title)
        for url, title in zip(addresses, ["Harbour", "Harbour", "Harbour", "", "", "Harbour"], strict=True)
    ]
    feeds += [
        private_feed_create(
            reader=ada, address=f"https://h.example/canary-{n}", publisher="h.example", title="Harbour"
        )
        for n in (4, 5)
    ]
    for feed in feeds:
        SubscriptionFactory(reader=ada, feed=feed)
    for name in (LIST, "admin:digest_subscription_changelist"):
        told = named(site, reverse(name))
        assert len(set(told)) == len(told) == len(feeds), told
        assert "canary" not in site.get(reverse(name)).content.decode()
    assert f"Harbour h.example/town/feed · no. {feeds[0].pk}" in told
    assert f"Harbour Post h.example/feed?… · no. {feeds[3].pk}" in told
    assert f"Harbour no. {feeds[-1].pk}" in told
