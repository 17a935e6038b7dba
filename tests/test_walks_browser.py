"""The newer controls by touch alone, without JavaScript, and on a narrow screen in German.

Saved searches, a mute of one source, More like this, other names of topics, own words, and a check of a card.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from digest.models import Reader, Reading, SavedSearch
from ranking.selectors import config_effective, config_hiding
from tests.suggestions.test_check_browser import check_is_over, checkable
from tests.support.browser import fresh_item
from tests.support.chromium import listening
from tests.support.thinned import mostly_nightly
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
HANDS = {
    "touch": {"has_touch": True, "is_mobile": True, "viewport": {"width": 360, "height": 740}},
    "without scripts": {"java_script_enabled": False, "viewport": {"width": 1280, "height": 800}},
    "without scripts on a phone": {"java_script_enabled": False, "viewport": {"width": 360, "height": 740}},
}


# The chosen options that are wider than their field, beside padding and the arrow of 20 pixels.
CUT_CHOICES = """() => [...document.querySelectorAll("main select")].filter((field) => {
  const style = getComputedStyle(field), pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 20;
  return field.offsetWidth && pen.measureText(field.selectedOptions[0].text).width > room;
}).map((field) => field.selectedOptions[0].text)"""
# The labels and buttons that are cut: no field is wider than the page.
CUT_WORDS = """() => [...document.querySelectorAll("main :is(button, .button, label)")]
  .filter((one) => one.checkVisibility({visibilityProperty: true}) && one.getBoundingClientRect().width)
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.innerText)"""


@dataclass
class Hand:
    """A browser of Ada's in which everything is pressed in one way."""

    page: Page
    touch: bool

    def press(self, found: Locator) -> None:
        """Tap it, or click it without scripts."""
        found.tap() if self.touch else found.click()

    def button(self, name: str) -> None:
        """Press the button of this name."""
        self.press(self.page.get_by_role("button", name=name).first)

    def link(self, name: str, *, exact: bool = False) -> None:
        """Press the link of this name."""
        self.press(self.page.get_by_role("link", name=name, exact=exact).first)

    def fits(self) -> None:
        """Nothing stands beyond the right edge."""
        if self.touch:
            width = self.page.viewport_size["width"]
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(params=mostly_nightly(HANDS, always=["touch", "without scripts on a phone"]))
def hand(request: pytest.FixtureRequest, browser: Browser, page: Page, live_server) -> Iterator[Hand]:
    """Yield a phone without a mouse, then browsers without scripts, signed in as Ada."""
    context = browser.new_context(base_url=live_server.url, **request.param)
    context.add_cookies(page.context.cookies())
    yield Hand(context.new_page(), request.param.get("has_touch", False))
    context.close()


def test_a_search_is_saved_made_a_topic_and_removed(hand: Hand, ada: Reader):
    fresh_item(ada, title="A lamp is lit")
    hand.page.goto("/ui/search")
    hand.page.get_by_label("Words in a title or a text").fill("lamp")
    hand.press(hand.page.locator("form[role=search] button"))
    hand.button("Save this search")
    expect(hand.page.get_by_role("button", name="Remove from my list")).to_be_visible()
    hand.fits()
    hand.page.goto("/ui/all")
    hand.press(hand.page.locator("#lists").get_by_role("link", name="lamp"))
    hand.button("Make “lamp” a topic")
    expect(hand.page.get_by_role("status").first).to_contain_text("one of your topics now")
    hand.fits()
    assert config_effective(reader_id=ada.pk).config.topics == ("lamp",)
    hand.button("Undo")
    expect(hand.page.locator(".messages")).to_contain_text("Undone")
    assert config_effective(reader_id=ada.pk).config.topics == ()
    hand.button("Remove from my list")
    expect(hand.page.get_by_role("button", name="Undo")).to_be_visible()
    assert not SavedSearch.objects.exists()


def test_a_word_is_hidden_in_one_source(hand: Hand, ada: Reader):
    item = fresh_item(ada, title="A lamp is lit", key="gazette.example")
    fresh_item(ada, title="A lamp is sold", key="herald.example")
    hand.page.goto(f"/ui/item/{item.pk}")
    hand.link("Mute something of")
    hand.link("the word “lamp”, only in Gazette")
    expect(hand.page.locator("[data-preview]")).to_contain_text("hides 1 of the last 7 days’ 2 items")
    hand.fits()
    hand.button("Mute it")
    expect(hand.page.get_by_role("status").filter(has_text="Undo")).to_be_visible()
    assert [(mute.value, mute.within) for mute in config_hiding(reader_id=ada.pk).mutes] == [
        ("lamp", "gazette.example")
    ]
    hand.page.goto("/ui/mutes")
    hand.button("Stop muting the word “lamp” in Gazette")
    expect(hand.page.get_by_role("status").filter(has_text="Undo")).to_be_visible()
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_an_article_is_named_and_taken_back(hand: Hand, ada: Reader):
    item = fresh_item(ada, title="A lamp is lit")
    hand.page.goto(f"/ui/item/{item.pk}")
    if hand.touch:
        listening(hand.page)
    named = Reading.objects.filter(reader=ada, named_at__isnull=False)
    button = hand.page.get_by_role("button", name="More like this")
    for pressed in ("true", "false"):
        hand.press(button)
        expect(button).to_have_attribute("aria-pressed", pressed)
        hand.page.wait_for_timeout(600)  # sooner, it would be a double tap
        assert named.exists() == (pressed == "true")
    hand.fits()


def test_a_topic_gets_another_name_with_one_save(hand: Hand, ada: Reader):
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"Tennis at Wimbledon {n}")
    hand.page.goto("/ui/config")
    hand.page.get_by_label("Add a topic").fill("tennis")
    hand.button("Save settings")
    expect(hand.page.locator(".messages")).to_contain_text("Saved")
    hand.link("Find topics in your articles")
    hand.page.get_by_role("group", name="Other names").get_by_label("tennis").fill("Wimbledon, grand slam")
    hand.fits()
    hand.button("Save settings")
    expect(hand.page.locator(".messages")).to_contain_text("Saved")
    config = config_effective(reader_id=ada.pk).config
    assert dict(config.other_names) == {"tennis": ("Wimbledon", "grand slam")}


def test_own_words_mute_in_one_source_and_save_a_search(hand: Hand, ada: Reader):
    fresh_item(ada, hours=1, title="Lamp falls")
    fresh_item(ada, hours=2, title="Lamp stands", key="herald.example")
    hand.page.goto("/ui/wishes")
    words = "No lamp in Herald; save a search for lamp in Gazette"
    hand.page.get_by_label("What do you want more or less of?").fill(words)
    hand.button("See the changes")
    expect(hand.page.locator("article.card")).to_have_count(2)
    hand.fits()
    hand.button("Accept: Save the search “lamp · Gazette”")
    expect(hand.page.locator("article.card")).to_have_count(1)
    hand.button("Accept: Muted for ever: the word “lamp” in Herald")
    expect(hand.page.locator(".messages")).to_contain_text("the word “lamp” in Herald")
    assert [(mute.value, mute.within) for mute in config_hiding(reader_id=ada.pk).mutes] == [
        ("lamp", "herald.example")
    ]
    assert SavedSearch.objects.get(reader=ada).filters == {"source": "gazette.example"}


def test_a_card_is_checked_by_its_headlines(hand: Hand, ada: Reader):
    suggestion = checkable(ada)
    hand.page.goto("/ui/suggestions")
    hand.fits()
    hand.link("Check it by a few headlines")
    for n in range(1, 9):
        expect(hand.page.locator(".kicker")).to_contain_text(f"Headline {n} of")
        hand.fits()
        hand.button("Not useful" if n > 1 else "Skip")
        if check_is_over(hand.page, n):
            break
    expect(hand.page.locator(".messages")).to_contain_text("You found 0 of")
    suggestion.refresh_from_db()
    assert suggestion.status == "withdrawn"


def test_settings_fit_a_phone_in_german(page: Page, ada: Reader):
    Reader.objects.update(language="de")
    page.set_viewport_size({"width": 360, "height": 740})
    for address in ("/ui/account", "/ui/config", "/ui/display", "/ui/history/settings", "/ui/mutes"):
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == "de"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
        tabs = [one.bounding_box()["y"] for one in page.locator(".tabs a").all()]
        assert len(set(tabs)) <= 1, f"the tabs stand in one line: {address}"
        assert page.evaluate(CUT_WORDS) == [], address
        assert page.evaluate(CUT_CHOICES) == [], address


def test_a_source_fits_a_phone_in_german(page: Page, ada: Reader):
    feed = fresh_item(ada).feed_id
    Reader.objects.update(language="de")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"/ui/sources/{feed}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CUT_CHOICES) == []
