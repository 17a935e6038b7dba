"""A reader's browser without scripts, and programs that ask them to be let in, over real HTTP."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.idp.oidc.models import Client, Token
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client as Browser
from django.utils import timezone

from digest.models import Reader
from tests.support.factories import ReaderFactory

CALLBACK = "http://127.0.0.1:8976/callback"
PASSWORD = "a-lamp-and-a-kettle"
ALL = ("read", "rate", "propose")
PROTOCOL = "2025-06-18"
_open: list[httpx.Client] = []


def _client(**more: Any) -> httpx.Client:
    """Return a client without certificates. They would take longer to load than a page takes."""
    _open.append(httpx.Client(timeout=20, verify=False, **more))
    return _open[-1]


def clients_close() -> None:
    """Hang up, after a test."""
    while _open:
        _open.pop().close()


def sign_ins_age() -> None:
    """Date all past sign-ins and their confirmations one hour back."""
    for stored in Session.objects.all():
        held = stored.get_decoded()
        for record in held.get(AUTHENTICATION_METHODS_SESSION_KEY, []):
            record["at"] -= 3600
        Session.objects.save(stored.session_key, held, stored.expire_date)


def reader_with_password(name: str) -> Reader:
    """Make a reader who can sign in at a page."""
    one = ReaderFactory(username=name, time_zone="UTC")
    one.set_password(PASSWORD)
    one.save()
    return one


class Person:
    """A reader at their browser."""

    def __init__(self, site: str, name: str) -> None:
        self.site, self.http = site, _client(follow_redirects=True)
        page = self.http.get(f"{site}/accounts/login/")
        # Sign-in leads to today's digest, which these tests do not need.
        self.send(page, {"login": name, "password": PASSWORD}, "/accounts/login/", follow=False)

    def send(
        self, page: httpx.Response, fields: dict[str, Any], path: str, follow: bool = True
    ) -> httpx.Response:
        """Send a form of `page` with its token."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert found, page.text
        sent = {"csrfmiddlewaretoken": found[1], **fields}
        headers = {"Referer": str(page.url)}
        return self.http.post(self.site + path, data=sent, headers=headers, follow_redirects=follow)

    def open(self, url: str) -> httpx.Response:
        """Open a page. Give the password again if the page asks for it."""
        page = self.http.get(url)
        if page.url.path != "/accounts/reauthenticate/":
            return page
        back = page.url.params["next"]
        return self.send(page, {"password": PASSWORD, "next": back}, "/accounts/reauthenticate/")

    def answer(self, url: str, scopes: Sequence[str] = ALL, action: str = "grant") -> dict[str, str]:
        """Open the consent page and answer it. Return the query of the redirect to the program's callback."""
        page = self.open(url)
        request = re.search(r'name="request" value="([^"]+)"', page.text)
        assert request, page.text
        fields = {"request": unescape(request[1]), "scopes": list(scopes), "action": action}
        leaving = self.send(page, fields, "/oauth/authorize")
        link = re.search(r'href="([^"]+)" data-leaving', leaving.text)
        assert link, leaving.text
        told = urlsplit(unescape(link[1]))
        return {name: values[0] for name, values in parse_qs(told.query).items()}


class Assistant:
    """A hand-written OAuth client. It can also do things that a client must not do."""

    def __init__(self, site: str, redirect: str = CALLBACK) -> None:
        self.site, self.redirect = site, redirect
        self.http = _client()
        self.verifier = secrets.token_urlsafe(48)
        body = {"client_name": "Harbour", "redirect_uris": [redirect]}
        self.client = self.http.post(f"{site}/oauth/register", json=body).json()["client_id"]

    def url(self, **changes: str | None) -> str:
        """Return the authorization URL. `changes` replace fields of its query, and `None` removes one."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        fields: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.redirect,
            "scope": " ".join(ALL),
            "state": "x1",
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": f"{self.site}/mcp",
        }
        kept = {name: value for name, value in (fields | changes).items() if value is not None}
        return f"{self.site}/oauth/authorize?{urlencode(kept)}"

    def redeem(self, code: str, **changes: str) -> httpx.Response:
        """Ask for tokens."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client,
            "redirect_uri": self.redirect,
            "code_verifier": self.verifier,
            "resource": f"{self.site}/mcp",
        }
        return self.http.post(f"{self.site}/oauth/token", data=fields | changes)

    def refresh(self, token: str, **changes: str) -> httpx.Response:
        """Ask for tokens by a refresh token."""
        fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client}
        return self.http.post(f"{self.site}/oauth/token", data=fields | changes)

    def connect(self, person: Person, scopes: Sequence[str] = ALL) -> dict[str, Any]:
        """Have the reader let it in; return its tokens."""
        told = person.answer(self.url(), scopes)
        answer = self.redeem(told["code"])
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def post(self, token: str, method: str, params: Any = None, **headers: str) -> httpx.Response:
        """Send one message."""
        sent = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": PROTOCOL}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.http.post(f"{self.site}/mcp", json=body, headers=sent | headers)

    def call(self, token: str, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result."""
        answer = self.post(token, "tools/call", {"name": name, "arguments": arguments})
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = json.loads(answer.json()["result"]["content"][0]["text"])
        return result

    def tools(self, token: str) -> set[str]:
        """Return the names of the tools it is shown."""
        return {tool["name"] for tool in self.post(token, "tools/list").json()["result"]["tools"]}


class Connected:
    """An assistant that a reader has let in, in this process and its transaction."""

    def __init__(self, reader: Reader, scopes: Sequence[str] = ALL, name: str = "Harbour") -> None:
        self.secret = secrets.token_urlsafe(48)
        client = Client.objects.create(name=name, type=Client.Type.PUBLIC, redirect_uris=CALLBACK)
        self.client_id = client.pk
        row = Token(client=client, user=reader, type=Token.Type.ACCESS_TOKEN)
        row.expires_at = timezone.now() + timedelta(hours=1)
        row.set_value(self.secret)
        row.set_scopes(list(scopes))
        row.set_resources([f"{settings.SITE_URL}/mcp"])
        row.save()

    def call(self, name: str, arguments: dict[str, Any]) -> str | None:
        """Call a tool. Return its answer, or `None` if the call was refused."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        answer = Browser().post(
            "/mcp",
            json.dumps(body | {"params": {"name": name, "arguments": arguments}}),
            content_type="application/json",
            headers={
                "Authorization": f"Bearer {self.secret}",
                "Accept": "application/json",
                "MCP-Protocol-Version": PROTOCOL,
            },
        )
        result = json.loads(answer.content).get("result")
        return str(result["content"][0]["text"]) if result else None


@pytest.fixture
def site(live_server, settings):
    """Yield the address of an installation that assistants may connect to."""
    settings.MCP_HTTP, settings.SITE_URL = True, live_server.url
    yield live_server.url
    clients_close()


@pytest.fixture
def person(ada, site):
    """Ada at her browser, signed in."""
    return Person(site, "ada")


@pytest.fixture
def assistant(site):
    """Return a program that has registered."""
    return Assistant(site)
