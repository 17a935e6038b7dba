"""An article in a real browser: as published, with no word to anybody but us."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_httpserver import HTTPServer

from digest.feeds.ingest import feed_get_or_create
from digest.models import Item, Reader
from digest.sources.subscriptions import subscription_add
from tests.support.browser import SHIFTS, fresh_item
from tests.support.chromium import listening
from tests.support.ingest import document_ingest
from tests.test_axe_browser import RUN, VIOLATIONS
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]

MARKUP = """
<h1>Levels</h1><p>It rained for <em>nine</em> days. See <a href="/map">the map</a> of the gauges.</p>
<ul><li>Upper Lahn<ul><li>Biedenkopf</li></ul></li><li>Lower Lahn</li></ul>
<blockquote><p>Nobody had seen the weir like that.</p></blockquote>
<figure><img src="/boat.png" alt="a boat in a meadow" width="1200" height="800">
<figcaption>The meadow at noon.</figcaption></figure>
<h2>Readings</h2><table><tr><th>Gauge</th>{heads}</tr><tr><td>Marburg</td>{cells}</tr></table>
<pre><code>def level(cm):
    return "high" if cm &gt; 300 else "as usual, and this line is longer than a column"
</code></pre><hr>
<p>A pixel <img src="/pixel.gif" width="1" height="1">,
and <a href="/full.png"><img src="/small.png" alt="the weir"></a>.</p>
<iframe src="https://www.youtube.com/embed/abcdefghijk" title="The flood"></iframe>
"""
EPISODE = '<enclosure url="https://cdn.example/1.mp3" type="audio/mpeg" length="34000000"/>'
FILM = '<enclosure url="https://cdn.example/2.mp4" type="video/mp4"/>'


def png(width: int, height: int) -> bytes:
    """Return a picture of that size, half of it of another colour."""

    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    row = b"\0" + b"\x5a\x7d\x8c" * (width // 2) + b"\xd8\xc3\x9a" * (width - width // 2)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(row * height))
        + part(b"IEND", b"")
    )


@pytest.fixture
def publisher(settings, tmp_path: Path, httpserver: HTTPServer, own_cache: None) -> HTTPServer:
    """Serve a site with pictures. The operator allows its feed."""
    settings.VAR_DIR = tmp_path
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    for path, size in (("/boat.png", (1200, 800)), ("/small.png", (120, 80))):
        httpserver.expect_request(path).respond_with_data(png(*size), content_type="image/png")
    return httpserver


def published(
    reader: Reader, server: HTTPServer, markup: str = MARKUP, more: str = EPISODE + FILM, lang: str = "en"
) -> Item:
    """Return an item of the publisher's, as its feed brings it."""
    now, url = timezone.now(), server.url_for("/feed.xml")
    heads = "".join(f"<th>day {n}</th>" for n in range(30))
    cells = "".join(f"<td>{n * 7}</td>" for n in range(30))
    markup = markup.replace("{heads}", heads).replace("{cells}", cells)
    body = (
        f"<rss><channel><title>Rivers</title><language>{lang}</language>"
        f"<item><guid>1</guid><title>The flood</title>"
        f"<link>{server.url_for('/flood')}</link><category>Water</category><category>Weather</category>{more}"
        f"<description><![CDATA[{markup}]]></description></item></channel></rss>"
    )
    feed = feed_get_or_create(url=url, now=now)
    document_ingest(feed=feed, body=body.encode(), now=now)
    subscription_add(reader=reader, url=url, now=now)
    return Item.objects.get(feed=feed)


@pytest.fixture
def asked(page: Page, live_server) -> Iterator[list[str]]:
    """Yield the requests of Ada's browser to other sites."""
    found: list[str] = []
    page.context.on("request", lambda r: r.url.startswith(live_server.url) or found.append(r.url))
    yield found


def loaded(page: Page, pictures: str = ".article img") -> None:
    """Go down the page until every picture has come."""
    for image in page.locator(pictures).all():
        image.scroll_into_view_if_needed()
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("one => one.naturalWidth") > 0


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_an_article_is_shown_as_published_and_asks_nobody_else(
    page: Page, ada: Reader, publisher: HTTPServer, asked: list[str], width: int
):
    item = published(ada, publisher)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"/ui/item/{item.pk}")
    loaded(page)
    article = page.locator(".article")
    expect(article.get_by_role("heading", name="Levels")).to_be_visible()
    assert article.locator("ul ul li").inner_text() == "Biedenkopf"
    assert page.locator(".categories li").all_inner_texts() == ["Water", "Weather"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert article.locator(".scrolls").evaluate("box => box.scrollWidth > box.clientWidth")
    assert article.get_by_role("img", name="a boat in a meadow").evaluate(
        "i => i.clientWidth <= i.parentNode.clientWidth"
    )
    for player in article.locator("audio, video").all():
        assert player.evaluate("one => [one.preload, one.controls, one.readyState]") == ["none", True, 0]
    assert asked == []
    fetched = sorted(request.path for request, _ in publisher.log)
    assert fetched == ["/boat.png", "/small.png"]


def test_play_alone_asks_the_publisher(page: Page, ada: Reader, publisher: HTTPServer, asked: list[str]):
    item = published(ada, publisher)
    loud = page.context.new_page()  # its console may report a missing page
    loud.goto(f"/ui/item/{item.pk}")
    assert asked == []
    with loud.expect_request("https://cdn.example/1.mp3"):
        loud.locator("audio").evaluate("one => { one.play().catch(() => {}) }")


def test_pictures_wait_for_a_tap(page: Page, ada: Reader, publisher: HTTPServer, asked: list[str]):
    Reader.objects.update(pictures=Reader.Pictures.TAP)
    item = published(ada, publisher)
    page.goto(f"/ui/item/{item.pk}")
    page.mouse.wheel(0, 20_000)
    page.wait_for_timeout(500)
    assert (publisher.log, asked) == ([], [])
    page.get_by_text("Show picture: a boat in a meadow").click()
    expect(page.get_by_role("img", name="a boat in a meadow")).to_be_visible()
    loaded(page, ".article details[open] img")
    assert [request.path for request, _ in publisher.log] == ["/boat.png"]


def test_pictures_never_come_where_a_reader_wants_none(page: Page, ada: Reader, publisher: HTTPServer):
    page.goto("/ui/display")
    page.get_by_label("Pictures in articles").select_option("never")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    item = published(ada, publisher)
    page.goto(f"/ui/item/{item.pk}")
    assert page.locator(".article img").count() == 0
    expect(page.get_by_text("Picture: a boat in a meadow")).to_be_visible()
    assert publisher.log == []


def test_a_picture_that_cannot_be_had_leaves_its_words(page: Page, ada: Reader, publisher: HTTPServer):
    item = published(
        ada, publisher, '<p>Look: <img src="/gone.png" alt="a weir" width="900" height="600"></p>', ""
    )
    page = page.context.new_page()  # its console may report the refusal
    page.goto(f"/ui/item/{item.pk}")
    expect(page.locator(".no-picture")).to_have_text("Picture: a weir", timeout=10_000)
    assert page.locator(".article p").bounding_box()["height"] < 60
    assert [request.path for request, _ in publisher.log] == ["/gone.png"]


@pytest.mark.parametrize("width", [360, 1280])
def test_a_list_keeps_no_empty_box_for_a_picture_that_cannot_be_had(
    page: Page, ada: Reader, publisher: HTTPServer, width: int
):
    published(ada, publisher, '<p>Look: <img src="/gone.png" alt="a weir" width="900" height="600"></p>', "")
    fresh_item(ada, hours=9, title="Below")
    page = page.context.new_page()  # its console may report the refusal
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/ui/all")
    expect(page.locator(".item")).to_have_count(2)
    expect(page.locator(".thumb.gone")).to_have_count(1)
    row = page.locator(".item", has=page.locator(".thumb"))
    assert row.locator("h2").bounding_box()["width"] > width * 0.6
    meta, lead = (row.locator(part).bounding_box() for part in (".meta", ".lede"))
    assert lead["y"] - meta["y"] - meta["height"] < 8
    assert sum(page.evaluate(SHIFTS)) <= 0.05
    assert [request.path for request, _ in publisher.log] == ["/gone.png"]


def test_a_picture_that_waits_for_others_is_asked_for_again(page: Page, ada: Reader, publisher: HTTPServer):
    published(ada, publisher, '<p>Look: <img src="/boat.png" alt="a weir" width="900" height="600"></p>', "")
    page = page.context.new_page()  # its console may report the refusal
    page.clock.install()
    busy = {"status": 503}
    page.route("**/ui/picture/**", lambda route: route.fulfill(**busy) if busy else route.continue_())
    page.goto("/ui/all")
    expect(page.locator(".thumb.failed")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    busy.clear()
    with page.expect_response("**/ui/picture/**"):
        page.clock.run_for(10_000)
    expect(page.locator(".thumb:not(.failed)")).to_have_count(1)


def test_keys_open_the_article_here_and_its_original_in_a_new_tab(page: Page, ada: Reader, asked: list[str]):
    item = fresh_item(ada, title="Lamp", text="It glows.", url="https://gazette.example/lamp")
    page.context.route("https://gazette.example/**", lambda route: route.fulfill(body="The publisher's page"))
    page.set_viewport_size({"width": 1000, "height": 800})  # wider ones show it beside the list
    page.goto("/")
    page.keyboard.press("j")
    with page.context.expect_page() as opened:
        page.keyboard.press("v")
    opened.value.get_by_text("The publisher's page").wait_for()
    assert opened.value.url == item.url
    assert page.url.endswith("/")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/item/{item.pk}")
    expect(page.locator(".article")).to_have_text("It glows.")
    listening(page)
    with page.context.expect_page() as opened:
        page.keyboard.press("v")
    opened.value.get_by_text("The publisher's page").wait_for()
    assert opened.value.url == item.url


def test_text_from_right_to_left_stands_so(page: Page, ada: Reader, publisher: HTTPServer):
    item = published(ada, publisher, "<p>یہ خبر <b>اہم</b> ہے۔</p><ul><li>ایک</li></ul>", "", "ur")
    page.goto(f"/ui/item/{item.pk}")
    assert page.locator(".article").evaluate("one => [getComputedStyle(one).direction, one.lang]") == [
        "rtl",
        "ur",
    ]


def test_axe_finds_nothing_in_an_article(page: Page, ada: Reader, publisher: HTTPServer):
    item = published(ada, publisher)
    for mode in Reader.Pictures.values:
        Reader.objects.update(pictures=mode)
        page.goto(f"/ui/item/{item.pk}")
        loaded(page) if mode == "shown" else None
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(RUN, [[], VIOLATIONS])
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == [], mode


def test_a_button_fetches_the_full_text_and_says_where_it_is_from(
    page: Page, ada: Reader, publisher: HTTPServer, asked: list[str], settings
):
    settings.FULL_TEXT, settings.FETCH_HOST_GAP_S = True, 0.0
    words = "".join(f"<p>On day {n} the water stood in the lower town, and boats came.</p>" for n in range(9))
    flood = f"<html><body><article><h1>The flood</h1>{words}</article></body></html>"
    publisher.expect_request("/robots.txt").respond_with_data("", status=404)
    publisher.expect_request("/flood").respond_with_data(flood, content_type="text/html")
    item = published(ada, publisher, markup="<p>A first sentence.</p>", more="")
    page.goto(f"/ui/item/{item.pk}")
    page.get_by_role("button", name="Fetch the full text").click()
    expect(page.locator(".article")).to_contain_text("On day 8 the water stood")
    expect(page.locator("[data-full-text]")).to_contain_text(f"the page at {publisher.host}")
    expect(page.get_by_role("button", name="Fetch the full text")).to_have_count(0)
    page.evaluate(AXE_SCRIPT)
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(RUN, [[], VIOLATIONS]) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == []
