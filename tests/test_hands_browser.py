"""A day by keyboard alone and a day by touch alone: reading, rating, saving and marking without the other."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, expect

from digest.models import Feedback, Reader, Reading
from tests.support.browser import fresh_item
from tests.support.chromium import listening, until
from tests.support.thinned import mostly_nightly
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
READ = re.compile(r"\bread\b")
# Each press of a key is answered in the page; the server follows.
PATIENCE_MS = 15_000


@pytest.fixture
def phone(browser: Browser, page: Page, live_server) -> Iterator[Page]:
    """Yield a phone of the signed-in reader: a narrow screen with touch and no mouse."""
    context: BrowserContext = browser.new_context(
        base_url=live_server.url, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    context.add_cookies(page.context.cookies())
    yield context.new_page()
    context.close()


def swipe(phone: Page, title: str, across: int) -> None:
    """Draw a finger over the row with this title, `across` pixels to the right."""
    row = phone.locator("article[data-item]").filter(has_text=title).first
    row.scroll_into_view_if_needed()
    box = row.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand: CDPSession = phone.context.new_cdp_session(phone)
    hand.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for n in range(1, 9):
        point = {"x": x + across * n / 8, "y": y}
        hand.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_row_is_swiped_to_the_right_and_to_the_left(phone: Page, ada: Reader):
    for n in range(4):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    phone.goto("/ui/all")
    listening(phone)
    row = phone.locator("article[data-item]").filter(has_text="Lamp 1")
    swipe(phone, "Lamp 1", 40)
    assert "read" not in (row.get_attribute("class") or "").split(), "a short move springs back"
    swipe(phone, "Lamp 1", 120)
    expect(row).to_have_class(READ)
    swipe(phone, "Lamp 1", 120)
    expect(row).not_to_have_class(READ)
    swipe(phone, "Lamp 2", -120)
    saved = phone.locator("article[data-item]").filter(has_text="Lamp 2").locator("[data-key=s]")
    expect(saved).to_have_attribute("aria-pressed", "true")
    assert phone.url.endswith("/ui/all"), "no row was opened"
    until(phone, Reading.objects.filter(reader=ada, read_at__isnull=False).exists, False)
    assert Reading.objects.get(reader=ada, item__title="Lamp 2").saved_at


def test_a_day_by_touch_alone(phone: Page, ada: Reader):
    for n in range(4):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text="Words. " * 30)
    phone.goto("/")
    listening(phone)
    phone.get_by_role("button", name="Useful", exact=True).first.tap()
    expect(phone.get_by_role("button", name="Useful", exact=True).first).to_have_attribute(
        "aria-pressed", "true"
    )
    phone.get_by_role("link", name="Lamp 1").first.tap()
    expect(phone.get_by_role("heading", level=1)).to_contain_text("Lamp 1")
    phone.go_back()
    listening(phone)
    swipe(phone, "Lamp 2", 120)
    phone.get_by_role("button", name="More for: Lamp 3").tap()
    saved = phone.locator("article[data-item]").filter(has_text="Lamp 3").locator("[data-key=s]")
    saved.tap()
    expect(saved).to_have_attribute("aria-pressed", "true")
    phone.get_by_role("button", name="Mark all as read").tap()
    expect(phone.get_by_text("All 4 read")).to_be_visible()
    assert Feedback.objects.get(reader=ada).useful
    assert Reading.objects.filter(reader=ada, read_at__isnull=False).count() == 4
    assert Reading.objects.get(reader=ada, saved_at__isnull=False).item.title == "Lamp 3"


@pytest.mark.parametrize("count", mostly_nightly({"60": 60, "300": 300}, always=["60"]))
def test_a_long_list_is_triaged_by_keyboard_alone(page: Page, ada: Reader, count: int):
    """Every third is found useful, every third not, every third saved. The list is longer than a page."""
    for n in range(count):
        fresh_item(ada, hours=n / 60 + 1, title=f"Lamp {n}")
    page.goto("/ui/all?unread=1")
    listening(page)
    for n in range(count):
        page.keyboard.press("j")
        expect(page.locator(":focus")).to_have_text(f"Lamp {n}", timeout=PATIENCE_MS)
        page.keyboard.press(["+", "-", "s"][n % 3])
        page.keyboard.press("m")
    third = count // 3
    until(page, Reading.objects.filter(reader=ada, saved_at__isnull=False).count, third)
    until(page, Feedback.objects.filter(reader=ada, useful=True).count, third)
    until(page, Feedback.objects.filter(reader=ada, useful=False).count, third)
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page).to_have_url(page.url.split("/ui/")[0] + "/")
