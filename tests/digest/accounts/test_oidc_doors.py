"""Sign-in by OpenID Connect leads past no other door: second factor, block, invitation, and the way on."""

import json
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import unescape
from re import search
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.config.test_serve import ROOT
from tests.digest.accounts.test_oidc import PASSWORD, Visitor, accounts, served
from tests.digest.accounts.test_oidc_attacks import ADA, Issuer, comes_back, issuer, place

__all__ = ["issuer", "place"]
pytestmark = [pytest.mark.alike, pytest.mark.django_db]
LOGIN = "/accounts/oidc/oidc/login/"
ELLA = {"sub": "ella-1", "email": "ella@example.org", "email_verified": True}
SCENE = """
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.utils import timezone
from digest.accounts.invitations import invitation_issue
from digest.models import Reader
TOTP.activate(Reader.objects.get(username="ella"), generate_totp_secret())
blocked = Reader.objects.create_user("bert", "bert@example.org", "x", is_active=False)
from allauth.account.models import EmailAddress
EmailAddress.objects.create(user=blocked, email=blocked.email, verified=True, primary=True)
print(invitation_issue(note="", now=timezone.now())[1])
"""


@pytest.fixture(scope="module")
def invitation(place: dict[str, str]) -> str:
    """Set up a second factor of Ella's, a blocked reader, and an invitation. Return its path."""
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", SCENE]
    done = subprocess.run(command, cwd=ROOT, env=place, check=True, capture_output=True, text=True)
    return urlsplit(done.stdout.split()[-1]).path


@pytest.fixture(scope="module")
def site(place: dict[str, str], invitation: str) -> Iterator[str]:
    with served(place) as address:
        yield address


@pytest.fixture
def visitor(site: str, issuer: Issuer) -> Iterator[Visitor]:
    with Visitor(site, issuer.url) as one:
        yield one


def test_the_provider_stands_for_the_password_and_not_for_the_second_factor(visitor: Visitor, issuer: Issuer):
    issuer.signs_in(ELLA)
    page = comes_back(visitor, issuer)
    assert page.url.path == "/accounts/2fa/authenticate/" and visitor.name == ""
    assert visitor.http.get(f"{visitor.site}/ui/all").url.path == "/accounts/2fa/authenticate/"


def test_a_blocked_reader_stays_out(visitor: Visitor, issuer: Issuer):
    issuer.signs_in({"sub": "bert-1", "email": "bert@example.org", "email_verified": True})
    comes_back(visitor, issuer)
    assert visitor.name == "" and visitor.http.get(f"{visitor.site}/ui/all").url.path == "/accounts/login/"


def comes_on(visitor: Visitor, issuer: Issuer, page: httpx.Response, **fields: str) -> httpx.Response:
    """Press the button from a page that a reader has open, and come back with a code."""
    leaving = visitor.post(LOGIN, page, **fields)
    link = search(r'href="([^"]+)" data-leaving', leaving.text)
    assert link, leaving.text
    query = parse_qs(urlsplit(unescape(link[1])).query)
    (state,), (issuer.nonce,) = query["state"], query["nonce"]
    return visitor.http.get(f"{visitor.site}{LOGIN}callback/", params={"code": "c", "state": state})


@pytest.mark.parametrize(
    "way",
    ["//evil.example/", "https://evil.example/", "/\\evil.example", "https:evil.example", "javascript:x"],
)
def test_the_way_on_after_the_provider_leads_to_no_other_site(visitor: Visitor, issuer: Issuer, way: str):
    issuer.signs_in(ADA)
    page = visitor.http.get(f"{visitor.site}/accounts/login/", params={"next": way})
    visitor.http.follow_redirects = False
    answer = comes_on(visitor, issuer, page, next=way)
    assert answer.status_code == 302
    assert urlsplit(answer.headers["Location"]).netloc in ("", urlsplit(visitor.site).netloc)
    assert "evil" not in answer.headers["Location"]


def test_no_link_of_another_site_starts_a_sign_in(visitor: Visitor, issuer: Issuer):
    """It could sign the visitor in as somebody else, who would then read along."""
    issuer.signs_in(ADA)
    asked = visitor.http.get(f"{visitor.site}{LOGIN}", params={"process": "connect"})
    assert issuer.url not in asked.text and "data-leaving" not in asked.text
    forged = visitor.http.post(visitor.site + LOGIN, headers={"Origin": "https://evil.example"})
    assert forged.status_code == 403


def test_the_code_goes_to_the_token_endpoint_with_the_secret_of_its_challenge(
    visitor: Visitor, issuer: Issuer
):
    issuer.signs_in(ADA)
    issuer.server.clear_log()
    comes_back(visitor, issuer)
    (sent,) = [asked.form.to_dict() for asked, _ in issuer.server.log if asked.path == "/token"]
    hashed = urlsafe_b64encode(sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=").decode()
    assert hashed == issuer.nonce and len(sent["code_verifier"]) >= 43


@pytest.mark.parametrize("provider", ["evil", "oidc2", "%00", "OIDC"])
def test_there_is_no_other_provider(visitor: Visitor, provider: str):
    for path in ("login/", "login/callback/?code=c&state=s"):
        answer = visitor.http.get(f"{visitor.site}/accounts/oidc/{provider}/{path}")
        assert answer.status_code in (400, 404), answer.url


def test_a_sign_in_as_somebody_else_connects_nothing_to_the_reader_who_is_here(
    visitor: Visitor, issuer: Issuer, place: dict[str, str]
):
    page = visitor.http.get(f"{visitor.site}/accounts/login/")
    visitor.post("/accounts/login/", page, login="mallory", password=PASSWORD)
    issuer.signs_in(ADA)
    page = visitor.http.get(f"{visitor.site}/ui/account")
    asked = comes_on(visitor, issuer, page)
    assert asked.status_code < 500
    assert ("ada-1", "mallory") not in accounts(place)


def test_one_invitation_makes_one_account_through_the_provider(
    place: dict[str, str], issuer: Issuer, invitation: str
):
    def comes(site: str, sub: str) -> httpx.Response:
        with Visitor(site, issuer.url) as one:
            opened = one.http.get(site + invitation)
            assert opened.status_code < 500
            issuer.signs_in({"sub": sub, "email": f"{sub}@example.org", "email_verified": True})
            form = comes_back(one, issuer)
            if "Your new account" not in form.text:
                return form
            fields = {"username": sub, "email": f"{sub}@example.org", "time_zone": "UTC"}
            return one.post("/accounts/3rdparty/signup/", form, **fields)

    with served(place | {"SIGNUP": "invite"}) as site:
        assert comes(site, "gast").status_code == 200
        assert "New readers come by invitation" in comes(site, "zweiter").text
    names = {name for _, name in accounts(place)}
    assert "gast" in names and "zweiter" not in names


def test_what_a_provider_says_is_escaped(visitor: Visitor, issuer: Issuer):
    words = "<script>alert(1)</script>"
    for query in ({"error": words}, {"error": "access_denied", "error_description": words, "state": words}):
        page = visitor.http.get(f"{visitor.site}{LOGIN}callback/", params=query)
        assert page.status_code == 401 and "<script>alert" not in page.text
    issuer.signs_in({"sub": words, "preferred_username": words, "name": words, "email": "x@example.org"})
    page = comes_back(visitor, issuer)
    assert "<script>alert" not in page.text and json.dumps(words)[1:-1] not in page.text


def test_an_address_starts_so_many_sign_ins_at_the_provider_and_no_more(
    place: dict[str, str], invitation: str, issuer: Issuer
):
    """Each is a session, which is stored and remembers what was asked."""
    with served(place) as site, Visitor(site, issuer.url) as visitor:
        page = visitor.http.get(f"{site}/accounts/login/")
        given = [visitor.post(LOGIN, page).status_code for _ in range(65)]
    assert given.count(200) == 60 and given.count(429) == 5
