"""The pages in a real browser: scripts, keyboard, small screens, and no complaint in the console."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Error, Frame, Page, Request, expect

from advisor.models import Run, Step
from digest.models import Feedback, Reader
from digest.throttling import GENERATE, limit_charge
from ranking.selectors import config_effective
from suggestions.models import Suggestion
from tests.support.browser import fresh_item, suggested
from tests.support.chromium import chromium, listening
from tests.support.factories import FeedbackFactory
from tests.support.histories import opinionated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
PAGES = ["/", "/ui/account", "/ui/sources", "/ui/config", "/ui/suggestions", "/accounts/password/change/"]
PAGES += ["/ui/search?q=word", "/ui/saved", "/ui/calendar", "/ui/history"]


@pytest.fixture
def browser() -> Browser:
    """Chromium, which all files share."""
    return chromium()


@cache
def window_of(browser: Browser, origin: str) -> Page:
    """Return one tab for all tests, one after the other: a browser starts three processes for a new profile.

    Without service workers: one that ends while a test sets its routes leaves the test waiting for ever.
    """
    context = browser.new_context(
        base_url=origin, reduced_motion="reduce", timezone_id="Asia/Tokyo", service_workers="block"
    )
    return context.new_page()


# The message of a browser without service workers.
NO_WORKER = "Service Worker registration blocked by Playwright"
# Requests whose answers are in no cache.
UNSTORED = {"document", "fetch", "xhr"}
# Addresses that cause no request.
OWN = ("data:", "blob:", "about:")


@contextmanager
def watched(window: Page, origin: str) -> Iterator[Page]:
    """Yield a tab whose console messages fail the test at its end.

    So does any request of a page of ours to another site, except after pressing play or following a link.
    """
    window.set_default_timeout(8000)
    complaints: list[str] = []

    def said(message: ConsoleMessage) -> None:
        # A limit is an answer that a page knows; the browser reports it all the same.
        limit = "status of 429" in message.text
        if message.type in {"error", "warning"} and message.text != NO_WORKER and not limit:
            complaints.append(message.text)

    def broken(error: Error) -> None:
        complaints.append(str(error))

    def asked(request: Request) -> None:
        if request.resource_type in {"document", "media"} or request.url.startswith(OWN):
            return
        ours = request.service_worker or request.frame.url.startswith(origin)
        if ours and not request.url.startswith(origin):
            complaints.append(f"asked {request.url}")

    is_new = [True]

    def navigated(_: Frame) -> None:
        is_new[:] = [True]

    window.on("framenavigated", navigated)
    window.on("console", said)
    window.on("pageerror", broken)
    window.context.on("request", asked)
    goto, press = window.goto, window.keyboard.press
    window.goto, window.keyboard.press = until_ready(window), press_when_ready(window, is_new)
    yield window
    window.context.cookies()  # a question to the browser, so that its earlier messages have arrived
    window.context.remove_listener("request", asked)
    window.remove_listener("framenavigated", navigated)
    window.remove_listener("console", said)
    window.remove_listener("pageerror", broken)
    window.goto, window.keyboard.press = goto, press
    assert complaints == []


@pytest.fixture
def tab(browser: Browser, live_server) -> Iterator[Page]:
    """Yield an empty tab of a visitor."""
    window = window_of(browser, live_server.url)
    stored: list[str] = []

    def note(request: Request) -> None:
        if request.resource_type not in UNSTORED and not is_static(request.url):
            stored.append(request.url)

    window.context.on("request", note)
    try:
        with watched(window, live_server.url):
            yield window
    finally:
        window.context.remove_listener("request", note)
        as_new(window, live_server.url, with_cache=not stored)


def is_static(url: str) -> bool:
    """Return whether an address is that of a static file, which changes with the content."""
    return f"/{settings.STATIC_URL.strip('/')}/" in url


def as_new(page: Page, origin: str, *, with_cache: bool) -> None:
    """Leave nothing of a test in the tab: no second tab, cookie, store, worker, or size.

    `with_cache` keeps its cache, if only static files are in it: a page asks for thirty of them.
    """
    context = page.context
    others = [other for other in context.pages if other != page]
    for other in others:
        # A tab that is taken away while it still loads leaves Chromium waiting for its routes, for ever.
        other.wait_for_load_state()
    page.unroute_all()
    context.unroute_all()
    for other in others:
        other.close()
    page.goto("about:blank")
    context.clear_cookies()
    browser = context.new_cdp_session(page)
    browser.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    if not with_cache:
        browser.send("Network.clearBrowserCache")
    browser.detach()
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(media="null", color_scheme="light", reduced_motion="reduce")


def until_ready(page: Page) -> Callable[[str], None]:
    """`page.goto` that returns once the page's scripts listen."""
    goto = page.goto

    def ready(url: str) -> None:
        goto(url)
        listening(page)

    return ready


def press_when_ready(page: Page, is_new: list[bool]) -> Callable[[str], None]:
    """`page.keyboard.press` that waits until the scripts of a new page listen: a form or link led to it."""
    press = page.keyboard.press

    def ready(key: str) -> None:
        if is_new:
            is_new.clear()
            listening(page)
        press(key)

    return ready


@pytest.fixture
def page(tab: Page, ada: Reader, live_server) -> Page:
    """Ada's tab, signed in."""
    client = Client()
    client.force_login(ada)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    tab.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}]
    )
    return tab


def test_signing_up_takes_the_browsers_time_zone_and_signing_in_leads_to_the_paper(tab: Page):
    tab.goto("/accounts/signup/")
    expect(tab.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    tab.get_by_label("Username").fill("cleo")
    tab.locator("[name=password1]").fill("a-lamp-and-a-kettle")
    tab.locator("[name=password2]").fill("a-lamp-and-a-kettle")
    tab.get_by_role("button", name="Create my account").click()
    tab.get_by_role("button", name="Not now").click()
    expect(tab.get_by_text("no sources yet")).to_be_visible()
    assert Reader.objects.get(username="cleo").time_zone == "Asia/Tokyo"
    tab.locator(".menu summary").click()
    tab.get_by_role("button", name="Sign out").click()
    tab.locator("[name=login]").fill("cleo")
    tab.locator("[name=password]").fill("a-lamp-and-a-kettle")
    tab.locator("main").get_by_role("button", name="Sign in").click()
    expect(tab.get_by_text("no sources yet")).to_be_visible()


def test_the_account_page_leaves_the_time_zone_alone_wherever_the_browser_is(page: Page, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(time_zone="UTC")
    page.goto("/ui/account")
    expect(page.get_by_label("Time zone")).to_have_value("UTC")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_be_visible()
    assert Reader.objects.get(pk=ada.pk).time_zone == "UTC"


def test_a_thumb_a_reason_and_their_undoing_take_no_reload(page: Page, ada: Reader):
    item = fresh_item(ada)
    page.goto("/")
    page.evaluate("window.stayed = true")
    up = page.get_by_role("button", name="Useful", exact=True)
    up.click()
    expect(up).to_have_attribute("aria-pressed", "true")
    page.locator(".tags > summary").click()
    page.get_by_role("button", name="Real depth").click()
    expect(page.get_by_role("button", name="Real depth")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#status")).to_have_text("Real depth: noted")
    assert [tag.slug for tag in Feedback.objects.get(reader=ada, item=item).tags.all()] == ["depth"]
    up.click()
    expect(up).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("button", name="Real depth")).to_have_count(0)
    assert not Feedback.objects.exists()
    assert page.evaluate("window.stayed")


def test_own_words_outlive_a_tap_and_are_kept_by_enter_without_a_reload(page: Page, ada: Reader):
    item = fresh_item(ada)
    FeedbackFactory(reader=ada, item=item)
    page.goto(f"/ui/item/{item.pk}")
    page.evaluate("window.stayed = true")
    line = page.get_by_role("textbox", name="In your own words")
    line.fill("more about sailing")
    page.get_by_role("button", name="Real depth").click()
    expect(page.get_by_role("button", name="Real depth")).to_have_attribute("aria-pressed", "true")
    expect(line).to_have_value("more about sailing")
    line.press("Enter")
    expect(page.locator("#status")).to_contain_text("It reads as a wish")
    expect(line).to_have_count(2)
    stored = Feedback.objects.get(reader=ada, item=item)
    assert stored.other_reasons == ["more about sailing"] and [tag.slug for tag in stored.tags.all()] == [
        "depth"
    ]
    assert page.evaluate("window.stayed")


def test_a_thumb_that_does_not_arrive_says_so(page: Page, ada: Reader):
    fresh_item(ada)
    page.goto("/")
    page.route("**/feedback", lambda route: route.fulfill(status=200, body="", headers={}))
    page.get_by_role("button", name="Useful", exact=True).click()
    expect(page.locator("[data-failed]")).to_contain_text("That did not reach us, so it was not stored.")


def test_everything_works_by_keyboard(page: Page, ada: Reader):
    fresh_item(ada)
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(6):  # all as read, order by ratings, title, source, original, why
        page.keyboard.press("Tab")
    expect(page.locator(".why > summary")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_text("How the score is made")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Source × freshness × interest")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    up = page.get_by_role("button", name="Useful", exact=True)
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(up).to_be_focused()


def test_settings_are_edited_and_gone_back_on(page: Page, ada: Reader):
    page.goto("/ui/config")
    page.get_by_label("Add a topic").fill("rust")
    page.get_by_role("button", name="Save settings").click()
    page.get_by_role("link", name="Versions").click()
    expect(page.get_by_text("“rust” joined your interests")).to_be_visible()
    page.get_by_role("button", name="Go back to the defaults").click()
    expect(page.get_by_text("You went back to the defaults")).to_be_visible()
    assert config_effective(reader_id=ada.pk).config.topics == ()


def test_whoever_asks_too_often_is_told_so_and_when_to_ask_again(page: Page, ada: Reader):
    opinionated(ada, now=timezone.now())
    for minutes in (0, 1, 2):  # in whichever minute the press falls
        now = timezone.now() + timedelta(minutes=minutes)
        limit_charge(limit=GENERATE, who=ada.pk, now=now, cost=GENERATE.times)
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="Generate suggestions").click()
    page.get_by_text("You can ask for suggestions 10 times a minute. Wait for the next one.").wait_for()


def test_generating_runs_for_real_and_ends_with_cards(page: Page, ada: Reader):
    opinionated(ada, now=timezone.now())
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="Generate suggestions").click()
    expect(page.locator("[data-card]").first).to_be_visible(timeout=40_000)
    assert Run.objects.get(reader=ada).status == "completed"


def test_a_run_is_followed_step_by_step_to_its_end(page: Page, ada: Reader):
    now = timezone.now()
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="running", created_at=now)
    Step.objects.create(run=run, n=1, kind="model", model="planner", at=now)
    Step.objects.create(run=run, n=2, kind="tool", tool="query_user_feedback", at=now)
    page.goto("/ui/suggestions")
    expect(page.get_by_role("button", name="Generating…")).to_be_disabled()
    line = page.locator("[data-progress]")
    expect(line).to_have_text("Reading your feedback… 1 turn, 1 tool call so far.")
    Step.objects.create(
        run=run, n=3, kind="tool", tool="write_suggestion", error_code="weak_evidence", at=now
    )
    expect(line).to_have_text("Checking an idea… 1 turn, 2 tool calls so far.")
    Run.objects.filter(pk=run.pk).update(status="completed", message="No strong evidence.")
    expect(page.locator("[data-last-run]")).to_contain_text("Nothing worth asking today: No strong evidence.")


def test_accepting_another_amount_applies_it_and_says_that_all_is_done(page: Page, ada: Reader):
    suggested(ada)
    page.goto("/ui/suggestions")
    page.get_by_text("How sure?").click()
    page.get_by_label("Say yes to another number instead").fill("1.1")
    page.get_by_role("button", name="Yes", exact=True).click()
    expect(page.get_by_text("✓ Applied · Show me more from Gazette")).to_be_visible()
    expect(page.locator(".card.done")).to_contain_text("All done! Your preferences have been updated.")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.1


def test_rejecting_keeps_the_reason(page: Page, ada: Reader):
    suggestion = suggested(ada)
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.get_by_text("✗ You said no · Show me more from Gazette")).to_be_visible()
    page.get_by_text("Why not?").click()
    page.get_by_label("Another reason").fill("Not now, thanks")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".card")).to_contain_text("Your reason is kept with it")
    assert suggestion.outcomes.get().user_reason == "Not now, thanks"


def test_accepting_all_tells_of_each_card(page: Page, ada: Reader):
    beyond = suggested(ada, current_value="1.6", suggested_value="1.9")
    topic = {"suggestion_type": "add_topic", "field": "topics", "target_key": "proof", "label": "proof"}
    fits = suggested(ada, **topic, current_value="", suggested_value="proof")
    page.goto("/ui/suggestions")
    page.get_by_role("button", name="Accept all 2").click()
    expect(page.locator(f"#suggestion-{fits.pk}")).to_contain_text("✓ Applied")
    expect(page.locator(f"#suggestion-{beyond.pk} [data-card-status]")).to_contain_text(
        "Your settings changed"
    )
    assert Suggestion.objects.get(pk=beyond.pk).status == "pending"


def test_nothing_scrolls_sideways_on_a_small_phone(page: Page, ada: Reader):
    fresh_item(ada, title="Donaudampfschifffahrtsgesellschaftskapitänsmütze " * 3, text="Word " * 80)
    suggested(ada)
    page.set_viewport_size({"width": 360, "height": 740})
    for address in PAGES:
        page.goto(address)
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, (address, scheme)


def test_thumbs_are_large_enough_for_thumbs(page: Page, ada: Reader):
    fresh_item(ada)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/")
    page.locator("[data-unfold]").click()
    for button in page.locator(".thumbs button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
