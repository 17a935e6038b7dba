"""How pages are laid out in a real browser: what stands on a line of its own, and what has room."""

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page

from digest.models import Reader
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item, subscribe
from tests.test_pages_browser import browser, page, tab, until_ready

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
# The theme that was chosen, what the device says, and whether the page is dark.
THEMES = [
    ("system", "dark", True),
    ("system", "light", False),
    ("light", "dark", False),
    ("dark", "light", True),
]


def box(found: Locator) -> dict[str, float]:
    """Where something stands."""
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


def test_a_notice_stands_as_far_above_a_label_as_fields_stand_apart(page: Page, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    page.goto("/ui/account")
    notice, label = page.locator("#mail ~ .notice"), page.locator("#mail ~ form label").first
    assert box(label)["y"] - box(notice)["y"] - box(notice)["height"] >= 20


def test_a_moment_is_not_broken_over_two_lines(page: Page, ada: Reader):
    edit = ConfigEdit(source_weights={"gazette.example": 1.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/ui/history/settings")
    assert page.locator("main time").evaluate("found => found.getClientRects().length") == 1


def test_a_list_that_is_refused_says_so_in_sight(page: Page, ada: Reader):
    for n in range(30):
        subscribe(ada, f"s{n}.example")
    page = page.context.new_page()  # whose console may report the refusal
    page.goto = until_ready(page)
    page.goto("/ui/sources")
    empty = {"name": "list.opml", "mimeType": "text/xml", "buffer": b""}
    page.locator("#id_file").set_input_files(empty)
    page.get_by_role("button", name="Import", exact=True).click()
    alert = page.get_by_role("alert").filter(has_text="The list was not imported. The file is empty.")
    alert.wait_for()
    assert box(alert)["y"] + box(alert)["height"] < page.viewport_size["height"]


@pytest.mark.parametrize(("theme", "device", "is_dark"), THEMES)
def test_a_chosen_theme_wins_over_the_device(page: Page, ada: Reader, theme: str, device: str, is_dark: bool):
    Reader.objects.update(theme=theme)
    page.emulate_media(color_scheme=device)
    page.goto("/ui/sources")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(24, 22, 19)" if is_dark else "rgb(251, 249, 245)")


def test_a_compact_digest_shows_titles_alone(page: Page, ada: Reader):
    fresh_item(ada, text="The beginning of a text.")
    page.goto("/")
    assert page.locator(".lede").is_visible()
    height = box(page.locator(".item"))["height"]
    Reader.objects.update(list_density="compact")
    page.goto("/")
    assert not page.locator(".lede").is_visible() and box(page.locator(".item"))["height"] < height - 20


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
