"""In a real browser a mail's link takes a person one touch, and a mail scanner triggers nothing."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from digest.mail.links import thumb_sign, unsubscribe_sign
from digest.mail.send import digests_deliver
from digest.models import Feedback, Item, Reader
from tests.support.browser import fresh_item
from tests.support.chromium import chromium
from tests.support.factories import confirmed
from tests.support.mailbox import Mailbox

pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
# Without this, the browser says that a program drives it, as mail scanners' browsers do.
AS_A_PERSON = "--disable-blink-features=AutomationControlled"


@pytest.fixture
def browsers() -> dict[str, Browser]:
    """Return a person's Chromium and a scanner's."""
    return {"person": chromium(AS_A_PERSON), "scanner": chromium()}


@pytest.fixture
def tab(request: pytest.FixtureRequest, browsers, live_server) -> Iterator[Page]:
    """Open an empty tab in one of the browsers. Errors on its console fail the test."""
    options = {"base_url": live_server.url, "reduced_motion": "reduce"} | getattr(request, "param", {})
    context = browsers[options.pop("who", "person")].new_context(**options)
    page = context.new_page()
    page.set_default_timeout(8000)
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def item(ada: Reader) -> Item:
    """Return an item that Ada can rate."""
    return fresh_item(ada, title="Tides turn early in the harbour")


def link_to(ada: Reader, item: Item) -> str:
    link = thumb_sign(reader_id=ada.pk, item_id=item.pk, useful=True, now=timezone.now())
    return f"/ui/mail/thumb/{link}"


@pytest.mark.parametrize("key", [None, "Enter"])
def test_one_touch_or_key_records_the_thumb_and_offers_undo(tab: Page, ada: Reader, item: Item, key):
    tab.goto(link_to(ada, item), wait_until="networkidle")
    assert not Feedback.objects.exists(), "a page that was only opened"
    tab.get_by_role("heading", level=1).click() if key is None else tab.keyboard.press(key)
    expect(tab.get_by_text("Recorded:")).to_be_visible()
    assert Feedback.objects.get(reader=ada).useful is True
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_text("Undone.")).to_be_visible()
    assert not Feedback.objects.exists()
    tab.goto(link_to(ada, item))


@pytest.mark.parametrize("tab", [{"who": "scanner"}, {"who": "person"}], indirect=True)
def test_a_program_that_opens_the_link_records_nothing_until_its_button_is_pressed(
    tab: Page, ada: Reader, item: Item
):
    tab.goto(link_to(ada, item), wait_until="networkidle")
    expect(tab.get_by_role("button", name="Yes, it was useful")).to_be_visible()
    assert not Feedback.objects.exists()
    tab.get_by_role("button", name="Yes, it was useful").click()
    expect(tab.get_by_text("Recorded:")).to_be_visible()


@pytest.mark.parametrize("tab", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_a_button_does_it(tab: Page, ada: Reader, item: Item):
    tab.goto(link_to(ada, item))
    assert not Feedback.objects.exists()
    tab.get_by_role("button", name="Yes, it was useful").click()
    expect(tab.get_by_text("Recorded:")).to_be_visible()


def test_the_mail_ends_by_one_button(tab: Page, ada: Reader):
    Reader.objects.update(mail_rhythm="daily")
    tab.goto(f"/ui/mail/end/{unsubscribe_sign(reader_id=ada.pk)}")
    tab.get_by_role("button", name="Stop it").click()
    expect(tab.get_by_role("heading", name="No more mail")).to_be_visible()
    assert Reader.objects.get().mail_rhythm == "off"


@pytest.mark.parametrize("tab", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_the_mail_itself_fits_a_phone_and_its_link_works(
    tab: Page, ada: Reader, item: Item, mailbox: Mailbox, settings, live_server
):
    settings.SITE_URL = live_server.url
    Reader.objects.update(mail_rhythm="daily", mail_hour=0)
    confirmed(ada)
    digests_deliver(now=timezone.now())
    tab.set_content(mailbox.messages[0].get_body(("html",)).get_content())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    expect(tab.get_by_role("heading", name="Tides turn early in the harbour")).to_be_visible()
    tab.get_by_role("link", name=re.compile("^Useful$")).click()
    tab.get_by_role("button", name="Yes, it was useful").click()
    expect(tab.get_by_text("Recorded:")).to_be_visible()
    assert Feedback.objects.get(reader=ada, item=item).useful is True


@pytest.mark.parametrize("tab", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_every_page_of_a_link_is_open_to_everybody(tab: Page, ada: Reader, item: Item):
    Reader.objects.update(mail_rhythm="daily")
    late = thumb_sign(reader_id=ada.pk, item_id=item.pk, useful=True, now=timezone.now() - timedelta(days=15))
    used, refused = link_to(ada, item), f"/ui/mail/thumb/{late}"
    for place in (used, f"/ui/mail/end/{unsubscribe_sign(reader_id=ada.pk)}"):
        tab.goto(place, wait_until="networkidle")
        if place == used:
            tab.keyboard.press("Enter")
            expect(tab.get_by_text("Recorded:")).to_be_visible()
        assert Axe().run(tab).response["violations"] == []
    assert tab.request.get(refused).status == 410


@pytest.mark.parametrize("tab", [{"who": "scanner", "color_scheme": "dark"}], indirect=True)
def test_the_question_before_a_thumb_is_open_to_everybody(tab: Page, ada: Reader, item: Item):
    tab.goto(link_to(ada, item), wait_until="networkidle")
    assert Axe().run(tab).response["violations"] == []
