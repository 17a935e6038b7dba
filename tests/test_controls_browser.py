"""A reader's controls in a real browser: mutes, wishes, topics, the strip on Today, pictures in lists.

Each page has no violation, fits a small phone, and sends requests only to us.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.utils import timezone
from playwright.sync_api import Page, Request, expect
from pytest_httpserver import HTTPServer

from digest.articles.favicons import favicons_update
from digest.models import Feed, Reader
from ranking.selectors import config_effective, config_hiding
from tests.digest.web.pages.test_articles_browser import png
from tests.support.browser import SHIFTS, fresh_item, subscribe
from tests.support.thinned import mostly_nightly
from tests.test_axe_browser import RUN, SCHEMES
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
PHONE, WIDE = {"width": 360, "height": 740}, {"width": 1280, "height": 800}


@pytest.fixture
def here(page: Page, live_server) -> Iterator[Page]:
    """Ada's tab; a request to anybody but us fails the test at its end."""
    others: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith((live_server.url, "blob:", "data:")):
            others.append(request.url)

    page.on("request", asked)
    yield page
    page.remove_listener("request", asked)
    assert others == []


def is_fine(page: Page) -> bool:
    """Return whether axe finds nothing in light or dark, and nothing scrolls sideways on a small phone."""
    page.evaluate(AXE_SCRIPT)
    for scheme, options in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(0)
        found = page.evaluate(RUN, [[], options])
        assert found == [], [(fault["id"], fault["nodes"][0]["html"]) for fault in found]
    page.set_viewport_size(PHONE)
    fits = page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.set_viewport_size(WIDE)
    return fits


def test_a_mute_is_looked_at_saved_and_taken_back(here: Page, ada: Reader):
    fresh_item(ada, title="A lamp is lit")
    fresh_item(ada, title="A ferry")
    here.goto("/")
    here.get_by_role("link", name="Mute something of: A lamp is lit").click()
    here.get_by_role("link", name="the word “lamp”", exact=True).click()
    preview = here.locator("[data-preview]")
    expect(preview).to_contain_text("hides 1 of the last 7 days’ 2 items")
    assert is_fine(here) and config_hiding(reader_id=ada.pk).mutes == ()
    preview.get_by_role("button", name="Mute it").click()
    expect(here.get_by_role("status").filter(has_text="Undo")).to_be_visible()
    assert is_fine(here) and [mute.value for mute in config_hiding(reader_id=ada.pk).mutes] == ["lamp"]
    here.goto("/")
    expect(here.locator(".item h2")).to_have_text(["A ferry"])


# In English `test_walks_browser` does the same by touch.
@pytest.mark.parametrize("language", mostly_nightly({"en": "en", "de": "de"}, always=["de"]))
def test_a_search_is_kept_made_a_topic_and_taken_back_by_keys_alone(here: Page, ada: Reader, language: str):
    def press(name: str) -> None:
        here.get_by_role("button", name=name).focus()
        here.keyboard.press("Enter")

    words = {"de": ("Diese Suche speichern", "zum Thema machen", "Rückgängig", "Aus meiner Liste entfernen")}
    save, topic, undo, remove = words.get(
        language, ("Save this search", "Make “lamp” a topic", "Undo", "Remove from my list")
    )
    Reader.objects.update(language=language)
    fresh_item(ada, title="A lamp is lit")
    here.goto("/")
    here.keyboard.press("/")
    expect(here.locator("#q")).to_be_focused()
    here.keyboard.type("lamp -oil")
    here.keyboard.press("Enter")
    press(save)
    expect(here.get_by_role("button", name=remove)).to_be_visible()
    assert is_fine(here)
    press(topic)
    expect(here.get_by_role("button", name=undo)).to_be_visible()
    assert config_effective(reader_id=ada.pk).config.topics == ("lamp",) and is_fine(here)
    press(undo)
    expect(here.get_by_role("button", name=undo)).to_have_count(0)
    assert config_effective(reader_id=ada.pk).config.topics == ()
    here.goto("/ui/all")
    line = here.locator("#lists").get_by_role("link", name="lamp -oil")
    line.focus()
    assert is_fine(here)
    here.keyboard.press("Enter")
    press(remove)
    expect(here.get_by_role("button", name=undo)).to_be_visible()
    here.goto("/ui/all")
    expect(here.locator("#lists").get_by_role("link", name="lamp -oil")).to_have_count(0)


def test_a_word_is_hidden_in_one_source_by_keys_alone(here: Page, ada: Reader):
    fresh_item(ada, title="A lamp is lit", key="gazette.example")
    fresh_item(ada, title="A lamp is sold", key="herald.example")
    here.goto("/")
    here.get_by_role("link", name="Mute something of: A lamp is lit").focus()
    here.keyboard.press("Enter")
    here.get_by_role("link", name="the word “lamp”, only in Gazette").focus()
    assert is_fine(here)
    here.keyboard.press("Enter")
    expect(here.locator("[data-preview]")).to_contain_text("hides 1 of the last 7 days’ 2 items")
    assert is_fine(here)
    here.get_by_role("button", name="Mute it").focus()
    here.keyboard.press("Enter")
    expect(here.get_by_role("status").filter(has_text="Undo")).to_be_visible()
    here.goto("/")
    expect(here.locator(".item h2")).to_have_text(["A lamp is sold"])


def test_a_wish_is_shown_before_it_is_saved(here: Page, ada: Reader):
    fresh_item(ada, hours=1, title="Crypto falls again")
    fresh_item(ada, hours=9, key="herald.example", title="Ferries of the north")
    here.goto("/ui/wishes")
    here.get_by_label("What do you want more or less of?").fill("Less crypto, more from Gazette")
    here.get_by_role("button", name="See the changes").click()
    cards = here.locator("article.card")
    expect(cards).to_have_count(2)
    assert is_fine(here) and not config_effective(reader_id=ada.pk).config.keyword_boosts
    cards.first.get_by_role("button", name="Accept").click()
    expect(cards).to_have_count(1)
    assert config_effective(reader_id=ada.pk).config.keyword_boosts == {"crypto": -0.5}


def test_topics_are_counted_added_from_categories_and_told_on_today(here: Page, ada: Reader):
    for n in range(8):
        fresh_item(ada, hours=n + 1, title=f"Plain {n}", categories=["Ferries"] if n > 2 else [])
        fresh_item(ada, hours=n + 1, key="herald.example", title=f"Other {n}")
    here.goto("/")
    expect(here.locator(".strip")).to_have_count(0)
    here.goto("/ui/config")
    here.get_by_role("link", name="Find topics in your articles").click()
    here.get_by_label("Ferries").check()
    assert is_fine(here)
    save = here.get_by_role("button", name="Save settings")
    assert save.bounding_box()["y"] < WIDE["height"], "Save is in sight"
    save.click()
    here.goto("/ui/config?show=topics")
    expect(here.locator("[data-topic-counts]")).to_contain_text("Ferries in 5")
    here.goto("/")
    strip = here.get_by_role("complementary", name="What changed on this page")
    expect(strip).to_contain_text("moved")
    assert is_fine(here)
    here.goto("/ui/config")
    here.get_by_role("button", name="Undo").click()
    expect(here).to_have_url(re.compile("/ui/config$"))
    expect(here.locator(".messages")).to_contain_text("Undone: ")
    assert is_fine(here)
    here.goto("/")
    strip.get_by_role("button", name="Undo").click()
    expect(strip).to_contain_text("You brought back what you had undone")


@pytest.fixture
def illustrated(settings, tmp_path: Path, httpserver: HTTPServer, own_cache: None, ada: Reader) -> None:
    """A publisher on this machine with a favicon and pictures of two shapes; the third item has none."""
    settings.VAR_DIR, settings.FETCH_ALLOW_HOSTS = tmp_path, [f"{httpserver.host}:{httpserver.port}"]
    sizes = {"/favicon.ico": (32, 32), "/tall.png": (400, 800), "/wide.png": (800, 300)}
    for path, size in sizes.items():
        httpserver.expect_request(path).respond_with_data(png(*size))
    feed = subscribe(ada).feed
    answered = {"state": "active", "last_fetched_at": timezone.now()}
    Feed.objects.filter(pk=feed.pk).update(url=httpserver.url_for("/feed"), site_url="", **answered)
    favicons_update(now=timezone.now())
    for n, name in enumerate(["tall", "wide", ""]):
        image = httpserver.url_for(f"/{name}.png") if name else ""
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text="Words. " * 30, image=image, feed=feed)


LOADED = "() => document.querySelectorAll('.item .thumb img').length === 2 && "
LOADED += "[...document.querySelectorAll('.item img')].every((one) => one.naturalWidth)"
SIZES = "(found) => found.map((one) => [one.clientWidth, one.clientHeight].join())"


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_pictures_come_into_boxes_that_do_not_move(here: Page, illustrated: None, address: str):
    here.goto(address)
    here.wait_for_function(LOADED)
    assert here.locator(".item .thumb").evaluate_all(SIZES) == ["96,72"] * 2
    assert here.locator(".item .favicon img").evaluate_all(SIZES) == ["16,16"] * 3
    assert sum(here.evaluate(SHIFTS)) < 0.001
    assert is_fine(here)


def test_one_tap_shows_one_picture(here: Page, ada: Reader, illustrated: None, httpserver: HTTPServer):
    Reader.objects.filter(pk=ada.pk).update(pictures="tap")
    httpserver.clear_log()
    here.goto("/")
    first = here.locator(".thumb").first
    expect(first).to_have_text("Picture of Lamp 0")
    assert httpserver.log == []
    first.locator("summary").click()
    here.wait_for_function("() => document.querySelector('.thumb img').naturalWidth === 400")
    assert [request.path for request, _ in httpserver.log] == ["/tall.png"]
    assert is_fine(here)
