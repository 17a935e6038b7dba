"""Sign-in by OpenID Connect under attack: a provider on a socket whose answers are forged or broken."""

import gzip
import json
import socket
import sqlite3
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from functools import partial
from html import unescape
from pathlib import Path
from re import search
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from pytest_httpserver import HTTPServer
from requests import RequestException
from werkzeug import Request, Response

from digest.accounts import oidc
from digest.accounts.oidc import SingleSignOnAdapter, claims_check, discovery_check, id_token_claims
from tests.digest.accounts.test_oidc import Visitor, accounts, served, set_up

pytestmark = [pytest.mark.alike, pytest.mark.django_db]
KEY, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
CURVE = ec.generate_private_key(ec.SECP256R1())
RSA, EC = jwt.algorithms.RSAAlgorithm, jwt.algorithms.ECAlgorithm
PUBLIC = RSA.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "1", "alg": "RS256"}
ADA = {"sub": "ada-1", "email": "ada@example.org", "email_verified": True}
GONE = object()


class Issuer:
    """A provider that answers what a test wants, over a real socket."""

    def __init__(self, *, threaded: bool = False) -> None:
        self.server = HTTPServer(host="127.0.0.1", threaded=threaded)
        self.meanwhile: Callable[[], None] = lambda: None
        self.discovery: Any = {}
        self.person: Any = {}
        self.answer: Any = {}
        self.keys: Any = {}
        self.nonce = ""

    def start(self) -> None:
        self.server.start()
        self.url = self.server.url_for("").rstrip("/")
        serve = self.server.expect_request
        serve("/.well-known/openid-configuration").respond_with_handler(self._discovery)
        serve("/token").respond_with_handler(lambda _: self._json(self._answer()))
        serve("/me").respond_with_handler(lambda _: self._json(self.person))
        serve("/keys").respond_with_handler(lambda _: self._json(self.keys))

    def _answer(self) -> Any:
        return self.answer() if callable(self.answer) else self.answer

    def _discovery(self, _: Request) -> Response:
        self.meanwhile()
        places = {"authorization_endpoint": "/auth", "token_endpoint": "/token", "userinfo_endpoint": "/me"}
        found = {name: self.url + path for name, path in (places | {"jwks_uri": "/keys"}).items()}
        if isinstance(self.discovery, bytes):
            return self._json(self.discovery)
        return self._json({"issuer": self.url, **found, **self.discovery})

    @staticmethod
    def _json(body: Any) -> Response:
        return Response(body if isinstance(body, bytes) else json.dumps(body), mimetype="application/json")

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.url, "aud": "tidings", "iat": now, "exp": now + 300, **self.person}
        return {name: value for name, value in (usual | changed).items() if value is not GONE}

    def signs_in(self, person: dict[str, Any], key: Any = KEY, **changed: Any) -> None:
        """Answer with a whole, signed token of `person`, but for what is changed."""
        self.discovery, self.person, self.keys = {}, person, {"keys": [PUBLIC]}
        claims = self.claims(**changed)

        def answer() -> dict[str, Any]:
            named = {name: value for name, value in ({"nonce": self.nonce} | claims).items() if value}
            return self._tokens(jwt.encode(named, key, "RS256", headers={"kid": "1"}))

        self.answer = answer

    def says(self, id_token: Any) -> None:
        self.answer = self._tokens(id_token)

    @staticmethod
    def _tokens(id_token: Any) -> dict[str, Any]:
        return {"access_token": "t", "token_type": "Bearer", "id_token": id_token}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    one = Issuer()
    one.start()
    yield one
    one.server.stop()


@pytest.fixture(scope="module")
def place(installed: Path, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return set_up(installed, tmp_path_factory.mktemp("oidc"), issuer.url)


@pytest.fixture(scope="module")
def site(place: dict[str, str]) -> Iterator[str]:
    with served(place) as address:
        yield address


@pytest.fixture
def visitor(site: str, issuer: Issuer, place: dict[str, str]) -> Iterator[Visitor]:
    """Yield a new browser, with nobody connected yet."""
    with closing(sqlite3.connect(Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3")) as database:
        for table in ("socialaccount_socialtoken", "socialaccount_socialaccount"):
            database.execute(f"DELETE FROM {table}")
        database.commit()
    with Visitor(site, issuer.url) as one:
        yield one


def comes_back(
    visitor: Visitor, issuer: Issuer, meanwhile: Callable[[], None] = lambda: None
) -> httpx.Response:
    """Press the button, and come back from the provider with a code."""
    page = visitor.http.get(f"{visitor.site}/accounts/login/")
    leaving = visitor.post("/accounts/oidc/oidc/login/", page)
    link = search(r'href="([^"]+)" data-leaving', leaving.text)
    assert link, leaving.text
    query = parse_qs(urlsplit(unescape(link[1])).query)
    (state,), (issuer.nonce,) = query["state"], query["nonce"]
    meanwhile()
    return visitor.http.get(
        f"{visitor.site}/accounts/oidc/oidc/login/callback/", params={"code": "c", "state": state}
    )


def test_a_whole_answer_signs_its_person_in(visitor: Visitor, issuer: Issuer, place):
    issuer.signs_in(ADA)
    assert comes_back(visitor, issuer).status_code == 200 and visitor.name
    assert accounts(place) == [("ada-1", "ada")]


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"iss": GONE},
        {"aud": "another-client"},
        {"aud": []},
        {"aud": GONE},
        {"aud": ["tidings", "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"exp": 1},
        {"exp": GONE},
        {"exp": "soon"},
        {"sub": "mallory"},
        {"sub": 7},
        {"iat": GONE},
        {"nonce": ""},
        {"nonce": "of another sign-in"},
        {"key": OTHER},
    ],
    ids=lambda changed: ",".join(f"{name}={str(value)[:20]}" for name, value in changed.items()),
)
def test_a_token_for_another_or_out_of_time_signs_nobody_in(visitor: Visitor, issuer: Issuer, place, changed):
    issuer.signs_in(ADA, **changed)
    page = comes_back(visitor, issuer)
    assert page.status_code == 401 and "Not signed in" in page.text
    assert visitor.name == "" and accounts(place) == []


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "..", 5, {"a": 1}, ["x"], True, "é.é.é", "." * 10**5])
def test_what_is_no_token_signs_nobody_in(visitor: Visitor, issuer: Issuer, place, token):
    issuer.signs_in(ADA)
    issuer.says(token)
    page = comes_back(visitor, issuer)
    assert page.status_code == 401 and accounts(place) == []


@pytest.mark.parametrize(
    "body", [b"", b"no", b"[]", b"5", b"null", b'{"access_token": 5}', b"{}", b"[" * 10**5]
)
def test_an_answer_of_the_token_endpoint_that_is_none_is_said(visitor: Visitor, issuer: Issuer, place, body):
    issuer.signs_in(ADA)
    issuer.answer = body
    page = comes_back(visitor, issuer)
    assert page.status_code == 401 and accounts(place) == []


@pytest.mark.parametrize("body", [b"", b"no", b"[]", b"5", b"null", b"[" * 10**5])
def test_user_info_that_is_none_is_said(visitor: Visitor, issuer: Issuer, place, body):
    issuer.signs_in(ADA)
    issuer.person = body
    page = comes_back(visitor, issuer)
    assert page.status_code == 401 and accounts(place) == []


def test_another_person_of_the_provider_with_a_connected_readers_address_is_not_that_reader(
    visitor: Visitor, site: str, issuer: Issuer, place
):
    issuer.signs_in(ADA)
    comes_back(visitor, issuer)
    issuer.signs_in(ADA | {"sub": "mallory-1"})
    with Visitor(site, issuer.url) as mallory:
        form = comes_back(mallory, issuer)
        assert "Your new account" in form.text and mallory.name == ""
        assert accounts(place) == [("ada-1", "ada")]
        fields = {"username": "mallory1", "email": "ada@example.org", "time_zone": "Europe/Berlin"}
        made = mallory.post("/accounts/3rdparty/signup/", form, **fields)
        assert made.status_code < 500
    with closing(sqlite3.connect(Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3")) as database:
        owners = "SELECT count(*) FROM account_emailaddress WHERE email = 'ada@example.org' AND verified"
        assert database.execute(owners).fetchone() == (1,)
    assert accounts(place) == [("ada-1", "ada"), ("mallory-1", "mallory1")]
    with Visitor(site, issuer.url) as ada:
        issuer.signs_in(ADA | {"email": "new@example.org"})
        assert comes_back(ada, issuer).status_code == 200 and ada.name


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"[]",
        b"5",
        b"{}",
        b"[" * 10**5,
        {"token_endpoint": 5},
        {"issuer": "https://evil.example"},
        {"issuer": 5},
    ],
)
def test_a_provider_whose_description_breaks_meanwhile_is_said(
    visitor: Visitor, issuer: Issuer, place, config
):
    issuer.signs_in(ADA)
    page = comes_back(visitor, issuer, meanwhile=lambda: setattr(issuer, "discovery", config))
    assert page.status_code == 401 and "Not signed in" in page.text
    assert visitor.name == "" and accounts(place) == []


@pytest.mark.parametrize(
    "config",
    [
        *(b"", b"[]", b"5", b"{}", b"[" * 10**5),
        *(
            {"authorization_endpoint": address}
            for address in ("javascript:alert(1)", "https://[", "https://login.example/?code_challenge=x")
        ),
    ],
)
def test_nobody_is_led_to_a_provider_whose_description_is_none(visitor: Visitor, issuer: Issuer, config):
    issuer.signs_in(ADA)
    issuer.discovery = config
    page = visitor.post("/accounts/oidc/oidc/login/", visitor.http.get(f"{visitor.site}/accounts/login/"))
    assert page.status_code == 503 and "Harbour does not answer right now" in page.text


@pytest.mark.parametrize(
    ("email", "is_taken"),
    [
        ("frank@example.org", True),
        ("Frank@Example.org", True),
        ("fränk@example.org", True),
        ("fran\u212a@example.org", False),
        ("\uff46rank@example.org", False),
        ("frank@example.or\u212a", False),
    ],
)
def test_a_mailbox_whose_small_letters_are_a_readers_is_not_theirs(email: str, is_taken: bool):
    """In small letters the sign of Kelvin is a k. allauth compares addresses in small letters."""
    with nullcontext() if is_taken else pytest.raises(OAuth2Error):
        claims_check({"sub": "1", "email": email})


def flood() -> Iterator[bytes]:
    while True:
        yield b"x" * 65536


def drip() -> Iterator[bytes]:
    while True:
        yield b" "
        time.sleep(0.05)


def bomb() -> Iterator[bytes]:
    yield gzip.compress(bytes(50 << 20))


def nothing() -> Iterator[bytes]:
    """Blocks of deflate without content, for ever."""
    yield gzip.compress(b"")[:10]
    while True:
        yield b"\x00\x00\x00\xff\xff" * 1000


@pytest.mark.parametrize("body", [flood, drip, bomb, nothing])
def test_an_answer_of_a_provider_ends(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, body: Any):
    monkeypatch.setattr(oidc, "ANSWER_S", 1.0)
    headers = {"Content-Encoding": "gzip"} if body in (bomb, nothing) else {}
    httpserver.expect_request("/x").respond_with_handler(lambda _: Response(body(), headers=headers))
    began = time.monotonic()
    with SingleSignOnAdapter().get_requests_session() as session, pytest.raises(RequestException):
        session.get(httpserver.url_for("/x"))
    assert time.monotonic() - began < 20


def test_the_head_of_a_providers_answer_ends_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oidc, "ANSWER_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def drip() -> None:
            caller, _ = server.accept()
            with caller, suppress(OSError):
                caller.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                for _ in range(400):
                    caller.sendall(b"x")
                    time.sleep(0.05)

        pool.submit(drip)
        began = time.monotonic()
        with SingleSignOnAdapter().get_requests_session() as session, pytest.raises(RequestException):
            session.get(f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert time.monotonic() - began < 10


def test_a_provider_that_redirects_without_end_is_left(httpserver: HTTPServer):
    httpserver.expect_request("/x").respond_with_response(Response(status=302, headers={"Location": "/x"}))
    with SingleSignOnAdapter().get_requests_session() as session, pytest.raises(RequestException):
        session.get(httpserver.url_for("/x"))
    assert len(httpserver.log) == oidc.REDIRECTS_MAX + 1


def test_a_usual_answer_of_a_provider_is_read(httpserver: HTTPServer):
    packed = Response(gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"})
    httpserver.expect_request("/x").respond_with_response(packed)
    httpserver.expect_request("/y").respond_with_response(Response(status=302, headers={"Location": "/x"}))
    for path in ("/x", "/y"):
        with SingleSignOnAdapter().get_requests_session() as session:
            assert session.get(httpserver.url_for(path)).json() == {"a": 1}


def test_no_redirect_of_a_provider_with_tls_leads_to_an_address_without(httpserver: HTTPServer, settings):
    httpserver.expect_request("/x").respond_with_json({})
    settings.OIDC_ISSUER = "https://login.example"
    with SingleSignOnAdapter().get_requests_session() as session, pytest.raises(RequestException):
        session.get(httpserver.url_for("/x"))
    assert not httpserver.log


ENDPOINTS = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_provider_with_tls_leads_nowhere_without(name: str):
    whole = dict.fromkeys(ENDPOINTS, "https://login.example/x")
    whole["issuer"] = "https://login.example"
    discovery_check(whole, issuer="https://login.example")
    for address in ("http://login.example/x", "", "//login.example/x"):
        with pytest.raises(OAuth2Error):
            discovery_check(whole | {name: address}, issuer="https://login.example")


@pytest.mark.parametrize(
    "keys", [b"", b"[]", b"{}", {"keys": []}, {"keys": 5}, {"keys": [5]}, {"keys": [{}]}]
)
def test_keys_that_are_none_sign_nobody_in(visitor: Visitor, issuer: Issuer, place, keys):
    issuer.signs_in(ADA)
    issuer.keys = keys
    page = comes_back(visitor, issuer)
    assert page.status_code == 401 and accounts(place) == []


def test_the_answer_of_an_earlier_sign_in_signs_nobody_in(visitor: Visitor, issuer: Issuer, place):
    issuer.signs_in(ADA)
    earlier = issuer.claims(nonce="n")
    comes_back(visitor, issuer, meanwhile=lambda: earlier.update(nonce=issuer.nonce))
    visitor.http.cookies.clear()
    issuer.says(jwt.encode(earlier, KEY, "RS256", headers={"kid": "1"}))
    assert comes_back(visitor, issuer).status_code == 401 and visitor.name == ""


def signed(key: Any, algorithm: str, kid: str | None = "1", **changed: Any) -> str:
    now = int(time.time())
    usual = {"iss": "https://login.example", "aud": "tidings", "sub": "ada", "nonce": "n"}
    claims = usual | {"iat": now, "exp": now + 300} | changed
    return jwt.encode(claims, key, algorithm, headers={"kid": kid} if kid else {})


def read(token: str, *keys: dict[str, Any]) -> dict[str, Any]:
    return id_token_claims(
        token, keys=[*keys], issuer="https://login.example", client_id="tidings", nonce="n"
    )


OTHERS = RSA.to_jwk(OTHER.public_key(), as_dict=True)
CURVED = EC.to_jwk(CURVE.public_key(), as_dict=True) | {"kid": "1"}
BARE = {name: value for name, value in PUBLIC.items() if name != "alg"}


@pytest.mark.parametrize(
    ("token", "keys"),
    [
        (partial(signed, KEY, "RS256"), [PUBLIC]),
        (partial(signed, KEY, "PS256"), [BARE]),
        (partial(signed, KEY, "RS512"), [BARE, CURVED]),
        (partial(signed, CURVE, "ES256"), [PUBLIC, CURVED]),
        (partial(signed, KEY, "RS256", kid=None), [PUBLIC]),
        (
            partial(signed, OTHER, "RS256", kid="2"),
            [PUBLIC, OTHERS | {"kid": "2"}],
        ),
    ],
)
def test_a_token_is_read_by_the_key_that_it_names(token: Callable[[], str], keys: list[dict[str, Any]]):
    assert read(token(), *keys)["sub"] == "ada"


SECRET = "a secret that both sides know and that is long enough"
SHARED = {"kty": "oct", "k": urlsafe_b64encode(SECRET.encode()).decode(), "kid": "1"}


@pytest.mark.parametrize(
    ("token", "keys"),
    [
        (partial(signed, None, "none"), [PUBLIC]),
        (partial(signed, SECRET, "HS256"), [PUBLIC, SHARED]),
        (partial(signed, PUBLIC["n"], "HS256"), [PUBLIC]),
        (partial(signed, OTHER, "RS256"), [PUBLIC]),
        (partial(signed, KEY, "RS256", kid="2"), [PUBLIC]),
        (partial(signed, KEY, "RS256", kid=None), [PUBLIC, OTHERS]),
        (partial(signed, KEY, "PS256"), [PUBLIC]),
        (partial(signed, KEY, "RS256"), [PUBLIC | {"use": "enc"}]),
        (partial(signed, CURVE, "ES256"), [PUBLIC]),
        (lambda: signed(KEY, "RS256")[:-8] + "AAAAAAAA", [PUBLIC]),
    ],
    ids=[
        "unsigned",
        "by a shared secret",
        "by the public key as a secret",
        "by another key",
        "by no known key",
        "by one of two",
        "by an algorithm of no key",
        "by a key to encrypt",
        "by a key of another type",
        "changed",
    ],
)
def test_a_token_that_no_key_of_the_provider_signed_is_refused(
    token: Callable[[], str], keys: list[dict[str, Any]]
):
    forged = token()
    with pytest.raises(OAuth2Error):
        read(forged, *keys)
