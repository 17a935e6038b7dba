"""Thumbnails in lists: the picture of an item, through this site alone, as its reader wants pictures."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from digest.articles.pictures import picture_href
from digest.models import Reader
from tests.support.browser import fresh_item

PICTURE = "https://gazette.example/boat.png"
LISTS = ["/", "/ui/all", "/ui/search?q=lamp"]


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    for n in range(3):
        fresh_item(ada, hours=n + 1, title=f"A lamp {n}", image=PICTURE if n else "")
    client.force_login(ada)
    return client


def wish(ada: Reader, **fields: str) -> None:
    Reader.objects.filter(pk=ada.pk).update(**fields)


@pytest.mark.parametrize("address", LISTS)
def test_an_item_with_a_picture_shows_it_by_our_own_address(page: Client, address: str):
    body = page.get(address).content.decode()
    assert body.count(picture_href(PICTURE)) == 2 == body.count('<span class="thumb">')
    assert PICTURE not in body and body.count('width="96" height="72" loading="lazy"') == 2


@pytest.mark.parametrize("address", LISTS)
def test_on_a_tap_it_waits_in_a_closed_box(page: Client, ada: Reader, address: str):
    wish(ada, pictures="tap")
    body = page.get(address).content.decode()
    assert body.count('<details class="thumb"><summary>') == 2 and '<span class="thumb">' not in body


@pytest.mark.parametrize("address", LISTS)
@pytest.mark.parametrize("fields", [{"pictures": "never"}, {"list_density": "compact"}])
def test_who_wants_none_and_compact_lists_have_none(page: Client, ada: Reader, address: str, fields):
    wish(ada, **fields)
    assert picture_href(PICTURE) not in page.get(address).content.decode()


@pytest.mark.parametrize("address", LISTS)
def test_more_pictures_cost_no_more_queries(page: Client, ada: Reader, settings, address: str):
    """An allowed host has pages ask which feed a picture is from."""
    settings.FETCH_ALLOW_HOSTS = ["gazette.example"]

    def cost() -> int:
        page.get(address)
        with CaptureQueriesContext(connection) as caught:
            page.get(address)
        return len(caught)

    first = cost()
    for n in range(6):
        fresh_item(ada, hours=n + 5, title=f"Another lamp {n}", image=PICTURE)
    assert cost() == first
