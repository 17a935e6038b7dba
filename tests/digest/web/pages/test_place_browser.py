"""After rows are marked, and after that is undone, a reader is at their row, scrolled as before."""

import pytest
from playwright.sync_api import Page, expect

from digest.models import Item, Reader, Subscription
from tests.support.browser import fresh_item
from tests.support.chromium import listening
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDE = {"width": 1280, "height": 800}
TOP = "(row) => Math.round(row.getBoundingClientRect().top)"


@pytest.fixture
def lamps(page: Page, ada: Reader) -> Page:
    """A list of sixty rows, of which twenty-five are on a page."""
    Reader.objects.update(list_size=25)
    for n in range(60):
        fresh_item(ada, hours=n / 10 + 1, title=f"Lamp {n}", text=f"Words about lamp {n}. " * 20)
    Subscription.objects.update(folder="News")
    page.set_viewport_size(WIDE)
    return page


def walk(page: Page, to: int) -> None:
    for n in range(to + 1):
        page.keyboard.press("j")
        expect(page.get_by_role("link", name=f"Lamp {n}", exact=True)).to_be_focused()


def mark_and_undo(page: Page) -> None:
    """Press A and z."""
    page.keyboard.press("A")
    expect(page.get_by_text("items marked as read")).to_be_visible()
    listening(page)
    page.keyboard.press("z")
    expect(page.get_by_text("items unread again")).to_be_visible()
    listening(page)


@pytest.mark.parametrize(
    "address",
    ["/ui/all", "/ui/all?unread=1&folder=News", "/ui/all?order=oldest", "/ui/search?q=lamp&order=newest"],
)
def test_whoever_undoes_the_marks_is_at_their_row_as_before(lamps: Page, ada: Reader, address: str):
    if "oldest" in address:
        for n, item in enumerate(Item.objects.order_by("dated_at")):
            Item.objects.filter(pk=item.pk).update(title=f"Lamp {n}")
    lamps.goto(address)
    walk(lamps, 33)
    row = lamps.locator("article.item", has=lamps.get_by_role("link", name="Lamp 33", exact=True))
    before = row.evaluate(TOP)
    mark_and_undo(lamps)
    expect(row.get_by_role("link", name="Lamp 33", exact=True)).to_be_focused()
    lamps.wait_for_timeout(100)
    assert abs(row.evaluate(TOP) - before) <= 2
    lamps.keyboard.press("j")
    expect(lamps.get_by_role("link", name="Lamp 34", exact=True)).to_be_focused()


def test_a_list_that_was_only_scrolled_is_scrolled_as_before(lamps: Page):
    lamps.goto("/ui/all")
    lamps.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    lamps.wait_for_timeout(100)
    row = lamps.locator("article.item", has=lamps.get_by_role("link", name="Lamp 12", exact=True))
    before = row.evaluate(TOP)
    mark_and_undo(lamps)
    lamps.wait_for_timeout(100)
    assert abs(row.evaluate(TOP) - before) <= 2 and lamps.evaluate("scrollY") > 500


def test_of_a_list_of_unread_ones_the_next_row_takes_the_place_of_one_that_was_read(lamps: Page):
    lamps.goto("/ui/all?unread=1")
    lamps.keyboard.press("j")
    for key, title in (("o", "Lamp 0"), ("j", "Lamp 1"), ("j", "Lamp 2")):
        lamps.keyboard.press(key)
        expect(lamps.locator("[data-pane] h2.title")).to_have_text(title)
    mark_and_undo(lamps)
    expect(lamps.get_by_role("link", name="Lamp 3", exact=True)).to_be_focused()


def test_whoever_walks_on_after_the_marks_stays_where_they_are_as_these_are_undone(lamps: Page):
    lamps.goto("/ui/all")
    walk(lamps, 9)
    lamps.keyboard.press("A")
    expect(lamps.get_by_text("items marked as read")).to_be_visible()
    listening(lamps)
    for n in (8, 7, 6):
        lamps.keyboard.press("k")
        expect(lamps.get_by_role("link", name=f"Lamp {n}", exact=True)).to_be_focused()
    lamps.keyboard.press("z")
    expect(lamps.get_by_text("items unread again")).to_be_visible()
    expect(lamps.get_by_role("link", name="Lamp 6", exact=True)).to_be_focused()


@pytest.mark.parametrize(
    ("key", "address"),
    [("<", "/ui/all"), (">", "/ui/all?order=best"), ("A", "/ui/all"), ("<", "/ui/all?unread=1&folder=News")],
)
def test_no_key_that_marks_takes_one_from_their_row_or_the_undo_out_of_sight(
    lamps: Page, ada: Reader, key: str, address: str
):
    lamps.goto(address)
    for _ in range(31):
        lamps.keyboard.press("j")
    lamps.wait_for_timeout(500)
    title = lamps.evaluate("document.activeElement.textContent")
    row = lamps.locator("article.item", has=lamps.get_by_role("link", name=title, exact=True))
    before = row.evaluate(TOP)
    lamps.keyboard.press(key)
    undo = lamps.get_by_role("button", name="Undo marking as read")
    expect(undo).to_be_in_viewport()
    expect(row.get_by_role("link", name=title, exact=True)).to_be_focused()
    lamps.wait_for_timeout(100)
    # Above the first unread row there is nothing left to scroll to.
    assert "unread" in address or abs(row.evaluate(TOP) - before) <= 2
    listening(lamps)
    lamps.keyboard.press("j")
    expect(row.get_by_role("link", name=title, exact=True)).not_to_be_focused()
    expect(lamps.locator("article a:focus")).to_be_in_viewport()


def test_a_button_that_marks_what_is_above_a_row_keeps_its_reader_there(lamps: Page, ada: Reader):
    lamps.goto("/ui/all")
    row = lamps.locator("article.item", has=lamps.get_by_role("link", name="Lamp 20", exact=True))
    row.scroll_into_view_if_needed()
    row.hover()
    row.locator(".around > summary").click()
    before = row.evaluate(TOP)
    row.get_by_role("button", name="Mark everything above as read").click()
    expect(lamps.get_by_text("20 items marked as read")).to_be_in_viewport()
    lamps.wait_for_timeout(100)
    assert abs(row.evaluate(TOP) - before) <= 2


def test_today_keeps_the_place_too_and_no_other_list_is_moved(lamps: Page):
    lamps.goto("/")
    for _ in range(8):
        lamps.keyboard.press("j")
    title = lamps.evaluate("document.activeElement.textContent")
    mark_and_undo(lamps)
    expect(lamps.get_by_role("link", name=title, exact=True)).to_be_focused()
    lamps.goto("/ui/all")
    listening(lamps)
    assert lamps.evaluate("scrollY") == 0
    expect(lamps.locator("article a:focus")).to_have_count(0)
