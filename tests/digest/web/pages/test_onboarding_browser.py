"""The interview in a real browser: twenty headlines by keys, and twenty by taps and swipes."""

import re
import time
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from digest.feedback.onboarding import QUESTIONS
from digest.items.vectors import item_vectors_update
from digest.models import Feedback, Reader
from tests.support.browser import ago, fresh_item
from tests.support.chromium import listening
from tests.test_axe_browser import complaints, ready
from tests.test_pages_browser import browser, page, tab, until_ready

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]

WORDS = {"tea.example": "Kettle and leaves", "cars.example": "Engine and gearbox", "chess.example": "Rook"}
MINUTES_2 = 120
# A finger that is down again at once only stops the running scroll.
TAP_AGAIN_MS = 400
# Every seventh headline is answered by a swipe.
SWIPE_EVERY = 7
# The kicker of the page: "Teach Tidings · 7 of 20".
KICKER = "main .kicker"


@pytest.fixture
def news(ada: Reader) -> None:
    """Create forty headlines of three sources, each with its own words."""
    for n in range(40):
        key = [*WORDS][n % len(WORDS)]
        fresh_item(ada, hours=1 + n, key=key, title=f"{WORDS[key]} {n}", text=f"{WORDS[key]}, and more.")
    item_vectors_update(now=ago(0))


@pytest.fixture
def phone(browser: Browser, live_server, ada: Reader) -> Iterator[Page]:
    """Yield a small touch screen with Ada signed in."""
    client = Client()
    client.force_login(ada)
    cookie = {"name": settings.SESSION_COOKIE_NAME, "url": live_server.url}
    context = browser.new_context(
        base_url=live_server.url, has_touch=True, is_mobile=True, viewport={"width": 360, "height": 740}
    )
    context.add_cookies([{**cookie, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}])
    page = context.new_page()
    page.set_default_timeout(8000)
    page.goto = until_ready(page)
    yield page
    context.close()


def asked(page: Page, n: int) -> str:
    """Wait for question `n`, and return its headline."""
    expect(page.locator(KICKER)).to_contain_text(f"{n} of {QUESTIONS}")
    listening(page)
    return page.locator("#headline").inner_text()


def swipe(page: Page, x: int) -> None:
    """Draw a finger across the headline by `x` pixels, and wait until the next touch can be a tap."""
    finger = page.context.new_cdp_session(page)
    box = page.locator("[data-teach-card]").bounding_box()
    start = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [start]})
    for step in (0.25, 0.5, 0.75, 1):
        at = {"x": start["x"] + x * step, "y": start["y"]}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    finger.detach()
    page.wait_for_timeout(TAP_AGAIN_MS)


def see_what_moved(page: Page, ada: Reader, began: float) -> None:
    """Read the end of an interview and the digest after it, and take the answers back."""
    strip = page.get_by_label("What changed on this page")
    expect(strip).to_contain_text("Learned from your answers")
    assert time.monotonic() - began < MINUTES_2
    assert Feedback.objects.filter(reader=ada, origin="interview").count() in {QUESTIONS - 1, QUESTIONS}
    expect(strip).to_contain_text("moved")
    page.get_by_role("link", name="Read today’s digest").click()
    expect(page.locator(".item .moved").first).to_be_visible()
    strip.get_by_role("button", name="Undo").click()
    expect(page.locator(".messages")).to_contain_text("Undone")
    assert not Feedback.objects.filter(reader=ada).exists()


def test_twenty_headlines_by_keys_take_less_than_two_minutes_and_move_the_digest(page: Page, ada, news):
    page.goto("/")
    began = time.monotonic()
    page.goto("/ui/teach")
    for n in range(1, QUESTIONS + 1):
        title = asked(page, n)
        page.keyboard.press("y" if title.startswith("Kettle") else "s" if n == 3 else "ArrowLeft")
    see_what_moved(page, ada, began)


@pytest.mark.nightly
def test_twenty_headlines_by_touch_take_less_than_two_minutes_and_move_the_digest(phone: Page, ada, news):
    phone.goto("/")
    began = time.monotonic()
    phone.goto("/ui/teach")
    for n in range(1, QUESTIONS + 1):
        useful = asked(phone, n).startswith("Kettle")
        if n % SWIPE_EVERY == 0:
            swipe(phone, 150 if useful else -150)
        else:
            name = "Useful" if useful else "Skip" if n == 3 else "Not useful"
            phone.get_by_role("button", name=name, exact=True).tap()
    see_what_moved(phone, ada, began)


def test_a_finger_answers_by_swipes_and_taps(phone: Page, ada, news):
    phone.goto("/ui/teach")
    assert phone.evaluate("document.documentElement.scrollWidth") == 360
    for n, (x, useful) in enumerate([(150, True), (-150, False), (30, None)], start=1):
        asked(phone, n)
        swipe(phone, x)
        expect(phone.locator(KICKER)).to_contain_text(f"{min(n + 1, 3)} of {QUESTIONS}")
        if useful is not None:
            assert Feedback.objects.latest("pk").useful == useful
    expect(phone.locator("[data-teach-card]")).not_to_have_attribute("style", re.compile("translate"))
    phone.get_by_role("button", name="Useful", exact=True).tap()
    expect(phone.locator(KICKER)).to_contain_text("4 of 20")
    assert Feedback.objects.filter(useful=True).count() == 2
    assert complaints(ready(phone), "/ui/teach") == []
    phone.get_by_role("button", name="Stop here").tap()
    expect(phone.get_by_role("heading", name="Thank you: 3 answers")).to_be_visible()
    assert complaints(phone, "/ui/teach/done") == []
