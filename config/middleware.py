"""Middleware for request counts, and malformed and repeated requests, and the filter of error reports."""

import codecs
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseServerError,
    JsonResponse,
    UnreadablePostError,
)
from django.middleware.gzip import GZipMiddleware
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter
from prometheus_client import CollectorRegistry, Counter, Histogram

from config.api.routes import api_missing
from config.disk import is_disk_full
from digest.middleware import waits_for_place, waits_for_turn
from digest.places import PAGE_LINE, PICTURES, TURNS, last_refused
from digest.sources.opml import OPML_BYTES_MAX
from digest.sources.past import PAST_BYTES_MAX

Handler = Callable[[HttpRequest], HttpResponse]

API, ADMIN = "/api/", "/admin/"
FORMS, CHARSET = ("application/x-www-form-urlencoded", "multipart/form-data"), "utf-8"
# The limit for path and query together. RFC 9110, section 4.1, recommends support for 8,000 octets.
ADDRESS_CHARS = 8000
# The largest body with files, in bytes: a list of feeds anywhere, a file of stars for readers on its page.
MULTIPART_MAX, STARS_MULTIPART_MAX = OPML_BYTES_MAX + (1 << 20), PAST_BYTES_MAX + (1 << 20)
# So many refusals are stored, each for as long, since a reader may change the language or sign out.
REFUSALS_MAX, REFUSAL_S = 100, 20.0
UNKNOWN = "unknown"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Error reports hide settings with these names, besides Django's own, because addresses of services contain
# passwords (DATABASE_URL, a cache's LOCATION).
HIDDEN = ("URL", "LOCATION", "BROKER", "BACKEND_SETTINGS", "COOKIE", "DSN")

# Texts whose type does not begin with "text/".
COMPRESSED = {
    "application/atom+xml",
    "application/feed+json",
    "application/javascript",
    "application/json",
    "application/manifest+json",
    "application/xml",
    "image/svg+xml",
}

# In seconds. The target for pages is 0.2 at the 95th percentile.
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REQUESTS = CollectorRegistry()
_COUNT = Counter("tidings_requests", "Requests answered.", ("view", "method", "status"), registry=REQUESTS)
_SECONDS = Histogram(
    "tidings_request_seconds", "Time to a response.", ("view",), buckets=BUCKETS, registry=REQUESTS
)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the page for a 500, which names a full disk: trying again helps nobody until it has space."""
    error = sys.exception()
    is_full = isinstance(error, DatabaseError | OSError) and is_disk_full(str(error))
    return HttpResponseServerError(render_to_string("500.html", {"is_disk_full": is_full}))


def requests_count(get_response: Handler) -> Handler:
    """Count each request by the name of its view, not by its address."""

    def handle(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        view = (match and match.view_name) or UNKNOWN
        method = request.method if request.method in METHODS else UNKNOWN
        _COUNT.labels(view, method, str(response.status_code)).inc()
        _SECONDS.labels(view).observe(time.perf_counter() - began)
        return response

    return handle


def malformed_requests_refuse(get_response: Handler) -> Handler:
    """Refuse malformed requests with 400: addresses with a NUL or too long, and forms not in UTF-8.

    PostgreSQL can neither store nor compare a NUL in a text. Pages and the API clean their input, but the
    admin passes typed text to the database, so its queries and forms must contain none. SQLite compares no
    pattern over 50,000 bytes (the admin searches by address). The charset of forms is fixed by WHATWG URL,
    application/x-www-form-urlencoded. Django refuses others only when it reads the form, perhaps while it
    renders an error page.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        is_api = request.path.startswith(API)
        if "\0" in request.path:
            return api_missing(request) if is_api else _bad_request()
        if len(request.path) + len(request.META.get("QUERY_STRING", "")) > ADDRESS_CHARS:
            return _refusal("An address has 8,000 characters at most.") if is_api else _bad_request()
        charset = (request.content_params or {}).get("charset", "")
        if charset:
            if request.content_type in FORMS and _codec(charset) != CHARSET:
                return _refusal("A form is sent as UTF-8.") if is_api else _bad_request()
            request.encoding = CHARSET  # also for the address; Django accepts only one spelling of it
        if request.path.startswith(ADMIN) and (_length(request) > MULTIPART_MAX or _has_nul(request)):
            return _bad_request()
        return get_response(request)

    return handle


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The answer to a reader who got no place, and until when it is repeated."""

    who: object
    response: HttpResponse
    until: float


def _page_has_no_turn(request: HttpRequest, who: object) -> bool:
    return TURNS.is_full(who, PAGE_LINE) and waits_for_turn(request)


def _picture_has_no_place(request: HttpRequest, who: object) -> bool:
    return PICTURES.is_taken(who) and waits_for_place(request)


# For which places a refusal is repeated, and to which requests.
_REPEATED = {(TURNS, PAGE_LINE): _page_has_no_turn, (PICTURES, ""): _picture_has_no_place}


class RefusalsRepeated:
    """Refuse pages and pictures of a session whose reader gets no place as the last was, before anything is
    read.

    The refusal of a form is another one, because only a page that is read asks again by itself.

    So a refusal takes half a millisecond of the processor, and not 9 to 12 for session, reader and page.
    Whoever asks for everything at once gets fifty refusals a second, and each competes with the pages of
    others.
    """

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response
        self._refusals: dict[tuple[str, object, bool], _Refusal] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Repeat a refusal, or answer and store it if it is one."""
        session, is_read = request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""), request.method == "GET"
        for places, is_refused in _REPEATED.items():
            known = self._refusals.get((session, places, is_read))
            if known and known.until > time.monotonic() and is_refused(request, known.who):
                given = known.response
                return HttpResponse(given.content, status=given.status_code, headers=dict(given.headers))
        response = self._get_response(request)
        refused = last_refused()
        if session and refused and (refused.places, refused.line) in _REPEATED:
            if len(self._refusals) >= REFUSALS_MAX:
                self._refusals.clear()
            known = _Refusal(refused.who, response, time.monotonic() + REFUSAL_S)
            self._refusals[session, (refused.places, refused.line), is_read] = known
        return response


def uploads_bound(get_response: Handler) -> Handler:
    """Refuse a body with files beyond a limit with 413, before anything reads it.

    Reading a form, for example to check its token, first writes its files to the disk, and Django sets no
    limit to these. So a stranger could fill the disk at any address, even at the sign-in page. This
    middleware stands after the sign-in, because only readers may send a file of stars.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        if request.content_type == "multipart/form-data":
            may_send_stars = request.path == reverse("digest:files_import") and request.user.is_authenticated
            if _length(request) > (STARS_MULTIPART_MAX if may_send_stars else MULTIPART_MAX):
                if request.path.startswith(API):
                    return _refusal("A body with files has 3 MiB at most.", "body_too_large", 413)
                return HttpResponse(render_to_string("413.html"), status=413)
        return get_response(request)

    return handle


def _length(request: HttpRequest) -> int:
    """Return the length of the body in bytes, as its client says; servers pass on no more than that."""
    declared = request.META.get("CONTENT_LENGTH") or "0"
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0


def _has_nul(request: HttpRequest) -> bool:
    try:
        fields = [*request.GET.lists(), *request.POST.lists()]
    except UnreadablePostError:
        return True  # the client has gone
    return any("\0" in text for name, values in fields for text in (name, *values))


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def _refusal(message: str, code: str = "bad_request", status: int = 400) -> JsonResponse:
    body = {"error": code, "message": message}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


def _bad_request() -> HttpResponse:
    """Return the page for a 400. Django's own view would look for a CSRF token and so read the form."""
    return HttpResponseBadRequest(render_to_string("400.html"))


class TextCompression(GZipMiddleware):
    """Compress text for clients that accept gzip.

    Pictures and fonts are compressed already, and events of a stream would wait for a full buffer. Django
    adds up to 100 random bytes to each body ("Heal the BREACH"), so that its length does not tell a guess
    from a hit.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:  # type: ignore[override]
        """Return the response, compressed if it is a text."""
        kind = response.get("Content-Type", "").split(";")[0].strip().lower()
        if kind in COMPRESSED or (kind.startswith("text/") and kind != "text/event-stream"):
            return super().process_response(request, response)  # type: ignore[return-value]
        return response


class ErrorReportFilter(SafeExceptionReporterFilter):
    """Django's filter for error reports, with more hidden names."""

    hidden_settings = re.compile(
        "|".join((SafeExceptionReporterFilter.hidden_settings.pattern, *HIDDEN)), re.IGNORECASE
    )

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        """Return a form's fields with passwords, keys and codes hidden."""
        fields = super().get_post_parameters(request)
        hidden = re.compile(f"{self.hidden_settings.pattern}|CODE", re.IGNORECASE)
        return {name: self.cleansed_substitute if hidden.search(name) else fields[name] for name in fields}
