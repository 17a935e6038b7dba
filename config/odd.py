"""Requests that no browser makes: answered with 400 at the door, before anything reads them."""

import codecs
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template.loader import render_to_string

from config.api_answers import API
from config.views import api_missing

Handler = Callable[[HttpRequest], HttpResponse]
FORM, OURS = "application/x-www-form-urlencoded", "utf-8"
CHARSET = "A form is sent as UTF-8."


def odd_requests(get_response: Handler) -> Handler:
    """Middleware: refuse addresses with a NUL, which PostgreSQL can store in no text, and forms in another
    charset than UTF-8 (WHATWG URL, application/x-www-form-urlencoded), which Django refuses once they are
    read, and that may be while the page of an error is made."""

    def handle(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path:
            return api_missing(request) if request.path.startswith(API) else _not_understood()
        if request.content_type == FORM and request.encoding:
            if _codec(request.encoding) != OURS:
                return _form_refused(request)
            request.encoding = OURS  # Django knows one of its spellings
        return get_response(request)

    return handle


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def _form_refused(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith(API):
        return _not_understood()
    body = {"error": "bad_request", "message": CHARSET}
    return JsonResponse(body, status=400, headers={"Cache-Control": "no-store"})


def _not_understood() -> HttpResponse:
    """Not by Django's own view of a 400: it looks for a CSRF token, and for that it reads the form."""
    return HttpResponseBadRequest(render_to_string("400.html"))
