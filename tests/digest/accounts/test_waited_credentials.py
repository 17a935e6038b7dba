"""Access that ends while a request of it waits: the request does nothing afterwards."""

import json
import socket
import time
from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from allauth.idp.oidc.models import Token
from django.conf import settings
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from config.api.mcp_endpoint import _access_fence
from digest import places
from digest.accounts.oidc import SingleSignOnAdapter
from digest.accounts.tokens import token_issue
from digest.errors import InvalidToken, SignInNeeded
from digest.mail.links import feed_token_issue
from digest.models import ApiToken, Feedback, Item, Reader, Reading, SavedSearch
from digest.places import LONG, LOOKUPS, RUNS, TURNS, Places, credential_keep, turn_take, turns_open
from digest.sources.past_import import past_import
from digest.throttling import long_work, turn_begin
from suggestions.proposals import FenceLost
from tests.support.assistants import Connected, reader_with_password
from tests.support.browser import fresh_item

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_cache")]
STAR = "user/-/state/com.google/starred"
SEARCH = {"q": "harbour"}


@pytest.fixture
def ada(settings) -> Reader:
    settings.MCP_HTTP = True
    return reader_with_password("ada")


def secret_of(reader: Reader) -> str:
    """Return a new token of the reader."""
    return token_issue(reader=reader, name="script", scope="full", expires_at=None, now=timezone.now()).secret


def browser_of(reader: Reader) -> Client:
    client = Client()
    client.force_login(reader)
    return client


def by_token(ada: Reader, item: Item) -> HttpResponse:
    headers = {"Authorization": f"Bearer {secret_of(ada)}"}
    return Client().post("/api/searches", SEARCH, "application/json", headers=headers)


def by_session(ada: Reader, item: Item) -> HttpResponse:
    return browser_of(ada).post("/api/searches", SEARCH, "application/json")


def by_page(ada: Reader, item: Item) -> HttpResponse:
    return browser_of(ada).post("/ui/searches/save", SEARCH)


def by_app(ada: Reader, item: Item) -> HttpResponse:
    headers = {"Authorization": f"GoogleLogin auth={secret_of(ada)}"}
    return Client().post("/reader/api/0/edit-tag", {"i": item.pk, "a": STAR}, headers=headers)


def by_assistant(ada: Reader, item: Item) -> HttpResponse:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body["params"] = {"name": "rate_item", "arguments": {"item_id": item.pk, "useful": True}}
    headers = {"Authorization": f"Bearer {Connected(ada).secret}", "Accept": "application/json"}
    return Client().post("/mcp", body, "application/json", headers=headers)


def by_feed(ada: Reader, item: Item) -> HttpResponse:
    return Client().get(f"/feeds/{feed_token_issue(reader=ada)}/atom.xml")


DOORS = {by_token: 401, by_session: 401, by_page: 302, by_app: 401, by_assistant: 401, by_feed: 404}


def access_end() -> None:
    """Revoke every token, sign every browser out, and replace the address of the feed."""
    for rows in (ApiToken, Token, Session):
        rows.objects.all().delete()
    Reader.objects.update(feed_token=None)


def password_change() -> None:
    ada = Reader.objects.get()
    ada.set_password("a-kettle-and-a-lamp")
    ada.save()


def meanwhile(monkeypatch: pytest.MonkeyPatch, waited_for: Places, act: Callable[[], object]) -> None:
    """Do something while requests wait for one of these places."""

    def late(self: Places, who: object, wait_s: float, line: str) -> bool:
        if self is waited_for:
            act()
            places._request.waited = True
        return take(self, who, wait_s, line)

    take = Places._take
    monkeypatch.setattr(Places, "_take", late)


@pytest.mark.parametrize("door", DOORS)
def test_a_request_whose_access_ended_while_it_waited_for_its_turn_does_nothing(
    door: Callable[[Reader, Item], HttpResponse], ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    item = fresh_item(ada)
    meanwhile(monkeypatch, TURNS, access_end)
    assert door(ada, item).status_code == DOORS[door]
    for rows in (SavedSearch, Reading, Feedback):
        assert not rows.objects.exists()


@pytest.mark.parametrize("door", [by_session, by_page])
def test_a_browser_whose_password_was_changed_while_it_waited_does_nothing(
    door: Callable[[Reader, Item], HttpResponse], ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    meanwhile(monkeypatch, TURNS, password_change)
    assert door(ada, fresh_item(ada)).status_code == DOORS[door]
    assert not SavedSearch.objects.exists()


@pytest.mark.parametrize("door", DOORS)
def test_a_request_that_waited_for_nothing_but_its_turn_is_answered(
    door: Callable[[Reader, Item], HttpResponse], ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    item = fresh_item(ada)
    meanwhile(monkeypatch, TURNS, lambda: None)
    answer = door(ada, item)
    assert answer.status_code in (200, 201, 302) and answer.get("Location") != "/accounts/login/"


def test_who_lost_their_rights_while_they_waited_has_none(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    Reader.objects.update(is_staff=True, is_superuser=True)
    admin = browser_of(Reader.objects.get())
    assert admin.get("/admin/digest/reader/").status_code == 200
    meanwhile(monkeypatch, TURNS, lambda: Reader.objects.update(is_staff=False, is_superuser=False))
    assert admin.get("/admin/digest/reader/").status_code == 302


class Access:
    """A credential that may end."""

    ended = False

    def check(self) -> None:
        if self.ended:
            raise SignInNeeded("ended")


@pytest.mark.parametrize("waited_for", [LOOKUPS, RUNS])
def test_nothing_follows_the_answer_of_another_site_for_who_was_signed_out_meanwhile(waited_for: Places):
    access = Access()
    with turns_open():
        turn_begin("ada", check=access.check)
        with waited_for.place("ada"):
            pass
        with pytest.raises(SignInNeeded), waited_for.place("ada"):
            access.ended = True


def test_long_work_does_not_begin_for_who_was_signed_out_while_it_waited(ada: Reader, monkeypatch):
    access = Access()
    meanwhile(monkeypatch, LONG, lambda: setattr(access, "ended", True))
    with turns_open():
        turn_begin("ada", check=access.check)
        with pytest.raises(SignInNeeded), long_work("ada"):
            raise AssertionError("it began")


def test_an_import_ends_between_two_steps_once_its_reader_is_signed_out(ada: Reader, monkeypatch, now):
    monkeypatch.setattr(places, "KNOWN_S", -1.0)
    access, steps = Access(), []

    def check() -> None:
        steps.append(Reading.objects.count())
        access.ended = steps[-1] > 0
        access.check()

    stars = [{"url": f"https://own.example/{n}", "title": f"Star {n}"} for n in range(250)]
    with turns_open():
        assert turn_take(ada.pk, "page")
        credential_keep(check)
        with pytest.raises(SignInNeeded):
            past_import(reader=ada, document=json.dumps(stars).encode(), now=now)
    assert Reading.objects.count() == 100


def test_a_proposal_that_its_reviewers_passed_after_the_assistant_was_disconnected_is_not_stored(ada: Reader):
    access = Access()

    def check() -> None:
        if access.ended:
            raise InvalidToken("revoked")

    with turns_open():
        turn_begin(ada.pk, check=check)
        places._request.waited = True
        _access_fence()
        access.ended, places._request.waited = True, True
        with pytest.raises(FenceLost):
            _access_fence()


def test_no_provider_is_connected_to_who_was_signed_out_while_it_was_asked(ada: Reader, rf):
    """The connection would open the account for good."""
    request = rf.get("/")
    request.session, request.user = browser_of(ada).session, ada
    answer = SimpleNamespace(state={})
    SingleSignOnAdapter(request).pre_social_login(request, answer)
    access_end()
    with pytest.raises(SignInNeeded):
        SingleSignOnAdapter(request).pre_social_login(request, answer)


def sent_in_two(site: str, head: str, body: str, between: Callable[[], object]) -> int:
    """Send a request over a connection of its own, with an act before its last byte. Return the status."""
    host = urlsplit(site)
    head = f"{head}\r\nHost: {host.netloc}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host.hostname, host.port), timeout=60) as link:
        link.sendall((head + body[:-1]).encode())
        time.sleep(places.KNOWN_S + 0.3)
        between()
        link.sendall(body[-1:].encode())
        return int(link.makefile("rb").readline().split()[1])


def headers_of(door: str, ada: Reader) -> str:
    """Return the request line and the headers of a request that saves a search."""
    if door == "token":
        return f"Authorization: Bearer {secret_of(ada)}\r\nContent-Type: application/json"
    if door == "app":
        kind = "application/x-www-form-urlencoded"
        return f"Authorization: GoogleLogin auth={secret_of(ada)}\r\nContent-Type: {kind}"
    if door == "assistant":
        secret = Connected(ada).secret
        return f"Authorization: Bearer {secret}\r\nAccept: application/json\r\nContent-Type: application/json"
    client = browser_of(ada)
    client.get("/ui/search")
    cookies = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items())
    kind = "application/json" if door == "session" else "application/x-www-form-urlencoded"
    token = client.cookies[settings.CSRF_COOKIE_NAME].value
    return f"Cookie: {cookies}\r\nX-CSRFToken: {token}\r\nContent-Type: {kind}"


@pytest.mark.parametrize("door", ["token", "session", "page", "app", "assistant"])
def test_a_request_whose_access_ended_while_its_body_arrived_does_nothing(
    door: str, ada: Reader, live_server, settings
):
    settings.SITE_URL = live_server.url
    item = fresh_item(ada)
    path, body = {
        "page": ("/ui/searches/save", "q=harbour"),
        "app": ("/reader/api/0/edit-tag", f"i={item.pk}&a={STAR}"),
        "assistant": (
            "/mcp",
            json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "rate_item", "arguments": {"item_id": item.pk, "useful": True}},
                }
            ),
        ),
    }.get(door, ("/api/searches", json.dumps(SEARCH)))
    head = f"POST {path} HTTP/1.1\r\n{headers_of(door, ada)}"
    assert sent_in_two(live_server.url, head, body, lambda: None) in (200, 201, 302)
    for rows in (SavedSearch, Reading, Feedback):
        rows.objects.all().delete()
    head = f"POST {path} HTTP/1.1\r\n{headers_of(door, ada)}"
    assert sent_in_two(live_server.url, head, body, access_end) == (302 if door == "page" else 401)
    for rows in (SavedSearch, Reading, Feedback):
        assert not rows.objects.exists(), rows
