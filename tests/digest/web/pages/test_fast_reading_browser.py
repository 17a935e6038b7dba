"""Reading faster than the server answers never leads out of the list: scripts wait, say so, and ask again."""

from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from digest.items.reading import item_read
from digest.models import Feed, Feedback, Item, Reader, Reading
from digest.places import PAGE_LINE
from tests.digest.test_turns import occupied
from tests.support.browser import fresh_item, subscribe
from tests.support.chromium import listening, until
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDE = {"width": 1280, "height": 800}
WAITS = "An earlier request is still being worked on. This goes on by itself."


@pytest.fixture
def lamps(page: Page, ada: Reader) -> Page:
    for n in range(6):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=f"Words about lamp {n}.")
    page.set_viewport_size(WIDE)
    return page


def read(reader: Reader) -> set[str]:
    """Return the titles of what the reader read."""
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    return set(rows.values_list("item__title", flat=True))


def test_keys_that_are_pressed_before_the_scripts_are_there_act_once_they_are(lamps: Page):
    tab = lamps.context.new_page()
    held: list[Route] = []
    tab.route("**/keyboard.js", lambda route: held.append(route))
    with tab.expect_request("**/keyboard.js"):
        tab.goto("/ui/all", wait_until="domcontentloaded")
    for key in ("j", "j", "n"):
        tab.keyboard.press(key)
    expect(tab.locator("article a:focus")).to_have_count(0)
    held.pop().continue_()
    expect(tab.get_by_role("link", name="Lamp 2", exact=True)).to_be_focused()
    listening(tab)
    tab.keyboard.press("j")
    expect(tab.get_by_role("link", name="Lamp 3", exact=True)).to_be_focused()


def test_words_that_are_typed_early_after_the_key_of_search_do_nothing_to_articles(lamps: Page):
    tab = lamps.context.new_page()
    held: list[Route] = []
    tab.route("**/keyboard.js", lambda route: held.append(route))
    with tab.expect_request("**/keyboard.js"):
        tab.goto("/ui/search", wait_until="domcontentloaded")
    tab.locator("input[type=search]").evaluate("field => field.blur()")
    for key in "/g":
        tab.keyboard.press(key)
    held.pop().continue_()
    expect(tab.locator("input[type=search]")).to_be_focused()
    tab.keyboard.type("t")
    expect(tab.locator("input[type=search]")).to_have_value("t")


@pytest.mark.parametrize(("key", "seen"), [("n", [0, 1, 2, 3, 4]), ("j", [0, 4])])
def test_whoever_walks_on_while_an_article_comes_gets_the_one_they_rest_at(
    lamps: Page, ada: Reader, key: str, seen: list[int]
):
    """By `n` one passes unread articles on purpose and reads them; by `j` one reads those that were shown."""
    held: list[Route] = []
    lamps.goto("/ui/all?unread=1")
    lamps.route("**/ui/item/*?pane=1", lambda route: held.append(route))
    for pressed in ("j", "o"):
        lamps.keyboard.press(pressed)
    until(lamps, lambda: len(held), 1)
    held.pop().continue_()
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 0")
    for _ in range(4):
        lamps.keyboard.press(key)
    until(lamps, lambda: len(held), 1)
    held.pop().continue_()
    until(lamps, lambda: len(held), 1)
    held.pop().continue_()
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 4")
    assert not held
    expect(lamps.locator("article.item.read h2")).to_have_text([f"Lamp {n}" for n in seen])
    until(lamps, lambda: read(ada), {f"Lamp {n}" for n in seen})
    assert lamps.evaluate("location.search") == "?unread=1"


def test_whoever_goes_back_before_an_article_came_leaves_a_row_that_is_as_it_is_stored(
    lamps: Page, ada: Reader
):
    held: list[Route] = []
    lamps.goto("/ui/all")
    for key in "jo":
        lamps.keyboard.press(key)
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 0")
    lamps.route("**/ui/item/*?pane=1", lambda route: held.append(route))
    for key in "jk":
        lamps.keyboard.press(key)
    for _ in range(2):
        until(lamps, lambda: len(held), 1)
        held.pop().continue_()
    until(lamps, lambda: read(ada), {"Lamp 0"})
    expect(lamps.locator("article.item.read h2")).to_have_text(["Lamp 0"])
    assert not Reading.objects.filter(reader=ada, item__title="Lamp 1", opened_at__isnull=False).exists()
    lamps.unroute("**/ui/item/*?pane=1")
    for key, title in (("j", "Lamp 1"), ("k", "Lamp 0")):
        lamps.keyboard.press(key)
        expect(lamps.locator("[data-pane] h2.title")).to_have_text(title)
    expect(lamps.locator("article.item.read h2")).to_have_text(["Lamp 0", "Lamp 1"])
    until(lamps, lambda: read(ada), {"Lamp 0", "Lamp 1"})


def test_an_article_that_was_read_before_stays_so_though_one_walks_on_before_it_came(
    lamps: Page, ada: Reader
):
    item_read(reader=ada, item_id=Item.objects.get(title="Lamp 1").pk, now=timezone.now())
    held: list[Route] = []
    lamps.goto("/ui/all")
    lamps.route("**/ui/item/*?pane=1", lambda route: held.append(route))
    for key in "jjoj":
        lamps.keyboard.press(key)
    for _ in range(2):
        until(lamps, lambda: len(held), 1)
        held.pop().continue_()
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 2")
    assert read(ada) == {"Lamp 1", "Lamp 2"}


def test_an_article_that_is_closed_before_it_came_stays_unread(lamps: Page, ada: Reader):
    held: list[Route] = []
    lamps.goto("/ui/all")
    for key in "jo":
        lamps.keyboard.press(key)
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 0")
    lamps.route("**/ui/item/*?pane=1", lambda route: held.append(route))
    for key in ("j", "Escape"):
        lamps.keyboard.press(key)
    expect(lamps.locator("[data-pane]")).to_be_hidden()
    with lamps.expect_response(lambda answer: answer.request.method == "DELETE"):
        held.pop().continue_()
    assert read(ada) == {"Lamp 0"}


def test_whoever_walks_on_before_the_first_article_is_there_gets_the_one_they_rest_at(lamps: Page):
    held: list[Route] = []
    lamps.goto("/ui/all")
    lamps.route("**/ui/item/*?pane=1", lambda route: held.append(route))
    for pressed in "jojj":
        lamps.keyboard.press(pressed)
    for _ in range(2):
        until(lamps, lambda: len(held), 1)
        held.pop().continue_()
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 2")
    expect(lamps.get_by_role("link", name="Lamp 2", exact=True)).to_be_focused()


def test_a_refused_article_says_so_in_the_pane_and_comes_by_itself(lamps: Page, ada: Reader):
    lamps.goto("/ui/all")
    lamps.keyboard.press("j")
    with occupied(ada, PAGE_LINE):
        lamps.keyboard.press("o")
        expect(lamps.locator("[data-pane]")).to_contain_text(WAITS)
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 0")
    assert lamps.evaluate("location.pathname") == "/ui/all"


def test_a_refused_thumb_waits_and_is_stored(lamps: Page, ada: Reader):
    lamps.goto("/")
    lamps.keyboard.press("j")
    with occupied(ada, PAGE_LINE):
        lamps.keyboard.press("u")
        expect(lamps.locator("[data-failed]")).to_have_text(WAITS)
    until(lamps, lambda: Feedback.objects.filter(useful=True).count(), 1)
    expect(lamps.locator("[data-failed]")).to_have_count(0)


def test_a_refused_next_page_waits_and_is_appended(lamps: Page, ada: Reader):
    Reader.objects.update(list_size=25)
    for n in range(6, 40):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    lamps.goto("/ui/all")
    with occupied(ada, PAGE_LINE):
        lamps.mouse.wheel(0, 4000)
        expect(lamps.locator(".pager [data-note]")).to_have_text(WAITS)
    expect(lamps.locator("article.item")).to_have_count(40)
    expect(lamps.locator(".pager [data-note]")).to_have_count(0)


def test_every_key_of_a_burst_counts_though_what_came_meanwhile_fills_the_next_page(lamps: Page, ada: Reader):
    """Twenty newer hits push the rows that are there onto the second page: the third has those wanted."""
    for n in range(6, 45):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    item_read(reader=ada, item_id=Item.objects.get(title="Lamp 31").pk, now=timezone.now())
    lamps.set_viewport_size({"width": 1000, "height": 300})
    held: list[Route] = []
    lamps.route("**/ui/search?*page=*", lambda route: held.append(route))
    lamps.goto("/ui/search?q=lamp&order=newest")
    for n in range(20):
        fresh_item(ada, hours=n / 30, title=f"New lamp {n}")
    for key in "j" * 30 + "knnn":
        lamps.keyboard.press(key)
    for _ in range(2):
        until(lamps, lambda: len(held), 1)
        held.pop().continue_()
    expect(lamps.get_by_role("link", name="Lamp 32", exact=True)).to_be_focused()


def test_a_refused_page_asks_again_by_itself_and_a_refused_form_does_not(page: Page, ada: Reader):
    fresh_item(ada, title="A lamp")
    page.goto("/ui/mutes")
    with occupied(ada, PAGE_LINE):
        page.goto("/ui/all")
        expect(
            page.get_by_text("Too much was asked at once. This page asks again by itself.")
        ).to_be_visible()
    expect(page.get_by_role("link", name="A lamp", exact=True)).to_be_visible()
    page.goto("/ui/sources")
    with occupied(ada, PAGE_LINE):
        page.locator("#id_url").fill("example.org")
        page.locator("#id_url").press("Enter")
        expect(page.get_by_text("An earlier request is still being worked on.")).to_be_visible()
        expect(page.locator("[data-again]")).to_have_count(0)


def test_a_first_fetch_is_followed_on_after_a_refusal(page: Page, ada: Reader):
    feed = subscribe(ada).feed
    Feed.objects.filter(pk=feed.pk).update(state="active", last_fetched_at=None)
    ada.subscriptions.update(created_at=timezone.now())
    refused = {"status": 429, "headers": {"Retry-After": "3600"}, "body": "no"}
    page.route("**/filling?*", lambda route: route.fulfill(**refused), times=1)
    with page.expect_response(lambda answer: "/filling?" in answer.url and answer.ok):
        page.goto("/ui/sources")


def test_space_and_page_keys_scroll_the_open_article_and_space_goes_on_at_its_end(lamps: Page, ada: Reader):
    fresh_item(ada, hours=0.5, title="Long", text="A sentence about lamps and kettles. " * 300)
    lamps.goto("/ui/all")
    lamps.keyboard.press("j")
    lamps.keyboard.press("o")
    title, pane = lamps.locator("[data-pane] h2.title"), lamps.locator("[data-pane]")
    expect(title).to_have_text("Long")
    for further, back in (("Space", "Shift+Space"), ("PageDown", "PageUp")):
        lamps.keyboard.press(further)
        assert pane.evaluate("(pane) => pane.scrollTop") > 400
        lamps.keyboard.press(back)
        assert pane.evaluate("(pane) => pane.scrollTop") == 0
    pane.evaluate("(pane) => pane.scrollTo(0, pane.scrollHeight)")
    lamps.keyboard.press("PageDown")
    expect(title).to_have_text("Long")
    lamps.keyboard.press("Space")
    expect(title).to_have_text("Lamp 0")
    assert lamps.evaluate("scrollY") == 0
    lamps.keyboard.press("?")
    expect(lamps.get_by_role("dialog", name="Keys")).to_contain_text("a screen further in the open article")


def test_a_limit_that_lasts_is_said_in_the_pane_and_can_be_tried_again(lamps: Page):
    lamps.goto("/ui/all")
    limit = {"status": 429, "headers": {"Retry-After": "3600"}, "body": "no"}
    lamps.route("**/ui/item/*?pane=1", lambda route: route.fulfill(**limit), times=1)
    lamps.keyboard.press("j")
    lamps.keyboard.press("o")
    expect(lamps.locator("[data-pane]")).to_contain_text("This article did not come.")
    assert lamps.evaluate("location.pathname") == "/ui/all"
    lamps.get_by_role("button", name="Try again").click()
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 0")


def test_whoever_is_signed_out_meanwhile_is_told_so_in_the_pane(lamps: Page):
    lamps.goto("/ui/all")
    lamps.context.clear_cookies()
    lamps.get_by_role("link", name="Lamp 1", exact=True).click()
    expect(lamps.locator("[data-pane]")).to_contain_text("You are signed out.")
    assert lamps.evaluate("location.pathname") == "/ui/all"


def test_shift_j_and_k_go_to_the_next_feed_with_unread_items_and_a_marks_it(page: Page, ada: Reader):
    for n, key in enumerate(("axle.example", "bolt.example", "cog.example", "dial.example")):
        fresh_item(ada, hours=n + 1, key=key, title=f"From {key}")
    item_read(reader=ada, item_id=Item.objects.get(source="bolt.example").pk, now=timezone.now())
    page.set_viewport_size(WIDE)
    page.goto(f"/ui/all?feed={Feed.objects.get(source='axle.example').pk}")
    heading = page.get_by_role("heading", level=1)
    page.keyboard.press("A")
    expect(page.get_by_text("1 item marked as read")).to_be_visible()
    for key, name in (("J", "Cog"), ("J", "Dial"), ("K", "Cog")):
        page.keyboard.press(key)
        expect(heading).to_have_text(name)
        listening(page)
    page.keyboard.press("A")
    expect(page.get_by_text("1 item marked as read")).to_be_visible()
    expect(heading).to_have_text("Cog")


def test_shift_j_stays_in_the_folder_of_a_feed_and_in_the_list_of_a_folder(page: Page, ada: Reader):
    folders = {"axle.example": "Cars", "bolt.example": "Cars", "cog.example": "Clocks"}
    for n, (key, folder) in enumerate(folders.items()):
        fresh_item(ada, hours=n + 1, key=key, title=f"From {key}")
        ada.subscriptions.filter(feed__source_id=key).update(folder=folder)
    page.set_viewport_size(WIDE)
    page.goto(f"/ui/all?feed={Feed.objects.get(source='axle.example').pk}")
    heading = page.get_by_role("heading", level=1)
    page.keyboard.press("J")
    expect(heading).to_have_text("Bolt")
    listening(page)
    page.keyboard.press("J")
    expect(page.locator("[data-told]")).to_have_text("No further feed of this folder has unread items.")
    expect(heading).to_have_text("Bolt")
    page.goto("/ui/all?folder=Cars")
    page.keyboard.press("j")
    for _ in range(2):
        page.keyboard.press("J")
        expect(page.get_by_role("link", name="From bolt.example", exact=True)).to_be_focused()
    expect(heading).to_have_text("Cars")


@pytest.mark.parametrize("key", ["n", "J"])
def test_a_key_that_looks_for_an_item_ends_after_some_pages_and_holds_no_other_key_up(
    page: Page, ada: Reader, key: str
):
    """The oldest of a list may be thousands that nobody will read."""
    Reader.objects.update(list_size=20)
    for n in range(110):
        fresh_item(ada, hours=40 * 24 - n, title=f"Lamp {n}")
    fresh_item(ada, hours=1, key="kettles.example", title="A kettle")
    page.set_viewport_size({"width": 1280, "height": 300})
    held: list[Route] = []
    page.goto("/ui/all?order=oldest")
    page.route("**/ui/all?*before=*", lambda route: held.append(route))
    page.keyboard.press("j")
    page.keyboard.press(key)
    until(page, lambda: len(held), 1)
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Lamp 1", exact=True)).to_be_focused()
    page.keyboard.press(key)
    page.keyboard.press("Escape")
    held.pop().continue_()
    expect(page.locator("article.item")).to_have_count(40)
    page.wait_for_timeout(300)
    assert not held
    page.unroute("**/ui/all?*before=*")
    page.keyboard.press(key)
    told = page.locator("[data-told]")
    said = {"n": "None of the next 60 is unread.", "J": "The next 60 are of the same source."}[key]
    expect(told).to_have_text(f"{said} Press {key} to go on.")
    expect(page.locator("article.item")).to_have_count(100)
    expect(page.get_by_role("link", name="Lamp 1", exact=True)).to_be_focused()
    page.keyboard.press(key)
    expect(page.get_by_role("link", name="A kettle", exact=True)).to_be_focused()
    expect(told).to_have_count(0)


def test_scripts_ask_the_server_through_one_function():
    scripts = Path(settings.BASE_DIR, "static").glob("*.js")
    assert [one.name for one in scripts if " fetch(" in one.read_text()] == ["http.js"]
