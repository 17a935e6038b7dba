"""An article beside its list, if there is room for both; elsewhere and without scripts a plain link."""

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from digest.models import Feed, Feedback, Reader, Reading
from digest.sources.subscriptions import subscription_add
from tests.support.browser import ago, fresh_item
from tests.support.chromium import listening
from tests.support.factories import FeedbackFactory, ItemFactory
from tests.support.thinned import mostly_alternating
from tests.test_axe_browser import RUN, VIOLATIONS, ready
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
WIDE, NARROW = {"width": 1100, "height": 800}, {"width": 1099, "height": 800}


@pytest.fixture
def lamps(page: Page, ada: Reader) -> Page:
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=f"Words about lamp {n}.")
    page.set_viewport_size(WIDE)
    return page


@pytest.mark.parametrize("address", ["/", "/ui/all", "/ui/search?q=lamp"])
def test_an_article_opens_beside_its_list_and_is_read(lamps: Page, ada: Reader, address: str):
    lamps.goto(address)
    lamps.get_by_role("link", name="Lamp 1", exact=True).click()
    pane = lamps.get_by_role("region", name="Article")
    expect(pane.locator(".article")).to_have_text("Words about lamp 1.")
    assert lamps.url.endswith(address)
    row, beside = lamps.locator("article.item").first.bounding_box(), pane.bounding_box()
    assert row["x"] + row["width"] <= beside["x"] and beside["x"] + beside["width"] <= WIDE["width"]
    expect(lamps.locator("article.item.read")).to_have_count(1)
    assert [row.item.title for row in Reading.objects.filter(reader=ada)] == ["Lamp 1"]


def test_what_a_search_finds_goes_on_without_an_end_and_is_marked_as_read_by_a_key(lamps: Page, ada: Reader):
    for n in range(3, 23):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
    lamps.goto("/ui/search?q=lamp&order=newest")
    listening(lamps)
    lamps.mouse.wheel(0, 4000)
    expect(lamps.locator("article.item")).to_have_count(23)
    lamps.keyboard.press("A")
    expect(lamps.get_by_text("23 items marked as read")).to_be_visible()
    assert Reading.objects.filter(reader=ada, read_at__isnull=False).count() == 23


def test_keys_walk_the_list_open_beside_it_and_close(lamps: Page):
    lamps.goto("/")
    for key, title in (("o", "Lamp 0"), ("Enter", "Lamp 1")):
        lamps.keyboard.press("j")
        lamps.keyboard.press(key)
        expect(lamps.locator("[data-pane] h2.title")).to_have_text(title)
    lamps.keyboard.press("Escape")
    expect(lamps.locator("[data-pane]")).to_be_hidden()
    assert lamps.evaluate("document.activeElement.textContent") == "Lamp 1"


def test_walking_on_reads_on_and_back_closes_the_article_and_stays_on_the_list(lamps: Page):
    lamps.goto("/ui/sources")
    lamps.goto("/ui/all")
    lamps.keyboard.press("j")
    for key, title in (("o", "Lamp 0"), ("j", "Lamp 1"), ("j", "Lamp 2"), ("k", "Lamp 1")):
        lamps.keyboard.press(key)
        expect(lamps.locator("[data-pane] h2.title")).to_have_text(title)
    lamps.go_back()
    expect(lamps.locator("[data-pane]")).to_be_hidden()
    assert lamps.url.endswith("/ui/all")
    lamps.get_by_role("link", name="Lamp 2", exact=True).click()
    lamps.locator("[data-pane-close]").click()
    expect(lamps.locator("[data-pane]")).to_be_hidden()
    lamps.go_back()
    lamps.wait_for_url("**/ui/sources")


@pytest.mark.parametrize(
    ("way", "density"), mostly_alternating(("Escape", "Back"), ("comfortable", "compact"))
)
def test_whoever_closes_the_article_stands_at_its_row_though_they_walked_far(
    lamps: Page, ada: Reader, way: str, density: str
):
    Reader.objects.update(list_density=density)
    for n in range(3, 28):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=f"Words about lamp {n}. " * 20)
    lamps.goto("/ui/all")
    link, other = (lamps.get_by_role("link", name=f"Lamp {n}", exact=True) for n in (24, 1))
    row = lamps.locator("article.item", has_text="Lamp 24")
    for n in range(25):
        lamps.keyboard.press("j")
        expect(lamps.get_by_role("link", name=f"Lamp {n}", exact=True)).to_be_focused()
        if n == 1:
            lamps.keyboard.press("o")
            expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 1")
    expect(lamps.locator("[data-pane] h2.title")).to_have_text("Lamp 24")
    expect(row).to_be_in_viewport(ratio=1)
    assert link.bounding_box()["x"] == other.bounding_box()["x"]
    if way == "Back":
        lamps.go_back()
    else:
        lamps.keyboard.press(way)
    expect(lamps.locator("[data-pane]")).to_be_hidden()
    lamps.wait_for_timeout(300)  # a browser restores where a list was scrolled to a moment later
    expect(link).to_be_focused()
    expect(row).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("key", ["j", "n", "k"])
def test_whoever_scrolled_away_walks_on_from_what_they_see(lamps: Page, ada: Reader, key: str):
    for n in range(3, 28):
        fresh_item(ada, hours=n + 1, title=f"Lamp {n}", text=f"Words about lamp {n}. " * 20)
    lamps.goto("/ui/all")
    for pressed in "jj":
        lamps.keyboard.press(pressed)
    lamps.mouse.move(600, 400)
    lamps.mouse.wheel(0, 1500)
    lamps.wait_for_timeout(800)  # the wheel glides
    first = lamps.evaluate(
        "[...document.querySelectorAll('.item')].findIndex((row) => row.getBoundingClientRect().top >= 0)"
    )
    assert first > 5
    lamps.keyboard.press(key)
    expect(lamps.get_by_role("link", name=f"Lamp {first}", exact=True)).to_be_focused()
    lamps.keyboard.press("j")
    expect(lamps.get_by_role("link", name=f"Lamp {first + 1}", exact=True)).to_be_focused()


def test_back_from_the_full_page_stands_at_its_row(lamps: Page):
    lamps.goto("/ui/all")
    lamps.keyboard.press("j")
    for key, title in (("o", "Lamp 0"), ("j", "Lamp 1")):
        lamps.keyboard.press(key)
        expect(lamps.locator("[data-pane] h2.title")).to_have_text(title)
    lamps.get_by_role("link", name="Full page").click()
    lamps.wait_for_url("**/ui/item/*")
    lamps.go_back()
    expect(lamps.locator("article.item").get_by_role("link", name="Lamp 1", exact=True)).to_be_focused()


def test_a_thumb_beside_the_list_shows_in_the_list_too(lamps: Page):
    lamps.goto("/")
    lamps.get_by_role("link", name="Lamp 2", exact=True).click()
    lamps.locator("[data-pane]").get_by_role("button", name="Useful", exact=True).click()
    row = lamps.locator("article.item", has_text="Lamp 2")
    # The row has no room for buttons beside an open article; it shows them again once that is closed.
    lamps.locator("[data-pane-close]").click()
    expect(row.get_by_role("button", name="Useful", exact=True)).to_have_attribute("aria-pressed", "true")
    assert Feedback.objects.get().item.title == "Lamp 2"


@pytest.mark.parametrize("density", ["comfortable", "compact"])
def test_keys_beside_an_open_article_show_what_they_did_there_and_in_the_row(
    lamps: Page, ada: Reader, density: str
):
    Reader.objects.update(list_density=density)
    FeedbackFactory(reader=ada)  # the first thumb says more
    lamps.goto("/ui/all")
    row, line = lamps.locator("article.item", has_text="Lamp 1"), lamps.locator("[data-done]")
    lamps.get_by_role("link", name="Lamp 1", exact=True).click()
    expect(lamps.locator("[data-pane] .article")).to_be_visible()
    height = row.bounding_box()["height"]
    for key, pressed, words in (("+", "u", "Useful"), ("s", "s", "Saved"), ("-", "d", "Not useful")):
        lamps.keyboard.press(key)
        expect(line).to_have_text(f"{words}Undo")
        expect(line).to_be_in_viewport(ratio=1)
        expect(row.locator(f"[data-key={pressed}]")).to_be_in_viewport(ratio=1)
        expect(row.locator(".meta")).to_be_visible()
        assert row.bounding_box()["height"] == height
    lamps.keyboard.press("1")
    expect(line).not_to_have_text("Not usefulUndo")
    lamps.keyboard.press("s")
    expect(line).to_have_text("Saved: undone")
    expect(row.locator("[data-key=s]")).to_be_hidden()
    lamps.keyboard.press("m")
    expect(line).to_have_text("Unread againUndo")
    lamps.keyboard.press("-")
    expect(line).to_have_text("That is your rating already.")
    lamps.keyboard.press("d")
    expect(line).to_contain_text("undone")
    lamps.keyboard.press("+")
    line.get_by_role("button").click()
    expect(line).to_have_text("Useful: undone")
    assert not Feedback.objects.filter(item__title="Lamp 1").exists()


def test_on_a_narrower_screen_the_link_is_followed(lamps: Page):
    lamps.set_viewport_size(NARROW)
    lamps.goto("/")
    lamps.get_by_role("link", name="Lamp 1", exact=True).click()
    lamps.wait_for_url("**/ui/item/*")
    expect(lamps.get_by_role("heading", level=1, name="Lamp 1")).to_be_visible()


def test_without_scripts_the_link_is_followed_too(browser: Browser, live_server, lamps: Page):
    with browser.new_context(base_url=live_server.url, java_script_enabled=False, viewport=WIDE) as context:
        context.add_cookies(lamps.context.cookies())
        plain = context.new_page()
        plain.goto("/")
        plain.get_by_role("link", name="Lamp 1", exact=True).click()
        plain.wait_for_url("**/ui/item/*")
        expect(plain.get_by_role("heading", level=1, name="Lamp 1")).to_be_visible()


def test_both_together_have_no_violation(lamps: Page):
    ready(lamps).goto("/ui/all")
    lamps.get_by_role("link", name="Lamp 1", exact=True).click()
    expect(lamps.locator("[data-pane] .article")).to_be_visible()
    assert lamps.evaluate(RUN, [[], VIOLATIONS]) == []


@pytest.mark.parametrize(("size", "asked"), [(WIDE, 1), (NARROW, 0)])
def test_the_lists_beside_today_are_asked_for_once_before_the_scripts_are_there(
    lamps: Page, size: dict[str, int], asked: int
):
    lamps.set_viewport_size(size)
    urls: list[str] = []
    lamps.on("request", lambda request: urls.append(request.url.rpartition("/")[2]))
    lamps.goto("/")
    if asked:
        expect(lamps.locator(".side nav")).to_be_visible()
        script = next(n for n, url in enumerate(urls) if url.startswith("side."))
        assert urls.index("all?side=1") < script
    assert urls.count("all?side=1") == asked


@pytest.mark.parametrize("address", ["/", "/ui/all"])
def test_the_counts_beside_a_list_grow_while_new_feeds_are_fetched(
    lamps: Page, ada: Reader, address: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("digest.web.pages.first_fetch.first_fetch_advance", lambda **_: 0)
    for n in range(2):
        subscription_add(reader=ada, url=f"https://new{n}.example/feed", now=timezone.now())
    new = Feed.objects.get(url__contains="new0")
    lamps.goto(address)
    count = lamps.locator(f".side li[data-feed='{new.pk}'] [data-count]")
    expect(count).to_be_hidden()
    expect(lamps.locator("[data-words]").first).to_contain_text("Fetching your 2 new feeds: 0 done so far.")
    for n in range(3):
        ItemFactory(feed=new, source=new.source, title=f"New {n}", published_at=ago(1))
    Feed.objects.filter(pk=new.pk).update(last_fetched_at=timezone.now())
    expect(count).to_have_text("3 unread")
    expect(count).to_be_visible()
