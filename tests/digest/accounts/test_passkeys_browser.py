"""Passkeys in a real browser with its virtual authenticator, on a site that has them switched on."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from playwright.sync_api import Page, expect

from digest.apps import check_sign_in
from tests.config.test_serve import ROOT, environment, fetched, port_free
from tests.support.chromium import chromium

pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-lamp-and-a-kettle"
SEED = (
    "from digest.models import Reader\nfor name in ('ada', 'ben', 'dora'):\n"
    f"    Reader.objects.create_user(name, '', '{PASSWORD}')"
)
AUTHENTICATOR = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
AUTHENTICATOR |= {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}


@pytest.fixture(scope="module")
def site(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of the site; browsers make passkeys for localhost, and for no number."""
    folder, port = tmp_path_factory.mktemp("passkeys"), port_free()
    copy(installed, folder / "tidings.sqlite3")
    place = environment(folder) | {"PASSKEYS": "true", "SITE_URL": f"http://localhost:{port}"}
    subprocess.run([sys.executable, "manage.py", "shell", "-v0", "-c", SEED], cwd=ROOT, env=place, check=True)
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--bind",
        f"127.0.0.1:{port}",
        "--threads",
        "4",
        "config.wsgi",
    ]
    with subprocess.Popen(command, cwd=ROOT, env=place, stderr=subprocess.DEVNULL) as server:
        try:
            assert fetched(f"http://localhost:{port}/healthz") == b"ok"
            yield f"http://localhost:{port}"
        finally:
            server.terminate()


@pytest.fixture
def page(site: str) -> Iterator[Page]:
    """Open a tab whose device holds passkeys. A message in the console fails the test."""
    context = chromium().new_context(base_url=site, viewport={"width": 360, "height": 740})
    page, complaints = context.new_page(), list[str]()
    page.set_default_timeout(8000)
    page.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    device = context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    yield page
    context.close()
    assert complaints == []


def by_password(page: Page, name: str = "ada") -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username or e-mail address").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.context.clear_cookies()


def passkey_added(page: Page, name: str = "ada") -> None:
    """Sign in by password and add a passkey with the form as it comes."""
    by_password(page, name)
    page.goto("/accounts/2fa/webauthn/add/")
    expect(page.get_by_role("heading", name="Is it you?")).to_be_visible()  # a stolen session adds none
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_label("Name")).to_have_value("Passkey")
    expect(page.get_by_text("signing in with your password asks for a passkey as well")).to_be_visible()
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    expect(page.get_by_text("Passkey added.")).to_be_visible()


def test_a_passkey_is_added_after_the_password_signs_in_stands_for_the_code_and_is_removed(page: Page):
    passkey_added(page)

    sign_out(page)
    page.goto("/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(lambda url: "/accounts/" not in url)
    page.goto("/ui/account")
    assert page.url.endswith("/ui/account")

    sign_out(page)
    by_password(page)
    expect(page.get_by_role("heading", name="Your passkey")).to_be_visible()
    expect(page.get_by_text("authenticator app")).to_have_count(0)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(lambda url: "/accounts/" not in url)

    page.goto("/accounts/2fa/")
    expect(page.get_by_text("It is on: beside your password")).to_be_visible()
    expect(page.get_by_text("10 of 10 are left.")).to_be_visible()
    page.goto("/accounts/2fa/webauthn/")
    page.get_by_role("link", name="Remove Passkey").click()
    expect(page.get_by_role("heading", name="Is it you?")).to_be_visible()
    expect(page.get_by_role("link", name="Use a recovery code")).to_be_visible()
    page.get_by_role("link", name="Use a passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("You have none.")).to_be_visible()
    page.goto("/accounts/2fa/")
    expect(page.get_by_text("It is off.")).to_be_visible()


def test_a_sign_in_that_was_cancelled_or_refused_is_said(page: Page):
    page.goto("/accounts/login/")
    expect(page.get_by_text("You are not signed in")).to_be_hidden()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").get_by_text("You are not signed in: you cancelled")).to_be_visible()
    page.locator("#mfa_credential").evaluate("field => { field.value = 'x'; field.form.submit() }")
    expect(page.get_by_text("You are not signed in: this passkey opens no account here.")).to_be_visible()


def test_a_sign_in_by_a_passkey_that_was_removed_here_is_said_in_the_language_of_the_browser(page: Page):
    passkey_added(page, "ben")
    page.goto("/accounts/2fa/webauthn/")
    page.get_by_role("link", name="Remove Passkey").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("You have none.")).to_be_visible()
    sign_out(page)
    page.set_extra_http_headers({"Accept-Language": "de"})
    page.goto("/accounts/login/")
    page.locator("#passkey_login").click()
    expect(page.get_by_text("Du bist nicht angemeldet: Dieser Passkey")).to_be_visible()


@pytest.mark.parametrize(("address", "wrong"), [("http://a.example", 1), ("https://a.example", 0)])
def test_an_address_for_which_browsers_make_none_is_said_at_the_start(settings, address: str, wrong: int):
    settings.PASSKEYS, settings.SITE_URL = True, address
    assert [one.id for one in check_sign_in()] == ["tidings.E023"] * wrong
