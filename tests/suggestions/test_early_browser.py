"""The strip of an early change in a real browser: read, applied, undone; and put off."""

import pytest
from playwright.sync_api import Page, expect

from digest.models import Reader
from ranking.selectors import config_effective, config_versions
from tests.suggestions.services.test_early import answered
from tests.test_axe_browser import complaints, ready
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def test_it_is_applied_and_undone_from_todays_page(page: Page, ada: Reader):
    answered(ada)
    page.goto("/")
    first = page.locator("article.item h2").all_inner_texts()
    strip = page.get_by_role("complementary", name="An early change")
    words = "more Quiet (you liked 4 of 4), less Giga (0 of 4)"
    expect(strip).to_contain_text(f"Early, after 8 answers: {words}. Apply this?")
    strip.get_by_role("button", name="Apply the early change").click()
    changed = page.get_by_role("complementary", name="What changed on this page")
    expect(changed).to_contain_text("You applied an early change, after 8 answers: ")
    expect(strip).to_have_count(0)
    assert page.locator(".moved").count() and config_effective(reader_id=ada.pk).weights()
    changed.get_by_role("button", name="Undo").click()
    expect(page.locator(".messages")).to_contain_text("Undone: ")
    expect(strip).to_have_count(0)
    assert page.locator("article.item h2").all_inner_texts() == first
    assert config_effective(reader_id=ada.pk).weights() == {}


def test_it_is_put_off_and_has_nothing_that_axe_finds_wrong(page: Page, ada: Reader):
    answered(ada)
    axe = ready(page)
    assert complaints(axe, "/") == []
    strip = page.get_by_role("complementary", name="An early change")
    strip.get_by_role("button", name="Not now").click()
    expect(page.locator(".messages")).to_contain_text("asked again tomorrow at the earliest")
    expect(strip).to_have_count(0)
    assert config_versions(reader_id=ada.pk) == []
