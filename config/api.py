"""The JSON API: each room's router under one roof, one shape for every error.

Errors are `{"error": "<stable code>", "message": "…"}` with the status that fits. A personal token signs a
request in within its scope, or else a session does, for which django-ninja checks CSRF on every unsafe
operation.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema

from advisor.api import router as advisor_router
from config.api_refusals import refusals_described
from config.idempotency import KeyRefused, Replayed, SessionOnce, TokenOnce
from digest.api import router as digest_router
from digest.api_costs import router as costs_router
from digest.api_digests import router as digests_router
from digest.errors import DigestError, InvalidToken, TokenExpired, TooManyRequests
from ranking.errors import RankingError, StaleVersion
from suggestions.api import router as suggestions_router
from suggestions.errors import SuggestionError


class DescribedAPI(NinjaAPI):
    """The API, whose description says what each operation refuses as well."""

    def get_openapi_schema(self, **more: Any) -> OpenAPISchema:
        """The OpenAPI description, served as `/api/openapi.json`."""
        schema = super().get_openapi_schema(**more)
        refusals_described(schema)
        return schema


api = DescribedAPI(
    title="Tidings",
    version="1",
    auth=[TokenOnce(), SessionOnce()],
    docs_url=None,
    # It changes with the release: asked again each time.
    docs_decorator=cache_control(private=True, no_cache=True),
    urls_namespace="api",
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
        response["Retry-After"] = str(error.retry_after_s)
    return response


@api.exception_handler(Replayed)
def on_repeat(request: HttpRequest, error: Replayed) -> HttpResponse:
    """A call made before with the same key: what it was answered then."""
    return error.response


@api.exception_handler(KeyRefused)
def on_key_refused(request: HttpRequest, error: KeyRefused) -> HttpResponse:
    """A key that stands for something else, is no key, or whose first call is under way."""
    return error_response(request, error.code, error.message, error.status)


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


@api.exception_handler(RequestDataTooBig)
def on_too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    """A body beyond `DATA_UPLOAD_MAX_MEMORY_SIZE`; none of it was read."""
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024
    return error_response(request, "body_too_large", f"A body may have {most} KB.", 413)


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What the framework refuses before an operation runs."""
    codes = {400: "bad_request", 403: "csrf_failed", 429: "too_many_requests"}
    return error_response(request, codes.get(error.status_code, "error"), error.message, error.status_code)
