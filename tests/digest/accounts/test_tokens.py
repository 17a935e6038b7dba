"""Personal tokens: the requests they allow and refuse, and the data stored about them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.accounts import tokens as door
from digest.accounts.tokens import (
    TOKENS_MAX,
    scope_allows,
    scope_needed,
    token_issue,
    token_revoke,
    token_use,
)
from digest.errors import InvalidToken, TokenExpired, TooManyTokens
from digest.models import ApiToken, Feedback, Reader
from suggestions.models import Suggestion
from tests.conftest import NOW
from tests.support.browser import fresh_item, suggested

# Limits, and codes that were used, are counted in the cache.
pytestmark = pytest.mark.usefixtures("own_cache")

THUMB = {"data": {"useful": True}, "content_type": "application/json"}
PASSWORD = "a-lamp-and-a-kettle"


def issue(reader: Reader, scope: str, **more: object) -> str:
    """Return a fresh token's secret."""
    given = {"name": "notes", "expires_at": None, "now": timezone.now(), **more}
    return token_issue(reader=reader, scope=scope, **given).secret


def with_token(secret: str) -> Client:
    """Return a script: no session, no CSRF token, CSRF enforced."""
    return Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/api/suggestions", "read"),
        ("HEAD", "/api/runs/1", "read"),
        ("POST", "/api/items/5/feedback", "rate"),
        ("DELETE", "/api/items/5/feedback", "rate"),
        ("PUT", "/api/items/5/saved", "rate"),
        ("post", "/api/items/5/read", "rate"),
        ("POST", "/api/items/5/feedback/../../suggestions/accept-all", "full"),
        ("POST", "/api/suggestions/5/accept", "full"),
        ("POST", "/api/suggestions/generate", "full"),
        ("DELETE", "/api/anything/new", "full"),
        ("GET", "/api/costs", "full"),
        ("GET", "/api/costs/month", "full"),
        ("GET", "/api/debug/costs", "full"),
        ("GET", "/api/costsharing", "read"),
    ],
)
def test_the_scope_needed_follows_from_method_and_address(method: str, path: str, needed: str):
    assert scope_needed(method, path) == needed


def test_each_scope_includes_the_one_before():
    allowed = [(have, need) for have in ("read", "rate", "full") for need in ("read", "rate", "full")]
    assert [scope_allows(*pair) for pair in allowed] == [
        True,
        False,
        False,
        True,
        True,
        False,
        True,
        True,
        True,
    ]


def test_a_reading_token_reads_and_rates_nothing(ada: Reader):
    item = fresh_item(ada)
    suggested(ada)
    script = with_token(issue(ada, "read"))
    assert script.get("/api/suggestions").json()["count"] == 1
    refused = script.post(f"/api/items/{item.pk}/feedback", **THUMB)
    assert (refused.status_code, refused.json()["error"]) == (403, "scope_missing")
    assert not Feedback.objects.filter(reader=ada, item=item).exists()


def test_a_rating_token_rates_without_a_csrf_token_and_decides_nothing(ada: Reader):
    item = fresh_item(ada)
    suggestion = suggested(ada)
    script = with_token(issue(ada, "rate"))
    assert script.post(f"/api/items/{item.pk}/feedback", **THUMB).status_code == 200
    assert Feedback.objects.get(reader=ada, item=item).useful
    assert script.delete(f"/api/items/{item.pk}/feedback").json()["cleared"]
    for path in (f"/api/suggestions/{suggestion.pk}/accept", "/api/suggestions/generate"):
        assert script.post(path, {}, content_type="application/json").status_code == 403
    suggestion.refresh_from_db()
    assert suggestion.status == Suggestion.Status.PENDING


def test_a_full_token_decides(ada: Reader):
    suggestion = suggested(ada)
    answer = with_token(issue(ada, "full")).post(
        f"/api/suggestions/{suggestion.pk}/reject", {}, content_type="application/json"
    )
    assert answer.status_code == 200
    suggestion.refresh_from_db()
    assert suggestion.status == Suggestion.Status.REJECTED


def test_a_token_opens_what_is_its_readers_and_nothing_else(ada: Reader, ben: Reader):
    suggestion, item = suggested(ada), fresh_item(ada)
    script = with_token(issue(ben, "full"))
    assert script.get("/api/suggestions").json()["count"] == 0
    decided = script.post(f"/api/suggestions/{suggestion.pk}/accept", {}, content_type="application/json")
    assert decided.status_code == 404
    assert script.post(f"/api/items/{item.pk}/feedback", **THUMB).status_code == 404


def test_a_token_that_is_not_known_falls_back_to_no_session(ada: Reader):
    client = Client()
    client.force_login(ada)
    assert client.get("/api/suggestions").status_code == 200
    answer = client.get("/api/suggestions", headers={"Authorization": "Bearer tidings_made-up"})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_token")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_session_still_needs_its_csrf_token(ada: Reader):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    answer = client.post(f"/api/items/{fresh_item(ada).pk}/feedback", **THUMB)
    assert (answer.status_code, answer.json()["error"]) == (403, "csrf_failed")


def test_nobody_at_all_is_asked_to_sign_in(db: None):
    assert Client().get("/api/suggestions").json()["error"] == "not_logged_in"


def test_revoked_expired_and_switched_off_tokens_open_nothing(ada: Reader):
    revoked = issue(ada, "read")
    token_revoke(reader=ada, token_id=ApiToken.objects.get().pk)
    over = issue(ada, "read", expires_at=timezone.now() - timedelta(seconds=1))
    for secret, code in ((revoked, "invalid_token"), (over, "token_expired")):
        answer = with_token(secret).get("/api/suggestions")
        assert (answer.status_code, answer.json()["error"]) == (401, code)
    good = issue(ada, "read")
    Reader.objects.filter(pk=ada.pk).update(is_active=False)
    assert with_token(good).get("/api/suggestions").json()["error"] == "invalid_token"


def test_a_token_expires_to_the_moment(ada: Reader):
    secret = issue(ada, "read", now=NOW, expires_at=NOW + timedelta(days=1))
    token_use(secret=secret, now=NOW + timedelta(days=1) - timedelta(microseconds=1))
    with pytest.raises(TokenExpired):
        token_use(secret=secret, now=NOW + timedelta(days=1))


def test_a_token_opens_the_api_and_no_page(ada: Reader):
    script = with_token(issue(ada, "full"))
    for page in ("/ui/all", "/ui/account", "/ui/account/tokens", "/ui/account/export", "/admin/"):
        assert script.get(page).status_code == 302


def test_only_a_hash_of_a_token_is_kept(ada: Reader):
    secret = issue(ada, "read")
    row = ApiToken.objects.filter(reader=ada).values().get()
    assert secret.startswith("tidings_") and len(secret) > 50
    assert not any(secret[14:] in str(value) for value in row.values())
    assert secret.startswith(f"tidings_{row['hint']}")


def test_the_last_use_is_written_once_an_hour(ada: Reader, django_assert_num_queries):
    secret = issue(ada, "read", now=NOW)
    token_use(secret=secret, now=NOW)
    with django_assert_num_queries(1):
        token_use(secret=secret, now=NOW + timedelta(minutes=59))
    assert ApiToken.objects.get().last_used_at == NOW
    token_use(secret=secret, now=NOW + timedelta(minutes=60))
    assert ApiToken.objects.get().last_used_at == NOW + timedelta(minutes=60)


def test_twenty_tokens_are_enough(ada: Reader, ben: Reader):
    for n in range(TOKENS_MAX):
        issue(ada, "read", name=f"script {n}")
    with pytest.raises(TooManyTokens):
        issue(ada, "read")
    issue(ben, "read")
    token_revoke(reader=ada, token_id=ApiToken.objects.filter(reader=ada).first().pk)
    issue(ada, "read")
    with pytest.raises(ValueError):
        issue(ben, "everything")


def test_nobody_revokes_anothers_token(ada: Reader, ben: Reader):
    secret = issue(ada, "read")
    assert not token_revoke(reader=ben, token_id=ApiToken.objects.get().pk)
    assert token_use(secret=secret, now=timezone.now()).reader == ada
    with pytest.raises(InvalidToken):
        token_use(secret=secret.upper(), now=timezone.now())


def test_one_token_cannot_ask_without_end(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door, "REQUESTS_PER_MINUTE", 3)
    monkeypatch.setattr(door.timezone, "now", lambda: NOW)
    script, other = with_token(issue(ada, "read", now=NOW)), with_token(issue(ada, "read", now=NOW))
    assert [script.get("/api/suggestions").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = script.get("/api/suggestions")
    assert (refused.json()["error"], refused["Retry-After"]) == ("too_many_requests", "60")
    assert other.get("/api/suggestions").status_code == 200


def test_the_page_asks_for_the_password_shows_a_token_once_and_lists_it(ada: Reader):
    ada.set_password(PASSWORD)
    ada.save()
    client = Client()
    client.force_login(ada)
    error = {"name": "Notes <b>", "scope": "rate", "days": "30"}
    asked = client.post("/ui/account/tokens", error)
    assert asked.status_code == 302 and asked.url.startswith("/accounts/reauthenticate/")
    assert not ApiToken.objects.exists()
    done = client.post(asked.url, {"password": PASSWORD})
    body = done.content.decode()
    token = ApiToken.objects.get(reader=ada)
    secret = body.split('<code class="secret" id="secret">')[1].split("</code>")[0]
    assert token_use(secret=secret, now=timezone.now()) == token
    assert done["Cache-Control"].count("no-store") == 1
    assert token.scope == "rate" and (token.expires_at - token.created_at).days == 30
    later = client.get("/ui/account/tokens").content.decode()
    assert secret not in later and token.digest not in later and "Notes &lt;b&gt;" in later
    assert client.post(f"/ui/account/tokens/{token.pk}/revoke").status_code == 302
    assert not ApiToken.objects.exists()


def test_a_form_without_a_name_makes_no_token(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "allauth.account.adapter.DefaultAccountAdapter.is_reauthentication_required", lambda *a, **k: False
    )
    client = Client()
    client.force_login(ada)
    assert client.post("/ui/account/tokens", {"name": " ", "scope": "read", "days": "30"}).status_code == 422
    assert client.post("/ui/account/tokens", {"name": "x", "scope": "root", "days": "30"}).status_code == 422
    assert not ApiToken.objects.exists()


def test_what_operators_see_needs_a_full_token_of_an_operator(operator: Reader, ada: Reader):
    assert with_token(issue(operator, "read")).get("/api/costs").json()["error"] == "scope_missing"
    assert with_token(issue(operator, "full")).get("/api/costs").status_code == 200
    assert with_token(issue(ada, "full")).get("/api/costs").status_code == 403
