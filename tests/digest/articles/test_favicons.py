"""Favicons over real sockets: fetched only by the worker, within limits; a letter if there is none."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.articles.favicons import favicon_href, favicons_update, page_icons
from digest.models import Favicon, Feed, Reader, Source
from tests.digest.articles.test_pictures import PNG
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import FeedFactory

ICO = b"\x00\x00\x01\x00" + b"\x00" * 60
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.fixture
def feed(ada: Reader, httpserver: HTTPServer, settings) -> Feed:
    """Return a feed that Ada reads, on a server of this machine that the operator allows."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    found = subscribe(ada).feed
    found.url, found.site_url, found.last_fetched_at = httpserver.url_for("/feed"), "", timezone.now()
    found.state = Feed.State.ACTIVE
    found.save()
    return found


def update() -> int:
    return favicons_update(now=timezone.now())


def asked(httpserver: HTTPServer) -> list[str]:
    return [request.path for request, _ in httpserver.log]


def icon(feed: Feed) -> Source:
    return Source.objects.get(pk=feed.source_id)


def test_a_site_is_asked_once_and_its_icon_handed_out(feed, httpserver: HTTPServer, client: Client, ada):
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO, content_type="text/html")
    assert (update(), update()) == (1, 0)
    assert asked(httpserver) == ["/favicon.ico"]
    client.force_login(ada)
    answer = client.get(favicon_href(icon(feed)))
    assert (answer.content, answer["Content-Type"]) == (ICO, "image/x-icon")
    assert "immutable" in answer["Cache-Control"] and "sandbox" in answer["Content-Security-Policy"]


def test_where_there_is_none_at_the_usual_place_the_page_says_where(feed, httpserver: HTTPServer):
    httpserver.expect_request("/favicon.ico").respond_with_data(SVG)
    links = '<link rel="icon" href="/a.svg"><link rel="Shortcut Icon" href="/b.png">'
    httpserver.expect_request("/").respond_with_data(f"<html><head>{links}</head>")
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    assert update() == 1
    assert asked(httpserver) == ["/favicon.ico", "/", "/b.png"]
    assert bytes(Favicon.objects.get().body) == PNG


@pytest.mark.parametrize(
    "body", [SVG, b"<html>", b"", ICO + b"\x00" * 140_000], ids=["svg", "page", "", "large"]
)
def test_what_is_no_icon_is_not_stored_and_the_site_left_alone(feed, httpserver: HTTPServer, body: bytes):
    httpserver.expect_request("/favicon.ico").respond_with_data(body)
    httpserver.expect_request("/").respond_with_data(b"<html>")
    assert update() == 0 and icon(feed).icon == ""
    httpserver.clear_log()
    assert update() == 0 and asked(httpserver) == []


def test_an_icon_that_went_away_stays_a_new_one_gets_a_new_address(feed, httpserver: HTTPServer):
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO)
    update()
    first = favicon_href(icon(feed))
    for body, same in ((b"", True), (PNG, False)):
        Favicon.objects.update(checked_at=timezone.now() - timedelta(days=31))
        httpserver.clear()
        httpserver.expect_request("/favicon.ico").respond_with_data(body)
        update()
        assert (favicon_href(icon(feed)) == first) is same


def test_only_sites_of_feeds_that_answer_and_are_read_are_asked(feed, httpserver: HTTPServer):
    for fields in ({"failures": 1}, {"state": "paused"}, {"last_fetched_at": None}):
        Feed.objects.filter(pk=feed.pk).update(**fields)
        update()
        Feed.objects.filter(pk=feed.pk).update(failures=0, state="active", last_fetched_at=timezone.now())
    FeedFactory(url=httpserver.url_for("/nobody"), last_fetched_at=timezone.now())
    feed.subscriptions.all().delete()
    update()
    assert asked(httpserver) == []


def test_a_feed_borrows_the_face_of_no_other_site(feed, httpserver: HTTPServer):
    """A feed may claim to belong to any site; the icon comes from its own."""
    Feed.objects.filter(pk=feed.pk).update(site_url="http://10.0.0.1/bank")
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO)
    assert update() == 1 and asked(httpserver) == ["/favicon.ico"]


def test_an_inner_host_is_asked_for_no_feed_from_elsewhere(feed, httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = ["intranet"]
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO)
    assert update() == 0 and asked(httpserver) == []


def test_nobody_gets_an_icon_that_no_page_of_theirs_names(feed, httpserver: HTTPServer, client: Client, ada):
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO)
    update()
    address = favicon_href(icon(feed))
    assert client.get(address).status_code == 302  # to the sign-in
    client.force_login(ada)
    assert client.get(address[:-2] + "xx").status_code == 404


def test_lists_show_it_or_a_letter_and_never_another_site(feed, httpserver: HTTPServer, client: Client, ada):
    fresh_item(ada, title="A lamp", feed=feed)
    client.force_login(ada)
    assert '<span class="favicon" aria-hidden="true">G</span>' in client.get("/").content.decode()
    httpserver.expect_request("/favicon.ico").respond_with_data(ICO)
    update()
    address = favicon_href(icon(feed))
    for page in ("/", "/ui/all", "/ui/search?q=lamp", "/ui/sources"):
        assert address in client.get(page).content.decode(), page
    ada.pictures = Reader.Pictures.NEVER
    ada.save()
    assert address not in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<link rel=icon href=//s.example/i.png>", ["https://s.example/i.png"]),
        ("<link rel=icon href=//bank.example/i.png><link rel=icon href=//s.example.bank.example/i.png>", []),
        (
            '<link rel="apple-touch-icon" href="t.png"><link rel="icon" href="i.ico">',
            ["https://s.example/i.ico", "https://s.example/t.png"],
        ),
        ('<link rel="icon" href="javascript:x"><link rel="icon" href="http://[x"><link rel=icon>', []),
        ('<link rel="icon" href="data:image/png,x"><link rel="mask-icon" href="/m.png">', []),
    ],
)
def test_icons_that_a_page_names(markup: str, found: list[str]):
    assert page_icons(markup, url="https://s.example/") == found
