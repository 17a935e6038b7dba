"""An article's page leads to the next and the previous article of its source, unread ones too."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.items.reading import item_read
from digest.models import Item, Reader
from digest.web.pages.neighbours import Neighbours, neighbours_of
from tests.support.browser import fresh_item

pytestmark = pytest.mark.django_db


def shelf(ada: Reader, count: int = 5) -> list[Item]:
    """Return articles of one source, newest first; another source's are between them."""
    for n in range(count):
        fresh_item(ada, hours=n + 1.5, key="courier.example", title=f"Between {n}")
    return [fresh_item(ada, hours=n + 1, title=f"Lamp {n}") for n in range(count)]


def test_the_neighbours_are_of_the_same_source_and_those_read_are_passed_over(ada: Reader):
    now, lamps = timezone.now(), shelf(ada)
    for n in (1, 3):
        item_read(reader=ada, item_id=lamps[n].pk, now=now)
    found = [neighbours_of(reader=ada, item=one, now=now) for one in lamps]
    assert found[2] == Neighbours(lamps[1], lamps[3], lamps[0], lamps[4])
    assert found[0] == Neighbours(None, lamps[1], None, lamps[2])
    assert found[4] == Neighbours(lamps[3], None, lamps[2], None)


def test_neighbours_are_none_of_a_source_that_the_reader_does_not_read(ada: Reader, ben: Reader):
    lamps = shelf(ada)
    assert neighbours_of(reader=ben, item=lamps[2], now=timezone.now()) == Neighbours()


def test_an_article_that_stands_alone_has_no_neighbours(ada: Reader):
    assert neighbours_of(reader=ada, item=shelf(ada, 1)[0], now=timezone.now()) == Neighbours()


@pytest.mark.parametrize("count", [3, 15])
def test_they_cost_the_same_for_few_and_for_many(ada: Reader, count: int):
    lamps = shelf(ada, count)
    with CaptureQueriesContext(connection) as caught:
        neighbours_of(reader=ada, item=lamps[1], now=timezone.now())
    assert len(caught) <= 9


def test_the_page_links_them_without_scripts(client: Client, ada: Reader):
    client.force_login(ada)
    lamps = shelf(ada, 3)
    nav = client.get(f"/ui/item/{lamps[1].pk}").content.decode().partition('<nav class="neighbours')[2]
    for place, item in (("previous", lamps[0]), ("next", lamps[2])):
        assert f'data-neighbour="{place}" href="/ui/item/{item.pk}"' in nav
    assert "data-neighbours" not in client.get(f"/ui/item/{lamps[1].pk}?pane=1").content.decode()
