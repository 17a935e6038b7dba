"""A feed with a password, in a real browser: added, refused later, and mended."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_httpserver import HTTPServer

from digest.models import Feed, Reader
from tests.digest.sources.test_private_feeds import USER, WORD, paper
from tests.test_controls_browser import here, is_fine
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "here", "page", "paper", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


def test_a_feed_with_a_password_is_added_and_mended_once_it_is_refused(
    here: Page, paper: HTTPServer, ada: Reader, own_cache: None
):
    here.goto("/ui/sources")
    here.get_by_role("link", name="A feed with a password").click()
    assert is_fine(here)
    here.get_by_label("The feed’s address").fill(paper.url_for("/feed"))
    here.get_by_label("What opens it").select_option("basic")
    here.get_by_label("Name").fill(USER)
    here.get_by_label("Secret").fill(WORD)
    here.get_by_role("button", name="Add it", exact=True).click()
    expect(here.get_by_text("You now read Paper of Ada.")).to_be_visible()
    feed = Feed.objects.get()
    now = timezone.now()
    Feed.objects.update(
        state="refused",
        failures=2,
        error_code="access_refused",
        error_message="Refused.",
        last_fetched_at=now,
    )
    here.goto(f"/ui/sources/{feed.pk}")
    assert is_fine(here)
    here.get_by_role("link", name="Type it again").click()
    assert is_fine(here)
    here.get_by_label("Name").fill(USER)
    here.get_by_label("Secret").fill(WORD)
    here.get_by_role("button", name="Try and save").click()
    expect(here.get_by_text("Private: only you read it here.")).to_be_visible()
    feed.refresh_from_db()
    assert (feed.state, feed.failures) == ("active", 0)
