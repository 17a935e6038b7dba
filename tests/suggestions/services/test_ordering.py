"""The offer after an interview: headlines that rise and fall, a yes that orders the page, or nothing."""

from datetime import timedelta

from digest.models import Reader
from ranking.selectors import config_effective
from suggestions.proposals import Refusal
from suggestions.services.ordering import order_accept, order_offer
from tests.suggestions.planner.test_by_taste import rate


def test_the_offer_names_headlines_that_rise_and_fall_and_a_yes_orders_the_page(ada: Reader, now):
    rate(ada, now, lambda n, tennis: tennis)
    offer = order_offer(reader=ada, now=now)
    assert offer is not None and len(offer.rises) <= 3 and len(offer.falls) <= 3
    assert all("Tennis" in item.title for item in offer.rises)
    assert all("bank" in item.title for item in offer.falls)
    assert offer.rises or offer.falls
    assert order_accept(reader=ada, version=offer.version, now=now) == offer.version + 1
    assert config_effective(reader_id=ada.pk).config.taste == "on"
    assert order_offer(reader=ada, now=now + timedelta(minutes=1)) is None
    assert isinstance(order_accept(reader=ada, version=offer.version, now=now), Refusal)


def test_answers_that_are_all_alike_offer_nothing(ada: Reader, now):
    rate(ada, now, lambda n, tennis: True)
    assert order_offer(reader=ada, now=now) is None
