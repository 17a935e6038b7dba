"""Muting something of an article in a dialog: one sees what it hides, and keeps one's place."""

from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from digest.models import Reader
from ranking.selectors import config_hiding
from tests.support.browser import fresh_item
from tests.support.chromium import until
from tests.test_axe_browser import RUN, VIOLATIONS, ready
from tests.test_pages_browser import browser, page, tab, until_ready

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def lamps(page: Page, ada: Reader) -> Page:
    for n, name in enumerate(("Kettle boils", "Lamp burns", "Sofa creaks")):
        fresh_item(ada, hours=n + 1, title=name, text=f"Words about {name}.")
    page.set_viewport_size(WIDE)
    page.goto("/ui/all")
    return page


def muted(reader: Reader) -> list[str]:
    return [mute.value for mute in config_hiding(reader_id=reader.pk).mutes]


def mute_lamp(page: Page) -> None:
    """Go to the second article, open the dialog by its key, and mute a word of its title."""
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Mute something of: Lamp burns")
    dialog.get_by_role("link", name="the word “lamp”", exact=True).click()
    expect(dialog.locator("[data-preview]")).to_contain_text("hides 1 of the last 7 days’ 3 items")
    dialog.get_by_role("button", name="Mute it").click()
    expect(dialog.get_by_role("status")).to_contain_text("Muted: the word “lamp”.")


def test_an_article_is_muted_where_one_stands_and_one_goes_on_at_the_next(lamps: Page, ada: Reader):
    mute_lamp(lamps)
    until(lamps, lambda: muted(ada), ["lamp"])
    lamps.get_by_role("dialog").get_by_role("button", name="Close").click()
    assert lamps.url.endswith("/ui/all")
    expect(lamps.get_by_role("link", name="Lamp burns", exact=True)).to_be_hidden()
    expect(lamps.get_by_role("link", name="Sofa creaks", exact=True)).to_be_focused()


def test_undo_in_the_dialog_brings_the_article_back(lamps: Page, ada: Reader):
    mute_lamp(lamps)
    lamps.get_by_role("dialog").get_by_role("button", name="Undo").click()
    until(lamps, lambda: muted(ada), [])
    expect(lamps.get_by_role("dialog")).to_contain_text("Undone. Shown again: the word “lamp”.")
    lamps.keyboard.press("Escape")
    expect(lamps.get_by_role("link", name="Lamp burns", exact=True)).to_be_focused()


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_all_rows_that_the_mute_hides_leave_the_page_and_return_on_undo(
    lamps: Page, ada: Reader, address: str
):
    for n in range(2):
        fresh_item(ada, hours=n + 4, title=f"A lamp of shelf {n}")
    lamps.goto(address)
    row = lamps.locator("article[data-item]").filter(has_text="Lamp burns")
    row.get_by_role("link", name="Lamp burns", exact=True).focus()
    lamps.keyboard.press("x")
    dialog = lamps.get_by_role("dialog")
    dialog.get_by_role("link", name="the word “lamp”", exact=True).click()
    dialog.get_by_role("button", name="Mute it").click()
    hidden = lamps.locator("article[data-item][hidden]")
    expect(hidden).to_have_count(3)
    expect(hidden.filter(has_text="lamp")).to_have_count(3)
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog).to_contain_text("Undone. Shown again: the word “lamp”.")
    expect(hidden).to_have_count(0)


def test_whoever_only_looks_changes_nothing_and_is_back_at_their_article(lamps: Page, ada: Reader):
    lamps.keyboard.press("j")
    lamps.keyboard.press("x")
    dialog = lamps.get_by_role("dialog")
    dialog.get_by_role("link", name="the word “kettle”", exact=True).click()
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog).to_be_hidden()
    expect(lamps.get_by_role("link", name="Kettle boils", exact=True)).to_be_focused()
    assert muted(ada) == []


def test_what_does_not_arrive_opens_as_the_page_itself(lamps: Page):
    tab = lamps.context.new_page()  # its console may report the lost request
    until_ready(tab)("/ui/all")
    tab.keyboard.press("j")
    tab.route(
        "**/ui/mutes?item=*",
        lambda route: route.abort() if route.request.resource_type == "fetch" else route.continue_(),
    )
    tab.keyboard.press("x")
    tab.wait_for_url("**/ui/mutes?item=*")
    expect(tab.get_by_role("heading", name="Mute something of: Kettle boils")).to_be_visible()


def test_on_a_phone_the_form_has_a_line_for_each_field(lamps: Page):
    lamps.set_viewport_size(PHONE)
    lamps.goto("/ui/mutes")
    boxes = [field.bounding_box() for field in lamps.locator(".pairs .field").all()]
    assert len(boxes) == 4 and {box["x"] for box in boxes} == {boxes[0]["x"]}
    assert all(one["y"] + one["height"] <= two["y"] for one, two in pairwise(boxes))


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_dialog_fits_and_has_no_fault(lamps: Page, size: dict[str, int]):
    lamps.set_viewport_size(size)
    ready(lamps).goto("/ui/all")
    lamps.keyboard.press("j")
    lamps.keyboard.press("x")
    dialog = lamps.get_by_role("dialog")
    for step in ("the word “kettle”", "Cancel"):
        link = dialog.get_by_role("link", name=step, exact=True)
        expect(link).to_be_visible()
        box = dialog.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= size["width"] and lamps.evaluate(WIDER) <= 0
        assert not lamps.evaluate(RUN, [[], VIOLATIONS])
        link.click()
