"""Sign-in by OpenID Connect: our site and a third-party provider, over real sockets."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html import unescape
from ipaddress import IPv4Network
from pathlib import Path
from shutil import copy
from urllib.parse import urlsplit

import httpx
import pytest
from allauth.socialaccount.providers.oauth2.client import OAuth2Error

from digest.accounts.oidc import is_fresh, subjects_check
from digest.apps import check_sign_in
from tests.config.test_serve import ROOT, environment, fetched, port_free

pytestmark = [pytest.mark.alike, pytest.mark.django_db]
PASSWORD = "a-lamp-and-a-kettle"
ADDRESSES = (str(address) for address in IPv4Network("10.0.0.0/8").hosts())
# The provider's tables are created if it is switched on.
SEED = f"""
from django.core.management import call_command
call_command("migrate", verbosity=0)
from allauth.account.models import EmailAddress
from digest.models import Reader
for name, confirmed in (("ada", True), ("ella", True), ("mallory", False)):
    reader = Reader.objects.create_user(name, f"{{name}}@example.org", "{PASSWORD}")
    address = "ben@example.org" if name == "mallory" else reader.email
    EmailAddress.objects.create(user=reader, email=address, verified=confirmed, primary=True)
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """Run a provider in its own process. Yield its address."""
    port = port_free()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://localhost:{port}"
            assert b"issuer" in fetched(f"{address}/.well-known/openid-configuration")
            yield address
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def place(installed: Path, provider: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Set up an installation with OpenID Connect.

    Ada has confirmed her address; Mallory claims Ben's unconfirmed.
    """
    return set_up(installed, tmp_path_factory.mktemp("oidc"), provider)


def set_up(installed: Path, folder: Path, issuer: str) -> dict[str, str]:
    """Set up an installation in a folder, and return its environment."""
    copy(installed, folder / "tidings.sqlite3")
    place = environment(folder) | {
        "OIDC_ISSUER": issuer,
        "OIDC_CLIENT_ID": "tidings",
        "OIDC_CLIENT_SECRET": "s3cret",
        "OIDC_NAME": "Harbour",
        # Visitors say which address they come from, so that limits by address count each of them alone.
        "TRUSTED_PROXY_COUNT": "1",
    }
    seed = [sys.executable, "manage.py", "shell", "-v0", "-c", SEED]
    subprocess.run(seed, cwd=ROOT, env=place, check=True)
    return place


@pytest.fixture(scope="module")
def site(place: dict[str, str]) -> Iterator[str]:
    with served(place) as address:
        yield address


@contextmanager
def served(place: dict[str, str], *more: str) -> Iterator[str]:
    """Yield the address of the site, which is served, perhaps with `more` options of gunicorn."""
    port = port_free()
    command = [sys.executable, "-m", "gunicorn", *more, "--bind", f"127.0.0.1:{port}", "config.wsgi"]
    with subprocess.Popen(command, cwd=ROOT, env=place, stderr=subprocess.DEVNULL) as server:
        try:
            assert fetched(f"http://127.0.0.1:{port}/healthz") == b"ok"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


class Visitor:
    """A browser without scripts: it follows redirects and sends forms with their token."""

    def __init__(self, site: str, provider: str) -> None:
        self.site, self.provider = site, provider
        # Nothing here is encrypted: to load the certificates would take longer than most of the pages.
        self.http = httpx.Client(follow_redirects=True, timeout=20, verify=False)
        self.http.headers["X-Forwarded-For"] = next(ADDRESSES)

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, path: str, page: httpx.Response, **fields: str) -> httpx.Response:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token, page.text
        sent = {"csrfmiddlewaretoken": token[1], **fields}
        return self.http.post(self.site + path, data=sent, headers={"Referer": str(page.url)})

    def to_provider(self, **fields: str) -> httpx.Response:
        """Press the button of the sign-in page, or the account's."""
        page = self.http.get(f"{self.site}/accounts/{'3rdparty/' if fields else 'login/'}")
        assert "Harbour" in page.text
        leaving = self.post("/accounts/oidc/oidc/login/", page, **fields)
        link = re.search(r'href="([^"]+)" data-leaving', leaving.text)
        return self.http.get(unescape(link[1])) if link else leaving

    def comes_back(self, sub: str, verified: bool | str = True, **fields: str) -> httpx.Response:
        """Sign in at the provider as `sub`, with a confirmed address or not, and come back."""
        claims = {"email": f"{sub}@example.org", "email_verified": verified, "preferred_username": sub}
        self.http.put(f"{self.provider}/users/{sub}-{verified}", json=claims).raise_for_status()
        asked = self.to_provider(**fields)
        assert urlsplit(str(asked.url)).netloc == urlsplit(self.provider).netloc
        return self.http.post(str(asked.url), data={"sub": f"{sub}-{verified}"})

    @property
    def name(self) -> str:
        """Who is signed in, by the account page."""
        page = self.http.get(f"{self.site}/ui/account")
        found = re.search(r"<h1>([^<]*)</h1>", page.text)
        return found[1] if found and page.url.path == "/ui/account" else ""


@pytest.fixture
def visitor(site: str, provider: str) -> Iterator[Visitor]:
    with Visitor(site, provider) as one:
        yield one


def accounts(place: dict[str, str]) -> list[tuple[str, str]]:
    """Which reader each of the provider's people signs in as."""
    query = "SELECT uid, username FROM socialaccount_socialaccount s JOIN digest_reader r ON r.id = s.user_id"
    with closing(sqlite3.connect(Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3")) as database:
        return sorted(database.execute(query).fetchall())


def test_who_is_new_chooses_a_name_and_is_known_the_next_time(visitor: Visitor, site, provider, place):
    form = visitor.comes_back("cleo")
    assert "Your new account" in form.text and 'value="cleo"' in form.text
    fields = {"username": "cleo", "email": "cleo@example.org", "time_zone": "Europe/Berlin"}
    done = visitor.post("/accounts/3rdparty/signup/", form, **fields)
    assert done.status_code == 200 and urlsplit(str(done.url)).path in {"/", "/ui/welcome"}
    with Visitor(site, provider) as again:
        assert urlsplit(str(again.comes_back("cleo").url)).path in {"/", "/ui/welcome"}
        assert ("cleo-True", "cleo") in accounts(place)


def test_who_has_no_password_signs_in_at_the_provider_again_before_a_sensitive_change(
    visitor: Visitor, provider: str, site: str
):
    form = visitor.comes_back("elsa")
    fields = {"username": "elsa", "email": "elsa@example.org", "time_zone": "Europe/Berlin"}
    visitor.post("/accounts/3rdparty/signup/", form, **fields)
    assert visitor.http.get(f"{site}/accounts/password/set/").url.path == "/accounts/oidc/again/"
    page = visitor.http.get(f"{site}/ui/account/tokens")
    asked = visitor.post("/ui/account/tokens", page, name="script", scope="read", days="30")
    assert asked.url.path == "/accounts/oidc/again/" and "sign in with Harbour once more" in asked.text

    def again(sub: str) -> httpx.Response:
        leaving = visitor.post(f"{asked.url.path}?{asked.url.query.decode()}", asked)
        link = unescape(re.search(r'href="([^"]+)" data-leaving', leaving.text)[1])
        assert "prompt=login" in link and "max_age=0" in link
        return visitor.http.post(str(visitor.http.get(link).url), data={"sub": sub})

    httpx.put(f"{provider}/users/ida", json={"email": "ida@example.org"}).raise_for_status()
    refused = again("ida")
    assert refused.status_code == 403 and "named somebody else" in refused.text
    assert visitor.http.get(f"{site}/accounts/password/set/").url.path == "/accounts/oidc/again/"
    assert "tidings_" in again("elsa-True").text  # the token that was asked for at first
    assert visitor.http.get(f"{site}/accounts/password/set/").url.path == "/accounts/password/set/"


def test_who_has_no_password_deletes_the_account_by_signing_in_at_the_provider_again(
    visitor: Visitor, site: str, place
):
    form = visitor.comes_back("flora")
    fields = {"username": "flora", "email": "flora@example.org", "time_zone": "Europe/Berlin"}
    visitor.post("/accounts/3rdparty/signup/", form, **fields)
    account = visitor.http.get(f"{site}/ui/account").text
    assert "Set a password" in account and "/accounts/password/change/" not in account
    page = visitor.http.get(f"{site}/ui/account/delete")
    assert 'name="password"' not in page.text
    asked = visitor.post("/ui/account/delete", page, username="flora")
    assert asked.url.path == "/accounts/oidc/again/" and ("flora-True", "flora") in accounts(place)
    leaving = visitor.post(f"{asked.url.path}?{asked.url.query.decode()}", asked)
    link = unescape(re.search(r'href="([^"]+)" data-leaving', leaving.text)[1])
    done = visitor.http.post(str(visitor.http.get(link).url), data={"sub": "flora-True"})
    assert "The account “flora” is deleted" in done.text and ("flora-True", "flora") not in accounts(place)
    assert visitor.name == ""


@pytest.mark.parametrize(
    ("claims", "fresh"),
    [({}, True), ({"auth_time": -10}, True), ({"auth_time": -3600}, False), ({"auth_time": "now"}, False)],
)
def test_a_provider_that_says_when_somebody_signed_in_is_taken_at_its_word(now, claims, fresh):
    at = {key: now.timestamp() + value if isinstance(value, int) else value for key, value in claims.items()}
    assert is_fresh(at, now=now) is fresh


def test_an_answer_that_names_two_people_signs_nobody_in():
    """Who has somebody's access token would else be that person with an ID token of their own."""
    subjects_check(user_info={"sub": "ada"}, id_token={"sub": "ada"})
    subjects_check(user_info=None, id_token={"sub": "ada"})
    with pytest.raises(OAuth2Error):
        subjects_check(user_info={"sub": "ada"}, id_token={"sub": "mallory"})


def test_every_answer_is_checked_for_two_people(place: dict[str, str]):
    """The library reads the user info first, so that both are known once the ID token is read."""
    script = """
from unittest import mock
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter as Library
from digest.accounts.oidc import provider_of
with mock.patch.object(Library, "_fetch_user_info", lambda *_: {"sub": "ada"}), \
     mock.patch("digest.accounts.oidc.id_token_claims", lambda *_, **__: {"sub": "mallory"}):
    found = provider_of(None, "oidc")
    app = mock.Mock(settings={})
    try:
        found.complete_login(None, app, mock.Mock(token="t"), response={"id_token": "x"})
    except OAuth2Error as error:
        print(error)
"""
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", script]
    done = subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert "named two people" in done.stdout, done.stderr


def test_an_address_that_both_sides_have_confirmed_links_the_accounts(visitor: Visitor, place):
    assert urlsplit(str(visitor.comes_back("ada").url)).path in {"/", "/ui/welcome"}
    assert ("ada-True", "ada") in accounts(place)


def test_an_address_that_the_provider_has_not_confirmed_links_nothing(visitor: Visitor, place):
    page = visitor.comes_back("ada", verified=False)
    assert "Your new account" in page.text
    assert ("ada-False", "ada") not in accounts(place)


def test_a_confirmation_in_text_is_read_as_it_is_meant(visitor: Visitor, site: str, provider: str, place):
    """Amazon Cognito says "false", which is true in Python."""
    page = visitor.comes_back("ella", verified="false")
    assert "Your new account" in page.text and ("ella-false", "ella") not in accounts(place)
    fields = {"username": "elli", "email": "ella@example.org", "time_zone": "Europe/Berlin"}
    visitor.post("/accounts/3rdparty/signup/", page, **fields)
    assert ("ella-false", "elli") in accounts(place)
    with Visitor(site, provider) as other:
        assert urlsplit(str(other.comes_back("ella", verified="true").url)).path in {"/", "/ui/welcome"}
    assert ("ella-true", "ella") in accounts(place)


def test_who_signed_up_with_somebodys_address_does_not_get_their_sign_in(visitor: Visitor, place):
    """Mallory has an account with Ben's address, which is not confirmed."""
    page = visitor.comes_back("ben")
    assert "Your new account" in page.text
    assert "mallory" not in {name for _, name in accounts(place)}


@pytest.mark.parametrize(
    "claims",
    [{"email": 7}, {"email": "a" * 300}, {"email": ["a@example.org"]}, {"preferred_username": {"a": 1}}],
)
def test_an_answer_that_no_account_can_be_made_of_is_said(visitor: Visitor, provider: str, place, claims):
    known = accounts(place)
    httpx.put(f"{provider}/users/odd", json={"email_verified": True, **claims}).raise_for_status()
    page = visitor.http.post(str(visitor.to_provider().url), data={"sub": "odd"})
    assert page.status_code == 401 and "Not signed in" in page.text
    assert accounts(place) == known


def test_a_number_of_the_provider_that_is_too_long_is_said(visitor: Visitor, place):
    page = visitor.comes_back("a" * 300)
    assert page.status_code == 401 and "Not signed in" in page.text


def test_a_signed_in_reader_connects_and_disconnects_it(visitor: Visitor, site: str, place):
    page = visitor.http.get(f"{site}/accounts/login/")
    visitor.post("/accounts/login/", page, login="mallory", password=PASSWORD)
    asked = visitor.comes_back("dora", process="connect")
    assert asked.url.path == "/accounts/reauthenticate/" and ("dora-True", "mallory") not in accounts(place)
    visitor.post(f"{asked.url.path}?{asked.url.query.decode()}", asked, password=PASSWORD)
    assert ("dora-True", "mallory") in accounts(place)
    page = visitor.http.get(f"{site}/accounts/3rdparty/")
    number = re.search(r'name="account" value="(\d+)"', page.text)
    visitor.post("/accounts/3rdparty/", page, account=number[1])
    assert ("dora-True", "mallory") not in accounts(place)


def test_an_answer_that_nobody_asked_for_or_that_comes_twice_signs_nobody_in(visitor: Visitor, site: str):
    for query in ("code=x&state=y", "code=x", "error=access_denied", "state="):
        page = visitor.http.get(f"{site}/accounts/oidc/oidc/login/callback/?{query}")
        assert page.status_code == 401 and "Not signed in" in page.text
    back = visitor.comes_back("ada")
    callback = next(str(one.url) for one in back.history if "/callback/" in str(one.url))
    with Visitor(site, visitor.provider) as stranger:
        for who in (stranger, visitor):
            assert "Not signed in" in who.http.get(callback).text
        assert stranger.name == "" != visitor.name


def test_a_provider_that_does_not_answer_is_said_and_passwords_still_work(place: dict[str, str], site: str):
    port = port_free()
    down = place | {"OIDC_ISSUER": f"http://localhost:{port_free()}"}
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "config.wsgi"]
    with subprocess.Popen(command, cwd=ROOT, env=down, stderr=subprocess.DEVNULL) as server:
        try:
            here = f"http://127.0.0.1:{port}"
            assert fetched(f"{here}/healthz") == b"ok"
            visitor = Visitor(here, "")
            page = visitor.to_provider()
            assert page.status_code == 503 and "Harbour does not answer right now" in page.text
            visitor.post(
                "/accounts/login/",
                visitor.http.get(f"{here}/accounts/login/"),
                login="ada",
                password=PASSWORD,
            )
            assert "/ui/account" in str(visitor.http.get(f"{here}/ui/account").url)
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"OIDC_ISSUER": "https://a.example"}, "OIDC_CLIENT_ID and OIDC_CLIENT_SECRET"),
        ({"OIDC_CLIENT_ID": "x"}, "OIDC_ISSUER and OIDC_CLIENT_SECRET"),
        ({"OIDC_ISSUER": "http://a.example", "OIDC_CLIENT_ID": "x", "OIDC_CLIENT_SECRET": "y"}, "https://"),
    ],
)
def test_settings_that_cannot_work_are_said_at_the_start(settings, wrong: dict[str, str], said: str):
    for name, value in wrong.items():
        setattr(settings, name, value)
    [found] = check_sign_in()
    assert found.id == "tidings.E022" and said in found.msg


def test_without_it_there_is_no_such_page(client):
    assert client.get("/accounts/oidc/oidc/login/").status_code == 404
    assert "oidc" not in client.get("/accounts/login/").content.decode()
    assert "OIDC_ISSUER" not in os.environ


def test_nobody_new_comes_in_through_the_provider_where_sign_up_is_closed(
    provider: str, place: dict[str, str]
):
    port = port_free()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "config.wsgi"]
    for mode in ("closed", "invite"):
        with subprocess.Popen(
            command, cwd=ROOT, env=place | {"SIGNUP": mode}, stderr=subprocess.DEVNULL
        ) as server:
            try:
                site = f"http://127.0.0.1:{port}"
                assert fetched(f"{site}/healthz") == b"ok"
                with Visitor(site, provider) as stranger:
                    words = "Sign-up is closed" if mode == "closed" else "New readers come by invitation"
                    assert words in stranger.comes_back(f"greta-{mode}").text
                with Visitor(site, provider) as known:
                    known.comes_back("ada")
                    assert known.name
            finally:
                server.terminate()
    assert not [uid for uid, _ in accounts(place) if uid.startswith("greta")]
