"""The way in: tokens as `Authorization: GoogleLogin auth=…` with their scopes, and errors as plain text."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from digest.accounts.tokens import READ, token_authorise, token_limit, token_use
from digest.errors import DigestError, InvalidToken, TokenExpired, TooManyRequests
from digest.models import ApiToken
from digest.requests import body_await
from digest.throttling import API, limit_charge, limit_count, turn_begin

OK = "OK"
_HEADER = re.compile(r"GoogleLogin\s+auth=(\S+)", re.IGNORECASE)
# The statuses that these clients know. Any other refusal is the request's fault (400).
_STATUSES = {401, 403, 404, 409, 413, 429, 503}

# Apps go feed by feed and item by item, so small requests count for less than one, about by the server's time
# for them (2 ms for a token, 7 ms for a tag, 100 ms for a list of the JSON API). A first sync of 1,000 feeds
# and a mark on each of 5,000 items fit in 300 requests.
COST_TINY, COST_TAG, COST_STREAM = 0.01, 0.04, 0.1
COST_ITEM, COST_ID = 0.001, 0.0001

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


class Fields:
    """The fields of a request. Those of its body come before those of its address.

    Raises `ValueError` for a field with a NUL, because PostgreSQL cannot store or compare it.
    """

    def __init__(self, request: HttpRequest) -> None:
        # Some clients send a form without saying so.
        form = request.content_type == "multipart/form-data"
        self._body = request.POST if form else QueryDict(request.body)
        self._query = request.GET
        for fields in (self._body, self._query):
            if any("\0" in value for _, values in fields.lists() for value in values):
                raise ValueError("A field has a character NUL, which no text may have.")

    def secret(self, name: str) -> str:
        """Return a field of the body with a token in it; never of the address, which servers log."""
        return str(self._body.get(name, "")).strip()

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self._body.getlist(name) or self._query.getlist(name)

    def one(self, name: str) -> str:
        """Return the first value of a field, without white space around it; "" if there is none."""
        return next(iter(self.all(name)), "").strip()


def plain(text: str, status: int = 200) -> HttpResponse:
    """Return a response of plain text."""
    return HttpResponse(text, content_type="text/plain; charset=utf-8", status=status)


def json(shape: Any) -> HttpResponse:
    """Return a response of JSON, with every letter as it is."""
    return JsonResponse(shape, json_dumps_params={"ensure_ascii": False, "separators": (",", ":")})


def refusal_of(error: DigestError) -> HttpResponse:
    """Return an error with the headers by which clients know a token that is not valid."""
    response = plain(error.message, error.status if error.status in _STATUSES else 400)
    if isinstance(error, InvalidToken | TokenExpired):
        response["Google-Bad-Token"] = response["X-Reader-Google-Bad-Token"] = "true"
        response["WWW-Authenticate"] = 'GoogleLogin realm="Tidings"'
    if isinstance(error, TooManyRequests):
        response["Retry-After"] = str(error.retry_after_s)
    return response


def allow_methods(*methods: str) -> Callable[[View[P]], View[P]]:
    """Allow only these methods for a view, without a CSRF token, and answer errors as plain text.

    Browsers do not send these credentials by themselves. A `ValueError` is a bad request, with its text.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except DigestError as error:
                return refusal_of(error)
            except ValueError as error:
                return plain(str(error), 400)

        return csrf_exempt(require_http_methods(methods)(guarded))

    return decorate


def token_required(*methods: str, scope: str = READ, cost: float = 1) -> Callable[[View[P]], View[P]]:
    """Make a view answer these methods for a token of at least `scope`. Its reader is the request's user.

    The request counts as `cost` requests of the rate limit.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            used = token_of(request, scope, cost)
            request.user, request.app_token = used.reader, used  # type: ignore[attr-defined]
            return view(request, *args, **kwargs)

        return allow_methods(*methods)(guarded)

    return decorate


def charge(request: HttpRequest, cost: float) -> None:
    """Count `cost` more requests for an answer that turned out to be long. Nothing is refusal_of."""
    used, now = request.app_token, timezone.now()  # type: ignore[attr-defined]
    limit_charge(limit=token_limit(), who=used.pk, now=now, cost=cost)
    limit_charge(limit=API, who=used.reader_id, now=now, cost=cost)


def token_of(request: HttpRequest, scope: str, cost: float = 1) -> ApiToken:
    """Return the token in the header, or in the field `T` of a form without the header (Liferea).

    Raises as `token_authorise` does.
    """
    body_await(request)
    header = request.headers.get("Authorization", "").strip()
    found = _HEADER.fullmatch(header)
    secret = found[1] if found else "" if header else Fields(request).secret("T")
    if not secret:
        raise InvalidToken("Log in first: POST Email and Passwd, an app token, to /accounts/ClientLogin.")
    return authorise(secret, scope, cost)


def authorise(secret: str, scope: str, cost: float = 1) -> ApiToken:
    """Return the token of `secret`, and count the request as `cost` requests. Raises as `token_authorise`."""
    now = timezone.now()
    used = token_authorise(secret=secret, needed=scope, now=now, cost=cost)
    limit_count(limit=API, who=used.reader_id, now=now, cost=cost)
    turn_begin(used.reader_id, check=lambda: token_use(secret=secret, now=timezone.now()))
    return used
