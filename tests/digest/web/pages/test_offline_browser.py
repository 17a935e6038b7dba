"""Today without a network, in a real browser: for readers who asked for it, and for nobody after them."""

import re
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.templatetags.static import static
from django.test import Client
from django.utils.http import http_date
from playwright.sync_api import Browser, Page, expect

from digest.daily.selectors import digest_for
from digest.models import Exposure, Reader, Reading
from digest.web.pages import offline
from digest.web.pages.offline import device_tag
from tests.support.browser import fresh_item
from tests.test_axe_browser import RUN, VIOLATIONS, ready
from tests.test_pages_browser import browser, page, watched

__all__ = ["browser", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]

STORED = "caches.match('/ui/today/offline').then((found) => found ? found.text() : '')"
STORED_S = 20
ALL_STORED = """async () => {
    const found = [];
    for (const name of await caches.keys()) found.push(...await (await caches.open(name)).keys());
    return found.map((request) => new URL(request.url).pathname).sort();
}"""

CHANGE = """async ([header, value]) => {
    const cache = await caches.open("today-1"), old = await cache.match("/ui/today/offline");
    const headers = new Headers(old.headers);
    headers.set(header, value);
    await cache.put("/ui/today/offline", new Response(await old.text(), { headers }));
}"""


@pytest.fixture
def tab(browser: Browser, live_server) -> Iterator[Page]:
    """Yield a tab of its own profile, so that a late service worker cannot reach the next test's store."""
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    with context, watched(context.new_page(), live_server.url) as window:
        yield window


@pytest.fixture
def stored(page: Page, ada: Reader) -> Page:
    """Return Ada's tab, whose browser has stored today's three items."""
    Reader.objects.filter(pk=ada.pk).update(offline_today=True)
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=f"Words about lamp {n}.")
    page.goto("/")
    wait(page, lambda text: "Words about lamp 2." in text)
    return page


def wait(page: Page, until: Callable[[str], bool]) -> str:
    """Return the stored digest, "" for none, as soon as it is as wanted.

    `wait_for_function` would not do: it takes a promise for the answer.
    """
    late = time.monotonic() + STORED_S
    while not until(text := page.evaluate(STORED)):
        assert time.monotonic() < late, f"stored: {text[:200]!r}"
        page.wait_for_timeout(50)
    return text


def gone(page: Page) -> bool:
    """Wait until no digest is stored."""
    return not wait(page, lambda text: not text)


def back_online(page: Page, other: Page) -> None:
    """Give the browser its network back, and leave nothing of the second tab to load."""
    other.goto("about:blank")  # first, because it may reload by itself meanwhile
    other.close()
    page.context.set_offline(False)


def sign_in(page: Page, reader: Reader, origin: str) -> None:
    client = Client()
    client.force_login(reader)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": origin}])


def test_who_did_not_ask_has_a_page_that_says_so_stored_and_its_looks_alone(page: Page, ada: Reader):
    fresh_item(ada, title="Lamp", text="Words about lamps.")
    page.goto("/")
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    looks = [static(f"{name}.css") for name in ("article", "reading", "tidings")]
    assert page.evaluate(ALL_STORED) == ["/offline", *looks]
    page.goto("/ui/saved")  # from here on the worker is in charge
    assert page.evaluate(ALL_STORED) == ["/offline", *looks]


def test_without_a_network_today_and_its_articles_are_read_and_nothing_else(stored: Page, ada: Reader):
    stored.goto("/ui/saved")  # a page that the worker is in charge of
    other = stored.context.new_page()
    exposures = Exposure.objects.count()
    stored.context.set_offline(True)
    try:
        other.goto("/")
        expect(other.get_by_text("Today’s digest, on this device")).to_be_visible()
        expect(other.locator(".article")).to_have_text([f"Words about lamp {n}." for n in range(3)])
        expect(other.locator(".kicker")).not_to_have_css("font-size", "16px")
        item = ada.subscriptions.get().feed.items.get(title="Lamp 1")
        other.goto(f"/ui/item/{item.pk}")
        expect(other).to_have_url(re.compile(rf"/#item-{item.pk}$"))
        for not_stored in ("/ui/config", f"/ui/item/{item.pk + 99}"):
            other.goto(not_stored)
            expect(other.get_by_role("heading", name="You are offline")).to_be_visible()
    finally:
        back_online(stored, other)
    assert not Reading.objects.exists() and Exposure.objects.count() == exposures


def test_without_a_network_o_opens_the_stored_article_beside_its_list(stored: Page, ada: Reader):
    stored.set_viewport_size({"width": 1280, "height": 900})
    fresh_item(ada, hours=200, title="An old lamp", text="Words about an old lamp.")
    stored.goto("/ui/all")
    stored.wait_for_selector("html[data-scripts=ready]")
    pane = stored.locator("[data-pane]")
    stored.context.set_offline(True)
    try:
        stored.keyboard.press("j")
        stored.keyboard.press("o")
        expect(pane.locator(".article")).to_have_text("Words about lamp 0.")
        expect(pane).to_contain_text("You are offline. This was stored on this device.")
        stored.keyboard.press("Escape")
        expect(pane).to_be_hidden()
        for _ in range(3):
            stored.keyboard.press("j")
        stored.keyboard.press("o")
        expect(stored.locator("[data-offline]")).to_contain_text("this article is not stored on this device")
        expect(pane).to_be_hidden()
        expect(stored).to_have_url(re.compile("/ui/all$"))
    finally:
        stored.context.set_offline(False)
    expect(stored.locator("[data-offline]")).to_be_hidden()
    stored.keyboard.press("o")
    expect(pane.locator(".article")).to_have_text("Words about an old lamp.")


@pytest.mark.parametrize(
    ("header", "value"),
    [("X-Tidings-Reader", "somebody else"), ("Date", "Mon, 01 Jun 2026 08:00:00 GMT"), ("Date", "")],
    ids=["of another reader", "too old", "of nobody knows when"],
)
def test_beside_a_list_opens_only_what_its_own_reader_stored_lately(stored: Page, header: str, value: str):
    """Two readers may have lists open at one browser, and a list may stay open for a week."""
    stored.set_viewport_size({"width": 1280, "height": 900})
    stored.goto("/ui/all")
    stored.wait_for_selector("html[data-scripts=ready]")
    stored.evaluate(CHANGE, [header, value])
    stored.context.set_offline(True)
    try:
        stored.keyboard.press("j")
        stored.keyboard.press("o")
        expect(stored.locator("[data-offline]")).to_contain_text("this article is not stored on this device")
        expect(stored.locator("[data-pane]")).to_be_hidden()
    finally:
        stored.context.set_offline(False)


def test_on_a_phone_without_a_network_a_tap_stays_on_the_list_or_opens_what_is_stored(
    stored: Page, ada: Reader
):
    stored.set_viewport_size({"width": 360, "height": 700})
    fresh_item(ada, hours=200, title="An old lamp", text="Words about an old lamp.")
    stored.goto("/ui/all")
    stored.wait_for_selector("html[data-scripts=ready]")
    stored.context.set_offline(True)
    try:
        stored.get_by_role("link", name="An old lamp", exact=True).click()
        expect(stored.locator("[data-offline]")).to_contain_text("this article is not stored on this device")
        expect(stored).to_have_url(re.compile("/ui/all$"))
        stored.get_by_role("link", name="Lamp 1", exact=True).click()
        expect(stored).to_have_url(re.compile(r"/#item-\d+$"))
        expect(stored.get_by_text("Words about lamp 1.")).to_be_visible()
    finally:
        stored.context.set_offline(False)


def test_after_three_days_without_a_network_it_is_gone(stored: Page):
    stored.goto("/ui/saved")
    other = stored.context.new_page()
    stored.evaluate(CHANGE, ["Date", http_date(time.time() - 73 * 60 * 60)])
    stored.context.set_offline(True)
    try:
        other.goto("/")
        expect(other.get_by_role("heading", name="You are offline")).to_be_visible()
        assert gone(other)
    finally:
        back_online(stored, other)


def test_signing_out_wipes_it(stored: Page):
    stored.goto("/ui/saved")
    stored.locator(".menu summary").click()
    stored.get_by_role("button", name="Sign out").click()
    stored.get_by_role("link", name="Sign in").first.wait_for()
    assert gone(stored)


def test_a_digest_on_its_way_while_its_reader_signs_out_is_not_stored(
    browser: Browser, ada: Reader, live_server, monkeypatch: pytest.MonkeyPatch
):
    """Nor from a first page, of which the worker is not in charge, nor if no later page tells the worker."""
    Reader.objects.filter(pk=ada.pk).update(offline_today=True)
    fresh_item(ada, title="A secret lamp")
    asked, go_on = threading.Event(), threading.Event()

    def held(**options: object) -> object:
        asked.set()
        go_on.wait(STORED_S)
        return digest_for(**options)

    monkeypatch.setattr(offline, "digest_for", held)
    with browser.new_context(base_url=live_server.url) as context:
        window = context.new_page()
        sign_in(window, ada, live_server.url)
        window.goto("/")
        window.wait_for_selector("html[data-scripts=ready]")
        window.evaluate("navigator.serviceWorker.ready.then(() => null)")
        assert asked.wait(STORED_S) and not window.evaluate("Boolean(navigator.serviceWorker.controller)")
        window.route("**/logout/", lambda route: route.abort("aborted"))
        window.locator(".menu summary").click()
        window.get_by_role("button", name="Sign out").click()
        window.wait_for_timeout(500)
        go_on.set()
        window.wait_for_timeout(1500)
        assert window.evaluate(STORED) == ""


def test_a_release_leaves_no_looks_of_the_one_before(browser: Browser, live_server):
    """Each release has its own addresses, so a device would store more with each."""
    old = static("tidings.css").replace("tidings", "of-an-older-release")
    with browser.new_context(base_url=live_server.url) as context:
        window = context.new_page()
        window.goto("/accounts/login/")
        window.evaluate("navigator.serviceWorker.ready.then(() => null)")
        kept = window.evaluate(ALL_STORED)
        window.evaluate(
            """async (old) => {
              const cache = await caches.open("offline-2");
              await cache.put(old, new Response(""));
              await (await navigator.serviceWorker.ready).unregister();
              await navigator.serviceWorker.register("/sw.js");
              await navigator.serviceWorker.ready;
            }""",
            old,
        )
        late = time.monotonic() + STORED_S
        while (found := window.evaluate(ALL_STORED)) != kept:
            assert time.monotonic() < late, found
            window.wait_for_timeout(50)


def test_somebody_else_at_this_browser_never_sees_it(stored: Page, ben: Reader, live_server):
    sign_in(stored, ben, live_server.url)
    stored.goto("/ui/saved")
    assert gone(stored)


def test_each_reader_finds_their_own(stored: Page, ben: Reader, live_server):
    Reader.objects.filter(pk=ben.pk).update(offline_today=True)
    fresh_item(ben, key="ferry.example", title="A ferry", text="Words about ferries.")
    sign_in(stored, ben, live_server.url)
    stored.goto("/")
    assert "lamp" not in wait(stored, lambda text: "Words about ferries." in text)


ASK = """(message) => navigator.serviceWorker.ready.then(({ active }) => active.postMessage(message))"""


@pytest.mark.parametrize("now_here", ["nobody", "ben"])
def test_neither_a_redirect_nor_an_answer_to_another_reader_is_stored_as_the_digest(
    stored: Page, ada: Reader, ben: Reader, live_server, now_here: str
):
    """The page that asks is Ada's, still open; the answer that comes is the sign-in's page, or Ben's."""
    Reader.objects.filter(pk=ben.pk).update(offline_today=True)
    fresh_item(ben, key="ferry.example", title="A ferry", text="Words about ferries.")
    before = stored.evaluate(STORED)
    if now_here == "ben":
        sign_in(stored, ben, live_server.url)
    else:
        Session.objects.all().delete()
    stored.evaluate(
        "(path) => { window.answered = fetch(path).then((one) => one.url); }", "/ui/today/offline"
    )
    for _ in range(3):
        stored.evaluate(ASK, {"reader": device_tag(reader=ada), "store": True})
    stored.evaluate("() => window.answered")
    stored.wait_for_timeout(1000)
    assert stored.evaluate(STORED) == before


def test_what_is_stored_for_everybody_names_nobody(stored: Page):
    """It is stored while Ada is signed in, and shown to whoever has no network."""
    text = stored.evaluate("caches.match('/offline').then((found) => found.text())")
    assert "You are offline" in text and "Ada" not in text and "ada" not in text.split()
    assert "csrf" not in text.casefold()


def test_switching_it_off_wipes_it(stored: Page, ada: Reader):
    stored.goto("/ui/display")
    stored.get_by_label("Keep Today on my devices").uncheck()
    stored.get_by_role("button", name="Save", exact=True).click()
    expect(stored.get_by_text("Saved.")).to_be_visible()
    assert gone(stored)


def test_the_stored_page_has_no_violation(stored: Page):
    looked = ready(stored.context.new_page())
    looked.goto("/ui/today/offline")
    assert looked.evaluate(RUN, [[], VIOLATIONS]) == []


@pytest.mark.parametrize("end", ["signs out", "is signed out elsewhere"])
def test_nothing_of_one_reader_is_seen_by_the_next_at_this_browser(
    browser: Browser, ada: Reader, ben: Reader, live_server, end: str
):
    """Neither by going back, nor by an address that was open, nor without a network."""
    Reader.objects.filter(pk=ada.pk).update(offline_today=True)
    item = fresh_item(ada, title="A secret lamp", text="Words about lamp nine.")
    addresses = ("/", f"/ui/item/{item.pk}", "/ui/all", "/ui/today/offline")
    with browser.new_context(base_url=live_server.url) as context:
        window = context.new_page()
        sign_in(window, ada, live_server.url)
        for address in (*addresses, "/"):
            window.goto(address)
            expect(window.locator("body")).to_contain_text("secret lamp")
        wait(window, lambda text: "lamp nine" in text)
        if end == "signs out":
            window.locator(".menu summary").click()
            window.get_by_role("button", name="Sign out").click()
        else:
            Session.objects.all().delete()
            window.goto("/ui/saved")
        window.get_by_role("link", name="Sign in").or_(window.get_by_label("Password")).first.wait_for()
        assert gone(window)
        _look_back(window, len(addresses) + 1)
        sign_in(window, ben, live_server.url)
        for address in addresses:
            window.goto(address)
            expect(window.locator("body")).not_to_contain_text("lamp")
        _look_back(window, len(addresses))
        context.set_offline(True)
        for address in addresses:
            window.goto(address)
            expect(window.get_by_role("heading", name="You are offline")).to_be_visible()
        _look_back(window, len(addresses))
        context.set_offline(False)


def _look_back(page: Page, times: int) -> None:
    """Press the browser's button to go back, and see no word of Ada's at any page."""
    for _ in range(times):
        page.go_back()
        expect(page.locator("body")).not_to_contain_text("lamp")
        assert "lamp" not in page.content().casefold()
