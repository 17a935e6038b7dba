"""The JSON API: each room's router under one roof, one shape for every error.

Errors are `{"error": "<stable code>", "message": "…"}` with the status that fits. A personal token signs a
request in within its scope, or else a session does, for which django-ninja checks CSRF on every unsafe
operation.
"""

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.security import django_auth

from advisor.api import router as advisor_router
from digest.api import router as digest_router
from digest.api_costs import router as costs_router
from digest.api_digests import router as digests_router
from digest.errors import DigestError, InvalidToken, TokenExpired, TooManyRequests
from digest.tokens import TokenAuth
from ranking.errors import RankingError, StaleVersion
from suggestions.api import router as suggestions_router
from suggestions.errors import SuggestionError

api = NinjaAPI(
    title="Tidings", version="1", auth=[TokenAuth(), django_auth], docs_url="docs", urls_namespace="api"
)
api.add_router("", digest_router)
api.add_router("", costs_router)
api.add_router("", digests_router)
api.add_router("", suggestions_router)
api.add_router("", advisor_router)


def error_response(
    request: HttpRequest, code: str, message: str, status: int, **more: object
) -> HttpResponse:
    """The one shape of an error; `more` adds keys to it."""
    return api.create_response(request, {**more, "error": code, "message": message}, status=status)


@api.exception_handler(DigestError)
@api.exception_handler(SuggestionError)
def on_refusal(request: HttpRequest, error: DigestError | SuggestionError) -> HttpResponse:
    """A room's refusal, with the status it carries and whatever helps to mend it."""
    more = error.data if isinstance(error, SuggestionError) else {}
    response = error_response(request, error.code, error.message, error.status, **more)
    if isinstance(error, InvalidToken | TokenExpired):
        # What RFC 6750, section 3, asks for.
        response["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    if isinstance(error, TooManyRequests):
        response["Retry-After"] = "60"
    return response


@api.exception_handler(RankingError)
def on_ranking_error(request: HttpRequest, error: RankingError) -> HttpResponse:
    """Ranking knows no HTTP: a stale version conflicts, anything else is a value it cannot use."""
    return error_response(request, error.code, error.message, 409 if isinstance(error, StaleVersion) else 422)


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """A request that does not fit its schema: names each field at fault."""
    faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors)
    return error_response(request, "invalid_request", faults, 422)


@api.exception_handler(AuthenticationError)
def on_anonymous(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    """Nobody is logged in."""
    return error_response(request, "not_logged_in", "Log in first.", 401)


@api.exception_handler(Http404)
def on_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    """Nothing there, or nothing of yours: the answer is the same."""
    return error_response(request, "not_found", "There is nothing here that you may see.", 404)


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What the framework refuses before an operation runs."""
    codes = {400: "bad_request", 403: "csrf_failed", 429: "too_many_requests"}
    return error_response(request, codes.get(error.status_code, "error"), error.message, error.status_code)
