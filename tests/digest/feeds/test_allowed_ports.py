"""One entry `host:port` of FETCH_ALLOW_HOSTS is enough for all that is fetched from there."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.feeds.fetch_batch import feeds_fetch
from digest.models import Feed, Item, Reader, Subscription

pytestmark = pytest.mark.django_db
FEED = """<rss version="2.0"><channel><title>Intranet</title><link>{home}</link>
<item><title>The canteen</title><link>{home}a</link><guid>1</guid><description>Soup</description></item>
</channel></rss>"""


@pytest.fixture
def site(httpserver: HTTPServer, settings, own_cache: None) -> HTTPServer:
    """Return a server at a port of its own, which one entry allows, with a page that names its feed."""
    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = [f"{httpserver.host}:{httpserver.port}"], 0.0
    page = '<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head></html>'
    httpserver.expect_request("/").respond_with_data(page, content_type="text/html")
    feed = FEED.format(home=httpserver.url_for("/"))
    httpserver.expect_request("/feed.xml").respond_with_data(feed, content_type="application/rss+xml")
    return httpserver


@pytest.mark.parametrize("path", ["/", "/feed.xml"])
def test_a_site_at_another_port_is_added_by_its_page_and_by_its_feed(
    site: HTTPServer, client: Client, ada: Reader, path: str
):
    client.force_login(ada)
    client.post("/ui/sources", {"url": site.url_for(path)})
    feed = Subscription.objects.get(reader=ada).feed
    assert feed.url == site.url_for("/feed.xml")
    Feed.objects.update(next_check_at=timezone.now(), last_fetched_at=None)
    feeds_fetch(now=timezone.now())
    feed.refresh_from_db()
    assert (feed.error_code, Item.objects.get().title) == ("", "The canteen")


def test_a_list_with_such_a_feed_is_imported(site: HTTPServer, client: Client, ada: Reader):
    client.force_login(ada)
    url = site.url_for("/feed.xml")
    body = f'<opml version="2.0"><body><outline type="rss" text="I" xmlUrl="{url}"/></body></opml>'
    client.post("/ui/sources/import", {"file": SimpleUploadedFile("a.opml", body.encode())})
    assert Subscription.objects.get(reader=ada).feed.url == url
