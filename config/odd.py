"""Requests that no browser makes: answered with 400 at the door, before anything reads them."""

import codecs
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template.loader import render_to_string

Handler = Callable[[HttpRequest], HttpResponse]
FORM, OURS = "application/x-www-form-urlencoded", "utf-8"
NUL = "The address holds a NUL."
CHARSET = "A form is sent as UTF-8."


def odd_requests(get_response: Handler) -> Handler:
    """Middleware: refuse addresses with a NUL, which PostgreSQL can store in no text, and forms in another
    charset than UTF-8 (WHATWG URL, application/x-www-form-urlencoded), which Django refuses once they are
    read, and that may be while the page of an error is made."""

    def handle(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path:
            return _refused(request, NUL)
        if request.content_type == FORM and request.encoding:
            if _codec(request.encoding) != OURS:
                return _refused(request, CHARSET)
            request.encoding = OURS  # Django knows one of its spellings
        return get_response(request)

    return handle


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def _refused(request: HttpRequest, why: str) -> HttpResponse:
    """400, in the shape that who asked can read."""
    if request.path.startswith("/api/"):
        body = {"error": "bad_request", "message": why}
        return JsonResponse(body, status=400, headers={"Cache-Control": "no-store"})
    # Not by Django's own view of a 400: it looks for a CSRF token, and for that it reads the form.
    return HttpResponseBadRequest(render_to_string("400.html"))
