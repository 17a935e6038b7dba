"""Middleware for readers' pages: language, time zone, caching, sign-in and the first visit."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from urllib.parse import urlencode, urlsplit

from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_noop

from digest.articles.pictures import picture_is_fetched
from digest.errors import SignInNeeded, TooManyRequests
from digest.feeds.selectors import subscriptions_exist
from digest.models import Reader
from digest.places import PAGE_LINE, arriving, turn_share, turn_spare, turns_open
from digest.requests import own_path
from digest.sessions import session_check
from digest.throttling import too_many_requests_page, turn_begin
from ranking.entities import TooManyChanges
from ranking.selectors import reading_once

# Programs read these paths, always in the installation's language. The pages' own scripts read some of them,
# too, but they bring their own texts.
PROGRAMS = ("/api/", "/mcp", "/oauth/", "/.well-known/", "/metrics", "/healthz", "/readyz")
# Operators read these in English, as the docs are, whatever their own language is.
OPERATORS = "/admin/"
# Exceptions under those paths: people read these.
PAGES = ("/api/docs", "/oauth/authorize")
# All pages of readers but Today.
READERS_PAGES = "/ui/"
# In characters, with the headers of the request.
FORM_MAX_CHARS = 32_000
# So many sessions are remembered, to know from whom a request probably is before its session is read.
SESSIONS_KNOWN_MAX = 1_000
SIGNED_OUT = gettext_noop("You were signed out, so nothing was done. Sign in and repeat it.")

Handler = Callable[[HttpRequest], HttpResponse]


def reader_locale(get_response: Handler) -> Handler:
    """Use the reader's language and time zone; for visitors the browser's language and UTC.

    The admin is English for everybody.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        reader = request.user if isinstance(request.user, Reader) else None
        chosen = reader.language if reader else ""
        if request.path.startswith(PROGRAMS) and request.path not in PAGES:
            chosen = settings.LANGUAGE_CODE
        if request.path.startswith(OPERATORS):
            chosen = "en"
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


class SignInAndReturn(MiddlewareMixin):
    """After a sign-in that a form needed, return to the form's page, because the form's own URL answers no
    GET.

    Two forms of allauth keep the sent data in the session until a password confirms it, even for a visitor
    who has no password. So strangers could store 2.5 MB with each request, and readers with each session. We
    drop that data: no form there is as large as `FORM_MAX_CHARS`.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Return the redirect to a sign-in with the form's page, or the response as it is."""
        if getattr(request, "sign_in_refused", False):
            request.session.flush()  # allauth stored who tried, and stores more after the refusal
        form = request.session.get(STATE_SESSION_KEY)
        if form and (not request.user.is_authenticated or len(str(form)) > FORM_MAX_CHARS):
            del request.session[STATE_SESSION_KEY]
        if request.method != "POST" or request.user.is_authenticated:
            return response
        sign_in = resolve_url("account_login")
        if response.status_code != 302 or not response["Location"].startswith(f"{sign_in}?"):
            return response
        messages.error(request, translation.gettext(SIGNED_OUT))
        return HttpResponseRedirect(f"{sign_in}?{urlencode({'next': _form_page(request)})}")


class WelcomeFirst(MiddlewareMixin):
    """Redirect a new reader from the front page to the first visit's questions.

    A reader is new until they answer or skip the questions, or have a subscription.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Return the redirect, or None if the reader is not new or asks for another page."""
        user = request.user
        front_page = request.method == "GET" and request.path == resolve_url("digest:today")
        if not front_page or not isinstance(user, Reader) or user.welcomed_at is not None:
            return None
        if subscriptions_exist(reader_id=user.pk):
            return None
        return HttpResponseRedirect(resolve_url("digest:welcome"))


def _form_page(request: HttpRequest) -> str:
    """Return the page of this site that sent a form; the front page if the browser does not say."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return "/"
    parts = urlsplit(referer)
    return own_path(f"{parts.path}?{parts.query}" if parts.query else parts.path) or "/"


class FormAddressReturn(MiddlewareMixin):
    """Redirect a browser that opens a form's own address, which takes no GET, to the page above it.

    The history and restored tabs do this if the answer to a form was a page. They got an empty page with 405.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Return the redirect instead of a 405 for a browser, any other response as it is."""
        by_browser = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
        if response.status_code != 405 or not by_browser or not request.path.startswith(READERS_PAGES):
            return response
        return HttpResponseRedirect(_page_above(request.path))


def _page_above(path: str) -> str:
    while path := path.rpartition("/")[0]:
        with suppress(Resolver404):
            resolve(path)
            return path
    return resolve_url("digest:today")


def waits_for_turn(request: HttpRequest) -> bool:
    """Return whether a request is for a page that waits for its reader's turn.

    Sets its view, by which it is counted.
    """
    view = _view_find(request)
    return view is not None and _takes_turn(request, view.func)


def waits_for_place(request: HttpRequest) -> bool:
    """Return whether a request is for a picture that has to be fetched from its publisher.

    Sets its view, by which it is counted.
    """
    view = _view_find(request)
    if view is None or view.view_name != "digest:picture":
        return False
    return picture_is_fetched(signed=view.kwargs["signed"], now=timezone.now())


def _view_find(request: HttpRequest) -> ResolverMatch | None:
    try:
        request.resolver_match = resolve(request.path_info)
    except Resolver404:
        return None
    return request.resolver_match


def _takes_turn(request: HttpRequest, view: Callable[..., object]) -> bool:
    by_program = request.path.startswith(PROGRAMS) and request.path not in PAGES
    return not by_program and not getattr(view, "without_turn", False)


class ReadersArrivals:
    """Let a request of a known session pass while its session and its reader are read.

    That takes half the time of a small picture. Whose session it is, is only a guess here. It decides who
    goes first and nothing else.
    """

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response
        self._known: dict[str, object] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and remember whose session it is."""
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        with arriving(self._known.get(session)):
            response = self._get_response(request)
        if who := getattr(request, "taken_by", None):
            if session not in self._known and len(self._known) >= SESSIONS_KNOWN_MAX:
                self._known.clear()
            self._known[session] = who
        return response


class ReadersTurns:
    """Answer a reader's pages one after the other in this process, so that none of them slows down others.

    Doors for programs take the turn once they know the token's reader. Between queries, a reader who asks for
    much at once lets others go first. A page loads their mutes once, however many selectors ask. A page that
    waited does nothing for a session that ended meanwhile.
    """

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and end the turn."""
        with turns_open(), reading_once(), connection.execute_wrapper(turn_share):
            return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., object], *_: object
    ) -> HttpResponse | None:
        """Wait for the turn of a signed-in reader; the page for 429 if too many of their requests wait."""
        if not isinstance(request.user, Reader):
            return None
        request.taken_by = request.user.pk  # type: ignore[attr-defined]
        if not _takes_turn(request, view):
            if getattr(view, "without_turn", False):
                turn_spare(request.user.pk)
            return None
        try:
            turn_begin(request.user.pk, PAGE_LINE, check=partial(session_check, request))
        except TooManyRequests as refused:
            return too_many_requests_page(request, refused)
        except SignInNeeded as ended:
            return self.process_exception(request, ended)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Lead to the sign-in if the session ended while the page waited, or the account was deleted."""
        if not isinstance(error, SignInNeeded):
            return None
        user = request.user
        if isinstance(user, Reader) and not Reader.objects.filter(pk=user.pk).exists():
            logout(request)  # after a new password the browser may have another session already
        return HttpResponseRedirect(resolve_url("account_login"))


class TooManyChangesPage(MiddlewareMixin):
    """Answer pages with 429 if the reader has changed their settings as often as one may in a day."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page for `TooManyChanges`, which any view that writes settings may raise."""
        if not isinstance(error, TooManyChanges):
            return None
        return render(request, "429.html", {"words": error.message}, status=429)
