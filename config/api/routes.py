"""The JSON API: its routers, error handlers and page of documentation.

Errors are `{"error": "<stable code>", "message": "…"}` with an HTTP status. A request needs a personal token
with the right scope, or a session. For sessions django-ninja checks CSRF on every unsafe operation.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, RawPostDataException
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema

from advisor.api import router as advisor_router
from config.api.idempotency import (
    KEY_LIFETIME,
    IdempotencyKeyError,
    IdempotentSession,
    IdempotentToken,
    ReplayedResponse,
)
from config.api.schema import (
    DIGEST_ID_PREFIXES,
    KEY_CHARS_MAX,
    KEY_HEADER,
    Operation,
    common_error_codes,
    error_responses_add,
    operations_by_tag,
)
from digest.accounts.tokens import REQUESTS_PER_MINUTE
from digest.errors import DigestError, InvalidToken, TokenExpired, TooManyRequests
from digest.searches.api import searches_router
from digest.sources.api import feeds_router
from digest.sources.newsletter_api import newsletters_router
from digest.throttling import API, DECIDE, GENERATE, SEARCH
from digest.web.api.items import items_router, mutes_router
from digest.web.api.reading import costs_router, digests_router
from digest.web.api.reading import feedback_router as digest_router
from ranking.entities import RankingError, StaleVersion, TooManyChanges
from suggestions.api import SuggestionError
from suggestions.api import router as suggestions_router


class DescribedAPI(NinjaAPI):
    """The API, with error codes and stable operation ids in its OpenAPI description."""

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Return an id that stays the same if a view moves to another module, because clients use it."""
        name: str = operation.view_func.__name__
        if operation.view_func.__module__.startswith("digest."):
            return f"{DIGEST_ID_PREFIXES[name.partition('_')[0]]}_{name}"
        return super().get_openapi_operation_id(operation)

    def get_openapi_schema(self, **more: Any) -> OpenAPISchema:
        """Return the OpenAPI description, served as `/api/openapi.json`."""
        schema = super().get_openapi_schema(**more)
        error_responses_add(schema)
        return schema


api = DescribedAPI(
    title="Tidings",
    version="1",
    auth=[IdempotentToken(), IdempotentSession()],
    docs_url=None,
    # The description changes with each release.
    docs_decorator=cache_control(private=True, no_cache=True),
    urls_namespace="api",
)
api.add_router("", digest_router)
api.add_router("", costs_router)
api.add_router("", digests_router)
api.add_router("", items_router)
api.add_router("", mutes_router)
api.add_router("", searches_router)
api.add_router("", feeds_router)
api.add_router("", newsletters_router)
api.add_router("", suggestions_router)
api.add_router("", advisor_router)


def error_response(
    request: HttpRequest, code: str, message: str, status: int, **more: object
) -> HttpResponse:
    """Return an error response in the shape of all errors. `more` adds keys."""
    return api.create_response(request, {**more, "error": code, "message": message}, status=status)


@api.exception_handler(DigestError)
@api.exception_handler(SuggestionError)
def on_domain_error(request: HttpRequest, error: DigestError | SuggestionError) -> HttpResponse:
    """Return an error of digest or suggestions, with its own status and data."""
    more = error.data if isinstance(error, SuggestionError) else {}
    response = error_response(request, error.code, error.message, error.status, **more)
    if isinstance(error, InvalidToken | TokenExpired):
        # RFC 6750, section 3
        response["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    if isinstance(error, TooManyRequests):
        response["Retry-After"] = str(error.retry_after_s)
    return response


@api.exception_handler(ReplayedResponse)
def on_replayed_response(request: HttpRequest, error: ReplayedResponse) -> HttpResponse:
    """Return the stored response to a repeated call."""
    return error.response


@api.exception_handler(IdempotencyKeyError)
def on_idempotency_key_error(request: HttpRequest, error: IdempotencyKeyError) -> HttpResponse:
    """Return the error for a refused idempotency key."""
    return error_response(request, error.code, error.message, error.status)


@api.exception_handler(RankingError)
def on_ranking_error(request: HttpRequest, error: RankingError) -> HttpResponse:
    """Return an error of ranking: 409 for a stale version, 429 for too many changes, else 422."""
    status = {StaleVersion: 409, TooManyChanges: 429}.get(type(error), 422)
    return error_response(request, error.code, error.message, status)


@api.exception_handler(ValidationError)
def on_validation_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Return 422 for a request that does not fit its schema, with the name of each wrong field."""
    faults = "; ".join(f"{_field(e['loc'])}: {e['msg']}" for e in error.errors)
    return error_response(request, "invalid_request", faults, 422)


def _field(loc: Sequence[object]) -> str:
    """Return the place of a value as its sender sees it, without our own prefix: `reason_tags.0`."""
    return ".".join(map(str, loc[2:] if loc[:1] == ("body",) and len(loc) > 2 else loc[1:])) or str(loc[0])


@api.exception_handler(AuthenticationError)
def on_authentication_error(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    """Return 401 for a request without a valid session or token."""
    return error_response(request, "not_logged_in", "Log in first.", 401)


@api.exception_handler(Http404)
def on_not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    """Return the same 404 for things that do not exist and for those of other readers."""
    return error_response(request, "not_found", "There is nothing here that you may see.", 404)


@api.exception_handler(RequestDataTooBig)
def on_body_too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    """Return 413 for a body larger than `DATA_UPLOAD_MAX_MEMORY_SIZE`, which is not read."""
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024
    return error_response(request, "body_too_large", f"A body may have {most} KB.", 413)


@api.exception_handler(RawPostDataException)
def on_multipart_body(request: HttpRequest, error: RawPostDataException) -> HttpResponse:
    """Return 400 for a multipart form, which no operation accepts. Django has read it for a CSRF token."""
    return error_response(request, "bad_request", "Send the body as JSON.", 400)


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Return an error that django-ninja raised before the operation ran."""
    codes = {400: "bad_request", 403: "csrf_failed", 429: "too_many_requests"}
    return error_response(request, codes.get(error.status_code, "error"), error.message, error.status_code)


@csrf_exempt
def api_missing(request: HttpRequest) -> JsonResponse:
    """Answer an unknown address below `/api/` with a 404 in the shape of all errors."""
    message = "There is no such operation. /api/openapi.json lists those there are."
    return JsonResponse({"error": "not_found", "message": message}, status=404)


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Render the page that documents all operations."""
    context = {
        "areas": _operations(),
        "codes": common_error_codes(),
        "header": KEY_HEADER,
        "key_chars": KEY_CHARS_MAX,
        "stored_hours": int(KEY_LIFETIME.total_seconds() // 3600),
        "per_minute": REQUESTS_PER_MINUTE,
        "limits": {limit.name: limit.times for limit in (API, SEARCH, GENERATE, DECIDE)},
    }
    return render(request, "api_docs.html", context)


@cache
def _operations() -> dict[str, list[Operation]]:
    """Return the operations by area, computed once per process."""
    return operations_by_tag(api.get_openapi_schema())
