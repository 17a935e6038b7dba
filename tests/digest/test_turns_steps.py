"""Turns, step by step: requests pass from their arrival on, and look for others to their last byte."""

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest import middleware, places
from digest.middleware import ReadersArrivals
from digest.models import Reader
from digest.places import EXPORTS, TURNS, arriving, turn_spare, turns_open
from digest.sources.past_import import past_import
from digest.throttling import PlacedStream, turn_begin
from tests.digest.test_turns import ada_reads_beside, patient, shared
from tests.support.factories import ItemFactory, SubscriptionFactory

__all__ = ["patient"]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how often a request looked for others, as a list of one number that grows."""
    counted = [0]
    monkeypatch.setattr(places, "ARTICLES_A_LOOK", 1)
    monkeypatch.setattr(places, "turn_let_pass", lambda: counted.__setitem__(0, counted[0] + 1))
    return counted


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/ui/mutes?kind=word&value=tide&until=",
        "/ui/search?q=tide",
        "/ui/wishes?words=more about tide",
        "/ui/all",
    ],
)
def test_pages_that_read_many_articles_look_for_others_all_along(
    path: str, ada: Reader, client: Client, looks: list[int]
):
    feed = SubscriptionFactory(reader=ada).feed
    at = timezone.now() - timedelta(hours=2)
    for _ in range(20):
        ItemFactory(feed=feed, source=feed.source, published_at=at)
    client.force_login(ada)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    assert looks[0] - len(asked) >= 12


@pytest.mark.django_db
def test_an_import_of_stars_looks_for_others_at_each_entry(ada: Reader, looks: list[int]):
    stars = [{"title": "Tide", "url": f"https://a{n}.example/"} for n in range(12)]
    past_import(reader=ada, document=json.dumps(stars).encode(), now=timezone.now())
    assert looks[0] >= 12


@pytest.mark.usefixtures("patient")
def test_an_answer_that_is_sent_as_it_is_made_lets_another_finish_first():
    order: list[str] = []

    def parts() -> Iterator[str]:
        for part in ("one", "two"):
            order.append(part)
            yield part

    def export() -> None:
        sent = iter(PlacedStream(EXPORTS, "Mallory", parts()))
        TURNS._waiting["Mallory", places.PAGE_LINE] = 5
        assert list(sent) == ["one", "two"]

    ada_reads_beside(export, order)
    assert order == ["one", "Ada", "two"]


def request_of(session: str, who: object = None) -> HttpRequest:
    """Return a request with the cookie of a session, and perhaps of a reader."""
    request = RequestFactory().get("/")
    request.COOKIES[settings.SESSION_COOKIE_NAME] = session
    request.taken_by = who
    return request


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("session", "first"), [("adas", "Ada"), ("another", "Mallory")])
def test_a_known_session_is_let_pass_before_it_is_read(monkeypatch, session: str, first: str):
    """To read session and reader takes half the time of a picture. Of others nobody knows who they are."""
    monkeypatch.setattr(places, "SLOW_BESIDE_S", 20.0)
    order: list[str] = []
    begun: list[threading.Thread] = []

    def reads(request: HttpRequest) -> HttpResponse:
        if request.taken_by is None:
            begun.append(shared("Mallory", 5, order))
            begun[0].join(0.3)
            order.append("Ada")
        return HttpResponse()

    arrivals = ReadersArrivals(reads)
    arrivals(request_of("adas", "Ada"))
    arrivals(request_of(session))
    begun[0].join(10)
    assert order[0] == first and sorted(order) == ["Ada", "Mallory"] and not TURNS._beside


@pytest.mark.usefixtures("patient")
def test_who_has_arrived_is_let_pass_no_longer_than_their_turn(monkeypatch):
    monkeypatch.setattr(places, "SLOW_BESIDE_S", 20.0)
    for begin in (partial(turn_begin, check=bool), turn_spare):
        with arriving("Ada"), turns_open():
            assert len(TURNS._beside) == 1
            begin("Ada")
            assert len(TURNS._beside) == (begin is turn_spare)
        assert not TURNS._beside and not TURNS._taken


@pytest.mark.django_db
def test_a_session_is_known_once_it_was_read_and_many_take_no_memory_without_end(
    ada: Reader, client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(middleware, "SESSIONS_KNOWN_MAX", 3)
    known: list[object] = []
    monkeypatch.setattr(middleware, "arriving", lambda who: known.append(who) or nullcontext())
    client.force_login(ada)
    for _ in range(2):
        client.get("/ui/saved")
    assert known == [None, ada.pk]
    arrivals = ReadersArrivals(lambda _: HttpResponse())
    for n in range(10):
        arrivals(request_of(str(n), n + 1))
        assert len(arrivals._known) <= 3
