"""Answering a card in a real browser: the way back, the keyboard, a cleared field."""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from digest.models import Item, Reader
from ranking.selectors import config_effective
from suggestions.models import Suggestion
from tests.suggestions.test_preview_page import paper
from tests.support.browser import suggested
from tests.support.chromium import until
from tests.test_pages_browser import browser, page, tab, until_ready

__all__ = ["browser", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.alike]
PAGE = "/ui/suggestions"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def forgiving(page: Page) -> Page:
    """Return a second tab of the same reader, whose console may report refusals."""
    second = page.context.new_page()
    second.goto = until_ready(second)
    return second


def other_topic(reader: Reader, word: str = "proof") -> Suggestion:
    topic = {"suggestion_type": "add_topic", "field": "topics", "target_key": word, "label": word}
    return suggested(reader, evidence=0, **topic, current_value="", suggested_value=word)


def test_an_answer_is_taken_back_where_it_was_given(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    press(page, "Yes")
    expect(page.get_by_text("✓ Applied · Show me more from Gazette")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.wait_for_timeout(800)  # until then a click counts as the second of a double click
    press(page, "Undo")
    expect(page.locator(".messages")).to_contain_text("Undone. That answer counts no more")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.0


def test_the_other_cards_show_their_effect_on_the_digest_as_it_is_now(page: Page, ada: Reader):
    gazette = paper(ada)
    second = suggested(ada, evidence=0, target_key="source1.example", label="Source 1", suggested_value="1.3")
    page.goto(PAGE)
    other = page.locator(f"#suggestion-{second.pk}")
    effects = other.locator("[data-effect]")
    before = effects.all_text_contents()
    page.locator(f"#suggestion-{gazette.pk}").get_by_role("button", name="Yes", exact=True).click()
    expect(effects.last).not_to_have_text(before[-1])
    after = effects.all_text_contents()
    page.reload()
    assert effects.all_text_contents() == after != before


def test_all_others_are_accepted_while_one_still_says_what_became_of_it(page: Page, ada: Reader):
    suggested(ada)
    others = [other_topic(ada), other_topic(ada, "rivers")]
    page.goto(PAGE)
    page.locator("[data-card]").first.get_by_role("button", name="Later", exact=True).click()
    expect(page.locator(".card.done")).to_have_count(1)
    press(page, "Accept all 2")
    expect(page.locator(".card.done").get_by_text("Applied")).to_have_count(2)
    expect(page.get_by_role("button", name="Undo").first).to_be_enabled()
    assert Suggestion.objects.filter(pk__in=[one.pk for one in others], status="accepted").count() == 2


def test_an_answer_that_comes_after_all_were_accepted_changes_nothing(page: Page, ada: Reader):
    page = forgiving(page)
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(error.message))
    first, _ = suggested(ada), other_topic(ada)
    page.goto(PAGE)
    held: list[Route] = []
    page.route(f"**/api/suggestions/{first.pk}/accept", lambda route: held.append(route))
    page.locator(f"#suggestion-{first.pk}").get_by_role("button", name="Yes", exact=True).click()
    press(page, "Accept all 2")
    expect(page.locator(".card.done")).to_have_count(2)
    with page.expect_response(f"**/api/suggestions/{first.pk}/accept"):
        held[0].continue_()
    page.wait_for_timeout(300)  # for the script to finish
    expect(page.locator(".card.done").get_by_text("Applied")).to_have_count(2)
    assert not broken


def test_a_dismissed_card_comes_back_at_once(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    press(page, "No")
    page.get_by_text("Why not?").click()
    press(page, "Never suggest this again")
    expect(page.get_by_text("✗ Never to be suggested again · Show me more from Gazette")).to_be_visible()
    assert config_effective(reader_id=ada.pk).config.avoided == ("gazette.example",)
    page.wait_for_timeout(800)  # until then a click counts as the second of a double click
    press(page, "Undo")
    expect(page.locator("[data-headline]")).to_have_text("Show me more from Gazette")
    assert config_effective(reader_id=ada.pk).config.avoided == ()


def test_a_no_is_one_touch_and_a_reason_may_follow_it(page: Page, ada: Reader):
    first, second = suggested(ada), other_topic(ada)
    page.goto(PAGE)
    card = page.locator(f"#suggestion-{first.pk}")
    expect(card.get_by_role("button", name="The step is too large")).to_have_count(0)
    card.get_by_role("button", name="No", exact=True).press("Enter")
    expect(page.get_by_text("✗ You said no · Show me more from Gazette")).to_be_visible()
    assert first.outcomes.get().user_reason == ""
    card.get_by_text("Why not?").press("Enter")
    card.get_by_role("button", name="The step is too large").press("Enter")
    expect(card).to_contain_text("After two steps that are too large we will offer smaller ones.")
    assert first.outcomes.get().user_reason == "The step is too large"
    expect(card).to_be_focused()
    expect(card.get_by_role("button", name="Undo")).to_be_visible()
    other = page.locator(f"#suggestion-{second.pk}")
    other.get_by_role("button", name="No", exact=True).click()
    expect(page.get_by_text("✗ You said no · Add “proof”")).to_be_visible()
    page.reload()
    page.locator("#decided ~ ul li", has_text="Add “proof”").get_by_text("Why not?").click()
    page.get_by_label("Another reason").fill("I know it all")
    press(page, "Send")
    expect(page.locator("#decided ~ ul")).to_contain_text("You said: “I know it all”")


def top(element: Locator) -> float:
    """Return how far below the beginning of the page an element begins."""
    return float(element.evaluate("found => found.getBoundingClientRect().top + scrollY"))


@pytest.mark.parametrize("at_it", ["nobody", "the pointer", "the focus"])
def test_an_answered_card_keeps_its_room_while_its_reader_is_at_it_and_its_undo_for_good(
    page: Page, ada: Reader, at_it: str
):
    cards = [page.locator(f"#suggestion-{one.pk}") for one in (suggested(ada), other_topic(ada))]
    page.clock.install()
    page.goto(PAGE)
    below = [cards[1], *map(page.locator, ("[data-accept-all]", "[data-generate-panel]"))]
    places = [top(one) for one in below]
    for card, name in zip(cards, ("No", "Yes"), strict=True):
        height = float(card.evaluate("one => one.offsetHeight"))
        button = card.get_by_role("button", name=name, exact=True)
        button.press("Enter") if at_it == "the focus" else button.click()
        expect(card.get_by_role("button", name="Undo")).to_be_visible()
        if at_it == "nobody":
            page.mouse.move(0, 0)
            page.clock.run_for(1_000)
        else:
            page.clock.run_for(60_000)
        if card is cards[0]:
            assert [top(one) for one in below] == pytest.approx(places, abs=0.5)
        assert card.evaluate("one => one.offsetHeight") == pytest.approx(height, abs=1)
        if at_it == "the focus":
            # On to what the card offers, and then out of it.
            expect(card).to_be_focused()
            page.keyboard.press("Tab")
            expect(card.locator(":focus")).to_have_count(1)
            page.clock.run_for(1_000)
            assert card.evaluate("one => one.offsetHeight") == pytest.approx(height, abs=1)
            page.keyboard.press("Shift+Tab")
            page.keyboard.press("Shift+Tab")
        elif at_it == "the pointer":
            page.mouse.move(0, 0)
        page.clock.run_for(1_100)
        until(page, lambda one=card, was=height: one.evaluate("one => one.offsetHeight") < was - 60)
    assert top(below[2]) < places[2]
    cards[0].get_by_text("Why not?").click()
    page.clock.run_for(60_000)
    expect(cards[0].get_by_label("Another reason")).to_be_visible()
    for card in cards:
        expect(card.get_by_role("button", name="Undo")).to_be_visible()


def test_on_a_phone_what_became_of_an_answer_stays_where_it_was_given(page: Page, ada: Reader):
    card = page.locator(f"#suggestion-{suggested(ada).pk}")
    other_topic(ada)
    page.set_viewport_size({"width": 360, "height": 360})
    page.clock.install()
    page.goto(PAGE)
    button = card.get_by_role("button", name="Yes", exact=True)
    button.scroll_into_view_if_needed()
    pressed = top(button)
    height = float(card.evaluate("one => one.offsetHeight"))
    button.click()
    undo = card.get_by_role("button", name="Undo")
    expect(undo).to_be_in_viewport()
    assert abs(top(undo) - pressed) < 100
    page.mouse.move(0, 0)
    place = top(undo)
    page.clock.run_for(2_100)
    until(page, lambda: card.evaluate("one => one.offsetHeight") < height - 60)
    assert top(undo) <= place
    expect(undo).to_be_in_viewport()


def test_all_are_accepted_below_the_cards_that_are_read_first(page: Page, ada: Reader):
    suggested(ada), other_topic(ada)
    page.goto(PAGE)
    whole = page.get_by_role("button", name="Accept all 2").bounding_box()
    last = page.locator("[data-card]").last.bounding_box()
    assert whole and last and whole["y"] >= last["y"] + last["height"]


def test_what_became_of_all_that_were_accepted_is_in_sight(page: Page, ada: Reader):
    for key in ("rivers", "harbours", "kettles"):
        other_topic(ada, key)
    page.goto(PAGE)
    whole = page.locator("[data-card]").first.bounding_box()
    press(page, "Accept all 3")
    expect(page.locator(".card.done")).to_have_count(3)
    expect(page.locator("[data-card]").first).to_be_in_viewport()
    expect(page.get_by_role("button", name="Undo").last).to_be_in_viewport()
    box = page.locator("[data-card]").first.bounding_box()
    assert whole and box and box["height"] < whole["height"]


def test_a_reader_at_the_keyboard_goes_on_to_the_next_card(page: Page, ada: Reader):
    first, second = suggested(ada), other_topic(ada)
    page.goto(PAGE)
    page.locator(f"#suggestion-{first.pk}").get_by_role("button", name="Later").focus()
    page.keyboard.press("Enter")
    done = page.locator(f"#suggestion-{first.pk}")
    expect(done).to_be_focused()
    page.keyboard.press("Tab")
    expect(done.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Tab")
    on = page.locator(f"#suggestion-{second.pk}").locator("a, button, summary").first
    expect(on).to_be_focused()


def test_a_cleared_amount_asks_for_the_proposed_one(page: Page, ada: Reader):
    suggested(ada)
    page.goto(PAGE)
    page.get_by_text("How sure?").click()
    page.get_by_label("Say yes to another number instead").fill("")
    press(page, "Yes")
    expect(page.locator("[data-card]")).to_contain_text("✓ Applied")
    assert config_effective(reader_id=ada.pk).weight("gazette.example") == 1.2


def test_the_button_for_all_counts_what_still_waits(page: Page, ada: Reader):
    first, second = suggested(ada), other_topic(ada)
    third = other_topic(ada, "crumb")
    page = forgiving(page)
    page.goto(PAGE)
    expect(page.get_by_role("button", name="Accept all 3")).to_be_visible()
    page.locator(f"#suggestion-{first.pk}").get_by_role("button", name="Later").click()
    expect(page.get_by_role("button", name="Accept all 2")).to_be_visible()
    Suggestion.objects.filter(pk=second.pk).update(status="expired")
    page.locator(f"#suggestion-{second.pk}").get_by_role("button", name="Yes").click()
    expect(page.locator(f"#suggestion-{second.pk}")).to_contain_text("Already answered")
    expect(page.locator("[data-accept-all]")).to_be_hidden()
    expect(page.locator(f"#suggestion-{third.pk}")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_button_of_a_stale_card_can_still_be_read(page: Page, ada: Reader, scheme):
    page = forgiving(page)
    page.emulate_media(color_scheme=scheme)
    stale = suggested(ada)
    page.goto(PAGE)
    Suggestion.objects.filter(pk=stale.pk).update(status="expired")
    button = page.get_by_role("button", name="Yes", exact=True)
    button.click()  # the pointer stays above it
    expect(button).to_be_disabled()
    quiet = page.locator(".meta").first.evaluate("found => getComputedStyle(found).color")
    expect(button).to_have_css("color", quiet)


@pytest.mark.parametrize("width", [360, 1200])
def test_a_preview_fits_and_shows_first_what_changes(page: Page, ada: Reader, width: int):
    suggestion = paper(ada)
    Item.objects.update(title="A headline of many words about the harbour authority of the north " * 2)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{PAGE}/{suggestion.pk}/preview")
    rows = page.locator(".before-after tbody tr")
    shown = rows.locator("visible=true")
    if width < 640:
        assert 0 < shown.count() < 30
        page.get_by_label("little or nothing changes").check()
    expect(shown).to_have_count(30)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
