"""The reasons of a row in a real browser: they open below the row, and every row has a way to them."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from digest.models import FeedbackTag, Item, Reader
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item
from tests.support.chromium import until
from tests.support.factories import FeedbackFactory
from tests.support.thinned import mostly_alternating
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDTHS = (360, 1024, 1280, 1440)
# A compact row of the narrowest screen is unfolded first, so the two meet with every change.
DENSITIES = ("compact", "comfortable")
# What else is written in a row, and its buttons.
PARTS = "h2, .thumb, .meta, .lede, .also, .tags > summary, .taps button, .taps a, .marks button"
# The parts of a row that its open reasons stand on.
COVERED = """(row, parts) => {
  const why = row.querySelector(".why[open]").getBoundingClientRect();
  const onIt = (box) => Math.min(why.right, box.right) - Math.max(why.left, box.left) > 1
    && Math.min(why.bottom, box.bottom) - Math.max(why.top, box.top) > 1;
  const covered = [...row.querySelectorAll(parts)].filter((one) => onIt(one.getBoundingClientRect()));
  return covered.map((one) => one.outerHTML.slice(0, 80));
}"""


def three_rows(reader: Reader) -> None:
    """Give the digest a row with a chip, a long one without, and a short one."""
    edit = ConfigEdit(topics=["harbour"])
    config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=timezone.now())
    fresh_item(reader, title="A lamp of the harbour", text="It burns at night. " * 20)
    fresh_item(reader, hours=5, title="A plain title of many words " * 4, text="It says little. " * 20)
    fresh_item(reader, hours=6, title="A short one")


@pytest.mark.parametrize(("width", "density"), mostly_alternating(WIDTHS, DENSITIES))
def test_reasons_open_below_the_row_and_cover_nothing(page: Page, ada: Reader, width: int, density: str):
    three_rows(ada)
    Reader.objects.update(list_density=density)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    FeedbackFactory(reader=ada, item=Item.objects.get(title="A short one"), useful=True)
    page.goto("/")
    assert page.locator("article.item").count() == 3
    for row in page.locator("article.item").all():
        if width == 360 and density == "compact":
            row.locator(".unfold").click()
        why = row.locator(".why > summary")
        room = why.bounding_box() or {}
        assert room.get("width", 0) >= 20 <= room["height"], (
            "a row without a reason has the way to all of them"
        )
        why.click()
        title, said = row.locator("h2").bounding_box(), row.locator(".why-said").bounding_box()
        assert said["y"] >= title["y"] + title["height"] and not row.locator(".sum").first.is_visible()
        row.locator(".how > summary").click()
        assert row.evaluate(COVERED, PARTS) == []
        row.locator(".sum").first.hover()
        assert row.evaluate(COVERED, PARTS) == [], "under the pointer"
        why.click()
        assert not row.locator(".sum").first.is_visible()


@pytest.mark.parametrize("density", DENSITIES)
def test_reasons_beside_an_open_article_stand_in_the_article(page: Page, ada: Reader, density: str):
    three_rows(ada)
    Reader.objects.update(list_density=density)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/")
    page.locator("article.item .why > summary").first.click()
    page.locator("article.item h2 a").first.click()
    page.locator(".pane .why-said").wait_for()
    assert not page.locator("article.item .why-said").first.is_visible()
    title, said = (page.locator(f".pane {one}").bounding_box() for one in ("h2.title", ".why-said"))
    assert said["y"] >= title["y"] + title["height"]


@pytest.mark.parametrize(
    ("width", "density", "useful"), mostly_alternating(WIDTHS[:3], DENSITIES, (True, False))
)
def test_reasons_of_a_rating_are_given_after_a_reload_too(
    page: Page, ada: Reader, width: int, useful: bool, density: str
):
    three_rows(ada)
    Reader.objects.update(list_density=density)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    item = Item.objects.get(title="A lamp of the harbour")
    FeedbackFactory(reader=ada, item=item, useful=useful, at=timezone.now())
    page.goto("/")
    if not useful:
        page.get_by_text("What you called not useful today").click()
    row, question = page.locator(f"#item-{item.pk}"), page.locator(".tags > summary")
    assert not question.is_visible()
    height = row.bounding_box()["height"]
    if width == 360:
        row.locator(".unfold").click()
    else:
        row.hover()
        assert abs(row.bounding_box()["height"] - height) <= 1, "no row moves under the pointer"
        assert not useful or row.locator(".why > summary").bounding_box()["width"] >= 20, "why stays"
    question.click()
    row.locator(".tags button").first.click()
    until(page, FeedbackTag.objects.count, 1)
    assert row.locator(".tags button").first.is_visible()


def test_buttons_stand_in_one_column_beside_pictures_and_without(page: Page, ada: Reader):
    three_rows(ada)
    Item.objects.filter(title="A short one").update(image="https://gazette.example/a.png")
    Reader.objects.update(pictures="tap")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/")
    assert page.locator(".thumb").count() == 1
    columns = {round(one.bounding_box()["x"]) for one in page.locator(".item [data-key=u]").all()}
    assert len(columns) == 1
