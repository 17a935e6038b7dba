"""A reader's day in a real browser: by mouse, by keyboard alone, without a network, on paper."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from digest.models import Feedback, Reader, Reading, Subscription
from tests.support.browser import fresh_item, subscribe, suggested
from tests.support.chromium import listening
from tests.support.thinned import mostly_nightly
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]

ELSEWHERE = "**/gazette.example/**"
# On the others `test_list_controls_browser` walks articles with every change.
OPENED_FROM = {
    "today": "/",
    "all": "/ui/all",
    "source": "/ui/all?source=gazette.example",
    "search": "/ui/search?q=light",
}


@pytest.fixture
def day_tab(page: Page, ada: Reader) -> Page:
    """Ada's paper of three items, the publisher's site played by the browser."""
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text="Words about lamps.")
    page.context.route(ELSEWHERE, lambda route: route.fulfill(body="<p>The publisher's page</p>"))
    page.goto("/")
    return page


def read_items(reader: Reader) -> list[str]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False).order_by("item__title")
    return list(rows.values_list("item__title", flat=True))


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.textContent.trim()")


def test_opening_an_article_marks_it_read_and_it_looks_so_on_the_way_back(day_tab: Page, ada: Reader):
    day_tab.get_by_role("link", name="Lamp 0", exact=True).click()
    expect(day_tab.locator(".article")).to_have_text("Words about lamps.")
    day_tab.goto("/")
    assert read_items(ada) == ["Lamp 0"]
    expect(day_tab.locator(".item.read")).to_have_count(1)
    expect(day_tab.locator(".item.read .was-read")).to_be_visible()
    expect(day_tab.get_by_text("2 of 3 unread")).to_be_visible()


def test_opening_an_original_marks_it_read(day_tab: Page, ada: Reader):
    with day_tab.expect_request("**/read?how=opened") as marking, day_tab.context.expect_page() as opened:
        day_tab.get_by_role("link", name="original of Lamp 0").click()
    opened.value.get_by_text("The publisher's page").wait_for()
    assert marking.value.response().status == 200
    assert read_items(ada) == ["Lamp 0"]


def test_everything_is_marked_read_and_taken_back(day_tab: Page, ada: Reader):
    day_tab.get_by_role("button", name="Mark all as read").click()
    expect(day_tab.get_by_text("3 items marked as read at")).to_be_visible()
    assert len(read_items(ada)) == 3
    day_tab.get_by_role("button", name="Undo").click()
    expect(day_tab.get_by_text("3 of 3 unread")).to_be_visible()
    assert read_items(ada) == []


def test_a_day_by_mouse(day_tab: Page, ada: Reader):
    first = day_tab.locator(".item").first
    first.get_by_role("button", name="Useful", exact=True).click()
    first.locator(".tags > summary").click()
    first.get_by_role("button", name="Real depth").click()
    expect(first.get_by_role("button", name="Real depth")).to_have_attribute("aria-pressed", "true")
    first.get_by_role("button", name="Save for later").click()
    expect(first.get_by_role("button", name="Saved")).to_have_attribute("aria-pressed", "true")
    day_tab.get_by_role("link", name="Saved", exact=True).click()
    expect(day_tab.locator(".item h2")).to_have_text(["Lamp 0"])
    day_tab.get_by_role("link", name="Search", exact=True).click()
    day_tab.get_by_label("Words in a title").fill("lamps")
    day_tab.get_by_role("button", name="Search", exact=True).click()
    expect(day_tab.locator("mark").first).to_be_visible()
    expect(day_tab.get_by_role("status").filter(has_text="3 items")).to_be_visible()
    assert [tag.slug for tag in Feedback.objects.get(reader=ada).tags.all()] == ["depth"]


def test_a_day_by_keys_alone(day_tab: Page, ada: Reader):
    keys = day_tab.keyboard
    keys.press("j")
    assert focused(day_tab) == "Lamp 0"
    keys.press("j")
    keys.press("j")
    keys.press("k")
    assert focused(day_tab) == "Lamp 1"
    box = day_tab.locator(".item").nth(1)
    keys.press("u")
    expect(box.get_by_role("button", name="Useful", exact=True)).to_have_attribute("aria-pressed", "true")
    assert focused(day_tab) == "Lamp 1"
    keys.press("2")
    expect(box.locator(".tags button").nth(1)).to_be_visible()
    keys.press("2")
    expect(box.locator(".tags button").nth(1)).to_have_attribute("aria-pressed", "true")
    keys.press("s")
    expect(box.get_by_role("button", name="Saved")).to_have_attribute("aria-pressed", "true")
    keys.press("d")
    expect(box.get_by_role("button", name="Not useful")).to_have_attribute("aria-pressed", "true")
    assert focused(day_tab) == "Lamp 1"
    keys.press("o")
    expect(day_tab.locator(".article")).to_have_text("Words about lamps.")
    day_tab.goto("/")
    assert read_items(ada) == ["Lamp 1"]
    keys.press("/")
    expect(day_tab.get_by_label("Words in a title")).to_be_focused()
    keys.type("juju? s")  # letters are letters while typing
    expect(day_tab.get_by_label("Words in a title")).to_have_value("juju? s")
    keys.press("Control+A")
    keys.type("lamp")
    keys.press("Enter")
    expect(day_tab.locator("mark").first).to_be_visible()
    listening(day_tab)
    keys.press("/")
    expect(day_tab.get_by_label("Words in a title")).to_be_focused()


def test_quick_taps_on_a_slow_network_all_arrive(day_tab: Page, ada: Reader):
    sent: list[Route] = []
    day_tab.route(re.compile(r"/ui/item/\d+/(save|feedback)"), lambda route: sent.append(route))
    box = day_tab.locator(".item").first
    for name in ("Useful", "Save for later", "Not useful"):
        box.get_by_role("button", name=name, exact=True).click()
    # No answer has come, so the other two wait.
    assert len(sent) == 1
    for count in (1, 2, 3):
        while len(sent) < count:
            day_tab.wait_for_timeout(20)
        sent[-1].continue_()
    expect(box.get_by_role("button", name="Not useful")).to_have_attribute("aria-pressed", "true")
    assert [row.useful for row in Feedback.objects.filter(reader=ada)] == [False]
    assert [row.item.title for row in Reading.objects.filter(reader=ada, saved_at__isnull=False)] == [
        "Lamp 0"
    ]


def test_keys_explain_themselves_and_can_be_switched_off(day_tab: Page):
    day_tab.keyboard.press("?")
    expect(day_tab.get_by_role("dialog", name="Keys")).to_be_visible()
    day_tab.keyboard.press("j")
    assert focused(day_tab) == "Keys"
    day_tab.get_by_label("Turn shortcuts off here").check()
    day_tab.keyboard.press("Escape")
    day_tab.keyboard.press("j")
    assert "Lamp" not in focused(day_tab)[:8]
    day_tab.get_by_role("button", name="Keys").click()
    day_tab.get_by_label("Turn shortcuts off here").uncheck()
    day_tab.get_by_role("button", name="Close").click()
    day_tab.keyboard.press("j")
    assert focused(day_tab) == "Lamp 0"


@pytest.mark.parametrize("language", mostly_nightly({"en": "en", "de": "de"}, always=["de"]))
def test_the_list_of_keys_opens_at_its_heading_and_fits_a_laptop(page: Page, ada: Reader, language: str):
    Reader.objects.update(language=language)
    page.goto("/ui/all")
    for width, height in ((1280, 900), (1024, 600), (360, 640)):
        page.set_viewport_size({"width": width, "height": height})
        page.keyboard.press("?")
        keys = page.locator("#keys")
        expect(keys).to_be_visible()
        assert keys.evaluate("one => one.scrollTop") == 0, (width, height)
        if height == 900:
            assert keys.evaluate("one => one.scrollHeight <= one.clientHeight")
        page.keyboard.press("Escape")


def test_keys_with_a_modifier_are_the_browsers(day_tab: Page):
    for chord in ("Control+j", "Alt+j", "Meta+j"):
        day_tab.keyboard.press(chord)
        assert "Lamp" not in focused(day_tab)[:8], chord


def test_offline_a_thumb_says_it_was_not_stored_and_can_be_tried_again(day_tab: Page, ada: Reader):
    box = day_tab.locator(".item").first
    day_tab.route("**/feedback", lambda route: route.fulfill(status=200, body=""))
    day_tab.evaluate("Object.defineProperty(navigator, 'onLine', {get: () => false, configurable: true})")
    day_tab.evaluate("dispatchEvent(new Event('offline'))")
    expect(day_tab.locator("[data-offline]")).to_be_visible()
    box.get_by_role("button", name="Useful", exact=True).click()
    expect(box.locator("[data-failed]")).to_contain_text("You are offline, so it was not stored.")
    expect(day_tab.locator("#status")).to_have_text("You are offline, so it was not stored.")
    assert not Feedback.objects.exists()
    day_tab.evaluate("Object.defineProperty(navigator, 'onLine', {get: () => true})")
    day_tab.evaluate("dispatchEvent(new Event('online'))")
    expect(box.locator("[data-failed]")).to_contain_text("That did not reach us, so it was not stored.")
    day_tab.unroute("**/feedback")
    box.get_by_role("button", name="Try again").click()
    expect(box.get_by_role("button", name="Useful", exact=True)).to_have_attribute("aria-pressed", "true")
    assert Feedback.objects.get(reader=ada).useful


def test_suggestions_are_mentioned_until_told_otherwise(page: Page, ada: Reader):
    suggested(ada)
    page.goto("/")
    nudge = page.get_by_role("complementary", name="Suggestions")
    expect(nudge).to_contain_text("1 suggestion for your digest.")
    nudge.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(nudge).to_have_count(0)


def test_on_paper_there_is_what_is_read_and_nothing_to_press(day_tab: Page):
    day_tab.emulate_media(media="print")
    for gone in ("nav", "button", ".chip + .chip", "footer"):
        for part in day_tab.locator(gone).all():
            assert not part.is_visible(), gone
    assert day_tab.locator(".item h2").first.is_visible()
    address = "getComputedStyle(document.querySelector('.item a[data-original]'), '::after').content"
    assert "gazette.example" in day_tab.evaluate(address)


def test_on_paper_the_colours_are_those_of_the_day_whatever_the_screen_shows(day_tab: Page):
    accent = "getComputedStyle(document.querySelector('.kicker')).color"
    day = day_tab.evaluate(accent)
    day_tab.emulate_media(media="screen", color_scheme="dark")
    assert day_tab.evaluate(accent) != day
    day_tab.emulate_media(media="print", color_scheme="dark")
    assert day_tab.evaluate(accent) == day


def test_folders_of_long_names_fit_a_small_phone(day_tab: Page, ada: Reader):
    for n in range(4):
        made = Subscription.objects.filter(pk=subscribe(ada, f"s{n}.example").pk)
        made.update(folder=str(n) * 100)
    day_tab.set_viewport_size({"width": 360, "height": 740})
    day_tab.goto("/ui/sources")
    assert day_tab.locator(".fold > summary").count() >= 4
    assert day_tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_day_the_search_and_the_calendar_fit_a_small_phone(day_tab: Page, ada: Reader):
    day_tab.set_viewport_size({"width": 360, "height": 740})
    for address in ("/", "/ui/search?q=lamp", "/ui/saved", "/ui/calendar"):
        day_tab.goto(address)
        assert day_tab.evaluate("document.documentElement.scrollWidth") <= 360, address
        menu = day_tab.locator(".masthead nav").bounding_box()
        assert menu["height"] < 60, "the navigation takes one line"


def test_an_article_is_read_to_its_end_after_its_end_was_in_view_and_time_for_its_length(
    page: Page, ada: Reader
):
    item = fresh_item(
        ada, title="Long", text="\n\n".join(f"Lamp {n}. " + "Words on lamps. " * 60 for n in range(9))
    )
    page.clock.install()
    page.goto(f"/ui/item/{item.pk}")
    page.clock.run_for(400_000)  # all the time there is, at its beginning
    assert Reading.objects.get().finished_at is None
    page.goto(f"/ui/item/{item.pk}")
    page.get_by_text("Lamp 8.").scroll_into_view_if_needed()
    page.mouse.wheel(0, 600)
    page.clock.run_for(10_000)  # its end, and far too soon
    assert Reading.objects.get().finished_at is None
    with page.expect_response("**/read?how=finished") as told:
        page.clock.run_for(400_000)
    assert told.value.status == 200
    row = Reading.objects.get()
    assert row.opened_by == "page" and row.finished_at


@pytest.mark.parametrize("address", mostly_nightly(OPENED_FROM, always=["today", "source"]))
def test_keys_on_an_articles_page_walk_the_list_it_was_opened_from(page: Page, ada: Reader, address: str):
    for n in range(4):
        key = ("gazette.example", "courier.example")[n % 2 and "source" not in address]
        fresh_item(ada, hours=n + 1, key=key, title=f"Lamp {n} of light")
    page.set_viewport_size({"width": 1000, "height": 800})  # wider ones show it beside the list
    page.goto(address)
    titles = page.locator("article[data-item] a[data-open]").all_inner_texts()
    assert len(titles) == 4
    page.locator("article[data-item] a[data-open]").nth(1).click()
    heading = page.get_by_role("heading", level=1)
    # The second was opened. What a key leads to is read, so `p` passes it over, and so does `n`.
    for key, at in (("j", 2), ("k", 1), ("n", 3), ("j", 3), ("n", 3), ("p", 0), ("k", 0), ("j", 1)):
        listening(page)
        page.keyboard.press(key)
        expect(heading).to_have_text(titles[at])
    page.get_by_role("link", name="Next:").click()
    expect(heading).to_have_text(titles[2])


def test_keys_on_an_article_opened_by_its_address_walk_its_source(page: Page, ada: Reader):
    items = [fresh_item(ada, hours=n + 1, title=f"Lamp {n}") for n in range(4)]
    fresh_item(ada, hours=2.5, key="courier.example", title="Between")
    heading = page.get_by_role("heading", level=1)
    page.goto(f"/ui/item/{items[1].pk}")
    for key, at in (("j", 2), ("k", 1), ("n", 3), ("j", 3), ("p", 0), ("k", 0)):
        listening(page)
        page.keyboard.press(key)
        expect(heading).to_have_text(f"Lamp {at}")
