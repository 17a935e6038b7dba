"""How pages look: the reader's theme and density, applied by the server before any style is read."""

import re

import pytest
from django.test import Client

from digest.models import Reader
from tests.support.browser import fresh_item


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    fresh_item(ada)
    return client


def root_of(client: Client, address: str = "/ui/sources") -> str:
    """The first element of a page."""
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
    part = page.get("/ui/config").content.decode().partition('id="display"')[2].partition("</section>")[0]
    assert '<option value="dark" selected>' in part and '<option value="100" selected>' in part
    assert all(f'name="{name}"' in part for name in ("theme", "list_density", "list_size", "read_on_scroll"))


def test_no_cookie_is_needed_for_it(page: Client):
    form = {"theme": "dark", "list_size": "50", "list_density": "comfortable", "next": "//evil.example/"}
    answer = page.post("/ui/account/display", form)
    assert answer.url == "/" and {*answer.cookies} <= {"messages"}
