"""The question of a run in a real browser: read, answered, and nothing that axe finds wrong."""

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from digest.models import Reader
from suggestions.models import Question
from tests.suggestions.services.test_early import answered
from tests.support.browser import asked
from tests.test_axe_browser import complaints, ready
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def test_it_comes_before_an_early_change_and_is_answered_by_one_click(page: Page, ada: Reader):
    answered(ada)
    pk = asked(ada, uuid4(), "Is it the depth that you like?")
    assert complaints(ready(page), "/") == []
    strip = page.get_by_role("complementary", name="A question")
    expect(strip).to_contain_text("A model asks about your articles: Is it the depth that you like?")
    expect(page.get_by_role("complementary", name="An early change")).to_have_count(0)
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    strip.get_by_role("button", name="Yes").click()
    expect(page.locator(".messages")).to_contain_text("Thank you.")
    expect(strip).to_have_count(0)
    assert Question.objects.get(pk=pk).answer == "Yes"
