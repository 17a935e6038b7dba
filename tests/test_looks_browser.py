"""The layout of pages in a real browser: separate lines, and enough room."""

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from digest.models import Item, Reader
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import ago, fresh_item, subscribe, suggested
from tests.support.thinned import mostly_alternating
from tests.test_pages_browser import browser, page, tab, until_ready

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
# The chosen theme, the device's setting, and whether the page is dark.
THEMES = [
    ("system", "dark", True),
    ("system", "light", False),
    ("light", "dark", False),
    ("dark", "light", True),
]
# What covers the middle of the control that has the focus, if anything does.
COVERED = """() => {
  const one = document.activeElement;
  if (!one.closest("main form")) return null;
  const box = one.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const labels = [...one.labels ?? []];
  const own = !top || one.contains(top) || top.contains(one) || labels.some(label => label.contains(top));
  return own ? null : `${one.outerHTML.slice(0, 80)} below ${top.outerHTML.slice(0, 60)}`;
}"""


def box(found: Locator) -> dict[str, float]:
    """Return the position and size of an element."""
    return found.bounding_box()


def test_every_entry_of_the_menu_has_a_line_of_its_own(page: Page):
    page.goto("/ui/sources")
    page.locator(".menu summary").click()
    entries = page.locator(".menu a, .menu button").all()
    for width in (360, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        tops = [box(entry)["y"] for entry in entries]
        assert len(entries) >= 4 and tops == sorted(set(tops)), width
        assert len({box(entry)["x"] for entry in entries}) == 1, width


def test_a_notice_stands_apart_from_the_label_below_it(page: Page, ada: Reader, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    Reader.objects.filter(pk=ada.pk).update(email="")
    page.goto("/ui/account")
    notice, label = page.locator("#mail ~ .notice"), page.locator("#mail ~ form label").first
    assert box(label)["y"] - box(notice)["y"] - box(notice)["height"] >= 20


def test_no_form_stands_where_no_mail_can_be_sent(page: Page, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    page.goto("/ui/account")
    assert page.locator("#mail ~ form").count() == 0
    assert "No mail is sent here" in page.locator("section[aria-labelledby=mail]").inner_text()


# Words and pixels of a page, with some room for the fonts of other machines.
SHORT = {
    "/ui/account": (190, 1_300, 2_100),
    "/ui/config": (150, 1_350, 2_200),
    "/ui/display": (100, 950, 1_100),
}


def test_settings_and_account_are_short(page: Page):
    for address, (words, wide, narrow) in SHORT.items():
        page.goto(address)
        page.evaluate("document.querySelectorAll('main option:not(:checked)').forEach(one => one.remove())")
        assert len(page.locator("main").inner_text().split()) <= words, address
        for width, most in ((1280, wide), (360, narrow)):
            page.set_viewport_size({"width": width, "height": 780})
            assert page.evaluate("document.documentElement.scrollHeight") <= most, (address, width)


def test_a_switch_has_its_label_beside_the_box(page: Page):
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto("/ui/account")
    for switch in page.locator(".tick label").all():
        tick, words = box(switch.locator("input")), box(switch.locator("span"))
        assert words["x"] >= tick["x"] + tick["width"]


def test_a_moment_is_not_broken_over_two_lines(page: Page, ada: Reader):
    edit = ConfigEdit(source_weights={"gazette.example": 1.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/ui/history/settings")
    assert page.locator("main time").evaluate("found => found.getClientRects().length") == 1


def test_a_list_that_is_refused_says_so_in_sight(page: Page, ada: Reader):
    for n in range(30):
        subscribe(ada, f"s{n}.example")
    page = page.context.new_page()  # its console may report the refusal
    page.goto = until_ready(page)
    page.goto("/ui/sources")
    empty = {"name": "list.opml", "mimeType": "text/xml", "buffer": b""}
    page.locator("#id_file").set_input_files(empty)
    page.get_by_role("button", name="Import", exact=True).click()
    alert = page.get_by_role("alert").filter(has_text="Nothing was imported. The file is empty.")
    alert.wait_for()
    assert box(alert)["y"] + box(alert)["height"] < page.viewport_size["height"]


def test_a_chosen_theme_wins_over_the_device(page: Page, ada: Reader):
    for theme, device, is_dark in THEMES:
        Reader.objects.update(theme=theme)
        page.emulate_media(color_scheme=device)
        page.goto("/ui/sources")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(24, 22, 19)" if is_dark else "rgb(251, 249, 245)"), (theme, device)


def test_a_compact_digest_shows_titles_alone(page: Page, ada: Reader):
    fresh_item(ada, text="The beginning of a text.")
    page.goto("/")
    assert page.locator(".lede").is_visible()
    height = box(page.locator(".item"))["height"]
    Reader.objects.update(list_density="compact")
    page.goto("/")
    assert not page.locator(".lede").is_visible() and box(page.locator(".item"))["height"] < height - 20
    page.set_viewport_size({"width": 1920, "height": 1000})
    assert box(page.locator(".item"))["width"] > 1400
    assert page.evaluate("document.documentElement.scrollWidth") == 1920


@pytest.mark.parametrize(
    ("density", "address"), mostly_alternating(("comfortable", "compact"), ("/", "/ui/all"))
)
def test_a_row_of_a_phone_names_its_source_and_says_both_days(
    page: Page, ada: Reader, density: str, address: str
):
    names = ["A", "A name of many words that no row has room for"]
    for name, key in zip(names, ("a.example", "many.example"), strict=True):
        subscribe(ada, key, name)
        fresh_item(ada, key=key, title="An old post", hours=90 * 24, first_seen_at=timezone.now())
        fresh_item(ada, key=key, title="A post of today")
    Item.objects.filter(title="An old post").update(dated_at=timezone.now())
    Reader.objects.update(list_density=density)
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(address)
    expect(page.locator(".item .late").filter(has_text="published")).to_have_count(2)
    for part in page.locator(".item > .meta > :is(time, .late)").all():
        cut = part.evaluate("one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0")
        line, own = box(part.locator("..")), box(part)
        assert not cut and own["x"] + own["width"] <= line["x"] + line["width"] + 1
        assert own["y"] + own["height"] <= line["y"] + line["height"] + 1
    widths = [box(part)["width"] for part in page.locator(".item > .meta > a[href]:has(bdi)").all()]
    assert max(widths) > 100 and min(widths) >= 24, widths


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_a_compact_item_takes_one_line_where_there_is_room(page: Page, ada: Reader, address: str):
    fresh_item(ada, title="A lamp " * 30)
    Reader.objects.update(list_density="compact")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(address)
    item = page.locator(".item")
    assert 32 <= box(item)["height"] <= 40
    item.hover()
    title, useful = (box(page.locator(one)) for one in (".item h2", ".item [data-key=u]"))
    assert abs(useful["y"] - title["y"]) < 10 and title["x"] + title["width"] <= useful["x"]
    assert 32 <= box(item)["height"] <= 40, "the row grew under the pointer"
    page.set_viewport_size({"width": 360, "height": 800})
    assert box(page.locator(".item [data-key=u]"))["height"] >= 44


def test_a_screen_has_eighteen_compact_rows_and_twelve_beside_an_article(page: Page, ada: Reader):
    for n in range(20):
        fresh_item(ada, title=f"A lamp {n} " * 9)
    Reader.objects.update(list_density="compact")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/all")
    until_ready(page)
    titles = page.locator(".item h2 a")
    assert rows_seen(page) >= 18
    unread = box(titles.nth(1))["x"]
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.get_by_role("region", name="Article").get_by_text("Open original").wait_for()
    assert rows_seen(page) >= 12
    page.keyboard.press("Escape")
    expect(page.locator(".item.read")).to_have_count(1)
    assert box(titles.first)["x"] == box(titles.nth(1))["x"] == unread, "a read title has moved"


def rows_seen(page: Page) -> int:
    """Return how many rows are whole on the screen."""
    boxes = [box(row) for row in page.locator(".item").all()]
    return sum(one["y"] + one["height"] <= page.viewport_size["height"] for one in boxes)


@pytest.mark.parametrize(("address", "language"), mostly_alternating(("/", "/ui/all"), ("en", "de")))
def test_a_compact_row_of_a_phone_is_a_title_of_two_lines_and_one_line_below(
    page: Page, ada: Reader, address: str, language: str
):
    for n in range(3):
        fresh_item(ada, hours=n + 1, title="A lamp of the harbour at night " * (1 + 9 * (n != 1)))
    Item.objects.update(dated_at=ago(2))
    Reader.objects.update(list_density="compact", language=language)
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(address)
    rows = page.locator("article.item")
    heights = [box(row)["height"] for row in rows.all()]
    assert max(heights) < 94 and min(heights) < max(heights) - 15, heights
    for row in rows.all():
        title, line = box(row.locator("h2")), box(row.locator(".meta"))
        assert title["y"] + title["height"] <= line["y"] + 1
        for key in ("u", "d"):
            thumb = box(row.locator(f"[data-key={key}]"))
            assert line["x"] + line["width"] <= thumb["x"] and thumb["width"] >= 40 and thumb["height"] >= 44
            assert abs(thumb["y"] + thumb["height"] / 2 - line["y"] - line["height"] / 2) <= 2


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_a_long_name_in_a_compact_row_of_a_phone_is_cut_where_the_room_ends(
    page: Page, ada: Reader, address: str
):
    subscribe(ada, title="The Internationally Distributed Gazette of Harbours")
    fresh_item(ada, title="A lamp of the harbour")
    Reader.objects.update(list_density="compact")
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(address)
    name, line, age = (box(page.locator(f".item .meta{part}")) for part in (" bdi", "", " time"))
    assert age["x"] + age["width"] >= line["x"] + line["width"] - 4, "the name takes the room there is"
    assert abs(age["y"] + age["height"] / 2 - name["y"] - name["height"] / 2) <= 3
    assert page.locator(".item .meta bdi").evaluate("(name) => name.scrollWidth > name.clientWidth")
    assert box(page.locator(".item"))["height"] <= 93


def test_sources_list_and_article_stand_side_by_side_where_there_is_room(page: Page, ada: Reader):
    fresh_item(ada, title="A lamp", text="It burns.")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/")
    side = page.get_by_role("navigation", name="Sources and folders")
    page.get_by_role("link", name="A lamp", exact=True).click()
    article = page.get_by_role("region", name="Article")
    article.get_by_text("It burns.").wait_for()
    left, middle, right = box(side), box(page.locator("article.item")), box(article)
    assert left["x"] + left["width"] <= middle["x"] and middle["x"] + middle["width"] <= right["x"]
    assert right["x"] + right["width"] > 1200, "the right of the page is empty"


@pytest.mark.parametrize(("language", "chip"), [("en", "more from Gazette"), ("de", "mehr aus Gazette")])
def test_reasons_and_the_way_to_the_original_have_room(page: Page, ada: Reader, language: str, chip: str):
    item = fresh_item(ada)
    edit = ConfigEdit(source_weights={"gazette.example": 1.5})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    Reader.objects.update(language=language)
    widths = [{"width": width, "height": 800} for width in (360, 600)]
    page.goto("/")
    shown = page.locator(".item .chip").first
    assert shown.inner_text() == chip
    for size in widths:
        page.set_viewport_size(size)
        assert shown.evaluate("one => one.scrollWidth <= one.clientWidth"), size
    page.goto(f"/ui/item/{item.pk}")
    for size in widths:
        page.set_viewport_size(size)
        assert box(page.locator(".item-foot > p > a"))["height"] < 40, size  # one line


def test_a_long_name_keeps_the_head_of_a_page_on_one_line(page: Page, ada: Reader):
    Reader.objects.update(username="wilhelmina-x")
    page.set_viewport_size({"width": 800, "height": 800})
    page.goto("/")
    word, menu = (box(page.locator(one)) for one in (".masthead .wordmark", ".masthead .menu > summary"))
    assert menu["y"] < word["y"] + word["height"] and menu["x"] + menu["width"] <= 800


def test_no_column_of_an_operators_list_is_cut(page: Page, ada: Reader, live_server):
    suggested(ada)
    Reader.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True, last_login=timezone.now())
    operators = page.context.new_page()
    operators.set_viewport_size({"width": 1280, "height": 800})
    for table in ("digest/feed", "digest/reader", "suggestions/suggestion"):
        operators.goto(f"{live_server.url}/admin/{table}/")
        cut = operators.locator(".results").evaluate("list => list.scrollWidth - list.clientWidth")
        assert cut <= 0, table
    operators.close()


def test_further_pages_have_the_lists_beside_them_and_reasons_that_can_be_read(page: Page, ada: Reader):
    for n in range(45):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/today/further")
    assert page.locator(".river").bounding_box()["width"] > 800
    page.locator(".side a").first.wait_for()
    chips = page.locator(".folds .chip").evaluate_all(
        "chips => chips.filter(one => one.offsetWidth && one.offsetWidth < 60).length"
    )
    assert chips == 0


def test_no_reason_of_a_row_is_cut_to_a_few_letters(page: Page, ada: Reader):
    topics = ["harbour at night", "self-hosted software", "lamps of the world"]
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=topics), expected_version=0, now=timezone.now())
    for n in range(6):
        fresh_item(
            ada, hours=n + 1, title=f"{' and '.join(topics)}, part {n}", key=f"a-rather-long-name-{n}.example"
        )
    for width in (900, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/")
        seen = page.locator(".folds .chip").evaluate_all(
            """chips => chips.filter((one) => {
              const box = one.getBoundingClientRect(), line = one.parentElement.getBoundingClientRect();
              return box.width && box.top < line.bottom;
            }).map((one) => [one.textContent, one.clientWidth])"""
        )
        assert len(seen) >= 6 and not [words for words, room in seen if room < 80], width


@pytest.mark.parametrize("address", ["/ui/config", "/ui/display"])
def test_nothing_that_the_keyboard_reaches_is_below_the_bar_that_saves(page: Page, address: str):
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(address)
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate(COVERED) is None, address
