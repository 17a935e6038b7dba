"""Accounts in a real browser: the way in, the account's pages in light, dark and small, the second factor."""

import os
import re
import time
from pathlib import Path

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Page, expect

from digest.models import ApiToken, Destination, Notification, Reader, Subscription
from tests.conftest import NOW
from tests.test_axe_browser import complaints, ready
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_cache"),
]
PASSWORD = "a-lamp-and-a-kettle"
# The folder for screenshots to look at; empty: none are saved.
SHOTS = os.environ.get("TIDINGS_SHOTS", "")
PAGES = {
    "account": "/ui/account",
    "tokens": "/ui/account/tokens",
    "notifications": "/ui/account/notifications",
    "delete": "/ui/account/delete",
    "welcome": "/ui/welcome",
    "email": "/accounts/email/",
    "password": "/accounts/password/change/",
    "factor": "/accounts/2fa/",
}

# By how many pixels a page would scroll sideways.
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def own(page: Page, ada: Reader) -> Page:
    """Ada's tab; she knows her password."""
    session = ada.password
    ada.set_password(PASSWORD)
    ada.save()
    assert session != ada.password
    page.context.clear_cookies()
    page.goto("/accounts/login/")
    page.locator("[name=login]").fill("ada")
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    expect(page.locator(".menu")).to_be_visible()
    return page


def shot(page: Page, name: str) -> None:
    """Save a screenshot if a folder for them is set."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def confirm(page: Page) -> None:
    """Type the password again if the page asks for it."""
    expect(page.get_by_role("heading", name="Is it you?")).to_be_visible()
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()


def test_from_signing_up_to_a_paper_that_is_being_fetched(tab: Page):
    tab.goto("/accounts/signup/")
    tab.get_by_label("Username").fill("cleo")
    tab.get_by_label("Email").fill("cleo@example.org")
    tab.locator("[name=password1]").fill(PASSWORD)
    tab.locator("[name=password2]").fill(PASSWORD)
    shot(tab, "signup")
    tab.get_by_role("button", name="Create my account").click()
    expect(tab.get_by_role("heading", name="What would you like to read about?")).to_be_visible()
    tab.get_by_role("checkbox", name=re.compile("^Science (?!in German)")).check()
    tab.locator("summary", has_text="Only some of these (Space)").click()
    tab.get_by_role("checkbox", name="NASA", exact=True).check()
    shot(tab, "welcome-chosen")
    tab.get_by_role("button", name="Start reading").click()
    expect(tab.get_by_text("Your digest is being fetched")).to_be_visible()
    shot(tab, "welcomed")
    assert Subscription.objects.filter(reader__username="cleo").count() == 6


def test_the_pages_fit_and_complain_of_nothing(own: Page, ada: Reader):
    fields = {"kind": "webhook", "address": f"https://hooks.example/{'a-long-path-' * 20}"}
    failing = {"code": "http_503", "off_at": NOW, "created_at": NOW}
    row = Destination.objects.create(reader=ada, **fields, **failing)
    news = [{"event": "word", "words": "“tides”: Tides rise", "path": "/"}]
    Notification.objects.create(reader=ada, destination=row, news=news, created_at=NOW, next_at=NOW)
    ready(own)
    for name, address in PAGES.items():
        own.set_viewport_size({"width": 1100, "height": 800})
        assert complaints(own, address) == []  # in both schemes
        for look, width in (("dark", 1100), ("light", 1100), ("phone", 360)):
            own.emulate_media(color_scheme="dark" if look == "dark" else "light")
            own.set_viewport_size({"width": width, "height": 800})
            shot(own, f"{name}-{look}")
            assert own.evaluate(WIDER) <= 0, (name, look)
        for box in own.locator("main button:visible, main .button:visible").all():
            assert box.bounding_box()["height"] >= 36, name


def test_a_token_is_made_by_hand_and_shown_once(own: Page, ada: Reader):
    own.goto("/ui/account/tokens")
    own.get_by_label("What is it for?").fill("Notes")
    own.get_by_role("button", name="Make a token").click()
    confirm(own)
    secret = own.locator("code.secret").first.text_content()
    assert secret.startswith("tidings_")
    shot(own, "token-new")
    answer = own.request.get("/api/suggestions", headers={"Authorization": f"Bearer {secret}", "Cookie": ""})
    assert answer.status == 200
    own.goto("/ui/account/tokens")
    assert secret not in own.content()
    own.get_by_role("button", name="Revoke Notes").click()
    expect(own.get_by_text("Revoked.")).to_be_visible()
    assert not ApiToken.objects.filter(reader=ada).exists()


def test_the_second_factor_by_hand(own: Page, ada: Reader):
    own.goto("/accounts/2fa/")
    own.get_by_role("link", name="Switch it on").click()
    confirm(own)
    expect(own.get_by_role("img", name=re.compile("QR code"))).to_be_visible()
    assert complaints(ready(own), own.url) == []
    assert own.locator(".qr svg").bounding_box()["width"] > 150
    shot(own, "factor-activate")
    secret = own.locator("code.secret").text_content()
    own.locator("[name=code]").fill(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
    own.get_by_role("button", name="Switch it on").click()
    expect(own.locator(".codes li")).to_have_count(10)
    shot(own, "factor-codes")
    own.goto("/accounts/2fa/")
    expect(own.get_by_text("10 of 10 are left")).to_be_visible()
    shot(own, "factor-on")
    for path in ("", "recovery-codes/", "recovery-codes/generate/", "totp/deactivate/"):
        assert complaints(ready(own), f"/accounts/2fa/{path}") == []


def test_leaving_by_keyboard(own: Page):
    own.goto("/ui/account/delete")
    own.locator("[name=username]").focus()
    own.keyboard.type("ada")
    own.keyboard.press("Tab")
    own.keyboard.type(PASSWORD)
    own.keyboard.press("Enter")
    expect(own.get_by_role("heading", name="The account “ada” is deleted")).to_be_visible()
    shot(own, "deleted")
    assert not Reader.objects.filter(username="ada").exists()
