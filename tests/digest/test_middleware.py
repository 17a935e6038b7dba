"""Middleware: the reader's time zone, forms sent signed out, and the first visit."""

from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from digest.middleware import reader_locale, welcome_first
from digest.models import Reader


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


def test_a_reader_who_was_welcomed_costs_no_query(ada: Reader, django_assert_num_queries):
    request = RequestFactory().get("/")
    request.user = ada
    with django_assert_num_queries(0):
        assert welcome_first(lambda _: HttpResponse("digest"))(request).content == b"digest"
