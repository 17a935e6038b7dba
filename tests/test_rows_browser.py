"""Rows of lists in a real browser: thumbs that the new find, straight lines, room for what is read."""

from itertools import product

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from digest.feedback.naming import article_name
from digest.items.reading import item_save
from digest.models import Feedback, FeedbackTag, Item, Reader, Reading, Source
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import ago, fresh_item
from tests.support.chromium import listening, until
from tests.support.factories import FeedbackFactory
from tests.support.thinned import mostly_alternating, mostly_nightly
from tests.test_looks_browser import box
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
SIZES = {"phone": PHONE, "wide": WIDE}
DENSITIES = ("comfortable", "compact")
# German words are longer.
LANGUAGES = mostly_nightly({"en": "en", "de": "de"}, always=["de"])
RATED_ON = {
    f"{address} {language} {size}": (address, language, SIZES[size])
    for address, language, size in product(("/", "/ui/all", "/ui/saved"), ("en", "de"), SIZES)
}
# Each list, and each language at each size.
RATED_ALWAYS = ("/ de phone", "/ en wide", "/ui/all en phone", "/ui/saved de wide")
# A row may move by so much without a finger missing it.
STEADY_PX = 3
# For each row, whether its two thumbs are seen: nothing around them is transparent.
SEEN = """() => [...document.querySelectorAll("article[data-item]")].map((row) => {
  for (let one = row.querySelector("[data-key=u]"); one !== row; one = one.parentElement)
    if (getComputedStyle(one).opacity !== "1") return false;
  return true;
})"""
# Whether nothing of an element is cut off, by itself or by what is around it.
WHOLE = """(one) => {
  if (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight) return false;
  const own = one.getBoundingClientRect();
  for (let around = one.parentElement; around; around = around.parentElement) {
    const edge = around.getBoundingClientRect();
    const cuts = getComputedStyle(around).overflow !== "visible";
    if (cuts && (own.right > edge.right + 1 || own.bottom > edge.bottom + 1)) return false;
  }
  return true;
}"""
# The width and the height of what a pressed button fills: a disc clipped to its content, or all of it.
DISC = """(one) => {
  const { width, height } = one.getBoundingClientRect();
  const { backgroundClip, paddingInline: x, paddingBlock: y } = getComputedStyle(one);
  const [across, down] = backgroundClip === "content-box" ? [parseFloat(x), parseFloat(y)] : [0, 0];
  return [width - 2 * across, height - 2 * down];
}"""
LINE_OF_FIRST_LETTER = """(link) => {
  const range = document.createRange();
  range.setStart(link.firstChild, 0);
  range.setEnd(link.firstChild, 1);
  return range.getBoundingClientRect().y - link.closest("h2").getBoundingClientRect().y;
}"""


def test_a_reader_sees_the_thumbs_without_a_pointer_and_nothing_moves_below_it(page: Page, ada: Reader):
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    page.set_viewport_size(WIDE)
    page.goto("/")
    page.mouse.move(1, 1)
    assert page.evaluate(SEEN) == [True] * 3
    rows = page.locator("article[data-item]")
    before = [box(row) for row in rows.all()]
    rows.nth(1).hover()
    assert [box(row) for row in rows.all()] == before
    FeedbackFactory(reader=ada, item=Item.objects.get(title="Lamp 1"), useful=True)
    for address in ("/", "/ui/all"):
        page.goto(address)
        page.mouse.move(1, 1)
        assert page.evaluate(SEEN) == [True] * 3, "after a rating, too"


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_why_stands_in_line_with_the_way_to_the_original(page: Page, ada: Reader, address: str):
    fresh_item(ada, title="A lamp")
    page.set_viewport_size(WIDE)
    page.goto(address)
    original = page.locator(".item .to-original a")
    why = page.locator(".item .why-short a, .item .why > summary").first
    middles = [box(one)["y"] + box(one)["height"] / 2 for one in (original, why)]
    assert abs(middles[0] - middles[1]) <= 1


@pytest.mark.parametrize(("address", "language", "size"), mostly_nightly(RATED_ON, always=RATED_ALWAYS))
def test_a_rating_moves_no_row_and_its_reasons_come_when_asked_for(
    page: Page, ada: Reader, address: str, language: str, size: dict[str, int]
):
    for n in range(3):
        item = fresh_item(ada, hours=n + 1, title=f"A lamp {n}", text="Words about lamps and kettles. " * 12)
        item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    # Below the first rating of all stands what ratings do.
    FeedbackFactory(reader=ada, item=fresh_item(ada, hours=24 * 40, title="An old lamp"), useful=True)
    Reader.objects.update(language=language)
    page.set_viewport_size(size)
    page.goto(address)
    row, below = page.locator("article[data-item]").nth(1), page.locator("article[data-item]").nth(2)
    before, reasons = box(below), row.locator(".tags button")
    row.locator("h2 a").focus()
    for key in ("u", "d"):
        page.keyboard.press(key)
        expect(row.locator(f"[data-key={key}]")).to_have_attribute("aria-pressed", "true")
        assert abs(box(below)["y"] - before["y"]) <= STEADY_PX, key
        assert not reasons.first.is_visible()
        asked, thumb = box(row.locator(".tags > summary")), box(row.locator("[data-key=u]"))
        apart = asked["x"] + asked["width"] <= thumb["x"] or asked["y"] + asked["height"] <= thumb["y"]
        assert apart, "beside the thumbs, or above them"
    row.locator(".tags > summary").click()
    reasons.first.click()
    until(page, FeedbackTag.objects.count, 1)
    expect(reasons.first).to_be_visible()
    page.goto(address)
    expect(row.locator(".tags")).to_be_hidden()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_list_begins_in_the_upper_third_of_a_phone(page: Page, ada: Reader, language: str):
    fresh_item(ada, title="A lamp")
    Reader.objects.update(language=language)
    page.set_viewport_size(PHONE)
    page.goto("/ui/all")
    assert box(page.locator("article[data-item]"))["y"] < 740 / 3 + 10
    heading, side = box(page.locator("h1")), box(page.locator(".to-side"))
    assert abs(heading["y"] - side["y"]) < 20, "beside the heading"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_head_of_a_list_takes_one_line_of_a_screen_and_hides_nothing(
    page: Page, ada: Reader, language: str
):
    item = fresh_item(ada, title="A lamp", key="a-publisher-with-quite-a-long-name.example")
    Reader.objects.update(language=language)
    page.set_viewport_size(WIDE)
    for address in ("/ui/all?unread=1", f"/ui/all?feed={item.feed_id}&order=oldest"):
        page.goto(address)
        assert box(page.locator("article[data-item]"))["y"] <= 120
        parts = page.locator(".list-head :is(h1, [data-unread], button[data-key=A], .older, .switch a)").all()
        assert len(parts) == 10 and all(one.is_visible() for one in parts)
        edges = [box(one)["x"] + box(one)["width"] for one in parts]
        assert max(edges) <= WIDE["width"]


def test_a_title_without_a_space_begins_beside_its_dot(page: Page, ada: Reader):
    fresh_item(ada, title="W" * 240)
    page.set_viewport_size(PHONE)
    page.goto("/ui/all")
    assert page.locator(".item h2 a").evaluate(LINE_OF_FIRST_LETTER) < 12


def test_a_source_keeps_its_name_where_the_row_has_room(page: Page, ada: Reader):
    """An old post that came late has two dates, and a name of three words."""
    fresh_item(ada, hours=24 * 40, title="A lamp", key="world.example", dated_at=ago(3), first_seen_at=ago(3))
    Source.objects.update(title="World News of Tomorrow and Today")
    for width in (1100, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/ui/all")
        name = page.locator(".item > .meta > a > bdi")
        assert name.evaluate("one => one.scrollWidth <= one.clientWidth + 1 || one.clientWidth === 0"), width


def test_bars_of_taste_begin_at_the_same_edge_on_a_phone(page: Page, ada: Reader):
    for n, key in enumerate(("a-long-name-of-a-source.example", "b.example")):
        for hours in range(4):
            item = fresh_item(ada, hours=1 + hours + n, key=key)
            FeedbackFactory(reader=ada, item=item, useful=bool(n), at=timezone.now())
    page.set_viewport_size(PHONE)
    page.goto("/ui/taste")
    edges = {round(box(bar)["x"]) for bar in page.locator(".bars svg.bar").all()}
    assert len(edges) == 1, edges


def test_the_operators_list_of_feeds_fits_a_phone(page: Page, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    for n in range(3):
        fresh_item(ada, key=f"a-publisher-with-quite-a-long-name-{n}.example")
    phone = page.context.new_page()
    phone.set_viewport_size(PHONE)
    phone.goto(reverse("admin:digest_feed_changelist"))
    assert phone.locator("#result_list tbody tr").count() == 3
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    cells = phone.locator("#result_list tbody :is(td, th)").all()
    edges = [box(cell)["x"] + box(cell)["width"] for cell in cells if cell.is_visible()]
    assert edges and max(edges) <= 361
    phone.close()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("address", ["/", "/ui/all", "/ui/search?q=lamp"])
def test_a_long_reason_is_whole_on_a_phone(page: Page, ada: Reader, address: str, language: str):
    fresh_item(ada, title="A lamp of tomorrow and of today, in full and in depth")
    topic = ConfigEdit(topics=["lamp of tomorrow and of today, in full and in depth"])
    config_edit(reader_id=ada.pk, edit=topic, expected_version=0, now=timezone.now())
    Reader.objects.update(language=language)
    page.set_viewport_size(PHONE)
    page.goto(address)
    chips = [chip for chip in page.locator("article .chip").all() if chip.is_visible()]
    assert any("of tomorrow" in chip.inner_text() for chip in chips)
    for chip in chips:
        assert chip.evaluate(WHOLE), chip.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_orders_stand_on_a_phone_and_the_chosen_one_is_marked(page: Page, ada: Reader, language: str):
    fresh_item(ada, title="A lamp")
    Reader.objects.update(language=language)
    page.set_viewport_size(PHONE)
    page.goto("/ui/all")
    orders = page.locator(".order a")
    chosen = page.locator(".order a[aria-current=true]")
    for n in range(3):
        assert all(order.is_visible() for order in orders.all())
        assert chosen.inner_text() == orders.nth(n).inner_text()
        other = orders.nth((n + 1) % 3)
        looks = "one => getComputedStyle(one).backgroundColor"
        assert chosen.evaluate(looks) != other.evaluate(looks)
        edge = box(orders.nth(2))
        assert edge["x"] + edge["width"] <= 344
        other.click()
        page.wait_for_function(
            "n => document.querySelectorAll('.order a')[n]?.ariaCurrent === 'true'", arg=(n + 1) % 3
        )


def test_a_thumb_down_that_ends_more_like_this_says_so_in_its_folded_row(page: Page, ada: Reader):
    item = fresh_item(ada, title="A lamp")
    article_name(reader=ada, item_id=item.pk, now=timezone.now())
    page.set_viewport_size(PHONE)
    page.goto("/ui/all")
    listening(page)
    page.get_by_role("button", name="Not useful").click()
    expect(page.locator("[data-ended]")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    until(page, lambda: Reading.objects.filter(named_at__isnull=False).exists())
    assert not Feedback.objects.exists()


@pytest.mark.parametrize(
    ("address", "size", "density"), mostly_alternating(("/", "/ui/all"), (PHONE, WIDE), DENSITIES)
)
def test_a_row_shows_its_source_its_time_and_that_it_is_saved_however_it_was_rated(
    page: Page, ada: Reader, address: str, size: dict[str, int], density: str
):
    item = fresh_item(ada, title="A lamp")
    Reader.objects.update(list_density=density)
    item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    page.set_viewport_size(size)
    page.goto(address)
    meta, row = page.locator(".item .meta"), page.locator("article[data-item]")
    mark = row.locator(".was-saved" if size is PHONE else "[data-key=s]")
    for key in ("u", "d"):
        row.locator("h2 a").focus()
        page.keyboard.press(key)
        expect(row.locator(f"[data-key={key}]")).to_have_attribute("aria-pressed", "true")
        row.locator("h2 a").evaluate("link => link.blur()")
        for _ in range(2):
            expect(meta.locator("a:not([data-original])")).to_be_visible()
            expect(meta.locator("time").first).to_be_visible()
            expect(mark).to_be_in_viewport(ratio=1)
            page.goto(address)


@pytest.mark.parametrize(("beside", "density"), mostly_alternating((False, True), DENSITIES))
def test_walking_with_keys_shows_a_row_beyond_the_current_one(
    page: Page, ada: Reader, beside: bool, density: str
):
    for n in range(30):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    Reader.objects.update(list_density=density)
    page.set_viewport_size(WIDE)
    page.goto("/ui/all")
    rows = page.locator("article[data-item]")
    page.keyboard.press("j")
    if beside:
        page.keyboard.press("o")
        expect(page.locator("[data-pane] h2.title")).to_be_visible()
    if beside and density == "compact":
        row = rows.nth(3)
        assert 40 <= box(row)["height"] <= 48, "a line for the title, and one for source and time"
        for part in ("h2 a", ".meta > a", ".meta time"):
            assert box(row)["x"] <= box(row.locator(part).first)["x"]
            assert row.locator(part).first.is_visible() and box(row.locator(part).first)["width"] > 20
        edge = box(row.locator(".meta"))["x"] + box(row.locator(".meta"))["width"]
        assert box(row.locator(".meta time"))["x"] + box(row.locator(".meta time"))["width"] <= edge + 1
    for key, step in (("j", 1), ("k", -1)):
        for _ in range(26):
            page.keyboard.press(key)
        at = rows.evaluate_all("rows => rows.findIndex(row => row.matches(':focus-within'))")
        assert at == (26 if step > 0 else 0)
        if step > 0:
            expect(rows.nth(at + step)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_ring_of_a_title_in_one_line_is_whole_and_a_pressed_thumb_is_round(
    page: Page, ada: Reader, size: dict[str, int]
):
    fresh_item(ada, title="A lamp " * 30)
    Reader.objects.update(list_density="compact")
    page.set_viewport_size(size)
    page.goto("/ui/all")
    page.keyboard.press("j")
    ring = "one => getComputedStyle(one).outlineStyle"
    assert page.locator(".item h2").evaluate(ring) == "solid", "its box is not cut by itself"
    assert page.locator(".item h2 a").evaluate(ring) == "none"
    page.keyboard.press("+")
    expect(page.locator(".item [data-key=u]")).to_have_attribute("aria-pressed", "true")
    disc = page.locator(".item [data-key=u]").evaluate(DISC)
    assert disc[0] == disc[1]


@pytest.mark.parametrize(("address", "width"), mostly_alternating(("/", "/ui/all"), (800, 1280)))
def test_a_row_of_one_line_keeps_source_and_time_under_the_keys_until_tab_reaches_a_button(
    page: Page, ada: Reader, address: str, width: int
):
    fresh_item(ada, title="A lamp")
    Reader.objects.update(list_density="compact")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address)
    page.mouse.move(0, 0)
    row = page.locator("article[data-item]")
    seen = """one => {
        const { x, y, width, height } = one.getBoundingClientRect();
        return one.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    }"""
    shown = """one => {
        for (let at = one; at; at = at.parentElement) if (getComputedStyle(at).opacity === "0") return false;
        return true;
    }"""
    meta, save = row.locator(".meta a:not([data-original])"), row.locator("[data-key=s]")
    page.keyboard.press("j")
    expect(row.locator("a[data-open]")).to_be_focused()
    assert meta.evaluate(seen) and row.locator(".meta time").first.evaluate(seen)
    assert not save.evaluate(shown)
    for _ in range(12):
        page.keyboard.press("Tab")
        if save.evaluate("one => one === document.activeElement"):
            break
    expect(save).to_be_focused()
    assert save.evaluate(shown) and save.evaluate(seen)
    row.locator("a[data-open]").focus()
    row.hover()
    assert save.evaluate(shown)


def test_what_is_behind_the_dots_has_words(page: Page, ada: Reader):
    fresh_item(ada, title="A lamp")
    page.set_viewport_size(PHONE)
    page.goto("/")
    page.get_by_role("button", name="More for: A lamp").click()
    for words in ("More like this", "Save for later"):
        expect(page.locator(".taps").get_by_text(words, exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_what_is_folded_away_is_in_no_number_of_the_page(page: Page, ada: Reader):
    for n in range(4):
        fresh_item(ada, hours=n + 1, title=f"Kettle {n}", key=f"k{n}.example")
    page.goto("/")
    number = page.locator("[data-unread]")
    expect(number).to_have_text("4 of 4 unread")
    page.locator("article.item").first.get_by_role("button", name="Not useful", exact=True).click()
    expect(number).to_have_text("3 of 4 unread")
    page.reload()
    expect(number).to_have_text("3 of 3 unread")
    page.get_by_text("What you called not useful today").click()
    page.locator("[data-aside]").get_by_role("button", name="Undo").click()
    expect(page.locator("[data-aside] article.read")).to_have_count(0)
    expect(number).to_have_text("3 of 3 unread")
    page.reload()
    expect(number).to_have_text("4 of 4 unread")
