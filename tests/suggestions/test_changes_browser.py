"""Today shows the effect of an accepted suggestion in one strip, marks moved items, and can undo it."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from digest.models import Reader
from ranking.selectors import config_effective
from tests.suggestions.test_preview_page import paper
from tests.support.browser import fresh_item
from tests.support.chromium import listening
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def test_an_accepted_suggestion_is_told_marked_and_undone(page: Page, ada: Reader):
    paper(ada)
    page.goto("/")
    expect(page.locator("article.item").first).to_be_visible()
    expect(page.locator(".strip")).to_have_count(0)
    first = page.locator("article.item h2").all_inner_texts()
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="Yes", exact=True).first.click()
    expect(page.get_by_text("✓ Applied · Show me more from Gazette")).to_be_visible()
    page.goto("/")
    strip = page.get_by_role("complementary", name="What changed on this page")
    expect(strip).to_contain_text("You accepted a suggestion")
    marks = page.locator(".moved").all_inner_texts()
    moved = sum(mark != "New here" for mark in marks)
    assert marks and f"{moved} moved" in strip.inner_text()
    if folder := os.environ.get("SHOTS"):
        for width in (360, 1280):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=str(Path(folder) / f"{width}-{scheme}.png"))
    strip.get_by_role("link", name="What moved").click()
    expect(page.locator(".moved")).to_have_text(marks)
    page.get_by_role("link", name="The change itself").click()
    expect(page).to_have_url(re.compile("/ui/history/settings/1$"))
    page.goto("/")
    page.get_by_role("button", name="Mark all as read").click()
    undos = page.locator(".told").get_by_role("button")
    expect(undos).to_have_text(["Undo", "Undo"])
    expect(undos.first).to_have_accessible_name("Undo marking as read")
    undos.first.click()
    expect(page.locator(".messages")).to_contain_text("unread again")
    changed = page.locator("article.item h2").all_inner_texts()
    for told, said, order, weight in (
        ("You undid a suggestion", "Undone: ", first, 1.0),
        ("You brought back what you had undone", "On again: ", changed, 1.3),
        ("You undid a change", "Undone: ", first, 1.0),
    ):
        strip.get_by_role("button", name="Undo").click()
        expect(page.locator(".messages")).to_contain_text(said)
        expect(strip).to_contain_text(told)
        assert page.locator("article.item h2").all_inner_texts() == order
        assert config_effective(reader_id=ada.pk).weight("gazette.example") == weight


def test_back_after_accepting_a_wish_shows_its_words_and_what_they_ask_for(page: Page, ada: Reader):
    """The page of a wish is made by a form: the browser had no way back to it but an error."""
    fresh_item(ada, hours=1, title="Lamp falls")
    fresh_item(ada, hours=2, title="Lamp stands", key="herald.example")
    words = "No lamp in Herald; save a search for lamp in Gazette"
    page.goto("/ui/wishes")
    field, cards = page.get_by_label("What do you want more or less of?"), page.locator("article.card")
    field.fill(words)
    page.get_by_role("button", name="See the changes").click()
    for left in (2, 1):
        expect(cards).to_have_count(left)
        listening(page)
        page.get_by_role("button", name="Accept: ").last.click()
    page.wait_for_url("**/ui/suggestions")
    page.go_back()
    page.go_back()
    expect(field).to_have_value(words)
    expect(cards.first).to_be_visible()
