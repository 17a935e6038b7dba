"""The sources page: its words about each feed, and a reader's actions there."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.items.reading import item_read
from digest.models import Feed, Item, Reader, Subscription
from digest.sources.list_page import UNFOLDED_MAX
from digest.sources.opml import OPML_BYTES_MAX, opml_read
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import ago, done_yesterday, fresh_item, messages_in, subscribe
from tests.support.documents import MADE
from tests.support.factories import FeedbackFactory, FeedFactory, SourceFactory, SubscriptionFactory

PAGE = "/ui/sources"
# Lookups are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> str:
    """Return the address of a local site that may be fetched."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    return httpserver.url_for("/")


def test_it_counts_what_a_search_leaves_and_says_where_that_is_nothing(page: Client, ada: Reader):
    subscribe(ada)
    body, nothing = (page.get(f"{PAGE}{query}").content.decode() for query in ("", "?find=nowhere"))
    assert "None of your sources is like that." not in body and "data-chosen>1<" in body
    assert "None of your sources is like that." in nothing and "0 of 1." in nothing


def test_sources_say_how_they_are_doing_and_what_they_weigh(page: Client, ada: Reader):
    feed = subscribe(ada).feed
    feed.state, feed.failures, feed.error_message = "active", 2, "The server answered 503."
    feed.save()
    FeedbackFactory(reader=ada, item=fresh_item(ada))
    FeedbackFactory(reader=ada, item=fresh_item(ada), useful=False)
    edit = ConfigEdit(source_weights={"gazette.example": 1.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    body = page.get(PAGE).content.decode()
    assert "Failed 2 times in a row; not fetched yet. The server answered 503." in body
    assert "more than usual (1.30)</span>" in body and "<span>1 of 2 liked</span>" in body
    assert "1 in trouble" in body


def test_a_source_says_what_it_brings_and_how_much_of_that_is_unread(page: Client, ada: Reader):
    for key, count in (("daily.example", 56), ("weekly.example", 8), ("rare.example", 3)):
        for n in range(count):
            fresh_item(ada, key=key, hours=n / 10 + 1, title=f"{key} {n}")
    fresh_item(ada, key="old.example", hours=24 * 29)
    Subscription.objects.exclude(feed__source="old.example").update(folder="News")
    Feed.objects.filter(source="daily.example").update(last_new_at=ago(2))
    item_read(reader=ada, item_id=Item.objects.get(title="rare.example 0").pk, now=timezone.now())
    body = page.get(PAGE).content.decode()
    figures = [
        re.findall("<span>(.*?)</span>", row) for row in re.findall('class="figures meta">(.*?)</p>', body)
    ]
    assert figures == [
        ["1 unread", "", "", ""],
        ["56 unread", "2 a day", "2 hours ago", ""],
        ["2 unread", "3 a month", "", ""],
        ["8 unread", "2 a week", "", ""],
    ]
    assert "66 unread · 3 feeds" in body
    assert "56 unread · 1 feed<" in page.get(PAGE, {"find": "daily"}).content.decode()
    Feed.objects.filter(source="daily.example").update(state=Feed.State.GONE)
    assert "10 unread · 2 feeds" in page.get(PAGE).content.decode()
    Reader.objects.update(hide_counts=True)
    assert "unread" not in page.get(PAGE).content.decode().partition("<main")[2].partition("</main>")[0]


def test_sources_stand_in_their_folders(page: Client, ada: Reader):
    for n, folder in enumerate(["News", "", "news / Local", "News"]):
        Subscription.objects.filter(pk=subscribe(ada, f"s{n}.example").pk).update(folder=folder)
    folders = page.get(PAGE).context["folders"]
    assert [(f.name, len(f.lines)) for f in folders] == [("", 1), ("News", 2), ("news / Local", 1)]
    assert page.get(PAGE).content.decode().count('<details class="fold" data-group open') == 3


def test_folders_of_many_sources_begin_closed_and_open_for_what_is_found(page: Client, ada: Reader):
    for n in range(UNFOLDED_MAX + 1):
        Subscription.objects.filter(pk=subscribe(ada, f"s{n}.example").pk).update(folder="News")
    assert '<details class="fold" data-group>' in page.get(PAGE).content.decode()
    assert '<details class="fold" data-group open' in page.get(f"{PAGE}?find=s7").content.decode()


def test_sources_stand_in_order_of_the_names_they_are_shown_by(page: Client, ada: Reader):
    for key, title in [("a.example", "Zebra"), ("z.example", "apple"), ("m.example", "Mango")]:
        feed = subscribe(ada, key).feed
        Feed.objects.filter(pk=feed.pk).update(title=title)
    assert [line.name for line in page.get(PAGE).context["sources"]] == ["apple", "Mango", "Zebra"]


def test_sources_cost_the_same_however_many(page: Client, ada: Reader, django_assert_num_queries):
    for n in range(3):
        subscribe(ada, f"s{n}.example")
    # session, reader, config 2, thumbs, subscriptions; lists, mutes, unread, items; the network
    with django_assert_num_queries(11):
        page.get(PAGE)
    for n in range(3, 40):
        subscribe(ada, f"s{n}.example")
    with django_assert_num_queries(11):
        assert len(page.get(PAGE).context["sources"]) == 40


def test_a_site_with_one_feed_is_added_at_once(page: Client, ada: Reader, site: str, httpserver: HTTPServer):
    httpserver.expect_request("/rss.xml").respond_with_data(MADE[0])
    link = '<link rel="alternate" type="application/rss+xml" href="rss.xml">'
    httpserver.expect_request("/").respond_with_data(f"<html><head>{link}</head></html>")
    assert page.post(PAGE, {"url": site}).url == "/", "the first one leads to where it is read"
    feed = Subscription.objects.get(reader=ada).feed
    assert feed.url == f"{site}rss.xml"
    assert "You now read" in messages_in(page.get(PAGE).content.decode())
    assert page.post(PAGE, {"url": f"{site}rss.xml"}).url == PAGE
    assert "already" in messages_in(page.get(PAGE).content.decode())


def test_a_site_with_two_feeds_lets_the_reader_choose(page: Client, site: str, httpserver: HTTPServer):
    link = '<link rel="alternate" type="application/rss+xml" href="/{}">'
    head = link.format("one") + link.format("two")
    httpserver.expect_request("/").respond_with_data(f"<html><head>{head}</head></html>")
    httpserver.expect_request("/one").respond_with_data(MADE[0])
    httpserver.expect_request("/two").respond_with_data(MADE[0].replace(b"Rivers", b"&lt;i&gt;Seas"))
    body = page.post(PAGE, {"url": site}).content.decode()
    assert "This site has 2 feeds" in body
    assert "Seas" in body
    assert "<i>" not in body
    assert not Subscription.objects.exists()
    page.post(PAGE, {"url": f"{site}two"})
    assert Subscription.objects.get().feed.url == f"{site}two"


@pytest.mark.parametrize(
    ("typed", "added"),
    [
        ("http://127.0.0.1:9/feed.xml", "http://127.0.0.1:9/feed.xml"),
        ("127.0.0.1:9/feed.xml", "https://127.0.0.1:9/feed.xml"),
    ],
)
def test_a_feed_that_cannot_be_reached_now_may_be_added_as_it_is(
    page: Client, ada: Reader, settings, typed: str, added: str
):
    settings.FETCH_ALLOW_HOSTS = ["127.0.0.1"]
    answer = page.post(PAGE, {"url": typed})
    assert answer.status_code == 422
    assert "Add it as it is" in answer.content.decode()
    assert page.post(PAGE, {"url": typed, "as_is": "1"}).url == "/"
    assert Subscription.objects.get(reader=ada).feed.url == added
    text = messages_in(page.get(PAGE).content.decode())
    assert "You now read" in text and "items arrive" not in text


@pytest.mark.parametrize("typed", ["http://127.0.0.1/feed", "192.168.0.1", "localhost", "http://8.8.8.8:22/"])
@pytest.mark.parametrize("as_is", ["", "1"])
def test_what_will_never_be_fetched_is_neither_offered_nor_added(page: Client, typed: str, as_is: str):
    answer = page.post(PAGE, {"url": typed, "as_is": as_is})
    body = answer.content.decode()
    assert answer.status_code == 422
    assert "Add it as it is" not in body and "as it is." not in body
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("url", ["", "not an address", "ftp://news.example/feed", "file:///etc/passwd"])
@pytest.mark.parametrize("as_is", ["", "1"])
def test_an_address_that_cannot_be_a_feed_is_refused_with_words(page: Client, url: str, as_is: str):
    answer = page.post(PAGE, {"url": url, "as_is": as_is})
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.content.decode()
    assert "Add it as it is" not in answer.content.decode()
    assert not Subscription.objects.exists()


def test_a_feed_given_up_is_refused_unless_it_answers_again(page: Client, site: str, httpserver: HTTPServer):
    feed = FeedFactory(url=f"{site}back.xml", state="gone", failures=9)
    answer = page.post(PAGE, {"url": feed.url, "as_is": "1"})
    assert answer.status_code == 422
    assert "took it down for good" in answer.content.decode()
    httpserver.expect_request("/back.xml").respond_with_data(MADE[0])
    assert page.post(PAGE, {"url": feed.url}).status_code == 302
    feed.refresh_from_db()
    assert (feed.state, feed.failures) == ("active", 0)


def test_folder_and_models_are_the_readers_own(page: Client, ada: Reader, ben: Reader):
    feed = subscribe(ada).feed
    Subscription.objects.create(reader=ben, feed=feed, created_at=timezone.now())
    assert 'name="ai_enabled"' in page.get(f"{PAGE}/{feed.pk}").content.decode()
    page.post(f"{PAGE}/{feed.pk}", {"folder": " News <b>"})
    mine, theirs = (Subscription.objects.get(reader=reader) for reader in (ada, ben))
    assert (mine.folder, mine.ai_enabled) == ("News <b>", False)
    assert (
        "News &lt;b&gt;" in page.get(PAGE).content.decode()
        and "News <b>" not in page.get(PAGE).content.decode()
    )
    assert (theirs.folder, theirs.ai_enabled) == ("", True)
    assert "no models" in page.get(PAGE).content.decode()
    assert page.post(f"{PAGE}/{feed.pk}", {"folder": "x" * 101}).status_code == 422


def test_a_source_is_removed_for_its_reader_alone_and_can_be_had_back(page: Client, ada: Reader, ben: Reader):
    feed = subscribe(ada).feed
    Subscription.objects.filter(reader=ada).update(folder="News", ai_enabled=False)
    Subscription.objects.create(reader=ben, feed=feed, created_at=timezone.now())
    gone = page.post(f"{PAGE}/{feed.pk}/remove", follow=True)
    assert "Removed Gazette" in gone.content.decode()
    assert [s.reader for s in Subscription.objects.all()] == [ben]
    page.post(f"{PAGE}/undo")
    again = Subscription.objects.get(reader=ada)
    assert (again.feed, again.folder, again.ai_enabled) == (feed, "News", False)


def test_another_readers_removal_and_an_old_one_cannot_be_undone(page: Client, ada: Reader, ben: Reader):
    bens = Client()
    bens.force_login(ben)
    bens.post(f"{PAGE}/{subscribe(ben).feed_id}/remove")
    assert page.get(PAGE).context["undo"] is None
    assert "can no longer be undone" in page.post(f"{PAGE}/undo", follow=True).content.decode()
    page.post(f"{PAGE}/{subscribe(ada).feed_id}/remove")
    assert page.get(PAGE).context["undo"]["count"] == 1
    done_yesterday(ada, "removed")
    assert page.get(PAGE).context["undo"] is None
    assert "can no longer be undone" in page.post(f"{PAGE}/undo", follow=True).content.decode()
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("verb", ["get", "post"])
def test_what_one_does_not_read_is_not_found(page: Client, ben: Reader, verb: str):
    theirs = subscribe(ben).feed_id
    for feed_id in (theirs, 9223372036854775808):
        assert getattr(page, verb)(f"{PAGE}/{feed_id}").status_code == 404
        assert page.post(f"{PAGE}/{feed_id}/remove").status_code == 404
    assert Subscription.objects.filter(reader=ben).exists()


def upload(page: Client, body: bytes):
    return page.post(f"{PAGE}/import", {"file": SimpleUploadedFile("list.opml", body)}, follow=True)


def test_a_list_is_imported_and_every_refusal_named(page: Client, ada: Reader):
    subscribe(ada)
    body = (
        b'<opml><body><outline text="Sea & Sky"><outline text="Sea" xmlUrl="https://sea.example/rss"/>'
        b'\n<outline text="Odd" xmlUrl="gopher://odd.example/<script>"/></outline></body></opml>'
    )
    shown = upload(page, body).content.decode()
    assert "1 feed added" in shown
    assert "Line 2" in shown
    assert "gopher://odd.example/&lt;script&gt;" in shown
    assert "read line by line" in shown
    assert Subscription.objects.get(feed__url="https://sea.example/rss").folder == "Sea & Sky"
    assert Feed.objects.get(url="https://sea.example/rss").last_fetched_at is None


@pytest.mark.parametrize("body", [b"", b"no list", b"<opml>" + b" " * OPML_BYTES_MAX])
def test_a_file_that_is_no_list_is_refused_with_words(page: Client, body: bytes):
    answer = upload(page, body)
    assert answer.status_code == 422
    head, _, rest = answer.content.decode().partition("Add a source")
    assert 'role="alert"' in head and "Nothing was imported." in head  # in sight at the top of the page
    assert 'class="errorlist"' in rest
    assert page.post(f"{PAGE}/import").status_code == 422
    assert page.get(f"{PAGE}/import").url == PAGE


def test_the_list_is_downloaded_with_what_can_be_fetched(page: Client, ada: Reader, ben: Reader):
    Subscription.objects.filter(pk=subscribe(ada).pk).update(folder="News")
    subscribe(ben, "bens.example")
    answer = page.get(f"{PAGE}/export.opml")
    assert answer["Content-Disposition"] == 'attachment; filename="tidings.opml"'
    assert [(f.title, f.folder) for f in opml_read(answer.content).feeds] == [("Gazette", "News")]


def test_without_sources_the_page_says_how_to_begin(page: Client):
    body = page.get(PAGE).content.decode()
    assert "Type the name of a site you like" in body
    assert "Download yours" not in body


def test_a_reader_gives_a_feed_a_name_that_all_their_lists_use_and_nobody_elses(
    page: Client, ada: Reader, ben: Reader
):
    item = fresh_item(ada)
    Feed.objects.filter(pk=item.feed_id).update(title="Gazette")
    theirs = Subscription.objects.create(reader=ben, feed=item.feed, created_at=timezone.now())
    address = f"{PAGE}/{item.feed_id}"
    saved = page.post(address, {"own_name": " My\npaper\n", "ai_enabled": "on"}, follow=True)
    assert "Saved: My paper." in messages_in(saved.content.decode())
    assert [line.name for line in page.get(PAGE, {"find": "my paper"}).context["sources"]] == ["My paper"]
    assert [line.name for line in page.get(PAGE, {"find": "gazette"}).context["sources"]] == ["My paper"]
    shown = page.get("/ui/all", {"feed": item.feed_id}).content.decode()
    assert shown.count("My paper") >= 2 and "Gazette" not in shown
    assert b'text="My paper"' in page.get(f"{PAGE}/export.opml").content
    assert 'value="My paper"' in page.get(address).content.decode()
    assert "Removed My paper" in page.post(f"{address}/remove", follow=True).content.decode()
    page.post(f"{PAGE}/undo")
    assert Subscription.objects.get(reader=ada).own_name == "My paper"
    theirs.refresh_from_db()
    assert theirs.name == "Gazette"
    page.post(address, {"own_name": "", "ai_enabled": "on"})
    assert Subscription.objects.get(reader=ada).name == "Gazette"
    assert page.post(address, {"own_name": "x" * 201}).status_code == 422


def test_feeds_of_one_source_say_that_weights_and_ratings_are_of_all_of_them(page: Client, ada: Reader):
    source = SourceFactory(key="gazette.example", title="Gazette")
    for name in ("world", "sport", "film"):
        SubscriptionFactory(
            reader=ada, feed=FeedFactory(source=source, url=f"https://gazette.example/{name}")
        )
    SubscriptionFactory(reader=ada)
    assert page.get(PAGE).content.decode().count("one source with 2 other feeds of") == 3


def test_the_page_says_how_many_feeds_a_list_may_bring(page: Client, settings):
    settings.SUBSCRIPTIONS_MAX = 1_250
    assert "up to 2 MiB and 1,250 feeds." in page.get(PAGE).content.decode()
    settings.SUBSCRIPTIONS_MAX = 10_000
    assert "up to 2 MiB and 2,000 feeds." in page.get(PAGE).content.decode()


def test_a_dead_feed_gets_a_new_address_and_keeps_what_its_reader_set(
    page: Client, ada: Reader, ben: Reader, site: str, httpserver: HTTPServer
):
    old = subscribe(ada).feed
    Subscription.objects.filter(reader=ada).update(folder="News", own_name="Mine", ai_enabled=False)
    config_edit(
        reader_id=ada.pk,
        edit=ConfigEdit(source_weights={old.source_id: 1.3}),
        expected_version=0,
        now=timezone.now(),
    )
    theirs = Subscription.objects.create(reader=ben, feed=old, created_at=timezone.now())
    address = f"{PAGE}/{old.pk}/address"
    httpserver.expect_request("/new.xml").respond_with_data(MADE[0])
    httpserver.expect_request("/gone.xml").respond_with_data("", status=404)
    assert "New address" in page.get(f"{PAGE}/{old.pk}").content.decode()
    for wrong in ("", "no address", f"{site}gone.xml"):
        page.post(address, {"url": wrong})
        assert Subscription.objects.get(reader=ada).feed == old
    saved = page.post(address, {"url": f"{site}new.xml"}, follow=True).content.decode()
    assert f"Mine is read at {site}new.xml now." in messages_in(saved)
    mine = Subscription.objects.get(reader=ada)
    assert (mine.feed.url, mine.folder, mine.name, mine.ai_enabled) == (
        f"{site}new.xml",
        "News",
        "Mine",
        False,
    )
    assert mine.feed.items.exists() and "count more than usual" in saved
    theirs.refresh_from_db()
    assert theirs.feed == old
    assert page.post(address, {"url": f"{site}new.xml"}).status_code == 404
    again = page.post(f"{PAGE}/{mine.feed_id}/address", {"url": f"{site}new.xml"}, follow=True)
    assert "You read that address already." in messages_in(again.content.decode())
    assert Subscription.objects.get(reader=ada) == mine
