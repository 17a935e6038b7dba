"""Places for slow work: one reader never has them all, in any of the things that readers share."""

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest import places
from digest.articles.pictures import picture_href
from digest.errors import TooManyRequests
from digest.feeds import fetch_batch
from digest.feeds.entities import FeedProblem
from digest.feeds.first_fetch import feeds_in_turn, feeds_new
from digest.models import Feed, Reader
from digest.places import LONG, Places
from digest.throttling import long_work
from tests.support.documents import MADE
from tests.support.factories import FeedFactory, SubscriptionFactory

ROOMS = ("advisor", "config", "digest", "ranking", "suggestions")


def held(places_: Places, who: str, times: int) -> int:
    """Return how many of `times` places `who` gets, one beside the other."""
    with ExitStack() as stack:
        return sum(stack.enter_context(places_.place(who)) for _ in range(times))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_one_reader_gets_all_places_but_one_and_another_gets_that(count: int):
    shared = Places(count)
    with shared.place("Mallory") as first:
        assert first
        assert held(shared, "Mallory", 10) == count - 2
        assert held(shared, "Ada", 10) == max(count - 2, 1), "as many as Mallory's one leaves, but the last"


def test_places_come_back_whatever_happens_and_nobody_is_remembered():
    shared = Places(2)
    for name in ("Ada", "Ben", "Cleo"):
        with pytest.raises(ZeroDivisionError), shared.place(name):
            raise ZeroDivisionError
    assert not shared._taken and not shared._waiting
    with shared.place("Ada") as a, shared.place("Ben") as b, shared.place("Cleo") as c:
        assert (a, b, c) == (True, True, False)


def test_a_second_import_waits_for_the_first_and_a_third_is_refused():
    began, end = threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str) -> None:
        with long_work("Mallory"):
            began.set()
            end.wait(10)
            done.append(name)

    first = threading.Thread(target=work, args=("first",))
    first.start()
    assert began.wait(10)
    second = threading.Thread(target=work, args=("second",))
    second.start()
    while not LONG._waiting["Mallory", ""]:
        pass
    with pytest.raises(TooManyRequests), long_work("Mallory"):
        pass
    with long_work("Ada"):
        done.append("Ada")
    end.set()
    first.join(10)
    second.join(10)
    assert done == ["Ada", "first", "second"]


def test_a_web_process_has_a_thread_more_than_may_wait_for_others():
    threads = re.search(r"^threads = (\d+)$", Path("deploy/gunicorn.conf.py").read_text(), re.MULTILINE)
    everything = [value for name, value in vars(places).items() if name.endswith("_AT_ONCE")]
    others = [one for one in vars(places).values() if isinstance(one, Places) and one is not places.TURNS]
    assert len(everything) == len(others)
    assert int(threads[1]) > sum(everything)


def test_whatever_readers_share_is_shared_by_reader():
    """A semaphore does not know who has its places. The resolver's semaphore is for its own 64 threads."""
    found = (path for room in ROOMS for path in Path(room).rglob("*.py"))
    assert {str(p) for p in found if "Semaphore(" in p.read_text()} == {"digest/feeds/connect.py"}


@pytest.fixture
def silent(httpserver: HTTPServer, settings) -> Iterator[HTTPServer]:
    """Serve a site whose `/silent…` answers only after the test."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    settings.FETCH_HOST_GAP_S = 0.0
    over = threading.Event()

    def wait(request: Request) -> Response:
        over.wait(20)
        return Response(b"", status=204)

    httpserver.expect_request(re.compile("/silent.*")).respond_with_handler(wait)
    yield httpserver
    over.set()


@pytest.fixture
def mallory(ben: Reader) -> Iterator[Reader]:
    """Yield a reader who has every place that one reader may have, of everything that is shared."""
    with ExitStack() as stack:
        for name in ("LOOKUPS", "PICTURES", "RUNS", "LONG", "EXPORTS"):
            for _ in range(8):
                stack.enter_context(getattr(places, name).place(ben.pk))
        yield ben


@pytest.mark.django_db
def test_ada_looks_up_reads_and_saves_while_mallory_has_all_a_reader_may_have(
    client: Client, ada: Reader, mallory: Reader, silent: HTTPServer
):
    for n in range(6):
        silent.expect_request(f"/{n}.xml").respond_with_data(MADE[0])
        silent.expect_request(f"/{n}.png").respond_with_data(b"\x89PNG\r\n\x1a\n" + bytes(8))
    silent.expect_request("/hook").respond_with_data(b"")
    client.force_login(ada)
    for n in range(6):
        assert client.post("/ui/sources", {"url": silent.url_for(f"/{n}.xml")}).status_code == 302
        assert client.get(picture_href(silent.url_for(f"/{n}.png"), inside=True)).status_code == 200
    assert client.get("/ui/mutes?kind=word&value=tennis&until=").status_code == 200
    assert client.get("/ui/account/export").status_code == 200
    client.force_login(mallory)
    refused = client.post("/ui/sources", {"url": silent.url_for("/0.xml")})
    assert (refused.status_code, "right now" in refused.content.decode()) == (422, True)
    assert client.get("/ui/account/export").status_code == 429


@pytest.mark.django_db
def test_a_list_of_thirty_feeds_delays_anothers_one_feed_by_one(ada: Reader, ben: Reader):
    """A fetch batch takes feeds in this order, sixteen at a time, each for up to half a minute."""
    for n in range(30):
        SubscriptionFactory(
            reader=ben, feed=FeedFactory(url=f"https://m{n}.example/", state=Feed.State.ACTIVE)
        )
    shared, mine = (
        Feed.objects.get(url="https://m29.example/"),
        FeedFactory(url="https://ada.example/", state=Feed.State.ACTIVE),
    )
    SubscriptionFactory(reader=ada, feed=mine)
    SubscriptionFactory(reader=ada, feed=shared)
    turns = [feed.url for feed in feeds_in_turn(feeds=list(feeds_new(now=timezone.now())))]
    assert turns[:3] == ["https://m0.example/", "https://m29.example/", "https://m1.example/"]
    assert turns.index(mine.url) <= 3
    assert len(turns) == 31


@pytest.mark.django_db
def test_a_round_asks_in_turn(ada: Reader, ben: Reader, monkeypatch: pytest.MonkeyPatch, settings):
    for n in range(30):
        SubscriptionFactory(
            reader=ben, feed=FeedFactory(url=f"https://m{n}.example/", state=Feed.State.ACTIVE)
        )
    SubscriptionFactory(reader=ada, feed=FeedFactory(url="https://ada.example/", state=Feed.State.ACTIVE))
    asked: list[str] = []

    def refuse(address: str, **_: object) -> None:
        asked.append(str(address))
        raise FeedProblem("timeout", "It is silent.")

    monkeypatch.setattr(fetch_batch, "fetch", refuse)
    settings.FETCH_WORKERS = 1
    fetch_batch.feeds_fetch(now=timezone.now())
    assert asked.index("https://ada.example/") <= 1
