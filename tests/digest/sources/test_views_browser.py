"""Three hundred sources in a real browser: found by keys, chosen by the dozen, moved, weighed, had back."""

import os
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.models import Feed, Reader, Source, Subscription
from ranking.selectors import config_effective
from tests.support.browser import fresh_item
from tests.test_axe_browser import complaints, looked
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "looked", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def many(ada: Reader) -> list[int]:
    """Three hundred feeds that Ada reads, in three folders and none; each tenth is failing."""
    now = timezone.now()
    sources = [Source(key=f"s{n:03}.example", title=f"Paper {n:03}") for n in range(300)]
    Source.objects.bulk_create(sources)
    feeds = [
        Feed(
            url=f"https://s{n:03}.example/feed",
            source=source,
            title=f"Paper {n:03}",
            last_fetched_at=now,
            last_new_at=now,
            failures=n % 10 == 0,
        )
        for n, source in enumerate(sources)
    ]
    Feed.objects.bulk_create(feeds)
    Subscription.objects.bulk_create(
        Subscription(reader=ada, feed=feed, created_at=now, folder=("", "News", "Arts")[n % 3])
        for n, feed in enumerate(feeds)
    )
    return [feed.pk for feed in feeds]


def test_three_hundred_sources_are_found_chosen_moved_and_had_back(page: Page, ada: Reader, many: list[int]):
    page.goto("/ui/sources")
    rows = page.locator("[data-source]")
    expect(rows).to_have_count(300)
    assert "Failing" in rows.first.inner_text()
    page.locator("[data-find]").focus()
    page.keyboard.type("paper s12")
    expect(page.locator("[data-source]:visible")).to_have_count(10)
    expect(page.locator("[data-found]")).to_contain_text("10 of 300")
    page.keyboard.press("Control+A")
    page.keyboard.type("s0")
    expect(page.locator("[data-source]:visible")).to_have_count(100)
    boxes = page.locator("[data-source]:visible input[type=checkbox]")
    boxes.nth(0).click()
    boxes.nth(19).click(modifiers=["Shift"])
    expect(page.locator("[data-chosen]")).to_have_text("20 chosen")
    page.get_by_label("Folder to move to").fill("Shelf")
    page.keyboard.press("Enter")
    page.get_by_text("20 feeds moved to Shelf.").wait_for()
    assert Subscription.objects.filter(reader=ada, folder="Shelf").count() == 20
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("20 feeds moved back.").wait_for()
    assert not Subscription.objects.filter(folder="Shelf").exists()
    page.locator("[data-find]").fill("arts")
    expect(page.locator("[data-source]:visible")).to_have_count(0)
    page.locator("[data-find]").fill("paper s12")
    page.get_by_label("All shown").check()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("You read 10 feeds again.").wait_for()
    assert Subscription.objects.filter(reader=ada, folder="Arts").count() == 100


def test_a_source_is_weighed_in_its_row_without_a_reload(page: Page, ada: Reader, many: list[int]):
    page.goto("/ui/sources?find=paper+007")
    less = page.locator("[data-source]").get_by_role("button", name="less")
    less.click()
    expect(less).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-source]:visible")).to_have_attribute("data-level", "less")
    assert config_effective(reader_id=ada.pk).weights() == {"s007.example": 0.5}
    assert page.url.endswith("find=paper+007")


def test_settings_are_previewed_changed_again_and_saved(page: Page, ada: Reader, many: list[int]):
    fresh_item(ada, hours=1, title="Harbour news")
    fresh_item(ada, hours=9, key="herald.example", title="Ferries of the north")
    page.goto("/ui/config")
    page.get_by_label("Add a topic").fill("ferries")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Nothing is saved yet.").wait_for()
    assert "Ferries of the north" in page.locator(".before-after").inner_text()
    page.get_by_role("button", name="Back to change it").click()
    expect(page.get_by_label("ferries")).to_have_value("more")
    save = page.get_by_role("button", name="Save settings")
    expect(save).to_be_in_viewport()  # it stays in sight
    save.click()
    page.get_by_text("Your digest follows these settings").wait_for()
    assert config_effective(reader_id=ada.pk).config.topics == ("ferries",)


def test_three_hundred_sources_take_seven_screens_at_most(page: Page, ada: Reader, many: list[int]):
    page.set_viewport_size({"width": 1280, "height": 900})
    height = "document.documentElement.scrollHeight"
    page.goto("/ui/sources")
    assert page.evaluate(height) <= 6000, "folders begin closed"
    assert max(row.bounding_box()["height"] for row in page.locator("#troubled + ul > li").all()) <= 56
    Subscription.objects.update(folder="")
    page.goto("/ui/sources")
    left, right = (page.locator("[data-well]").nth(n).bounding_box() for n in (0, 1))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"], (
        "two sources stand side by side"
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_figures_of_a_source_do_not_run_into_each_other(page: Page, ada: Reader, language: str):
    Reader.objects.update(language=language)
    for n in range(110):
        fresh_item(ada, hours=1 + n / 10, title=f"Harbour news {n}")
    Feed.objects.update(last_new_at=timezone.now() - timedelta(minutes=59))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/sources?find=gazette")
    figures = page.locator(".sources .figures > span:not(:empty)")
    # Widths of what a busy source has: each figure keeps away from the one before it, and from the name.
    for text, at in (("12,345 unread", 0), ("1,234 a day", 1)):
        figures.nth(at).evaluate("(span, text) => (span.textContent = text)", text)
    expect(figures).to_have_count(3)
    name = page.locator(".sources .who > p:first-child")
    boxes = [name.bounding_box(), *(one.bounding_box() for one in figures.all())]
    for one, after in pairwise(boxes):
        assert one["x"] + one["width"] + 4 <= after["x"]


def test_on_a_phone_the_bar_for_chosen_sources_stays_in_sight_once_one_is_chosen(page: Page, many: list[int]):
    """It took a third of the screen before anything was chosen."""
    Subscription.objects.update(folder="")
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto("/ui/sources")
    box = page.locator("[data-source] input[type=checkbox]").nth(60)
    box.scroll_into_view_if_needed()
    expect(page.locator("#many")).not_to_be_in_viewport()
    box.check()
    expect(page.locator("#many")).to_be_in_viewport()


def test_lists_and_settings_fit(page: Page, many: list[int]):
    for address in ("/ui/sources", "/ui/config", f"/ui/sources/{many[0]}"):
        page.goto(address)
        if address == "/ui/sources":
            page.locator("[data-source] input[type=checkbox]").first.check()
        for width, scheme in product((360, 800, 1280), ("light", "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (address, width)
            if shots := os.environ.get("SHOTS"):
                name = f"{address.strip('/').replace('/', '-')}-{width}-{scheme}.png"
                page.screenshot(path=str(Path(shots) / name))


def test_long_lists_and_settings_have_no_violation(looked: Page, many: list[int]):
    for address in ("/ui/sources?find=paper+01", "/ui/config", f"/ui/sources/{many[0]}"):
        assert complaints(looked, address) == [], address
