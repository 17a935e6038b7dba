"""Codes and tokens of assistants: in a flood, after a new password, after the account, and once revoked."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import unescape
from typing import Any

import httpx
import pytest
from allauth.idp.oidc.internal.oauthlib.request_validator import OAuthLibRequestValidator
from allauth.idp.oidc.models import Client as Program
from allauth.idp.oidc.models import Token
from django.db import OperationalError
from django.test import Client

from digest.accounts import assistant_access
from digest.accounts.services import reader_access_end, reader_delete
from digest.models import Reader
from digest.web.oauth import endpoints
from tests.support.assistants import (
    PASSWORD,
    Assistant,
    Person,
    reader_with_password,
)

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "a-kettle-and-a-lamp"


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache: None) -> None:
    """Reset the rate limits."""


@pytest.fixture
def ada(site: str) -> Reader:
    return reader_with_password("ada")


def password_change(reader: Reader) -> None:
    """Choose another password, as after a theft."""
    reader.set_password(NEW)
    reader.save()
    reader_access_end(reader=reader)


def block(reader: Reader) -> None:
    Reader.objects.filter(pk=reader.pk).update(is_active=False)


def delete(reader: Reader) -> None:
    reader_delete(reader=reader)


ENDS = [password_change, block, delete]


@pytest.mark.parametrize("end", ENDS)
def test_a_code_that_was_given_before_the_access_ended_is_no_good_after(
    person: Person, assistant: Assistant, ada: Reader, end: Any
):
    code = person.answer(assistant.url())["code"]
    end(ada)
    assert assistant.redeem(code).json()["error"] == "invalid_grant"
    assert not Token.objects.exists()


@pytest.mark.parametrize("end", ENDS)
def test_tokens_open_and_renew_nothing_after_the_access_ended(
    person: Person, assistant: Assistant, ada: Reader, end: Any
):
    tokens = assistant.connect(person)
    end(ada)
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 401
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def at_once(send: Any, times: int = 8) -> Counter[int]:
    """Return how often each status was answered to as many requests at once."""
    with ThreadPoolExecutor(times) as pool:
        return Counter(answer.status_code for answer in pool.map(lambda _: send(), range(times)))


def test_of_many_requests_with_one_code_one_gets_tokens(person: Person, assistant: Assistant):
    code = person.answer(assistant.url())["code"]
    assert at_once(lambda: assistant.redeem(code)) == {200: 1, 400: 7}
    assert Token.objects.count() == 2


def test_of_many_requests_with_one_refresh_token_one_gets_tokens(person: Person, assistant: Assistant):
    tokens = assistant.connect(person)
    assert at_once(lambda: assistant.refresh(tokens["refresh_token"])) == {200: 1, 400: 7}
    assert Token.objects.filter(type=Token.Type.REFRESH_TOKEN).count() == 1


@pytest.mark.parametrize("hint", [None, "refresh_token", "access_token", "no-such-hint"])
def test_a_revoked_refresh_token_takes_its_access_along(
    person: Person, assistant: Assistant, site: str, hint: str | None
):
    tokens = assistant.connect(person)
    other = Assistant(site).connect(person)
    sent = {"token": tokens["refresh_token"], "client_id": assistant.client}
    sent |= {"token_type_hint": hint} if hint else {}
    assert assistant.http.post(f"{site}/oauth/revoke", data=sent).status_code == 200
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 401
    assert assistant.post(other["access_token"], "tools/list").status_code == 200


def test_nobody_revokes_by_anything_but_the_token(person: Person, assistant: Assistant, site: str):
    tokens = assistant.connect(person)
    other = Assistant(site)
    for token in ("", "x", tokens["refresh_token"][:-1], tokens["refresh_token"] + "x", "%", "*"):
        sent = {"token": token, "client_id": other.client}
        assert other.http.post(f"{site}/oauth/revoke", data=sent).status_code in (200, 400)
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 200


DOORS = [
    ("register", "application/json", b'{"redirect_uris": ["https://a.example/c"]}'),
    ("token", "application/x-www-form-urlencoded", b"grant_type=refresh_token&refresh_token=x"),
    ("revoke", "application/x-www-form-urlencoded", b"token=x"),
]


@pytest.mark.parametrize(("door", "kind", "body"), DOORS)
def test_invented_headers_and_a_whole_ipv6_network_are_one_address(
    door: str, kind: str, body: bytes, settings, site: str, monkeypatch: pytest.MonkeyPatch
):
    settings.MCP_HTTP = True
    monkeypatch.setattr(endpoints, "TOKENS", replace(endpoints.TOKENS, times=5))
    statuses = []
    for n in range(12):  # at most five in the minute before, and five in this one
        headers = {
            "X-Forwarded-For": f"203.0.113.{n}",
            "X-Real-IP": f"203.0.113.{n}",
            "Forwarded": f"for={n}",
        }
        address = f"2001:db8:0:1:{n:x}::{n:x}"
        answer = Client().post(
            f"/oauth/{door}", body, content_type=kind, REMOTE_ADDR=address, headers=headers
        )
        statuses.append(answer.status_code)
    assert 429 in statuses
    other = Client().post(f"/oauth/{door}", body, content_type=kind, REMOTE_ADDR="2001:db8:0:2::1")
    assert other.status_code != 429


GRANTS: list[dict[str, str]] = [
    {"grant_type": "password", "username": "ada", "password": PASSWORD},
    {"grant_type": "client_credentials"},
    {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "x"},
    {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "a.b.c"},
    {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "x"},
    {"grant_type": "implicit"},
    {"grant_type": ""},
    {},
]


@pytest.mark.parametrize("grant", GRANTS, ids=lambda grant: grant.get("grant_type", "none")[-20:])
def test_no_other_grant_gives_tokens(assistant: Assistant, ada: Reader, grant: dict[str, str]):
    answer: httpx.Response = assistant.http.post(
        f"{assistant.site}/oauth/token", data={"client_id": assistant.client, "scope": "read", **grant}
    )
    assert answer.status_code in (400, 401) and not Token.objects.exists()


@pytest.mark.parametrize("change", [{"code_verifier": ""}, {"code_verifier": None}, {"code_challenge": "x"}])
def test_no_code_is_redeemed_without_its_verifier(
    person: Person, assistant: Assistant, change: dict[str, Any]
):
    code = person.answer(assistant.url())["code"]
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": assistant.client,
        "redirect_uri": assistant.redirect,
        "code_challenge_method": "plain",
        "code_verifier": "",
        **change,
    }
    sent = {name: value for name, value in fields.items() if value is not None}
    assert assistant.http.post(f"{assistant.site}/oauth/token", data=sent).status_code in (400, 401)
    assert not Token.objects.exists()


def test_what_was_asked_for_is_what_was_signed(person: Person, assistant: Assistant, site: str):
    """Fields beside the signed request, in the form or its address, change neither target nor challenge."""
    page = person.open(assistant.url())
    request = unescape(re.search(r'name="request" value="([^"]+)"', page.text)[1])
    evil = {
        "redirect_uri": "https://evil.example/",
        "client_id": Assistant(site, "https://evil.example/").client,
        "code_challenge": "A" * 43,
        "state": "theirs",
        "response_mode": "form_post",
        "scope": "read rate propose full",
    }
    fields = {"request": request, "scopes": ["read"], "action": "grant", **evil}
    query = str(httpx.QueryParams(evil))
    leaving = person.send(page, fields, f"/oauth/authorize?{query}")
    link = re.search(r'href="([^"]+)" data-leaving', leaving.text)
    if link is not None:
        told = httpx.URL(unescape(link[1]))
        assert str(told).startswith(assistant.redirect) and told.params["state"] == "x1"
        tokens = assistant.redeem(told.params["code"]).json()
        assert tokens["scope"] == "read"
    assert "evil.example" not in leaving.text


def test_a_refresh_that_broke_off_is_no_use_of_its_token(
    person: Person, assistant: Assistant, monkeypatch: pytest.MonkeyPatch
):
    """The client repeats it later than a second use may come, which counts as theft."""
    tokens, save = assistant.connect(person), OAuthLibRequestValidator.save_bearer_token
    broken = [OperationalError("the database does not answer")]

    def save_later(*args: Any, **more: Any) -> None:
        if broken:
            raise broken.pop()
        save(*args, **more)

    monkeypatch.setattr(OAuthLibRequestValidator, "save_bearer_token", save_later)
    monkeypatch.setattr(assistant_access, "REFRESH_GRACE_S", -1)
    assert assistant.refresh(tokens["refresh_token"]).status_code == 500
    renewed = assistant.refresh(tokens["refresh_token"])
    assert renewed.status_code == 200
    assert assistant.post(renewed.json()["access_token"], "tools/list").status_code == 200


@pytest.mark.parametrize("scopes", [["read"], []])
def test_an_answer_for_a_client_that_is_gone_allows_nothing_and_breaks_nothing(
    person: Person, assistant: Assistant, scopes: list[str]
):
    page = person.open(assistant.url())
    request = unescape(re.search(r'name="request" value="([^"]+)"', page.text)[1])
    Program.objects.all().delete()
    fields = {"request": request, "scopes": scopes, "action": "grant"}
    answer = person.send(page, fields, "/oauth/authorize")
    assert answer.status_code == 400 and "Not connected" in answer.text


PLACES: list[dict[str, Any]] = [
    {"params": True},
    {"json": True},
    {"content": True, "headers": {"Content-Type": "text/plain"}},
]


@pytest.mark.parametrize("how", PLACES, ids=["in the address", "as JSON", "as another text"])
@pytest.mark.parametrize("secret", ["code", "refresh_token"])
def test_a_secret_that_is_sent_elsewhere_than_in_the_form_gives_no_tokens(
    person: Person, assistant: Assistant, how: dict[str, Any], secret: str
):
    """We count each use by the form; the library must read it nowhere else."""
    sent = {"client_id": assistant.client, "redirect_uri": assistant.redirect}
    if secret == "code":
        sent |= {"grant_type": "authorization_code", "code_verifier": assistant.verifier}
        sent["code"] = person.answer(assistant.url())["code"]
    else:
        sent |= {"grant_type": "refresh_token", secret: assistant.connect(person)["refresh_token"]}
    body = {"params": sent, "json": sent, "content": str(httpx.QueryParams(sent))}
    given = {name: body.get(name, value) for name, value in how.items()}
    before = set(Token.objects.values_list("hash", flat=True))
    answer = assistant.http.post(f"{assistant.site}/oauth/token", **given)
    assert answer.status_code in (400, 401)
    assert set(Token.objects.values_list("hash", flat=True)) == before
