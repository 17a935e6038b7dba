"""Per-request context."""

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from digest.models import Reader
from digest.selectors.subscriptions import subscriptions_any

SIGNED_OUT = "You were signed out, so nothing was done. Sign in and repeat it."

Handler = Callable[[HttpRequest], HttpResponse]


def reader_time_zone(get_response: Handler) -> Handler:
    """Render every time of a request in its reader's zone; UTC for visitors."""

    def handle(request: HttpRequest) -> HttpResponse:
        zone = request.user.zone if isinstance(request.user, Reader) else None
        with timezone.override(zone or "UTC"):
            return get_response(request)

    return handle


def pages_unstored(get_response: Handler) -> Handler:
    """Let no browser keep a reader's page: the way back to it shows what was done since, and nothing to the
    next person at that machine."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        page = response.headers.get("Content-Type", "").startswith("text/html")
        if page and isinstance(request.user, Reader) and not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response

    return handle


def sign_in_and_return(get_response: Handler) -> Handler:
    """Lead whoever sends a form signed out back to the form's page, since its address answers no GET."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.method != "POST" or request.user.is_authenticated:
            return response
        sign_in = resolve_url("account_login")
        if response.status_code != 302 or not response["Location"].startswith(f"{sign_in}?"):
            return response
        messages.error(request, SIGNED_OUT)
        return HttpResponseRedirect(f"{sign_in}?{urlencode({'next': _page_before(request)})}")

    return handle


def welcome_first(get_response: Handler) -> Handler:
    """Lead a reader from an empty front page to the first visit's questions, until they are answered or put
    aside; whoever reads something already is left alone."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and request.path == resolve_url("digest:today") and _is_new(request.user):
            return HttpResponseRedirect(resolve_url("digest:welcome"))
        return get_response(request)

    return handle


def _is_new(user: object) -> bool:
    """Whether somebody is here for the first time; only for those the database is asked."""
    return isinstance(user, Reader) and user.welcomed_at is None and not subscriptions_any(reader_id=user.pk)


def _page_before(request: HttpRequest) -> str:
    """The page of this site that a form was sent from; the front page where the browser does not say."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return "/"
    parts = urlsplit(referer)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path or "/"
