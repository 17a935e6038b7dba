"""Rows of lists: marks and reasons are whole, buttons cover no word, focus rings are not cut."""

import re
from itertools import product

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.daily.services import digest_build
from digest.days import day_of
from digest.models import Digest, Impression, Item, Reader, Source
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item
from tests.support.chromium import listening
from tests.support.factories import FeedbackFactory
from tests.support.thinned import mostly_alternating
from tests.test_hands_browser import phone, swipe
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "phone", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
LIKED = "A moderately long headline about ferries and the harbour authority of the north"
OPENING = "Harbour lamps shine on everything that comes and goes at night. " * 9
LINES = "one => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)"
WORD_LINES = """one => {
  const words = document.createRange();
  words.selectNodeContents(one);
  return words.getClientRects().length;
}"""
NAME = "A Publisher With Quite A Long Name Of Its Own"
# The marks, or the reasons in sight, of which a part is beyond the box around them.
CUT = """selector => [...document.querySelectorAll(selector)].filter((one) => {
  const box = one.getBoundingClientRect(), line = one.parentElement.getBoundingClientRect();
  const shown = box.width > 0 && box.top < line.bottom - 1;
  const isBeyond = box.left < line.left - 1 || box.right > line.right + 1;
  return shown && (isBeyond || one.scrollWidth > one.clientWidth + 1);
}).map((one) => one.textContent)"""
# What the buttons of the row under the pointer cover.
COVERED = """row => {
  const buttons = row.querySelectorAll(".taps button, .taps a, .marks button");
  // What stands in a closed menu has a box, too.
  const taps = [...buttons].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
  const said = row.querySelectorAll(".chip, .why-short a, .why > summary, h2 a, .lede");
  const words = [...said].filter((one) => {
    const box = one.getBoundingClientRect(), line = one.parentElement.getBoundingClientRect();
    return box.width && box.top < line.bottom - 1;
  });
  return words.filter((one) => [...one.getClientRects()].some((box) => taps.some((tap) =>
    tap.width && tap.left < box.right && tap.right > box.left && tap.top < box.bottom && tap.bottom > box.top
  ))).map((one) => one.textContent);
}"""
# Whether the ring of the focused element is cut by a box around it.
RING = """() => {
  const one = document.activeElement, look = getComputedStyle(one), box = one.getBoundingClientRect();
  if (one === document.body || look.outlineStyle === "none") return null;
  const out = parseFloat(look.outlineOffset) + parseFloat(look.outlineWidth);
  for (let around = one.parentElement; around && around !== document.body; around = around.parentElement) {
    const how = getComputedStyle(around);
    if (![how.overflowX, how.overflowY].some((way) => way !== "visible")) continue;
    const edge = around.getBoundingClientRect();
    const isBeside = box.left - out < edge.left - 1 || box.right + out > edge.right + 1;
    const isAbove = box.top - out < edge.top - 1 || box.bottom + out > edge.bottom + 1;
    if (isBeside || (isAbove && how.overflowY === "hidden")) return one.outerHTML.slice(0, 120);
  }
  return null;
}"""


# Where the Undo of a row's rating and its thumbs end, as a share of the row's width.
THUMBS = """row => {
  const box = row.getBoundingClientRect();
  const of = (key) => row.querySelector(`.rate [data-key=${key}]`)?.getBoundingClientRect();
  const there = ["undo", "u", "d"].map(of).filter((one) => one?.width);
  return there.map((one) => (one.right - box.left) / box.width);
}"""


@pytest.fixture
def paper(ada: Reader) -> Digest:
    """Ada's digest of today: its items moved, came in, and are like what she rated."""
    for n in range(8):
        fresh_item(
            ada,
            hours=n + 1,
            title=f"Lamp {n}, and what it shines on",
            key=f"s{n}.example",
            text="Words. " * 60,
        )
    for item in Item.objects.select_related("source"):
        item.source.title = NAME
        item.source.save()
    now = timezone.now()
    digest = digest_build(reader=ada, date=day_of(now, ada.zone), now=now)
    rows = list(Impression.objects.filter(digest=digest).order_by("rank"))
    for n, row in enumerate(rows):
        row.parts |= {"taste": 1.6, "tastes": [["article", LIKED, n % 2, 1, 0.5]], "reported_by": 1 + n % 3}
        row.save()
    ids = [row.item_id for row in rows]
    digest.change = {"before": [*ids[4:7], *ids[:4]], "after": ids, "version": 0, "cycle": str(digest.date)}
    digest.save()
    return digest


@pytest.mark.parametrize(
    ("density", "language"), mostly_alternating(("compact", "comfortable"), ("en", "de"))
)
def test_marks_and_reasons_are_whole_and_no_button_covers_a_word(
    page: Page, ada: Reader, paper: Digest, density: str, language: str
):
    Reader.objects.update(list_density=density, language=language)
    for width in (360, 800, 1120, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/")
        assert page.locator(".moved").count() >= 5
        for selector in (".moved", "article .chip"):
            assert page.evaluate(CUT, selector) == [], (width, selector)
        if width > 360:
            row = page.locator("article.item").nth(2)
            row.hover()
            assert row.evaluate(COVERED) == [], width
    page.locator("a[data-open]").nth(1).click()
    page.get_by_role("region", name="Article" if language == "en" else "Artikel").wait_for()
    assert page.locator(".river .moved:visible").count() >= 5
    assert page.evaluate(CUT, ".river .moved") == []


@pytest.mark.parametrize(
    ("density", "language"), mostly_alternating(("compact", "comfortable"), ("en", "de"))
)
def test_no_button_stands_on_a_long_reason_whether_a_row_is_rated_or_not(
    page: Page, ada: Reader, paper: Digest, density: str, language: str
):
    rows = list(Impression.objects.filter(digest=paper).select_related("item").order_by("rank"))
    for n, row in enumerate(rows):
        row.parts |= {"tastes": [["article", "", 1, 1, 0.5]], "reported_by": 1}
        row.save()
        if n % 3:
            FeedbackFactory(reader=ada, item=row.item, useful=n % 3 == 1, at=timezone.now())
    Source.objects.update(title="Gazette")
    Reader.objects.update(list_density=density, language=language)
    for width, address in product((1120, 1280), ("/", "/ui/all")):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        shown = page.locator("article.item")
        assert shown.count() == len(rows)
        for row in shown.all():
            assert row.evaluate(COVERED) == [], (width, address)
        for edges in (row.evaluate(THUMBS) for row in shown.all()):
            assert edges == sorted(edges) and edges[-1] >= 0.97, "thumbs end the row, after Undo"
        shown.first.hover()
        assert shown.first.evaluate(COVERED) == [], (width, address)


@pytest.mark.parametrize("address", ["/", "/ui/all", "/ui/search?q=lamp"])
def test_a_title_alone_has_the_room_that_its_line_has(page: Page, ada: Reader, paper: Digest, address: str):
    """A reason has what a long title leaves, and beside an open article the source has a line of its own."""
    Item.objects.update(title="A lamp that shines on everything that comes and goes. " * 3)
    Item.objects.filter(pk=Item.objects.latest("pk").pk).update(title="A lamp")
    Source.objects.update(title="Gazette")
    Reader.objects.update(list_density="compact")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(address)
    page.mouse.move(0, 0)
    row = page.locator("article.item", has_text="everything").first
    widths = "row => [row.offsetWidth, ...['h2', '.meta'].map((one) => row.querySelector(one).offsetWidth)]"
    whole, title, source = row.evaluate(widths)
    assert title >= whole - source - 90, "a gap, and why"
    expect(row.locator(".why-short > a, .why > summary").first).to_be_in_viewport(ratio=1)
    assert page.evaluate(CUT, "article .chip") == []
    row.locator("a[data-open]").click()
    page.locator("[data-pane-item]").wait_for()
    whole, title, source = row.evaluate(widths)
    assert title == whole >= 480 and row.evaluate("one => one.offsetHeight") <= 48
    assert row.locator("h2").evaluate("one => one.scrollLeft") == 0
    assert page.evaluate(CUT, ".river .meta bdi") == []


@pytest.mark.parametrize("density", ["compact", "comfortable"])
def test_a_name_in_the_lists_beside_is_one_line_and_whole_in_its_title(
    page: Page, ada: Reader, paper: Digest, density: str
):
    ada.subscriptions.update(folder="Programming", own_name=NAME)
    Reader.objects.update(list_density=density)
    for width in (1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/ui/all")
        page.locator(".side summary").first.click()
        page.locator("a[data-open]").first.click()
        page.locator("[data-pane-item]").wait_for()
        folder, long = (page.locator(".side a", has_text=name).first for name in ("Programming", NAME))
        assert page.evaluate(CUT, ".side .folder > p bdi") == []
        # Several feeds have the name, so the end of its address stands behind it.
        expect(long).to_have_attribute("title", re.compile(f"^{NAME} · "))
        heights = [one.evaluate("one => one.offsetHeight") for one in (folder, long)]
        assert heights == ([24, 24] if density == "compact" else [30, 30])


def test_an_opening_is_two_lines_of_a_phone_and_one_of_a_wide_screen(page: Page, ada: Reader):
    fresh_item(ada, title="A lamp", text=OPENING)
    for address in ("/", "/ui/all"):
        for width, lines in ((360, 2), (1280, 1)):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(address)
            lede = page.locator(".lede")
            assert round(lede.evaluate(LINES)) == lines, (address, width)
            words = lede.inner_text()
            assert words.endswith("…") and not OPENING.removeprefix(words[:-1])[0].isalpha(), words


@pytest.mark.parametrize(
    ("density", "address"), mostly_alternating(("compact", "comfortable"), ("/", "/ui/all"))
)
def test_no_focus_ring_is_cut(page: Page, ada: Reader, paper: Digest, density: str, address: str):
    Reader.objects.update(list_density=density)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(address)
    page.locator(".side a").first.wait_for()
    for _ in range(70):
        page.keyboard.press("Tab")
        assert page.evaluate(RING) is None


def test_a_swipe_is_explained_once_and_by_touch_only(phone: Page, page: Page, ada: Reader):
    for n in range(12):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    page.goto("/ui/all")
    listening(page)
    assert page.locator(".swipe-hint").count() == 0
    hint = phone.get_by_text("Swipe a row to the right to mark it as read, to the left to save it.")
    for _ in range(2):  # whoever did not scroll to it has not seen it
        phone.goto("/ui/all")
        listening(phone)
        expect(hint).to_be_visible()
        expect(hint).not_to_be_in_viewport()
    phone.evaluate("scrollTo({ top: 400, behavior: 'instant' })")
    expect(hint).to_be_in_viewport()
    box = hint.bounding_box()
    for row in phone.locator("article.item").all():
        own = row.bounding_box()
        assert own["y"] + own["height"] <= box["y"] + 1 or own["y"] >= box["y"] + box["height"] - 1
    phone.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    swipe(phone, "Lamp 1", 120)
    expect(hint).to_have_count(0)
    phone.goto("/ui/all")
    listening(phone)
    expect(hint).to_have_count(0)


def test_a_button_at_the_end_of_a_row_is_one_line(page: Page, ada: Reader):
    for version, topic in enumerate(("tea", "lamps")):
        edit = ConfigEdit(topics=(topic,))
        config_edit(reader_id=ada.pk, edit=edit, expected_version=version, now=timezone.now())
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/ui/history/settings")
    buttons = page.locator(".rows form button")
    expect(buttons).to_have_text(["Undo", "Go back", "Go back"])
    assert [one.evaluate(WORD_LINES) for one in buttons.all()] == [1, 1, 1]
