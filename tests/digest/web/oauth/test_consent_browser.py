"""The page on which a reader lets an assistant in, in a browser, on a phone and on a desk."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.support.assistants import PASSWORD, Assistant, clients_close, reader_with_password
from tests.support.chromium import chromium

pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]


WIDTHS = (360, 1280)


def fits(page: Page, picture: Path) -> None:
    """Fail if the page scrolls sideways at any width; keep a picture of each."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.screenshot(path=picture.with_name(f"{picture.name}-{width}.png"), full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_reader_lets_an_assistant_in_and_out_by_hand(live_server, settings, own_cache, tmp_path: Path):
    settings.MCP_HTTP, settings.SITE_URL = True, live_server.url
    reader_with_password("ada")
    assistant = Assistant(live_server.url)
    page = chromium().new_page()
    told: list[str] = []
    page.route(
        f"{assistant.redirect}**", lambda route: (told.append(route.request.url), route.fulfill(body="ok"))
    )
    try:
        page.goto(assistant.url())
        page.fill("[name=login]", "ada")
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.wait_for_selector("text=Let an assistant in?")
        fits(page, tmp_path / "consent")
        for box in page.locator("fieldset label").all():
            assert box.bounding_box()["height"] >= 44
        page.uncheck("[value=propose]")
        page.click("text=Allow")
        page.wait_for_url(f"{assistant.redirect}**")
        code = re.search(r"code=([^&]+)", urlsplit(told[0]).query)[1]
        token = assistant.redeem(code).json()["access_token"]
        assert assistant.tools(token) >= {"rate_item"} and "write_suggestion" not in assistant.tools(token)
        page.goto(f"{live_server.url}/ui/account/assistants")
        fits(page, tmp_path / "connected")
        page.click("text=Disconnect")
        page.wait_for_selector("text=None yet.")
        assert assistant.post(token, "tools/list").status_code == 401
    finally:
        page.close()
        clients_close()
