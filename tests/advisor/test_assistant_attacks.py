"""Attacks on the way in over OAuth: requests, codes, tokens and registrations that no client would send."""

import re
from html import unescape

import pytest
from allauth.idp.oidc.models import Client, Token
from django.core.cache import cache

from digest.accounts import assistant_access
from digest.accounts.oauth import redirect_problem
from digest.places import PROGRAM_LINE, TURNS, TURNS_WAITING_MAX
from tests.support.assistants import (
    ALL,
    CALLBACK,
    PASSWORD,
    Assistant,
    Connected,
    Person,
    reader_with_password,
    sign_ins_age,
)
from tests.support.factories import ReaderFactory

pytestmark = pytest.mark.django_db(transaction=True)
ODD = ("x" * 100_000, "a\0b", "https://[::1")


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache):
    """Reset the rate limit of registrations."""


@pytest.fixture
def ada(site):
    return reader_with_password("ada")


WRONG: list[dict[str, str | None]] = [
    {"code_challenge": None},
    {"code_challenge_method": "plain"},
    {"code_challenge_method": None},
    {"redirect_uri": "https://evil.example/callback"},
    {"redirect_uri": "http://127.0.0.1:8976/elsewhere"},
    {"redirect_uri": "https://evil.example\\@127.0.0.1/callback"},
    {"redirect_uri": None},
    {"redirect_uri": f"{CALLBACK}?code=of-another"},
    {"redirect_uri": f"{CALLBACK};x"},
    {"resource": "https://bank.example/mcp"},
    {"resource": "https://[::1"},
    {"scope": "openid"},
    {"scope": "read full"},
    {"response_type": "token"},
    {"client_id": "nobody"},
    {"client_id": "https://evil.example/who-i-am.json"},
    {"client_id": "\0"},
    {"code_challenge": "short"},
]


def test_a_wrong_request_is_answered_on_our_page_and_leads_nowhere(person, assistant):
    for change in WRONG:
        page = person.open(assistant.url(**change))
        assert page.status_code == 400 and "Not connected" in page.text, change
        assert str(page.url).startswith(assistant.site) and "evil.example" not in page.text, change


def test_nobody_is_let_in_silently(person, assistant):
    assistant.connect(person)
    other = Assistant(assistant.site, "https://evil.example/callback")
    page = person.open(other.url(prompt="none"))
    assert "evil.example" in page.text and "Let an assistant in?" in page.text


def test_a_reader_is_told_where_this_answer_goes_whatever_else_the_client_registered(person, assistant):
    places = ["https://claude.example/callback", "https://evil.example/callback"]
    body = {"client_name": "Claude", "redirect_uris": places}
    client = assistant.http.post(f"{assistant.site}/oauth/register", json=body).json()["client_id"]
    page = person.open(assistant.url(client_id=client, redirect_uri=places[1])).text
    assert "<strong>evil.example</strong>" in page and "claude.example" not in page


def test_in_a_borrowed_browser_a_request_that_somebody_else_opened_needs_the_password(
    person, assistant, site
):
    asked = re.search(r'name="request" value="([^"]+)"', person.open(assistant.url()).text)
    reader_with_password("ben")
    borrowed = Person(site, "ben")
    sign_ins_age()
    fields = {"request": unescape(asked[1]), "scopes": list(ALL), "action": "grant"}
    page = borrowed.send(borrowed.http.get(f"{site}/ui/account"), fields, "/oauth/authorize")
    assert page.url.path == "/accounts/reauthenticate/" and not Token.objects.exists()
    again = {"password": PASSWORD, "next": page.url.params["next"]}
    assert "data-leaving" in borrowed.send(page, again, "/accounts/reauthenticate/").text


def test_whoever_is_signed_out_signs_in_first(assistant):
    asked = assistant.http.get(assistant.url())
    assert asked.status_code == 302 and asked.headers["Location"].startswith("/accounts/login/?next=")


def test_a_reader_who_cancels_allows_nothing(person, assistant):
    assert person.answer(assistant.url(), action="cancel") == {"error": "access_denied", "state": "x1"}
    assert not Token.objects.exists()


def test_a_code_is_redeemed_once_by_who_asked_where_it_was_sent(person, assistant, site):
    for change in (
        {"code_verifier": "x" * 64},
        {"redirect_uri": "http://127.0.0.1:8976/elsewhere"},
        {"client_id": Assistant(site).client},
        {"resource": "https://bank.example/mcp"},
        {"resource": "no address"},
    ):
        code = person.answer(assistant.url())["code"]
        refused = assistant.redeem(code, **change)
        assert refused.status_code in (400, 401) and "error" in refused.json(), refused.text
        assert assistant.redeem(code).status_code == 400
    code = person.answer(assistant.url())["code"]
    assert assistant.redeem(code).status_code == 200
    assert assistant.redeem(code).json()["error"] == "invalid_grant"


def test_a_refreshed_token_is_for_no_more_than_the_first(person, assistant):
    tokens = assistant.connect(person, ["read"])
    more = assistant.refresh(tokens["refresh_token"], scope="read rate propose")
    assert more.status_code == 400
    renewed = assistant.refresh(tokens["refresh_token"], resource="https://bank.example/mcp")
    assert renewed.json()["error"] == "invalid_target"
    renewed = assistant.refresh(tokens["refresh_token"]).json()
    assert assistant.tools(renewed["access_token"]) == assistant.tools(tokens["access_token"])


def test_a_refresh_token_in_two_hands_ends_what_was_allowed(person, assistant, monkeypatch):
    tokens = assistant.connect(person)
    renewed = assistant.refresh(tokens["refresh_token"]).json()
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert assistant.tools(renewed["access_token"])  # a client that asked twice goes on
    monkeypatch.setattr(assistant_access, "REFRESH_GRACE_S", -1)
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert assistant.post(renewed["access_token"], "tools/list").status_code == 401
    assert assistant.refresh(renewed["refresh_token"]).json()["error"] == "invalid_grant"


def test_no_flood_of_counters_makes_us_forget_a_used_token(own_cache: None, person, assistant, monkeypatch):
    """Without Redis the counters that strangers add are in a cache that drops a third of itself when full."""
    tokens = assistant.connect(person)
    renewed = assistant.refresh(tokens["refresh_token"]).json()
    cache.clear()
    monkeypatch.setattr(assistant_access, "REFRESH_GRACE_S", -1)
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert assistant.post(renewed["access_token"], "tools/list").status_code == 401


@pytest.mark.parametrize("door", ["token", "revoke", "register", "mcp"])
def test_what_no_client_sends_is_refused_and_breaks_nothing(door, person, assistant, site):
    grant = {"grant_type": "authorization_code", "client_id": assistant.client, "token": "x"}
    forms = [grant | {name: text} for name in ("code", "client_id", "resource", "token") for text in ODD]
    forms += [{"<" * 100_000: "x"}]
    deep = [b"[" * 8000, b'{"redirect_uris":' + b"[" * 8000, b'{"id":' + b"1" * 8000 + b"}", b"\xff"]
    where = f"{site}/{'mcp' if door == 'mcp' else f'oauth/{door}'}"
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if door == "mcp":
        headers["Authorization"] = f"Bearer {assistant.connect(person)['access_token']}"
        sent = [{"content": text * 25, "headers": headers} for text in deep]
    elif door == "register":
        sent = [{"content": text, "headers": headers} for text in deep]
    else:
        sent = [{"data": form} for form in forms]
    for one in sent:
        assert assistant.http.post(where, **one).status_code in (200, 400, 401, 413), one


@pytest.mark.parametrize("door", ["token", "revoke", "register"])
def test_what_is_long_is_refused_before_it_is_taken_apart(door, assistant, site):
    answer = assistant.http.post(f"{site}/oauth/{door}", content=b"<" * 9000)
    assert answer.status_code == 413 and "8192 bytes" in answer.json()["error_description"]


def test_a_page_of_another_site_asks_nothing(person, assistant, site):
    token = assistant.connect(person)["access_token"]
    assert assistant.post(token, "tools/list", Origin="https://evil.example").status_code == 403
    assert assistant.post(token, "tools/list", Origin=site).status_code == 200


@pytest.mark.parametrize(
    ("uri", "taken"),
    [
        ("https://claude.example/api/callback", True),
        ("http://127.0.0.1:7777/x", True),
        ("http://localhost/x", True),
        ("http://[::1]:5/x", True),
        ("http://claude.example/x", False),
        ("javascript:alert(1)", False),
        ("com.example.app:/x", False),
        ("https://user@claude.example/x", False),
        ("https://claude.example/x#y", False),
        ("https://*.example/x", False),
        ("https://evil.example\\@claude.example/x", False),
        ("https://claude.example/x\nhttps://evil.example/", False),
        ("https://claude.example:port/", False),
        ("https://", False),
        (f"https://claude.example/{'x' * 500}", False),
        (None, False),
    ],
)
def test_codes_go_to_https_or_the_readers_own_device(uri, taken):
    assert (redirect_problem(uri) == "") is taken


def test_registrations_are_bounded(site, assistant, monkeypatch):
    def register(**body):
        return assistant.http.post(f"{site}/oauth/register", json={"redirect_uris": [CALLBACK]} | body)

    assert register(redirect_uris=["http://evil.example/"]).json()["error"] == "invalid_redirect_uri"
    assert register(redirect_uris=[]).status_code == 400
    assert register(client_name="x" * 9000).status_code == 413
    made = register(client_name="<b>Bank</b>\u202e" + "y" * 90, scope="read openid full").json()
    assert made["client_name"].startswith("bBank/byyy") and len(made["client_name"]) <= 60
    assert made["scope"] == "read" and "client_secret" not in made
    assert made["token_endpoint_auth_method"] == "none"
    Connected(ReaderFactory(username="ben"))
    Client.objects.exclude(token__isnull=False).delete()
    monkeypatch.setattr(assistant_access, "CLIENTS_MAX", 1)
    assert register().status_code == 503, "all that there may be are in use"
    monkeypatch.undo()
    answers = [register().status_code for _ in range(12)]
    assert 429 in answers


def test_a_flood_of_registrations_keeps_no_client_out_and_drops_none_that_is_used(
    person, assistant, site, monkeypatch
):
    tokens = assistant.connect(person)
    flood = [Client(name="x", type=Client.Type.PUBLIC, redirect_uris=CALLBACK) for _ in range(30)]
    Client.objects.bulk_create(flood)
    monkeypatch.setattr(assistant_access, "CLIENTS_MAX", Client.objects.count())
    late = Assistant(site)
    assert late.connect(person)["access_token"]
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 200
    assert Client.objects.count() == assistant_access.CLIENTS_MAX


def test_an_assistant_takes_its_readers_turn(person, assistant, site, ada):
    tokens = assistant.connect(person)
    with TURNS.place(ada.pk):
        TURNS._waiting[ada.pk, PROGRAM_LINE] = TURNS_WAITING_MAX
        try:
            refused = assistant.post(tokens["access_token"], "tools/list")
        finally:
            del TURNS._waiting[ada.pk, PROGRAM_LINE]
    assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 200
