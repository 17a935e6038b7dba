"""Every filter of the lists × every button × every key of a row, in a real browser: one page per filter.

`FILTERS`, `LISTS`, `KEYS` and `BUTTONS` are the registry. A filter, a button or a key that the product gains
fails here until the registry has it. The lists that differ most run with every change, the others in
`make nightly`.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from html import unescape
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from digest.items.listing import ListFilter
from digest.items.reading import item_save
from digest.items.search import Order
from digest.models import Feedback, Item, Reader, Reading, Subscription
from digest.web.pages.lists import list_request
from tests.support.browser import ago, fresh_item
from tests.support.chromium import listening, until
from tests.support.thinned import mostly_nightly
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
# Queries that list all rows of `shelf`, with different filters.
FILTERS = {
    "all": "",
    "unread": "unread=1",
    "saved": "saved=1",
    "unread and saved": "unread=1&saved=1",
    "category": "category=Light",
    "folder": "folder=News",
    "unread in a folder": "folder=News&unread=1",
    "source": "source=gazette.example",
    "feed": "feed={feed}",
    "best": "order=best",
    "best unread": "order=best&unread=1",
    "older page": "before={first}&unread=1",
    "oldest": "order=oldest",
    "oldest unread in a folder": "order=oldest&folder=News&unread=1",
}
TITLES = [f"Lamp {n}" for n in range(4)]
# The other pages that list the rows of `shelf`. Marking all and marking above are of All.
LISTS = {
    "today": "/",
    "search": "/ui/search?q=light",
    "saved search": "/ui/search?q=light&source=gazette.example&order=newest",
    "saved": "/ui/saved",
}


def shelf(ada: Reader) -> list[Item]:
    """Four unread, saved items with a category in a folder, below one that begins the list."""
    for n in range(5):
        title = f"Lamp {n - 1}" if n else "First"
        item = fresh_item(ada, hours=n + 1, title=title, text="Some light.", categories=["Light"])
        item_save(reader=ada, item_id=item.pk, saved=True, now=ago(0))
    Subscription.objects.update(folder="News")
    return list(Item.objects.order_by("-dated_at"))


def read(reader: Reader) -> set[str]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    return {*rows.values_list("item__title", flat=True)}


class Desk:
    """A list open in Ada's browser, and one of its rows."""

    def __init__(self, page: Page, ada: Reader, address: str, title: str) -> None:
        self.page, self.ada, self.address, self.title = page, ada, address, title
        self.row = page.locator("article.item", has=page.get_by_role("link", name=title, exact=True))

    def open(self) -> None:
        """Show the list as it was before anything was done."""
        Reading.objects.filter(reader=self.ada).update(read_at=None)
        self.page.goto(self.address)

    def walk(self) -> None:
        """Walk to the row by j."""
        self.row.locator("a[data-open]").focus()
        for key in "kj":
            self.page.keyboard.press(key)
        expect(self.row.locator("a[data-open]")).to_be_focused()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def click(self, button: str) -> None:
        self.row.locator(f"button:is([data-key={button}], [name={button}])").click()

    def shows(self, key: str, is_pressed: bool) -> None:
        """Wait until the row's button says that it is pressed, or is not."""
        expect(self.row.locator(f"[data-key={key}]")).to_have_attribute(
            "aria-pressed", str(is_pressed).lower()
        )

    def until_read(self, titles: set[str]) -> None:
        until(self.page, lambda: read(self.ada), titles)

    def until_rated(self, useful: bool | None) -> None:
        wanted = [] if useful is None else [useful]
        until(self.page, lambda: [*Feedback.objects.values_list("useful", flat=True)], wanted)

    def until_saved(self, saved: bool) -> None:
        rows = Reading.objects.filter(item__title=self.title, saved_at__isnull=False)
        until(self.page, rows.exists, saved)

    def until_named(self, named: bool) -> None:
        until(self.page, Reading.objects.filter(item__title=self.title, named_at__isnull=False).exists, named)

    def until_reasons(self, count: int) -> None:
        until(self.page, Feedback.objects.filter(tags__isnull=False).count, count)

    def undo(self, *, by_key: bool = False) -> None:
        """Press the button of the notice, which takes back exactly the last marking, or its key."""
        expect(self.page.locator(".marked")).to_contain_text("marked as read")
        if by_key:
            listening(self.page)
            self.press("z")
        else:
            self.page.get_by_role("button", name="Undo marking as read").click()
        expect(self.page.locator(".messages")).to_contain_text("unread again")
        self.until_read(set())


def walk(desk: Desk) -> None:
    desk.walk()
    desk.press("k")
    expect(desk.row.locator("a[data-open]")).not_to_be_focused()
    desk.press("j")
    expect(desk.row.locator("a[data-open]")).to_be_focused()


def open_here(desk: Desk, key: str) -> None:
    desk.walk()
    desk.press(key)
    desk.page.wait_for_url("**/ui/item/*")
    desk.until_read({desk.title})
    desk.open()


def walk_articles(desk: Desk, forth: str, back: str) -> None:
    """On the page of an opened article, go to the next of the list, and back to it."""
    desk.walk()
    following = desk.row.locator("xpath=following-sibling::article[1]").locator("a[data-open]").inner_text()
    desk.press("o")
    heading = desk.page.get_by_role("heading", level=1)
    expect(heading).to_have_text(desk.title)
    listening(desk.page)
    desk.press(forth)
    expect(heading).to_have_text(following)
    desk.until_read({desk.title, following})
    listening(desk.page)
    desk.press(back)
    expect(heading).to_have_text(desk.title)
    desk.open()


def open_original(desk: Desk) -> None:
    desk.page.context.route("https://gazette.example/**", lambda route: route.fulfill(body="There"))
    desk.walk()
    with desk.page.context.expect_page() as opened:
        desk.press("v")
    opened.value.get_by_text("There").wait_for()
    opened.value.close()
    desk.until_read({desk.title})
    desk.open()


def mark_one_by_key(desk: Desk) -> None:
    desk.walk()
    desk.press("m")
    desk.until_read({desk.title})
    desk.press("m")
    desk.until_read(set())


def mark_one_by_button(desk: Desk) -> None:
    button = desk.row.locator("button[data-key=m]")
    for pressed, titles in (("true", {desk.title}), ("false", set())):
        button.click()
        expect(button).to_have_attribute("aria-pressed", pressed)
        desk.until_read(titles)


def mark_around(desk: Desk, side: str, *, by_key: str = "") -> None:
    desk.walk()
    if by_key:
        desk.press(by_key)
    else:
        desk.row.locator(".around > summary").click()
        desk.click(side)
    expect(desk.page.locator(".marked")).to_be_visible()
    shown = ["First", *TITLES]  # pages before this one are above it, too
    if "order=oldest" in desk.address:
        shown.reverse()
    at = shown.index(desk.title)
    desk.until_read({*(shown[:at] if side == "above" else shown[at + 1 :])})
    desk.undo()


def mark_all_by_key(desk: Desk) -> None:
    # A row that a script has marked and unmarked is in the form that marks all.
    mark_one_by_button(desk)
    titles = {*desk.page.locator("article.item h2").all_inner_texts()}
    desk.press("A")
    expect(desk.page.locator(".marked")).to_be_visible()
    assert titles <= read(desk.ada)
    desk.undo(by_key=True)


def mark_all_by_button(desk: Desk) -> None:
    desk.page.locator("button[data-key=A]").click()
    expect(desk.page.locator(".marked")).to_be_visible()
    assert {*TITLES} <= read(desk.ada)
    desk.undo()


def mark_older(desk: Desk) -> None:
    before = read(desk.ada)
    desk.page.locator(".older > summary").click()
    desk.page.get_by_role("button", name="a day", exact=True).click()
    expect(desk.page.get_by_text("Nothing unread there is that old.")).to_be_visible()
    assert read(desk.ada) == before, "all of these rows are of today"


def save_and_name(desk: Desk, act: Callable[[str], None]) -> None:
    """Save the item and name it for more of its kind, and take both back.

    One press lies between two of the same key, or the second would count as half of a double click.
    """
    desk.walk()
    for saved in (False, True):
        save(desk, act, saved=saved)
        name(desk, act, named=not saved)


def save(desk: Desk, act: Callable[[str], None], *, saved: bool) -> None:
    act("s")
    desk.until_saved(saved)
    desk.shows("s", saved)


def name(desk: Desk, act: Callable[[str], None], *, named: bool) -> None:
    act("l")
    desk.until_named(named)
    desk.shows("l", named)


def rate(desk: Desk, act: Callable[[str], None]) -> None:
    desk.walk()
    for key, useful in (("u", True), ("d", False)):
        act(key)
        desk.until_rated(useful)
        desk.shows(key, True)
        # What is not useful is done with, by every hand.
        desk.until_read(set() if useful else {desk.title})
    if desk.row.locator("[data-key=undo]").is_visible():
        desk.click("undo")
    else:
        # Where rows do not fold, the pressed thumb takes itself back, and its reason with it.
        first_reason(desk)
        desk.until_reasons(1)
        act(key)
    desk.until_rated(None)
    desk.shows("d", False)
    desk.until_read(set())


def give_a_reason(desk: Desk, act: Callable[[], None]) -> None:
    desk.walk()
    desk.press("u")
    expect(desk.row.locator(".tags button").first).to_be_attached()
    for count in (1, 0):
        act()
        desk.until_reasons(count)
        name(desk, desk.press, named=bool(count))
    desk.press("u")
    desk.until_rated(None)
    desk.shows("u", False)


def walk_unread(desk: Desk) -> None:
    desk.walk()
    following = desk.row.locator("xpath=following-sibling::article[1]").locator("a[data-open]")
    for key, there in (("n", following), ("p", desk.row.locator("a[data-open]"))):
        desk.press(key)
        expect(there).to_be_focused()
    # A read item is passed over.
    desk.press("m")
    desk.until_read({desk.title})
    desk.press("n")
    expect(following).to_be_focused()
    desk.press("p")
    expect(desk.row.locator("a[data-open]")).not_to_be_focused()
    desk.open()


def walk_sources(desk: Desk) -> None:
    """All rows are of one source, so there is no other to go to, and nothing moves."""
    desk.walk()
    for key in "JK":
        desk.press(key)
        expect(desk.row.locator("a[data-open]")).to_be_focused()


def mute_by_key(desk: Desk) -> None:
    desk.walk()
    desk.press("x")
    dialog = desk.page.get_by_role("dialog", name="Mute something of")
    expect(dialog).to_be_visible()
    desk.press("Escape")
    expect(dialog).to_be_hidden()
    expect(desk.row.locator("a[data-open]")).to_be_focused()


def rate_by_sign(desk: Desk) -> None:
    """Pressed again, a sign takes nothing back."""
    desk.walk()
    for key, sign, useful in (("u", "+", True), ("d", "-", False)):
        desk.press(sign)
        desk.until_rated(useful)
        desk.shows(key, True)
        desk.press(sign)
        expect(desk.page.locator("#status")).to_have_text("That is your rating already.")
        desk.until_rated(useful)
        desk.until_read(set() if useful else {desk.title})
    desk.press("u")
    desk.until_rated(True)
    first_reason(desk)
    desk.until_reasons(1)
    desk.press("u")
    desk.until_rated(None)
    # What was called not useful has been read, whatever is said of it afterwards.
    desk.until_read({desk.title})
    desk.press("m")
    desk.until_read(set())
    desk.open()


def go_to_places(desk: Desk) -> None:
    places = {"t": "/", "a": "/ui/all", "b": "/ui/saved", "f": "/ui/sources", "s": "/ui/suggestions"}
    for key, path in places.items():
        desk.press("g")
        desk.press(key)
        desk.page.wait_for_url(lambda url, path=path: urlsplit(url).path == path)
        listening(desk.page)
    desk.open()


def unfold(desk: Desk) -> None:
    """On a narrow screen, a row's other actions are behind one button."""
    size = desk.page.viewport_size
    desk.page.set_viewport_size({"width": 360, "height": 720})
    desk.row.scroll_into_view_if_needed()
    desk.page.wait_for_timeout(300)  # rows get their new heights as they come near
    button, save_button = desk.row.locator("[data-unfold]"), desk.row.locator("[data-key=s]")
    for shown in (True, False):
        button.click()
        expect(save_button).to_be_visible(visible=shown)
        expect(button).to_have_attribute("aria-expanded", str(shown).lower())
    desk.page.set_viewport_size(size)


def search(desk: Desk) -> None:
    desk.press("/")
    desk.page.wait_for_url("**/ui/search")
    desk.open()


def show_the_keys(desk: Desk) -> None:
    desk.press("?")
    expect(desk.page.get_by_role("dialog", name="Keys")).to_be_visible()
    desk.press("Escape")


def save_and_name_by_key(desk: Desk) -> None:
    save_and_name(desk, desk.press)


def save_and_name_by_button(desk: Desk) -> None:
    save_and_name(desk, desk.click)


def rate_by_key(desk: Desk) -> None:
    rate(desk, desk.press)


def rate_by_button(desk: Desk) -> None:
    rate(desk, desk.click)


def reason_by_key(desk: Desk) -> None:
    give_a_reason(desk, lambda: first_reason(desk))


def first_reason(desk: Desk) -> None:
    """Press 1, which shows the numbered reasons if they are folded, and then chooses the first."""
    if not desk.row.locator(".tags[open]").count():
        desk.press("1")
        first = desk.row.locator(".tags[open] button").first
        expect(first).to_be_visible()
        assert first.evaluate("one => getComputedStyle(one, '::before').content").startswith("counter(")
    desk.press("1")


def reason_by_button(desk: Desk) -> None:
    def press() -> None:
        reason = desk.row.locator(".tags button").first
        if not reason.is_visible():  # reasons come when asked for
            desk.row.locator(".tags > summary").click()
        reason.click()

    give_a_reason(desk, press)


# Keys by their names in the list of keys, buttons by their names in `NAMES`.
KEYS: dict[str, Callable[[Desk], None]] = {
    "j": walk,
    "k": walk,
    "<": partial(mark_around, side="above", by_key="<"),
    ">": partial(mark_around, side="below", by_key=">"),
    "n": walk_unread,
    "p": walk_unread,
    "J": walk_sources,
    "K": walk_sources,
    "x": mute_by_key,
    "+": rate_by_sign,
    "-": rate_by_sign,
    "g": go_to_places,
    "t": go_to_places,
    "m": mark_one_by_key,
    "s": save_and_name_by_key,
    "u": rate_by_key,
    "d": rate_by_key,
    "l": save_and_name_by_key,
    "1": reason_by_key,
    "9": reason_by_key,
    "?": show_the_keys,
    "A": mark_all_by_key,
    "z": mark_all_by_key,
    "o": partial(open_here, key="o"),
    "Enter": partial(open_here, key="Enter"),
    "v": open_original,
    "/": search,
}
# What scrolls the article beside a list (`test_fast_reading_browser`).
SPACE = '{% translate "Space bar" %}'
# Keys of the page, which do the same whatever the list asks for. One list of each page has them all.
OF_THE_PAGE = {KEYS[key] for key in ("?", "/", "g", "+")}
# The keys that walk, on the page of an article that was opened from the list.
ON_AN_ARTICLE = [partial(walk_articles, forth=forth, back=back) for forth, back in ("jk", "nk")]
BUTTONS: dict[str, Callable[[Desk], None]] = {
    "m": mark_one_by_button,
    "s": save_and_name_by_button,
    "u": rate_by_button,
    "d": rate_by_button,
    "l": save_and_name_by_button,
    "undo": rate_by_button,
    "tag": reason_by_button,
    "above": partial(mark_around, side="above"),
    "below": partial(mark_around, side="below"),
    "A": mark_all_by_button,
    "older": mark_older,
    "undo_marking": mark_all_by_button,
    "unfold": unfold,
}
NAMES = """() => [...document.querySelectorAll("main button")].map(
    one => "unfold" in one.dataset ? "unfold"
        : one.name === "undo" ? "undo_marking" : (one.dataset.key ?? one.name).replace(/^tag-.*/, "tag")
)"""


def test_the_registry_has_every_filter_and_every_key(ada: Reader):
    named = {one.name for one in fields(ListFilter)} | {"order", "before"}
    asked = {name.split("=")[0] for query in FILTERS.values() for name in query.split("&") if name}
    assert asked == named
    orders = {
        list_request(dict(part.split("=") for part in query.split("&") if part)).order
        for query in FILTERS.values()
    }
    assert orders == {*get_args(Order)}
    shown = (Path(settings.SITE_FILES) / "templates" / "_keys.html").read_text()
    assert {*re.findall(r"<kbd>(.+?)</kbd>", unescape(shown))} == {*KEYS, SPACE}


@pytest.mark.parametrize("query", mostly_nightly(FILTERS, always=["all", "oldest unread in a folder"]))
def test_every_button_and_every_key_does_what_it_says(page: Page, ada: Reader, query: str):
    shelf(ada)
    feed = Subscription.objects.get().feed_id
    page.goto("/ui/all")
    key = page.locator("button[name=above]").first.get_attribute("value")
    page.set_viewport_size({"width": 1000, "height": 720})
    desk = Desk(page, ada, f"/ui/all?{query.format(feed=feed, first=key)}", "Lamp 1")
    desk.open()
    # Each leaves the list as it was.
    for act in dict.fromkeys([*KEYS.values(), *ON_AN_ARTICLE, *BUTTONS.values()]):
        if act in OF_THE_PAGE and query:
            continue
        act(desk)
        assert {*page.evaluate(NAMES)} <= {*BUTTONS}, "a button is not in the registry"


# The keys of every list. Saving is last: under Saved it moves the row to the top.
OF_EVERY_LIST = ["j", "o", "v", "m", "u", "x", "+", "1", "?", "g", "s"]
ROW_BUTTONS = {*BUTTONS} - {"A", "undo_marking", "above", "below", "older"}
NAMES_OF_ROWS = NAMES.replace("main button", "article.item button")


@pytest.mark.parametrize("address", mostly_nightly(LISTS, always=["today"]))
def test_a_row_has_the_same_keys_and_buttons_on_every_list(page: Page, ada: Reader, address: str):
    shelf(ada)
    page.set_viewport_size({"width": 1000, "height": 720})
    desk = Desk(page, ada, address, "Lamp 1")
    desk.open()
    for act in dict.fromkeys([*ON_AN_ARTICLE, *(KEYS[key] for key in OF_EVERY_LIST)]):
        act(desk)
        assert {*page.evaluate(NAMES_OF_ROWS)} <= ROW_BUTTONS, "a button is not in the registry"
