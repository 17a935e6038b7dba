"""Turns: a web process computes one answer at a time for a reader, on all pages and APIs together."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from config import middleware
from digest import middleware as digest_middleware
from digest import places
from digest.accounts.tokens import token_issue
from digest.articles.pictures import picture_cache, picture_href
from digest.errors import TooManyRequests
from digest.middleware import ReadersTurns
from digest.models import Reader
from digest.places import (
    PAGE_LINE,
    PROGRAM_LINE,
    TURNS,
    TURNS_WAITING_MAX,
    turn_give_way,
    turn_share,
    turn_shared,
    turn_spare,
    turn_take,
    turns_open,
)
from digest.sources import past_import, subscriptions
from digest.throttling import long_work, turn_begin
from tests.support.logs import lines, logged
from tests.support.routes import routes

# A page asks for dozens of these at once, so they have places and a limit of their own.
MANY = {"digest:picture", "digest:favicon"}
# The secret in the address names the reader, even if another one is signed in.
BY_SECRET = {"digest:feed_atom", "digest:feed_json"}
ROOMS = ("digest", "ranking", "suggestions", "advisor")


@pytest.fixture
def busy(ben: Reader) -> Iterator[Reader]:
    """Keep a reader busy: one request is being answered, and the most that may wait do."""
    with occupied(ben, PAGE_LINE, PROGRAM_LINE):
        yield ben


def occupied(reader: Reader, *lines: str) -> ExitStack:
    """Take the turn of a reader, and everything in these lines for it."""
    stack = ExitStack()
    assert stack.enter_context(TURNS.place(reader.pk))
    for line in lines:
        TURNS._waiting[reader.pk, line] = TURNS_WAITING_MAX
        stack.callback(TURNS._waiting.pop, (reader.pk, line))
    return stack


def in_threads(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_six_requests_of_one_reader_are_answered_one_by_one_and_a_seventh_is_refused():
    inside, most, done, refused = [0], [0], [], []
    counting, all_there = threading.Lock(), threading.Event()

    def answer() -> None:
        with turns_open():
            try:
                turn_begin("Mallory", check=bool)
            except TooManyRequests as error:
                refused.append(error.status)
                all_there.set()
                return
            with counting:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            all_there.wait(10)
            assert has_turn("Ada"), "another reader waits for nobody"
            with counting:
                inside[0] -= 1
            done.append(1)

    in_threads(2 + TURNS_WAITING_MAX, answer)
    assert (most[0], len(done), refused) == (1, 1 + TURNS_WAITING_MAX, [429])
    assert not TURNS._taken and not TURNS._waiting


def has_turn(who: str) -> bool:
    """Return whether a reader gets their turn without waiting."""
    with TURNS.place(who) as had:
        return had


@pytest.mark.parametrize("kind", ["LOOKUPS", "PICTURES", "RUNS", "LONG", "EXPORTS"])
def test_a_request_with_a_place_of_another_kind_lets_the_readers_next_one_begin(kind: str):
    with turns_open():
        turn_begin("Ada", check=bool)
        turn_begin("Ada", check=bool)  # it never waits for itself
        assert not has_turn("Ada")
        with getattr(places, kind).place("Ada") as has_place:
            assert has_place and has_turn("Ada")


def test_a_turn_comes_back_whatever_happens():
    with pytest.raises(ZeroDivisionError), turns_open():
        turn_begin("Ada", check=bool)
        raise ZeroDivisionError
    assert not TURNS._taken


@pytest.mark.django_db
def test_every_page_of_a_reader_takes_their_turn(
    busy: Reader, ada: Reader, client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(middleware, "REFUSAL_S", 0.0)
    client.force_login(busy)
    pages = [route for route in routes() if route.room in ROOMS and route.name not in MANY | BY_SECRET]
    assert len(pages) > 30
    for page in pages:
        refused = client.get(page.url())
        assert (refused.status_code, refused["Retry-After"]) == (429, "2"), page.name
    client.force_login(ada)
    assert client.get("/ui/all").status_code == client.get("/ui/search?q=tide").status_code == 200


@pytest.mark.django_db
def test_what_a_browser_asks_for_by_itself_is_never_refused(busy: Reader, client: Client):
    """A second tab asks for the script of the service worker while the first one waits."""
    client.force_login(busy)
    assert client.get("/ui/all").status_code == 429
    public = [one for one in routes() if one.name in {"worker", "icon", "offline"}]
    answers = {one.name: client.get(one.url()).status_code for one in public}
    assert answers == {"worker": 200, "icon": 302, "offline": 200}
    assert client.get("/static/tidings.css").status_code in (200, 302), "an earlier address, too"


@pytest.mark.django_db
def test_a_refusal_is_logged_with_its_route_and_without_what_is_secret_in_it(busy: Reader, client: Client):
    client.force_login(busy)
    with logged("WARNING") as stream:
        for address in ("/ui/search?q=my-secret", "/ui/item/4711"):
            assert client.get(address).status_code == 429, "the second one is refused as the first was"
    told = [line["event"] for line in lines(stream)]
    assert told == ["Too Many Requests: /ui/search", "Too Many Requests: /ui/item/<int:item_id>"]


@pytest.mark.django_db
def test_further_refusals_of_a_readers_pages_read_nothing_until_their_line_is_shorter(
    ada: Reader, ben: Reader, client: Client, django_assert_num_queries: Callable[..., ExitStack]
):
    client.force_login(ben)
    with occupied(ben, PAGE_LINE):
        first, form = client.get("/ui/search?q=tide"), client.post("/ui/mutes/add", {"kind": "word"})
        with django_assert_num_queries(0):
            second = client.get("/ui/all")
            sent = client.post("/ui/mutes/end", {"kind": "word"})
        assert first.status_code == second.status_code == sent.status_code == 429
        assert (second.content, second.headers) == (first.content, first.headers)
        assert (sent.content, sent.headers) == (form.content, form.headers)
        assert b'data-again="2"' in first.content and b"data-again" not in form.content
        assert client.get("/ui/no-such-page").status_code == 404
        other = Client()
        other.handler = client.handler
        other.force_login(ada)
        assert other.get("/ui/all").status_code == 200, "another reader"
        other.logout()
        assert other.get("/ui/all").status_code == 302, "a visitor"
    assert client.get("/ui/all").status_code == 200


@pytest.mark.django_db
def test_further_refusals_of_a_readers_pictures_read_nothing_until_they_have_a_place(
    ada: Reader, ben: Reader, client: Client, django_assert_num_queries: Callable[..., ExitStack]
):
    client.force_login(ben)
    stored = "https://pictures.example/stored.png"
    picture_cache(settings.VAR_DIR / "pictures", settings.PICTURE_CACHE_MB).put(
        stored, b"\x89PNG\r\n\x1a\n", now=timezone.now()
    )
    pictures = iter(picture_href(f"https://pictures.example/{n}.png") for n in range(9))
    with places.PICTURES.place(ben.pk), places.PICTURES.place(ben.pk):
        first = client.get(next(pictures))
        with django_assert_num_queries(0):
            second = client.get(next(pictures))
        assert first.status_code == second.status_code == 503
        assert (second.content, second.headers) == (first.content, first.headers)
        assert client.get(picture_href(stored)).status_code == 200, "it is here"
        assert client.get("/pictures/forged").status_code == 404
        assert client.get("/ui/all").status_code == 200, "a page takes no place for pictures"
        other = Client()
        other.handler = client.handler
        other.force_login(ada)
        assert other.get(next(pictures)).status_code == 404, "another reader's is asked for"
    assert client.get(next(pictures)).status_code == 404, "it is asked for"


def test_the_refusals_of_many_sessions_take_no_memory_without_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(middleware, "REFUSALS_MAX", 2)

    def refusing(request: HttpRequest) -> HttpResponse:
        places._request.refused = places.Refused(TURNS, "Mallory", PAGE_LINE)
        return HttpResponse(status=429)

    site = middleware.RefusalsRepeated(refusing)
    for n in range(5):
        request = RequestFactory().get("/ui/all")
        request.COOKIES[settings.SESSION_COOKIE_NAME] = f"session-{n}"
        assert site(request).status_code == 429
    assert 1 <= len(site._refusals) <= 2


@pytest.mark.django_db
def test_every_door_for_programs_takes_the_readers_turn(busy: Reader, ada: Reader, client: Client):
    def asked(reader: Reader) -> list[int]:
        issued = token_issue(reader=reader, name="one", scope="full", expires_at=None, now=timezone.now())
        secret = issued.secret
        Reader.objects.filter(pk=reader.pk).update(feed_token=f"feed-{reader.username}")
        program = Client(headers={"Authorization": f"Bearer {secret}"})
        app = Client(headers={"Authorization": f"GoogleLogin auth={secret}"})
        browser = Client()
        browser.force_login(reader)
        answers = [
            program.get("/api/search?q=tide"),
            program.get("/api/items"),
            browser.get("/api/items"),
            app.get("/reader/api/0/stream/contents/user/-/state/com.google/reading-list"),
            client.get(f"/feeds/feed-{reader.username}/atom.xml"),
        ]
        return [answer.status_code for answer in answers]

    assert asked(busy) == [429] * 5
    assert asked(ada) == [200] * 5


def test_long_work_has_the_turn_but_lets_the_readers_waiting_page_go_first():
    order: list[str] = []

    def page() -> None:
        with turns_open():
            turn_begin("Ada", check=bool)
            order.append("page")

    with turns_open():
        turn_begin("Ada", check=bool)
        with long_work("Ada"):
            assert not has_turn("Ada"), "or one who imports and lists has the processor twice"
            thread = threading.Thread(target=page)
            thread.start()
            while not TURNS._waiting["Ada", PROGRAM_LINE]:
                pass
            order.append("step")
            while "page" not in order:
                turn_give_way()
            order.append("step")
            thread.join(10)
            assert not has_turn("Ada")
    assert order == ["step", "page", "step"] and has_turn("Ada")


@pytest.mark.django_db
def test_imports_let_the_readers_pages_go_first_after_each_step(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    ended: Counter[str] = Counter()
    monkeypatch.setattr(subscriptions, "turn_give_way", lambda: ended.update(["list"]))
    monkeypatch.setattr(past_import, "turn_give_way", lambda: ended.update(["stars"]))
    monkeypatch.setattr(subscriptions, "IMPORT_BATCH", 2)
    monkeypatch.setattr(past_import, "BATCH", 2)
    outlines = "".join(f'<outline xmlUrl="https://a{n}.example/feed"/>' for n in range(5))
    now = timezone.now()
    subscriptions.opml_import(reader=ada, document=f"<opml><body>{outlines}</body></opml>".encode(), now=now)
    stars = [{"title": "Tide", "url": f"https://a{n}.example/"} for n in range(5)]
    past_import.past_import(reader=ada, document=json.dumps(stars).encode(), now=now)
    assert ended == {"list": 3, "stars": 3}


def test_an_app_that_fills_its_line_keeps_its_reader_out_of_no_page():
    had: list[bool] = []

    def page() -> None:
        with turns_open():
            had.append(turn_take("Ada", PAGE_LINE))

    with TURNS.place("Ada"):
        TURNS._waiting["Ada", PROGRAM_LINE] = TURNS_WAITING_MAX
        thread = threading.Thread(target=page)
        thread.start()
        while not TURNS._waiting["Ada", PAGE_LINE]:
            pass
    thread.join(10)
    del TURNS._waiting["Ada", PROGRAM_LINE]
    assert had == [True]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let requests give way for as long as the tests need."""
    monkeypatch.setattr(places, "SHARE_WAIT_S", 20.0)
    yield
    TURNS._waiting.clear()


def query() -> None:
    """Do as a request does before each of its queries."""
    turn_share(lambda *_: None, "SELECT 1", None, False, {"connection": connection})


def shared(who: str, waiting: int, order: list[str]) -> threading.Thread:
    """Start a request of a reader of whose others some wait. It notes the end of each of its steps."""
    begun = threading.Event()

    def answer() -> None:
        with turns_open():
            turn_begin(who, check=bool)
            TURNS._waiting[who, PAGE_LINE] = waiting
            begun.set()
            query()
            order.append(who)

    thread = threading.Thread(target=answer)
    thread.start()
    assert begun.wait(10)
    return thread


def ada_reads_beside(work: Callable[[], None], order: list[str]) -> None:
    """Let Ada begin, Mallory do this work for a fifth of a second, and Ada note her end."""
    with turns_open():
        turn_begin("Ada", check=bool)
        mallory = threading.Thread(target=work)
        mallory.start()
        mallory.join(0.2)
        order.append("Ada")
    mallory.join(10)


@pytest.mark.parametrize(("mallorys", "adas"), [(1, 0), (5, 0), (5, 1)])
@pytest.mark.usefixtures("patient")
def test_who_asks_for_more_at_once_lets_another_finish_first(mallorys: int, adas: int):
    order: list[str] = []
    with turns_open():
        turn_begin("Ada", check=bool)
        TURNS._waiting["Ada", PROGRAM_LINE] = adas
        mallory = shared("Mallory", mallorys, order)
        mallory.join(0.2)
        query()  # Ada waits for nobody
        order.append("Ada")
    mallory.join(10)
    assert order == ["Ada", "Mallory"]


@pytest.mark.parametrize(("mallorys", "adas"), [(1, 0), (5, 1)])
@pytest.mark.usefixtures("patient")
def test_who_asks_for_more_at_once_lets_anothers_picture_finish_first(mallorys: int, adas: int):
    order: list[str] = []
    with turns_open():
        turn_spare("Ada")
        TURNS._waiting["Ada", PROGRAM_LINE] = adas
        mallory = shared("Mallory", mallorys, order)
        mallory.join(0.2)
        query()  # Ada waits for nobody
        order.append("Ada")
    mallory.join(10)
    assert order == ["Ada", "Mallory"]
    assert not TURNS._beside


@pytest.mark.usefixtures("patient")
def test_a_picture_that_waits_for_its_publisher_holds_up_nobody_for_long():
    order: list[str] = []
    with turns_open():
        turn_spare("Ada")
        with places.PICTURES.place("Ada"):
            shared("Mallory", 5, order).join(10)
            assert order == ["Mallory"]


@pytest.mark.parametrize("begin", [partial(turn_begin, check=bool), turn_spare])
@pytest.mark.usefixtures("patient")
def test_a_picture_of_a_quick_publisher_finishes_first(
    begin: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(places, "SLOW_BESIDE_S", 20.0)
    order: list[str] = []
    with turns_open():
        begin("Ada")
        with places.PICTURES.place("Ada"):
            mallory = shared("Mallory", 5, order)
            mallory.join(0.2)
            order.append("Ada")
    mallory.join(10)
    assert order == ["Ada", "Mallory"] and not TURNS._beside


@pytest.mark.parametrize("begin", [partial(turn_begin, check=bool), turn_spare])
@pytest.mark.usefixtures("patient")
def test_what_follows_slow_work_is_let_pass_as_what_came_before(begin: Callable[[str], None]):
    order: list[str] = []
    with turns_open():
        begin("Ada")
        with places.PICTURES.place("Ada"):
            pass
        mallory = shared("Mallory", 5, order)
        mallory.join(0.2)
        order.append("Ada")
    mallory.join(10)
    assert order == ["Ada", "Mallory"] and not TURNS._beside


@pytest.mark.usefixtures("patient")
def test_the_pictures_of_who_asks_for_more_at_once_let_another_finish_first():
    order: list[str] = []

    def picture() -> None:
        with turns_open():
            turn_spare("Mallory")
            TURNS._waiting["Mallory", PAGE_LINE] = 5
            query()
            order.append("Mallory")

    ada_reads_beside(picture, order)
    assert order == ["Ada", "Mallory"]


@pytest.mark.django_db
def test_every_view_that_takes_no_turn_is_answered_beside_it(
    ada: Reader, client: Client, monkeypatch: pytest.MonkeyPatch
):
    client.force_login(ada)
    beside: list[object] = []
    monkeypatch.setattr(digest_middleware, "turn_spare", beside.append)
    pages = [route for route in routes() if route.name in MANY]
    assert len(pages) == len(MANY)
    for page in pages:
        client.get(page.url())
    assert beside == [ada.pk] * len(MANY)


@pytest.mark.parametrize(("mallorys", "adas"), [(0, 0), (0, 3), (2, 2)])
@pytest.mark.usefixtures("patient")
def test_who_asks_for_no_more_than_another_goes_on(mallorys: int, adas: int):
    order: list[str] = []
    with turns_open():
        turn_begin("Ada", check=bool)
        TURNS._waiting["Ada", PAGE_LINE] = adas
        shared("Mallory", mallorys, order).join(10)
        assert order == ["Mallory"]


@pytest.mark.usefixtures("patient")
def test_nobody_lets_others_go_first_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "SHARE_WAIT_S", 0.3)
    order: list[str] = []
    with turns_open():
        turn_begin("Ada", check=bool)
        shared("Mallory", 5, order).join(10)
    assert order == ["Mallory"]


@pytest.mark.usefixtures("patient")
def test_no_clock_of_the_machine_and_no_second_turn_lengthens_or_shortens_what_a_request_waits(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(places, "SHARE_WAIT_S", 0.3)
    monkeypatch.setattr(places, "SHARE_TIMES", 0.0)
    now = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: next(now))
    asked: list[float] = []
    let_pass = TURNS.let_pass
    monkeypatch.setattr(TURNS, "let_pass", lambda who, s: asked.append(s) or let_pass(who, s))
    with turns_open():
        turn_begin("Mallory", check=bool)
        TURNS._waiting["Mallory", PAGE_LINE] = 5
        with TURNS.place("Ada"):
            for step in range(6):
                query()
                if step % 2:
                    turn_give_way()
    assert asked[0] == 0.3 and sum(asked) < 0.5, "it has let others pass for as long as it ever will"


@pytest.mark.usefixtures("patient")
def test_who_lets_an_accomplice_pass_until_the_time_is_over_makes_nobody_else_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(places, "SHARE_WAIT_S", 0.3)
    order: list[str] = []
    with TURNS.place("Accomplice"):
        mallory = shared("Mallory", 5, order)
        with turns_open():
            turn_begin("Ada", check=bool)
            began = time.monotonic()
            query()
            assert time.monotonic() - began < 0.3, "she asks for no more at once than anybody"
        mallory.join(10)
    assert order == ["Mallory"]


@pytest.mark.usefixtures("patient")
def test_who_computes_for_long_lets_others_go_first_for_three_times_as_long(monkeypatch: pytest.MonkeyPatch):
    """Two seconds in all were over long before an import was, and then it had half of the processor."""
    monkeypatch.setattr(places, "SHARE_WAIT_S", 0.0)
    waited_s: list[float] = []

    def long_answer() -> None:
        with turns_open():
            turn_begin("Mallory", check=bool)
            TURNS._waiting["Mallory", PAGE_LINE] = 5
            until_s = time.thread_time() + 0.1
            while time.thread_time() < until_s:
                pass
            began = time.monotonic()
            query()
            waited_s.append(time.monotonic() - began)

    with turns_open():
        turn_begin("Ada", check=bool)
        thread = threading.Thread(target=long_answer)
        thread.start()
        thread.join(10)
    assert waited_s[0] >= 0.3


@pytest.mark.usefixtures("patient")
def test_the_steps_of_a_long_computation_let_another_finish_first():
    order: list[str] = []

    def steps() -> None:
        with turns_open():
            turn_begin("Mallory", check=bool)
            TURNS._waiting["Mallory", PAGE_LINE] = 5
            for step in turn_shared(["first"]):
                order.append(step)

    with turns_open():
        turn_begin("Ada", check=bool)
        thread = threading.Thread(target=steps)
        thread.start()
        while not TURNS._waiting["Mallory", PAGE_LINE]:
            pass
        thread.join(0.2)
        order.append("Ada")
    thread.join(10)
    assert order == ["Ada", "first"]


@pytest.mark.django_db(transaction=True)
def test_a_page_lets_others_go_first_at_each_query_but_in_no_transaction(monkeypatch: pytest.MonkeyPatch):
    shares: list[bool] = []
    monkeypatch.setattr(TURNS, "let_pass", lambda *_: shares.append(connection.in_atomic_block))

    def view(request: HttpRequest) -> HttpResponse:
        turn_begin("Ada", check=bool)
        assert not Reader.objects.exists()
        with transaction.atomic():
            assert not Reader.objects.exists()
        return HttpResponse()

    ReadersTurns(view)(RequestFactory().get("/"))
    assert shares and not any(shares)
    assert not connection.execute_wrappers
