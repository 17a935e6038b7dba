"""The first visit: asked once, answered without fetching, never in the way of those who read already."""

import re
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from digest.feeds.identity import canonical_url, source_key
from digest.models import Feed, Reader, Source, Subscription
from digest.sources.recommended import StarterFeed, starter_feeds_chosen, starter_interests, welcome_answer
from digest.sources.subscriptions import FEED_GONE_REASON
from tests.conftest import NOW
from tests.support.browser import subscribe


@pytest.fixture
def page(ada: Reader, client: Client) -> Client:
    """Return the browser of Ada, who has just signed up."""
    Reader.objects.filter(pk=ada.pk).update(welcomed_at=None)
    client.force_login(ada)
    return client


def test_whoever_is_here_for_the_first_time_is_asked(page: Client):
    assert page.get("/").url == "/ui/welcome"
    body = page.get("/ui/welcome").content.decode()
    assert all(interest.name.split()[0] in body for interest in starter_interests())


def test_a_german_reader_is_offered_german_sources_first_and_the_others_after_them(page: Client, ada: Reader):
    for language, expected in (("de", "de"), ("en", "en")):
        Reader.objects.filter(pk=ada.pk).update(language=language)
        offered = [one.language for one, _name in page.get("/ui/welcome").context["interests"]]
        assert len(offered) == len(starter_interests())
        first = offered.count(expected)
        assert offered[:first] == [expected] * first and expected not in offered[first:]


def test_whoever_reads_something_already_is_not(page: Client, ada: Reader):
    subscribe(ada)
    assert page.get("/").status_code == 200


def test_other_pages_are_not_in_the_way(page: Client, client: Client):
    assert page.get("/ui/sources").status_code == 200
    assert "visitors.css" in Client().get("/").content.decode()


def test_chosen_interests_become_subscriptions_that_are_fetched_later(page: Client, ada: Reader):
    answer = page.post("/ui/welcome", {"interest": ["science", "space"]}, follow=True)
    assert answer.redirect_chain == [("/", 302)]
    body = answer.content.decode()
    assert "Your digest is being fetched" in body and "Your first 9 sources are being fetched" in body
    wanted = {
        feed.url for one in starter_interests() if one.key in {"science", "space"} for feed in one.feeds
    }
    assert {row.feed.url for row in Subscription.objects.filter(reader=ada)} == wanted
    assert all(feed.next_check_at and not feed.last_fetched_at for feed in Feed.objects.all())
    ada.refresh_from_db()
    assert ada.welcomed_at is not None


def test_single_sources_can_be_chosen_and_nothing_that_is_not_on_offer(page: Client, ada: Reader):
    first, second = starter_interests()[0].feeds[:2]
    refused = page.post("/ui/welcome", {"feed": [first.url, "https://evil.example/feed"]})
    assert refused.status_code == 422 and not Subscription.objects.exists()
    assert f'value="{first.url}" checked' in refused.content.decode()
    page.post("/ui/welcome", {"feed": [first.url, second.url]})
    assert Subscription.objects.filter(reader=ada).count() == 2


def test_an_interest_and_one_of_its_sources_are_one_subscription(page: Client):
    page.post("/ui/welcome", {"interest": ["world"], "feed": [starter_interests()[0].feeds[0].url]})
    assert Subscription.objects.count() == len(starter_interests()[0].feeds)


def test_an_address_is_typed_there_too_and_the_sources_lead_back(page: Client):
    body = page.get("/ui/welcome").content.decode()
    form = body.partition('action="/ui/welcome"')[2].partition("</form>")[0]
    assert 'name="url"' in form and "csrfmiddlewaretoken" in form and 'formaction="/ui/sources"' in form
    assert 'href="/ui/welcome">Sources to start with</a>' in page.get("/ui/sources").content.decode()


def test_put_aside_it_does_not_come_back(page: Client):
    assert page.post("/ui/welcome", {"skip": "1"}).url == "/"
    assert "no sources yet" in page.get("/").content.decode()


def test_put_aside_nothing_ticked_is_added(page: Client):
    page.post("/ui/welcome", {"skip": "1", "interest": ["world"]})
    assert not Subscription.objects.exists()


def test_nothing_chosen_is_said(page: Client):
    answer = page.post("/ui/welcome", {})
    assert answer.status_code == 422 and "Choose at least one" in answer.content.decode()
    assert page.get("/").url == "/ui/welcome"


def test_answering_takes_the_same_statements_for_one_source_and_for_all(
    ada: Reader, ben: Reader, django_assert_num_queries
):
    one, everything = (
        starter_feeds_chosen(interests=[], urls=[starter_interests()[0].feeds[0].url]),
        starter_feeds_chosen(interests=[interest.key for interest in starter_interests()], urls=[]),
    )
    # SQLite limits the parameters of a statement: there, all starters need two inserts of feeds.
    second_insert = connection.vendor == "sqlite"
    for reader, feeds, statements in ((ada, one, 10), (ben, everything, 10 + second_insert)):
        with django_assert_num_queries(statements):
            assert welcome_answer(reader=reader, feeds=feeds, now=NOW).added == len(feeds)


def test_feeds_and_sources_that_others_read_are_shared_and_keep_their_names(ada: Reader, ben: Reader):
    feed = starter_interests()[0].feeds[0]
    key = source_key(feed.url)
    Source.objects.create(key=key, title="The Beeb")
    known = Feed.objects.create(url=feed.url, source_id=key, title="As Ben knows it", next_check_at=None)
    Subscription.objects.create(reader=ben, feed=known, created_at=NOW)
    assert welcome_answer(reader=ada, feeds=[feed], now=timezone.now()).added == 1
    assert welcome_answer(reader=ada, feeds=[feed], now=timezone.now()).added == 0
    assert Feed.objects.get().title == "As Ben knows it" and Source.objects.get(key=key).title == "The Beeb"
    assert Subscription.objects.filter(feed=known).count() == 2


def test_a_feed_that_its_publisher_took_down_is_refused_in_words(page: Client, ada: Reader):
    gone, alive = starter_interests()[0].feeds[:2]
    source = Source.objects.create(key=source_key(gone.url))
    Feed.objects.create(url=gone.url, source=source, state=Feed.State.GONE, next_check_at=None)
    answer = page.post("/ui/welcome", {"feed": [gone.url, alive.url]}, follow=True)
    messages = [str(message) for message in answer.context["messages"]]
    assert [row.feed.url for row in ada.subscriptions.select_related("feed")] == [alive.url]
    assert messages[0].startswith("Your first 1 source is being fetched")
    assert messages[1] == f"{gone.title}: {FEED_GONE_REASON} You are not subscribed to it."


def test_a_source_is_called_by_its_publisher_not_by_one_of_its_feeds(ada: Reader):
    welcome_answer(
        reader=ada, feeds=[StarterFeed("The Guardian: World", "https://guardian.example/w")], now=NOW
    )
    assert Source.objects.get().title == "The Guardian"
    assert Feed.objects.get().title == "The Guardian: World"


def test_what_is_on_offer_is_sound():
    interests = starter_interests()
    feeds = [feed for interest in interests for feed in interest.feeds]
    english, german = ([i for i in interests if i.language == language] for language in ("en", "de"))
    assert 8 <= len(english) <= 12 and 5 <= len(german) <= 8 and len(interests) == len(english) + len(german)
    assert all(3 <= len(interest.feeds) <= 6 for interest in interests)
    for values in ([i.key for i in interests], [f.url for f in feeds], [f.title for f in feeds]):
        assert len(set(values)) == len(values)
    for feed in feeds:
        assert isinstance(feed, StarterFeed) and urlsplit(feed.url).scheme == "https"
        # Stored as it stands: a second way to the same feed would be a second feed.
        assert canonical_url(feed.url) == feed.url, feed.url


ADD = re.compile(r'<button name="welcome" value="1" formaction="/ui/sources">([^<]+)</button>')
TICKED = re.compile(r'name="(?:interest|feed)" value="([^"]+)" checked')


@pytest.mark.parametrize(
    ("language", "add", "words"),
    [
        ("en", "Add", "No source known here has that name"),
        ("de", "Hinzufügen", "Keine hier bekannte Quelle heißt so"),
    ],
)
def test_a_wrong_name_on_the_first_page_is_answered_at_its_field_and_all_ticks_stay(
    page: Client, ada: Reader, language: str, add: str, words: str
):
    Reader.objects.filter(pk=ada.pk).update(language=language)
    assert ADD.search(page.get("/ui/welcome").content.decode())[1] == add
    first, second = starter_interests()[:2]
    ticked = {"interest": [first.key], "feed": [second.feeds[0].url, "https://evil.example/feed"]}
    answer = page.post("/ui/sources", {"url": "nobody knows <this>", "welcome": "1"} | ticked, follow=True)
    body = answer.content.decode()
    assert answer.request["PATH_INFO"] == "/ui/welcome"
    assert sorted(TICKED.findall(body)) == sorted([first.key, second.feeds[0].url])
    assert 'value="nobody knows &lt;this&gt;"' in body
    assert words in re.search(r'<ul class="errorlist" id="url-error" role="alert">(.*?)</ul>', body)[1]
    again = page.get("/ui/welcome").content.decode()
    assert len(TICKED.findall(again)) == 2 and "url-error" not in again
    page.post("/ui/welcome", ticked | {"feed": [second.feeds[0].url]})
    assert not TICKED.findall(page.get("/ui/welcome").content.decode())


def test_an_empty_or_endless_address_on_the_first_page_is_answered_there(page: Client):
    for typed, words in (("", "required"), ("x" * 2001, "2000")):
        answer = page.post("/ui/sources", {"url": typed, "welcome": "1"}, follow=True)
        assert answer.request["PATH_INFO"] == "/ui/welcome" and words in answer.content.decode()
        assert f'value="{typed[:2000]}"' in answer.content.decode()
        assert page.post("/ui/sources", {"url": typed}).status_code == 422


def test_a_site_added_on_the_first_page_leads_back_to_what_is_ticked_there(page: Client, ada: Reader):
    first = starter_interests()[0]
    for n, (ticked, place) in enumerate((([first.key], "/ui/welcome"), ([], "/ui/sources"))):
        typed = {"url": f"https://own.example/{n}.xml", "as_is": "1", "welcome": "1", "interest": ticked}
        assert page.post("/ui/sources", typed).url == place
        assert TICKED.findall(page.get("/ui/welcome").content.decode()) == ticked
    assert ada.subscriptions.count() == 2


def test_a_list_without_a_choice_keeps_the_typed_site(page: Client):
    answer = page.post("/ui/welcome", {"url": "example.org"})
    assert answer.status_code == 422 and 'value="example.org"' in answer.content.decode()


def demo_feed(name: str, *, site: str = "https://tideline.example/") -> Feed:
    """Return a feed that was read from a file."""
    source = Source.objects.create(key=name.lower(), title=name)
    state, url = Feed.State.IMPORTED, f"file:{name.lower()}.atom"
    made = {"state": state, "last_fetched_at": NOW, "next_check_at": None}
    return Feed.objects.create(url=url, source=source, title=name, site_url=site, **made)


def test_beside_a_demo_a_new_account_can_read_its_feeds_which_need_no_network(page: Client, ada: Reader):
    feeds = [demo_feed("Lumen"), demo_feed("Tideline")]
    offered = page.get("/ui/welcome").context["interests"]
    assert offered[0][1] == "The demo’s sources, without a network"
    assert [feed.title for feed in offered[0][0].feeds] == ["Lumen", "Tideline"]
    answer = page.post("/ui/welcome", {"interest": ["demo"]}, follow=True)
    assert {row.feed_id for row in ada.subscriptions.all()} == {feed.pk for feed in feeds}
    body = answer.content.decode()
    assert "Your first 2 sources are here" in body and "being fetched" not in body


def test_one_of_the_demos_feeds_can_be_chosen_beside_others(page: Client, ada: Reader):
    feed, first = demo_feed("Lumen"), starter_interests()[0].feeds[0]
    demo_feed("Tideline")
    answer = page.post("/ui/welcome", {"feed": [feed.url, first.url]}, follow=True)
    assert {row.feed.url for row in ada.subscriptions.select_related("feed")} == {feed.url, first.url}
    assert "Your first 2 sources are being fetched" in answer.content.decode()


def test_files_of_real_sites_are_offered_to_nobody(page: Client, ada: Reader):
    demo_feed("Own", site="https://intranet.real.org/")
    demo_feed("Near", site="https://example.org/x.example")
    assert len(page.get("/ui/welcome").context["interests"]) == len(starter_interests())
    assert page.post("/ui/welcome", {"feed": ["file:own.atom"]}).status_code == 422
    assert not ada.subscriptions.exists()
