"""Pages in German, and in a made-up language from right to left: nothing hangs out of the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation import trans_real
from playwright.sync_api import Page

from digest.models import Reader
from digest.templatetags.digest_pages import script_words_forget
from digest.templatetags.words import words_forget
from digest.web.pages.item_parts import macros_forget
from tests.support import words
from tests.support.browser import fresh_item, suggested
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
# A Wednesday in September is the widest day in English.
WIDE_DAY = "/ui/date/2026-09-30"
PAGES = (
    "/",
    WIDE_DAY,
    "/ui/all",
    "/ui/sources",
    "/ui/suggestions",
    "/ui/config",
    "/ui/account",
    "/ui/search?q=lamp",
)
# A code that no catalogue of a library has.
MADE_UP = "xr"
WIDTHS = (1280, 360)
# How far past its right or left edge the page reaches.
OVERHANG = "Math.max(document.documentElement.scrollWidth - innerWidth, 0)"


def catalogues_forget() -> None:
    """Make Django read its catalogues again."""
    trans_real.get_languages.cache_clear()
    trans_real._translations.clear()
    words_forget()
    script_words_forget()
    macros_forget()


@pytest.fixture
def from_right_to_left(settings, tmp_path: Path) -> Iterator[str]:
    """Yield a language made of English texts with Hebrew letters, a third longer."""
    settings.LANGUAGES = [("en", "English"), (MADE_UP, "Made up")]
    settings.LANGUAGES_BIDI = [MADE_UP]
    settings.LOCALE_PATHS = [tmp_path]
    folder = tmp_path / MADE_UP / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.mo").write_bytes(words.compiled(words.made_up("he")))
    catalogues_forget()
    yield MADE_UP
    catalogues_forget()


def overhanging(page: Page) -> dict[tuple[str, int], int]:
    """Return the pages and widths of a screen at which something hangs out, with by how much."""
    found = {}
    for address in PAGES:
        page.goto(address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            found[address, width] = page.evaluate(OVERHANG)
    return {place: by for place, by in found.items() if by}


def test_german_has_room(page: Page, ada: Reader):
    fresh_item(ada, title="A lamp that says why")
    suggested(ada)
    Reader.objects.update(language="de")
    assert overhanging(page) == {}
    assert page.locator("html").get_attribute("lang") == "de"


def test_a_language_from_right_to_left_has_room(page: Page, ada: Reader, from_right_to_left: str):
    fresh_item(ada, title="A lamp that says why")
    suggested(ada)
    Reader.objects.update(language=from_right_to_left)
    assert overhanging(page) == {}
    assert page.locator("html").get_attribute("dir") == "rtl"
    # The beginning of a line is on the right: the site's name before the menu.
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        name, menu = (page.locator(one).bounding_box() for one in (".wordmark", "header nav"))
        assert name["x"] + name["width"] > menu["x"] + menu["width"] or name["y"] < menu["y"]
