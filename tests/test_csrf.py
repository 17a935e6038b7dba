"""No page of another site makes a reader's browser change anything: every unsafe door of the URL conf."""

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.test import Client

from config.api.routes import api
from digest.accounts.tokens import SAFE_METHODS, token_issue
from digest.models import ApiToken, Feedback, Reader
from tests.support.browser import fresh_item, suggested
from tests.support.factories import FeedbackFactory
from tests.support.routes import ANYTHING, routes

pytestmark = pytest.mark.alike

# Views with a secret in the address, which only the reader's mail has, and the answer to unknown addresses.
WITHOUT = {"digest:thumb_link", "digest:unsubscribe", ""}
# Views for programs, with a secret that browsers do not send by themselves. A session opens nothing there.
PROGRAMS = {f"assistants:{name}" for name in ("mcp", "token", "revoke", "register")}
STALE = "That form had gone stale"
EVIL = {"Origin": "https://evil.example"}
APPS = [route for route in routes() if route.room == "greader"]
PAGES = [r for r in routes() if r.room not in {"api", "greader"} and r.name not in WITHOUT | PROGRAMS]
UNSAFE = [
    (
        method.upper(),
        path.format(
            **dict.fromkeys(("item_id", "feed_id", "suggestion_id", "search_id", "question_id"), 1),
            run_id=ANYTHING["run_id"],
            date="2026-03-18",
        ),
    )
    for path, methods in api.get_openapi_schema()["paths"].items()
    for method in methods
    if method.upper() not in SAFE_METHODS
]


@pytest.fixture
def browser(operator: Reader) -> Client:
    """Return a browser with the cookies of somebody who may do everything; forged requests come from
    there."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    return client


@pytest.fixture
def token(browser: Client) -> str:
    """Return the token that the site's own pages send along; the browser holds its cookie from here on."""
    return str(browser.get("/ui/sources").context["csrf_token"])


def in_brief(request: HttpRequest, reason: str) -> HttpResponse:
    """Refuse in a word: the page that explains it (tests/test_site) takes longer than the check."""
    return HttpResponseForbidden(STALE)


@pytest.fixture
def brief(settings) -> None:
    """Make the page of a refusal short."""
    settings.CSRF_FAILURE_VIEW = f"{__name__}.{in_brief.__name__}"


def test_only_doors_whose_address_is_a_secret_do_without_a_token():
    open_doors = {route.name for route in routes() if getattr(route.view, "csrf_exempt", False)}
    assert {name for name in open_doors if not name.startswith(("api:", "greader:"))} == WITHOUT | PROGRAMS
    assert len(PAGES) > 150 and len(UNSAFE) > 10


def test_no_page_takes_a_form_without_the_token_or_from_another_site(
    browser: Client, token: str, brief: None
):
    for route in PAGES:
        url = route.url()
        for forged in (browser.post(url), browser.post(url, {"csrfmiddlewaretoken": token}, headers=EVIL)):
            assert forged.status_code == 403 and STALE in forged.content.decode(), route.name


def test_a_session_opens_nothing_of_what_reader_apps_ask(browser: Client, token: str):
    assert len(APPS) > 15
    for route in APPS:
        for more in ({}, {"X-CSRFToken": token}):
            answer = browser.post(route.url({"stream": "feed/1"}), headers=more)
            assert answer.status_code in {401, 404, 405}, route.name


def test_the_same_forms_with_the_token_from_this_site_are_taken(browser: Client, token: str):
    for url in ("/ui/sources", "/accounts/email/", "/admin/digest/sourcealias/"):
        ours = browser.post(url, {"csrfmiddlewaretoken": token}, headers={"Origin": "http://testserver"})
        assert STALE not in ours.content.decode() and ours.status_code != 403, url


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_unsafe_methods_ask_for_the_token_as_well(browser: Client, method: str, brief: None):
    for route in PAGES:
        if not route.room.startswith("admin"):
            refused = browser.generic(method, route.url())
            assert refused.status_code == 403 and refused.content.decode() == STALE, route.name


def test_a_session_calls_no_unsafe_operation_without_the_token_or_from_another_site(
    ada: Reader, token: str, browser: Client
):
    for method, path in UNSAFE:
        for more in ({}, {"X-CSRFToken": token} | EVIL):
            forged = browser.generic(method, path, "{}", "application/json", headers=more)
            assert (forged.status_code, forged.json()["error"]) == (403, "csrf_failed"), (method, path)
        ours = browser.generic(method, path, "{}", "application/json", headers={"X-CSRFToken": token})
        assert ours.status_code != 403, (method, path)


def test_nothing_changes_by_a_forged_call(browser: Client, operator: Reader):
    waiting = suggested(operator)
    item = fresh_item(operator)
    FeedbackFactory(reader=operator, item=item)
    before = Feedback.objects.count()
    browser.post(f"/api/suggestions/{waiting.pk}/accept", "{}", "application/json")
    browser.post(f"/ui/suggestions/{waiting.pk}/accept")
    browser.delete(f"/api/items/{item.pk}/feedback")
    waiting.refresh_from_db()
    assert waiting.status == "pending" and Feedback.objects.count() == before


def test_a_personal_token_needs_none_since_no_browser_sends_it_by_itself(ada: Reader, now):
    secret = token_issue(
        reader=ada, name="script", scope=ApiToken.Scope.FULL, expires_at=None, now=now
    ).secret
    script = Client(enforce_csrf_checks=True)
    for method, path in UNSAFE:
        answer = script.generic(
            method, path, "{}", "application/json", headers={"Authorization": f"Bearer {secret}"} | EVIL
        )
        assert answer.status_code in (200, 404, 422), (method, path)
