"""Adding a site stores the downloaded posts, so they are there when the page answers."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.feeds.services import feed_claim
from digest.models import Feed, Item, Reader
from digest.sources import adding
from tests.support.browser import messages_in
from tests.support.factories import FeedFactory

PAGE = "/ui/sources"
pytestmark = pytest.mark.usefixtures("own_cache")
FEED = (
    "<rss><channel><title>Rivers</title><item><title>Rain</title><link>https://r.example/1</link></item>"
    "<item><title>Snow</title><link>https://r.example/2</link></item></channel></rss>"
)


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> HTTPServer:
    """Serve a local site whose page names its feed."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    httpserver.expect_request("/").respond_with_data(f"<html><head>{link}</head></html>")
    httpserver.expect_request("/feed").respond_with_data(FEED, headers={"ETag": '"1"'})
    return httpserver


def asked(site: HTTPServer) -> list[str]:
    return [request.path for request, _ in site.log]


def test_the_posts_are_there_at_once_and_the_feed_was_downloaded_once(page, site):
    page.post(PAGE, {"url": site.url_for("/")})
    assert asked(site) == ["/", "/feed"]
    feed = Feed.objects.get()
    assert (feed.title, feed.etag, feed.failures) == ("Rivers", '"1"', 0)
    assert feed.next_check_at > timezone.now() + timedelta(minutes=4)
    body = page.get("/").content.decode()
    assert "Rain" in body and "Snow" in body and "being fetched" not in body


def test_the_message_promises_what_is_true(page, site):
    page.post(PAGE, {"url": site.url_for("/")})
    assert "You now read Rivers. Its posts are here." in messages_in(page.get(PAGE).content.decode())
    page.post(PAGE, {"url": site.url_for("/other"), "as_is": "1"})
    assert "It is being fetched." in messages_in(page.get(PAGE).content.decode())


@pytest.mark.parametrize("due", [True, False])
def test_a_feed_that_others_read_is_written_only_where_it_is_due(page, site, due):
    at = timezone.now() + timedelta(minutes=-1 if due else 30)
    FeedFactory(url=site.url_for("/feed"), state="active", next_check_at=at, last_fetched_at=timezone.now())
    page.post(PAGE, {"url": site.url_for("/feed")})
    assert Item.objects.count() == (2 if due else 0)
    assert (Feed.objects.get().next_check_at == at) is not due


def test_a_feed_that_a_worker_fetches_right_now_is_left_to_it(page, ada, site):
    feed = FeedFactory(url=site.url_for("/feed"), state="active", next_check_at=timezone.now())
    until = timezone.now() + timedelta(minutes=5)
    assert feed_claim(feed=feed, until=until)
    page.post(PAGE, {"url": site.url_for("/feed")})
    assert ada.subscriptions.get().feed == feed
    assert Feed.objects.get().next_check_at == until and not Item.objects.exists()


def test_a_document_that_cannot_be_stored_costs_no_subscription(page, ada, site, monkeypatch):
    def breaks(**kwargs: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(adding, "answers_store", breaks)
    page.post(PAGE, {"url": site.url_for("/feed")})
    feed = ada.subscriptions.get().feed
    assert feed.last_fetched_at is None and feed.next_check_at <= timezone.now()  # the next fetch batch tries


def test_a_quiet_blog_shows_its_latest_posts_on_the_very_first_page(page, site):
    dated = "<pubDate>Mon, 02 Mar 2026 10:00:00 GMT</pubDate></item>"
    site.expect_request("/quiet").respond_with_data(FEED.replace("</item>", dated))
    page.post(PAGE, {"url": site.url_for("/quiet")})
    shown = page.get("/").context["shown"]
    assert {entry.item.title for entry in shown} == {"Rain", "Snow"}
    assert all("latest of a source you added" in entry.why.chips for entry in shown)
