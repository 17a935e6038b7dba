"""The guards of every page: the content policy, the password hasher, TLS, settings for the open net."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client

from config import settings as product
from config.apps import check_tls
from digest.models import Reader
from tests.support.browser import fresh_item
from tests.support.routes import routes

ROOT = Path(__file__).resolve().parent.parent
INLINE = re.compile(
    r"<style|\sstyle=|\son[a-z]+=\"|<script(?![^>]*\ssrc=)(?![^>]*type=\"application/)|javascript:"
)
# Not pages: addresses for programs, the sign-out, and the password page, which redirects.
NO_PAGES = {"account_logout", "api:openapi-json", "healthz", "readyz", "metrics", "worker", "reader_export"}


@pytest.mark.alike
def test_every_page_carries_the_policy_and_nothing_inline(operator: Reader, client: Client):
    client.force_login(operator)
    item = fresh_item(operator, text="Words.")
    seen = 0
    urls = [route.url() for route in routes() if route.name and not route.ids and route.name not in NO_PAGES]
    for url in [*urls, f"/ui/item/{item.pk}", "/nowhere", "/admin/nowhere"]:
        answer = client.get(url)
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy, (
            url
        )
        assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy, url
        assert answer["X-Content-Type-Options"] == "nosniff" and answer["Referrer-Policy"], url
        if answer.get("Content-Type", "").startswith("text/html") and not answer.streaming:
            assert not (found := INLINE.search(answer.content.decode())), (url, found)
            seen += answer.status_code == 200
    assert seen > 60


def test_passwords_are_hashed_by_argon2_those_of_older_hashes_at_the_next_sign_in(settings, ada: Reader):
    settings.PASSWORD_HASHERS = product.PASSWORD_HASHERS
    ada.password = make_password("a-lamp-and-a-kettle", hasher="pbkdf2_sha256")
    ada.save()
    form = {"login": "ada", "password": "a-lamp-and-a-kettle"}
    assert Client().post("/accounts/login/", form).status_code == 302
    ada.refresh_from_db()
    assert ada.password.startswith("argon2$argon2id$") and check_password("a-lamp-and-a-kettle", ada.password)


def documented() -> dict[str, str]:
    """Return the settings that docs/operations.md gives for the open net."""
    text = (ROOT / "docs" / "operations.md").read_text()
    block = text.partition("## On the open net")[2].partition("```\n")[2].partition("```")[0]
    return dict(re.findall(r"^([A-Z_]+)=(\S+)", block, re.MULTILINE))


def checked(tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Return the result of Django's deployment check for the documented settings."""
    bare = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    mine = {"TIDINGS_VAR_DIR": str(tmp_path), "TIDINGS_ENV_FILE": ""}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    place = bare | documented() | mine | more
    return subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)


def test_the_documented_settings_pass_the_check_for_deployment(tmp_path: Path):
    assert {"SITE_URL", "ALLOWED_HOSTS", "TRUSTED_PROXY_COUNT"} <= documented().keys()
    done = checked(tmp_path)
    assert done.returncode == 0 and "no issues" in done.stdout, done.stderr


def test_the_check_names_what_is_missing_without_them(tmp_path: Path):
    done = checked(tmp_path, SITE_URL="http://news.example.org", DEBUG="true", TRUSTED_PROXY_COUNT="0")
    assert done.returncode == 1
    assert "tidings.W027" in done.stderr and "security.W018" in done.stderr and "SECURE_" not in done.stderr


def test_a_redirect_without_end_is_warned_of(settings):
    settings.SECURE_SSL_REDIRECT, settings.ALLAUTH_TRUSTED_PROXY_COUNT = True, 0
    assert [found.id for found in check_tls()] == ["tidings.W014"]
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert check_tls() == []


def test_over_tls_alone_and_probes_from_inside(settings, db):
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 60
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    client = Client()
    plain = client.get("/accounts/login/")
    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/accounts/login/")
    assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
    by_proxy = client.get("/accounts/login/", headers={"X-Forwarded-Proto": "https"})
    assert by_proxy.status_code == 200 and by_proxy["Strict-Transport-Security"] == "max-age=60"


def test_every_test_that_the_threat_model_rests_on_exists():
    text = (ROOT / "docs" / "threat-model.md").read_text()
    named = set(re.findall(r"`([\w/]+\.py)(?:::(test_\w+))?`", text))
    assert len(named) > 50
    for file, name in named:
        assert not name or f"\ndef {name}(" in (ROOT / "tests" / file).read_text(), (file, name)
        assert (ROOT / "tests" / file).is_file(), file
