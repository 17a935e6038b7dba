"""A check by headlines in a real browser: by keyboard alone, without JavaScript, and the curve of a rule."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.models import Feedback, Reader
from suggestions.models import Suggestion
from tests.support.browser import fresh_item, suggested
from tests.support.factories import FeedbackFactory
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
PAGE = "/ui/suggestions"


def checkable(reader: Reader) -> Suggestion:
    """Return a card with six headlines of its source and two others that may be asked about."""
    for n in range(6):
        fresh_item(reader, hours=n + 1, title=f"The harbour at night {n}")
    for n in range(2):
        fresh_item(reader, hours=n + 1, key="other.example", title=f"A walk in the hills {n}")
    return suggested(reader)


def check_is_over(page: Page, answered: int) -> bool:
    """Wait for the page after so many answers; return whether it is the result and no further headline."""
    result = page.locator(".messages")
    expect(result.or_(page.get_by_text(f"Headline {answered + 1} of"))).to_be_visible()
    return result.is_visible()


def test_a_check_is_made_by_keyboard_alone(page: Page, ada: Reader):
    suggestion = checkable(ada)
    page.goto(PAGE)
    page.get_by_role("link", name="Check it by a few headlines").focus()
    page.keyboard.press("Enter")
    for n in range(1, 9):
        expect(page.locator(".kicker")).to_contain_text(f"Headline {n} of")
        page.get_by_role("button", name="Not useful").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Useful", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        if check_is_over(page, n):
            break
    suggestion.refresh_from_db()
    rated = suggestion.checked["rated"]
    expect(page.locator(".messages")).to_contain_text(f"You found {rated} of {rated} headlines from")
    assert Feedback.objects.filter(origin="check", useful=True).count() == n


def test_the_card_of_a_shelf_life_draws_what_was_liked_by_age(page: Page, ada: Reader):
    now = timezone.now()
    for n in range(8):
        item = fresh_item(ada, hours=60 + n, title=f"Some days {n}")
        item.dated_at = now - timedelta(hours=60)
        item.save()
        FeedbackFactory(reader=ada, item=item, useful=n < 3, at=now - timedelta(hours=58 if n < 3 else 1))
    suggested(ada, suggestion_type="shelf_life", field="shelf_lives", current_value="", suggested_value="24")
    page.goto(PAGE)
    chart = page.locator("figure.cut")
    expect(chart.get_by_role("img")).to_be_visible()
    expect(chart).to_contain_text("3 of 3")
    expect(chart).to_contain_text("0 of 5")
