"""The page that offers to order Today by one's ratings and named articles."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.feedback.naming import article_name
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.selectors import config_effective
from ranking.services import Cause, config_edit
from suggestions.changes.tastes import PAGE
from suggestions.services.ordering import order_offer_asked
from tests.suggestions.planner.test_by_taste import rate
from tests.support.browser import fresh_item

ORDER = "/ui/order"
pytestmark = pytest.mark.django_db


@pytest.fixture
def page(ada: Reader, client: Client) -> Client:
    client.force_login(ada)
    return client


def text(page: Client) -> str:
    return page.get(ORDER).content.decode()


def edit(reader: Reader, **values: object) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    edited = ConfigEdit(**values)
    config_edit(
        reader_id=reader.pk, edit=edited, expected_version=version, now=timezone.now(), cause=Cause.EDIT
    )


def test_it_shows_what_would_move_and_a_yes_orders_the_page(ada: Reader, page: Client):
    rate(ada, timezone.now(), lambda n, tennis: tennis)
    offer = order_offer_asked(reader=ada, now=timezone.now())
    assert offer is not None and (offer.rises or offer.falls)
    said = text(page)
    assert all(item.title in said for item in (*offer.rises, *offer.falls))
    answer = page.post(f"{ORDER}/accept", {"version": offer.version})
    assert answer["Location"] == "/" and config_effective(reader_id=ada.pk).config.taste == "on"
    assert "Your ratings order your page already" in text(page)


def test_whoever_only_named_an_article_can_let_it_count(ada: Reader, page: Client):
    item = fresh_item(ada, title="A river in flood")
    article_name(reader=ada, item_id=item.pk, now=timezone.now())
    said = text(page)
    assert "nothing would move" in said and "Order my page" in said


def test_whoever_pinned_it_is_told_where_to_unpin_it(ada: Reader, page: Client):
    edit(ada, pins={PAGE: "locked"})
    said = text(page)
    assert "You pinned how much your taste counts" in said and "Order my page" not in said


def test_every_page_that_says_ratings_do_not_order_it_leads_here(ada: Reader, page: Client):
    item = fresh_item(ada, title="A river in flood")
    assert f'href="{ORDER}"' in page.get("/").content.decode()
    page.post(f"/ui/item/{item.pk}/feedback", {"useful": "1", "next": "/"})
    assert f'href="{ORDER}"' in page.get("/ui/taste").content.decode()
