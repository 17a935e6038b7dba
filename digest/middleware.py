"""Middleware for readers' pages: language, time zone, caching, sign-in and the first visit."""

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_noop

from digest.feeds.selectors import subscriptions_exist
from digest.models import Reader
from ranking.entities import TooManyChanges
from ranking.selectors import reading_once

# Programs read these paths, always in the installation's language. The pages' own scripts read some of them,
# too, but they bring their own texts.
PROGRAMS = ("/api/", "/mcp", "/oauth/", "/.well-known/", "/metrics", "/healthz", "/readyz")
# Exceptions under those paths: people read these.
PAGES = ("/api/docs", "/oauth/authorize")
# In characters, with the headers of the request.
FORM_KEPT_MAX = 32_000
SIGNED_OUT = gettext_noop("You were signed out, so nothing was done. Sign in and repeat it.")

Handler = Callable[[HttpRequest], HttpResponse]


def settings_read_once(get_response: Handler) -> Handler:
    """Load a reader's mutes once per request, however many selectors ask for them."""

    def handle(request: HttpRequest) -> HttpResponse:
        with reading_once():
            return get_response(request)

    return handle


def reader_locale(get_response: Handler) -> Handler:
    """Use the reader's language and time zone; for visitors the browser's language and UTC."""

    def handle(request: HttpRequest) -> HttpResponse:
        reader = request.user if isinstance(request.user, Reader) else None
        chosen = reader.language if reader else ""
        if request.path.startswith(PROGRAMS) and request.path not in PAGES:
            chosen = settings.LANGUAGE_CODE
        by_browser = chosen not in dict(settings.LANGUAGES)
        language = translation.get_language_from_request(request) if by_browser else chosen
        with translation.override(language), timezone.override(reader.zone if reader else "UTC"):
            response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Language", language)
            if by_browser:
                patch_vary_headers(response, ["Accept-Language"])
        return response

    return handle


def browser_storage(get_response: Handler) -> Handler:
    """Forbid browsers to store a reader's pages, and make them delete the stored digest at sign-out.

    Then going back to a page shows later changes, and the next person at that machine sees nothing. Browsers
    obey Clear-Site-Data only over TLS (W3C Clear Site Data, section 3.1). Elsewhere a script does it.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        user = request.user
        stores = isinstance(user, Reader) and user.offline_today
        response = get_response(request)
        if stores and not request.user.is_authenticated:
            response["Clear-Site-Data"] = '"cache", "storage"'
        page = response.headers.get("Content-Type", "").startswith("text/html")
        if page and isinstance(request.user, Reader) and not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response

    return handle


def sign_in_and_return(get_response: Handler) -> Handler:
    """After a sign-in that a form needed, return to the form's page: the form's own URL answers no GET.

    Two forms of allauth keep what was sent in the session until it is confirmed by a password, also for a
    visitor who has none to confirm it by. So strangers could store 2.5 MB with each request, and readers with
    each session. That is dropped; no form there is as large as `FORM_KEPT_MAX`.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        kept = request.session.get(STATE_SESSION_KEY)
        if kept and (not request.user.is_authenticated or len(str(kept)) > FORM_KEPT_MAX):
            del request.session[STATE_SESSION_KEY]
        if request.method != "POST" or request.user.is_authenticated:
            return response
        sign_in = resolve_url("account_login")
        if response.status_code != 302 or not response["Location"].startswith(f"{sign_in}?"):
            return response
        messages.error(request, translation.gettext(SIGNED_OUT))
        return HttpResponseRedirect(f"{sign_in}?{urlencode({'next': _form_page(request)})}")

    return handle


def welcome_first(get_response: Handler) -> Handler:
    """Redirect a new reader from the front page to the first visit's questions.

    A reader is new until they answer or skip the questions, or have a subscription.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        user = request.user
        front_page = request.method == "GET" and request.path == resolve_url("digest:today")
        if not front_page or not isinstance(user, Reader) or user.welcomed_at is not None:
            return get_response(request)
        if subscriptions_exist(reader_id=user.pk):
            return get_response(request)
        return HttpResponseRedirect(resolve_url("digest:welcome"))

    return handle


def _form_page(request: HttpRequest) -> str:
    """Return the page of this site that sent a form; the front page if the browser does not say."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return "/"
    parts = urlsplit(referer)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path or "/"


class TooManyChangesPage:
    """Answer pages with 429 if the reader has changed their settings as often as one may in a day."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer as the view does."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page for `TooManyChanges`, which any view that writes settings may raise."""
        if not isinstance(error, TooManyChanges):
            return None
        return render(request, "429.html", {"words": error.message}, status=429)
