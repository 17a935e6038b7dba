"""Every list and page of the admin is usable on a phone of 360 pixels."""

from collections.abc import Iterator

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from config.models import NightlyReport
from digest.models import Reader
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.thinned import mostly_nightly
from tests.test_axe_browser import PARTS, full, pages_of_operators
from tests.test_isolation import ids
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "full", "ids", "page", "tab"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.django_db(transaction=True),
]
PHONE = {"width": 360, "height": 740}
# Controls that a finger cannot reach: beyond the right edge, and within nothing that scrolls by itself.
BEYOND = """() => [...document.querySelectorAll("#content :is(a, button, input, select, textarea, summary)")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => {
    for (let around = one.parentElement; around; around = around.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(around).overflowX)) return false;
    return true;
  })
  .map((one) => one.outerHTML.slice(0, 120))"""
# Cells of a list that are cut off or say nothing of their column.
CELLS = """() => [...document.querySelectorAll("#result_list tbody td")]
  .filter((cell) => cell.getBoundingClientRect().right > innerWidth + 1 ||
    !(cell.dataset.label || cell.matches(".action-checkbox")))
  .map((cell) => cell.outerHTML.slice(0, 120))"""


@pytest.fixture
def phone(page: Page) -> Iterator[Page]:
    """Return a tab of the size of a phone. The admin has none of the scripts that `page` waits for."""
    tab = page.context.new_page()
    tab.set_viewport_size(PHONE)
    yield tab
    tab.close()


@pytest.mark.parametrize("part", mostly_nightly({str(part): part for part in PARTS}, always=["0"]))
def test_no_page_of_an_operator_scrolls_sideways_and_every_control_is_reached(
    phone: Page, ada: Reader, full, part: int
):
    NightlyReport.objects.create(day=timezone.now().date(), status="completed", started_at=timezone.now())
    long = "a-publisher-with-quite-a-long-name-and-no-space-in-it.example"
    SubscriptionFactory(reader=ada, feed=FeedFactory(url=f"https://{long}/{long}/feed.xml", failures=3))
    found = {}
    for address in [*pages_of_operators()][part :: len(PARTS)]:
        phone.goto(address)
        wide = phone.evaluate("document.documentElement.scrollWidth")
        wrong = [*phone.evaluate(BEYOND), *phone.evaluate(CELLS)]
        wrong += [f"{wide} px"] if wide > PHONE["width"] else []
        found |= {address: wrong} if wrong else {}
    assert found == {}


def test_actions_and_filters_of_a_list_are_on_the_phones_screen(phone: Page, ada: Reader, full):
    FeedFactory(state="active")
    phone.goto(reverse("admin:digest_feed_changelist"))
    phone.locator(".action-select").first.check()
    phone.locator("select[name=action]").select_option("pause")
    phone.get_by_role("button", name="Go").click()
    expect(phone.get_by_text("1 feed is paused now.")).to_be_visible()
    phone.locator("#changelist-filter").get_by_role("link", name="paused").click()
    expect(phone.locator("#result_list tbody tr")).to_have_count(1)
