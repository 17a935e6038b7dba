"""All items in a real browser: keys, marking without a reload, scrolling, and three widths."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.models import Item, Reader, Reading, Subscription
from tests.support.browser import fresh_item
from tests.support.chromium import listening, until
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
TEXT = "A sentence about lamps and kettles. " * 12


def shelf(ada: Reader, count: int = 4) -> list[Item]:
    rows = [fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=TEXT) for n in range(count)]
    Subscription.objects.update(folder="News")
    return rows


def read(reader: Reader) -> set[str]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    return {*rows.values_list("item__title", flat=True)}


def until_read(page: Page, reader: Reader, titles: set[str]) -> None:
    until(page, lambda: read(reader), titles)


def test_reading_by_keys_alone(page: Page, ada: Reader):
    rows = shelf(ada)
    page.goto("/ui/all")
    page.set_viewport_size({"width": 1000, "height": 720})
    keys, items = page.keyboard, page.locator("article.item")
    for key in "jj":
        keys.press(key)
    expect(items.nth(1).get_by_role("link", name="Lamp 1", exact=True)).to_be_focused()
    keys.press("m")
    expect(items.nth(1)).to_have_class("item listed read")
    until_read(page, ada, {"Lamp 1"})
    keys.press("m")
    until_read(page, ada, set())
    keys.press("s")
    expect(items.nth(1).locator("[data-key=s]")).to_have_attribute("aria-pressed", "true")
    keys.press("k")
    expect(items.nth(0).get_by_role("link", name="Lamp 0", exact=True)).to_be_focused()
    keys.press("Enter")
    page.wait_for_url(f"**/ui/item/{rows[0].pk}")
    page.go_back()
    listening(page)
    for key in "jjo":
        keys.press(key)
    page.wait_for_url(f"**/ui/item/{rows[1].pk}")
    until_read(page, ada, {"Lamp 0", "Lamp 1"})

    page.goto("/ui/all")
    keys.press("A")
    expect(page.get_by_text("2 items marked as read")).to_be_visible()
    until_read(page, ada, {"Lamp 0", "Lamp 1", "Lamp 2", "Lamp 3"})
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(".messages")).to_contain_text("2 items unread again")
    until_read(page, ada, {"Lamp 0", "Lamp 1"})
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("mark all as read")
    keys.press("Escape")
    keys.press("/")
    page.wait_for_url("**/ui/search")


def test_v_opens_the_original_in_a_new_tab_and_marks_it_as_read(page: Page, ada: Reader):
    item = shelf(ada, 1)[0]
    page.context.route("https://gazette.example/**", lambda route: route.fulfill(body="There"))
    for address in ("/ui/all", "/"):
        Reading.objects.all().delete()
        page.goto(address)
        page.keyboard.press("j")
        with page.context.expect_page() as opened:
            page.keyboard.press("v")
        opened.value.get_by_text("There").wait_for()
        assert opened.value.url == item.url
        opened.value.close()
        until_read(page, ada, {"Lamp 0"})


def test_m_marks_on_today_too(page: Page, ada: Reader):
    shelf(ada, 2)
    page.goto("/")
    for key in "jm":
        page.keyboard.press(key)
    until_read(page, ada, {"Lamp 0"})
    expect(page.locator("article.item").first).to_have_class("item read")


def test_a_row_is_marked_by_its_button_without_a_reload(page: Page, ada: Reader):
    shelf(ada)
    page.goto("/ui/all")
    page.evaluate("window.here = true")
    button = page.get_by_role("button", name="Read: Lamp 2", exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    until_read(page, ada, {"Lamp 2"})
    button.click()
    until_read(page, ada, set())
    assert page.evaluate("window.here")
    page.locator("article.item", has_text="Lamp 2").hover()
    page.get_by_label("Above or below: Lamp 2").click()
    page.get_by_role("button", name="Mark everything above as read").click()
    expect(page.get_by_text("2 items marked as read")).to_be_visible()
    assert read(ada) == {"Lamp 0", "Lamp 1"}


def test_marking_that_did_not_arrive_is_taken_back_and_said(page: Page, ada: Reader):
    shelf(ada, 1)
    page.goto("/ui/all")
    page.evaluate("void (window.fetch = () => Promise.reject(new Error('The line is dead.')))")
    page.get_by_role("button", name="Read: Lamp 0", exact=True).click()
    expect(page.locator("#status")).to_have_text("That was not stored. Try again.")
    expect(page.locator("article.item")).to_have_class("item listed")
    assert read(ada) == set()


@pytest.mark.parametrize("on", [True, False])
def test_scrolling_marks_only_where_the_reader_wants_it(page: Page, ada: Reader, on: bool):
    shelf(ada, 30)
    Reader.objects.update(read_on_scroll=on)
    page.goto("/ui/all")
    page.locator("article.item").nth(5).evaluate("row => scrollTo(0, row.getBoundingClientRect().top + 1)")
    if on:
        until_read(page, ada, {f"Lamp {n}" for n in range(5)})
    else:
        page.wait_for_timeout(1500)
        assert read(ada) == set()


@pytest.mark.parametrize("density", ["comfortable", "compact"])
def test_no_width_scrolls_sideways_and_every_target_can_be_hit(page: Page, ada: Reader, density: str):
    shelf(ada, 3)
    fresh_item(ada, hours=9, key=f"{'long' * 20}.example", title="W" * 300, text=TEXT)
    Reader.objects.update(list_density=density)
    page.goto("/ui/all")
    for width in (360, 800, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.locator("main button:visible").evaluate_all(
            "all => all.filter(one => { const box = one.getBoundingClientRect();"
            " return box.height < 24 || box.width < 24; }).map(one => one.outerHTML)"
        )
        assert small == [], width


def test_the_list_of_sources_leads_to_one_and_back(page: Page, ada: Reader):
    shelf(ada, 2)
    fresh_item(ada, key="kettles.example", title="A kettle")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/all")
    side = page.get_by_role("navigation", name="Sources and folders")
    side.locator("summary", has_text="News").click()
    side.get_by_role("link", name="Gazette").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gazette")
    assert page.locator("article.item h2").all_inner_texts() == ["Lamp 0", "Lamp 1"]
    page.get_by_role("link", name="All items").first.click()
    expect(page.locator("article.item")).to_have_count(3)
    Item.objects.update(dated_at=timezone.now() - timedelta(days=40))
    page.goto("/ui/all?unread=1")
    expect(page.get_by_role("heading", name="All read")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 360])
def test_a_folders_name_opens_its_list_and_only_its_triangle_unfolds_it(page: Page, ada: Reader, width: int):
    shelf(ada, 2)
    fresh_item(ada, key="kettles.example", title="A kettle")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/ui/all")
    side = page.get_by_role("navigation", name="Sources and folders")
    name, feed = (side.get_by_role("link", name=words, exact=True) for words in ("News", "Gazette"))
    triangle = side.locator("summary", has_text="Sources of News")
    heading = page.get_by_role("heading", level=1)
    for unfolded in (False, True):
        name.click()
        expect(heading).to_have_text("News")
        expect(feed).to_be_visible(visible=unfolded)
        triangle.focus()
        page.keyboard.press("Enter")
        expect(feed).to_be_visible(visible=not unfolded)
    name.focus()
    page.keyboard.press("Enter")
    expect(page.locator("article.item")).to_have_count(2)
    expect(feed).to_be_hidden()
    box = triangle.bounding_box()
    assert box["x"] + box["width"] <= name.bounding_box()["x"] and box["width"] >= (
        20 if width > 1000 else 30
    )


@pytest.mark.parametrize("path", ["/", "/ui/all"])
def test_a_thumb_down_marks_an_item_read_until_its_undo_and_folds_it_on_the_next_page(
    page: Page, ada: Reader, path: str
):
    shelf(ada, 2)
    page.goto(path)
    item = page.locator("article.item", has=page.get_by_role("link", name="Lamp 0"))
    item.get_by_role("button", name="Not useful").click()
    expect(item).to_have_class(re.compile(r"\bread\b"))
    expect(item.locator(".meta")).to_be_visible()
    assert read(ada) == {"Lamp 0"}
    page.goto(path)
    if path == "/":
        page.get_by_text("What you called not useful today").click()
    expect(item.locator(".why-short, .why").first).to_be_hidden()
    expect(item.locator(".meta")).to_be_visible()
    item.get_by_role("button", name="Undo").click()
    expect(item.locator(".meta").first).to_be_visible()
    expect(item).not_to_have_class(re.compile(r"\bread\b"))
    assert read(ada) == set()


def test_the_count_of_today_moves_with_what_is_read(page: Page, ada: Reader):
    shelf(ada, 2)
    page.goto("/")
    first, second = page.locator("article.item").all()
    first.get_by_role("button", name="Not useful").click()
    expect(page.get_by_text("1 of 2 unread")).to_be_visible()
    second.get_by_role("link").first.focus()
    page.keyboard.press("m")
    expect(page.get_by_text("All 2 read")).to_be_visible()
    first.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 of 2 unread")).to_be_visible()


def test_the_counts_of_a_list_and_of_those_beside_it_move_with_what_is_read(page: Page, ada: Reader):
    first, *_ = shelf(ada, 3)
    older = {field.attname: getattr(first, field.attname) for field in Item._meta.concrete_fields}
    older |= {"id": None, "dated_at": timezone.now() - timedelta(days=20)}
    Item.objects.bulk_create(Item(**older | {"guid": f"older {n}", "article": n}) for n in range(998))
    fresh_item(ada, key="kettles.example", title="A kettle")
    old = fresh_item(ada, key="kettles.example", title="An old kettle", hours=40 * 24)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/all?order=newest")
    lists = page.get_by_role("navigation", name="Sources and folders")
    counts = lists.locator("[data-count]:visible")
    expect(page.locator(".progress-of-day")).to_contain_text("1,002 unread")
    expect(counts).to_have_text(["1,002 unread", "1,001 unread", "1 unread"])
    page.get_by_role("button", name="Read: Lamp 2", exact=True).click()
    expect(counts).to_have_text(["1,001 unread", "1,000 unread", "1 unread"])
    page.get_by_role("button", name="Read: A kettle", exact=True).click()
    # A count of 0 shows no figure, as on a new page.
    expect(counts).to_have_text(["1,000 unread", "1,000 unread"])
    expect(page.locator(".progress-of-day")).to_contain_text("1,000 unread")
    page.get_by_role("button", name="Read: Lamp 2", exact=True).click()
    expect(page.locator(".progress-of-day")).to_contain_text("1,001 unread")
    page.goto("/ui/all?source=kettles.example")
    rows = page.locator("article.item")
    page.get_by_role("button", name="Read: A kettle", exact=True).click()
    expect(page.locator(".progress-of-day")).to_contain_text("1 unread")
    dotted = "row => getComputedStyle(row.querySelector('h2'), '::before').content !== 'none'"
    assert [row.evaluate(dotted) for row in rows.all()] == [True, False]
    page.keyboard.press("n")
    assert not rows.nth(1).evaluate("row => row.contains(document.activeElement)")
    page.keyboard.press("j")
    assert rows.nth(1).evaluate("row => row.contains(document.activeElement)")
    page.get_by_role("button", name="Read: A kettle", exact=True).click()
    page.get_by_role("button", name=f"Read: {old.title}", exact=True).click()
    until_read(page, ada, {"A kettle", old.title})
    expect(page.locator(".progress-of-day")).to_contain_text("0 unread")
