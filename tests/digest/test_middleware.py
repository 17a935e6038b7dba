"""Middleware: the reader's time zone, forms sent signed out, and the first visit."""

import pytest
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from digest.middleware import WelcomeFirst, reader_locale
from digest.models import Reader
from tests.support.routes import Route, routes


def test_a_page_is_rendered_in_its_readers_time_zone(ada: Reader):
    seen: list[object] = []

    def page(request: object) -> HttpResponse:
        seen.append(timezone.get_current_timezone())
        return HttpResponse()

    for user in (ada, AnonymousUser()):
        request = RequestFactory().get("/")
        request.user = user
        reader_locale(page)(request)
    assert [str(zone) for zone in seen] == ["Europe/Berlin", "UTC"]


def test_a_form_sent_signed_out_returns_to_its_page(db: None):
    answer = Client().post(
        "/ui/welcome", {"interest": ["world"]}, headers={"Referer": "http://testserver/ui/welcome"}
    )
    assert answer.url == "/accounts/login/?next=%2Fui%2Fwelcome"


@pytest.mark.parametrize("route", [r for r in routes() if r.name and r.room != "admin"], ids=lambda r: r.name)
def test_a_stranger_stores_no_session_by_what_they_send(route: Route, own_cache: None, db: None):
    """One is stored for 90 days, as large as the form that was sent."""
    sent = {"login": "x", "password": "y", "email": "a@b.example", "username": "zz", "words": "w" * 10_000}
    Client(raise_request_exception=False).post(route.url(), sent)
    assert not Session.objects.exists()


def test_a_session_keeps_no_large_form_until_the_password_is_typed(own_cache: None, ada: Reader):
    page = Client()
    page.force_login(ada)
    for letters, kept in ((10, True), (100_000, False)):
        answer = page.post("/accounts/2fa/totp/activate/", {"code": "1" * letters})
        assert answer.url.startswith("/accounts/reauthenticate/")
        assert (STATE_SESSION_KEY in page.session) is kept


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# Ways through the browser's history: a form's own address, and the page that it leads to.
FORMS = {
    "/ui/wishes/accept": "/ui/wishes",
    "/ui/mutes/add": "/ui/mutes",
    "/ui/mutes/undo": "/ui/mutes",
    "/ui/sources/change": "/ui/sources",
    "/ui/sources/preview": "/ui/sources",
    "/ui/config/preview": "/ui/config",
    "/ui/history/undo": "/ui/history",
    "/ui/suggestions/accept-all": "/ui/suggestions",
    "/ui/teach/answer": "/ui/teach",
    "/ui/account/mail": "/ui/account",
    "/ui/searches/save": "/",
    "/ui/early": "/",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_address_of_a_form_leads_a_browser_to_the_page_above_it(form: str, ada: Reader, client: Client):
    client.force_login(ada)
    answer = client.get(form, follow=True, headers=BROWSER)
    assert answer.redirect_chain == [(FORMS[form], 302)] and answer.status_code == 200
    assert client.get(form).status_code == 405, "a program is told"


def test_no_address_of_a_readers_page_is_empty_in_a_browser(ada: Reader, client: Client):
    client.force_login(ada)
    asked = [reverse(one.name) for one in routes() if one.name and not one.ids]
    forms = [one for one in asked if one.startswith("/ui/") and client.get(one).status_code == 405]
    assert len(forms) > 20
    for form in forms:
        assert client.get(form, follow=True, headers=BROWSER).status_code == 200, form


def test_a_reader_who_was_welcomed_costs_no_query(ada: Reader, django_assert_num_queries):
    request = RequestFactory().get("/")
    request.user = ada
    with django_assert_num_queries(0):
        assert WelcomeFirst(lambda _: HttpResponse("digest"))(request).content == b"digest"
