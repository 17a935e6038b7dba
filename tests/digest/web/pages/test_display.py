"""How pages look: the reader's theme and density, applied by the server before any style is read."""

import re
from dataclasses import fields

import pytest
from django.test import Client

from digest.accounts.services import Display
from digest.models import Reader
from tests.support.browser import display_form, fresh_item


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    fresh_item(ada)
    return client


DISPLAY = "/ui/display"


def root_of(client: Client, address: str = "/ui/sources") -> str:
    """Return the first element of a page."""
    return re.search(r"<html[^>]*>", client.get(address).content.decode())[0]


def test_the_device_decides_at_first(page: Client):
    assert 'data-theme="system" data-density="comfortable"' in root_of(page)
    body = page.get("/ui/sources").content.decode()
    assert body.count('<meta name="theme-color"') == body.count('media="(prefers-color-scheme') == 2


@pytest.mark.parametrize(
    "address", ["/", "/ui/all", "/ui/config", "/ui/account", "/accounts/2fa/", "/nowhere"]
)
def test_a_choice_is_on_every_page_of_its_reader(page: Client, ada: Reader, address: str):
    Reader.objects.filter(pk=ada.pk).update(theme="dark", list_density="compact")
    assert 'data-theme="dark" data-density="compact"' in root_of(page, address)


def test_a_fixed_theme_has_one_colour_for_the_browsers_frame(page: Client, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(theme="light")
    found = re.findall(r'<meta name="theme-color"[^>]*>', page.get("/ui/sources").content.decode())
    assert found == ['<meta name="theme-color" content="#fbf9f5">']


def test_a_choice_is_nobody_elses(page: Client, ada: Reader, ben: Reader):
    Reader.objects.filter(pk=ada.pk).update(theme="dark")
    other = Client()
    other.force_login(ben)
    assert 'data-theme="system"' in root_of(other)
    assert "data-theme" not in root_of(Client(), "/")


def test_the_settings_page_has_all_of_it_in_one_place(page: Client, ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(theme="dark", list_size=100)
    part = page.get(DISPLAY).content.decode().partition('class="pairs"')[2].partition("</form>")[0]
    assert '<option value="dark" selected>' in part and '<option value="100" selected>' in part
    assert all(f'name="{field.name}"' in part for field in fields(Display)) and part.count("<button") == 1


def test_no_cookie_is_needed_for_it(page: Client):
    answer = page.post(DISPLAY, display_form(theme="dark"))
    assert answer.url == DISPLAY and {*answer.cookies} <= {"messages"}


def test_a_reader_who_wants_no_counts_sees_none(page: Client, ada: Reader):
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"No {n}")
    addresses = ["/", "/ui/all", "/ui/all?side=1", "/ui/today/further", "/ui/catch-up"]
    before = [page.get(address).content.decode() for address in addresses]
    assert "4 of 4 unread" in before[0] and "data-count=" in before[1] and "4 unread" in before[1]
    page.post(DISPLAY, display_form(hide_counts="on"))
    for address in addresses:
        body = page.get(address).content.decode()
        assert not re.search(r"data-count=|data-unread=|\d+ (of \d+ )?unread|\d more", body), address
    assert "That was today." in page.get("/").content.decode()
