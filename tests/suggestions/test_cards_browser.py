"""Answering a card in a real browser: the way back, the keyboard, a cleared field."""

import pytest
from playwright.sync_api import Page, expect

from digest.models import Reader
from ranking.selectors import config_effective
from suggestions.models import Suggestion
from tests.pages import suggested
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/ui/suggestions"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def other_topic(reader: Reader) -> Suggestion:
    topic = {"suggestion_type": "add_topic", "field": "topics", "target_key": "proof", "label": "proof"}
    return suggested(reader, evidence=0, **topic, current_value="", suggested_value="proof")


def test_an_answer_is_taken_back_where_it_was_given(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    press(page, "Accept")
    expect(page.get_by_text("✓ Applied · Show me more from Gazette")).to_be_visible()
    page.wait_for_timeout(800)  # so long a click is taken for the second of two
    press(page, "Undo")
    expect(page.locator(".messages")).to_contain_text("Put back as it was. We count this as a no")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0


def test_a_dismissed_card_comes_back_at_once(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    press(page, "Never")
    page.wait_for_timeout(800)  # so long a click is taken for the second of two
    press(page, "Undo")
    expect(page.locator("[data-card] h3")).to_have_text("Show me more from Gazette")
    assert config_effective(reader_id=ada.pk).config.avoided == ()


def test_a_reader_at_the_keyboard_is_led_from_card_to_card(page: Page, ada: Reader):
    first, second = suggested(ada), other_topic(ada)
    page.clock.install()
    page.goto(PAGE)
    page.locator(f"#suggestion-{first.pk}").get_by_role("button", name="Reject").focus()
    page.keyboard.press("Enter")
    done = page.locator(f"#suggestion-{first.pk}")
    expect(done).to_be_focused()
    page.keyboard.press("Tab")
    expect(done.get_by_role("button", name="Undo")).to_be_focused()
    page.clock.run_for(11_000)
    expect(done).to_be_visible()  # nobody has the button taken from under their hand
    done.focus()
    page.clock.run_for(11_000)
    expect(page.locator(f"#suggestion-{second.pk}")).to_be_focused()


def test_a_cleared_amount_asks_for_the_proposed_one(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    page.get_by_text("Details").click()
    page.get_by_label("Accept another amount instead").fill("")
    press(page, "Accept")
    expect(page.locator("[data-card]")).to_contain_text("✓ Applied")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.2
