"""The "Generate" button in a real browser: its message if there is no run."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from advisor.models import Run
from digest.models import Reader
from tests.support.histories import opinionated, thumbs
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def pressed(page: Page):
    """Return the line below the button after it was pressed."""
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


def test_little_feedback_is_said_and_the_button_is_grey(page: Page, ada: Reader):
    thumbs(ada, "loved.example", 4, now=timezone.now())
    page.goto("/ui/suggestions")
    expect(page.get_by_role("button", name="Generate suggestions")).to_be_disabled()
    expect(page.get_by_text("suggestions today (4 so far)")).to_be_visible()


def test_a_run_that_reached_its_limit_says_so_beside_a_button_that_can_be_pressed(
    page: Page, ada: Reader, settings
):
    settings.ADVISOR_MAX_TURNS = 1
    opinionated(ada, now=timezone.now())
    pressed(page)
    expect(page.locator("[data-last-run]")).to_contain_text("The run reached its limit")
    expect(page.get_by_role("button", name="Generate suggestions")).to_be_enabled()
