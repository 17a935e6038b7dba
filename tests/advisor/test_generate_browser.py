"""The "Generate" button in a real browser: what it says when there is no run."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from advisor.models import Run
from digest.models import Reader
from tests.support.histories import opinionated, thumbs
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def pressed(page: Page):
    """The line below the button after it was pressed."""
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="Generate suggestions").click()
    return page.locator("[data-progress]")


def test_three_failures_a_day_are_named_and_not_blamed_on_little_feedback(page: Page, ada: Reader):
    now = timezone.now()
    opinionated(ada, now=now)
    day = now.astimezone(ada.zone).date()
    for _ in range(3):
        Run.objects.create(reader=ada, day=day, trigger="ui", status="agent_error", created_at=now)
    expect(pressed(page)).to_have_text("It did not work three times today. It can be tried again tomorrow.")


def test_little_feedback_is_said_in_general_and_in_numbers(page: Page, ada: Reader):
    thumbs(ada, "loved.example", 4, now=timezone.now())
    expect(pressed(page)).to_contain_text("Not enough feedback yet.")
    expect(page.locator("[data-progress]")).to_contain_text("you have 4")
