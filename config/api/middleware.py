"""Middleware for responses of the API."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse

from config.api.idempotency import KeyClaim, response_store

API, NOT_ALLOWED = "/api/", 405
Handler = Callable[[HttpRequest], HttpResponse]


def api_responses(get_response: Handler) -> Handler:
    """Give 405 responses the shape of all errors, forbid caching, and store responses by idempotency key.

    A response is stored if its request claimed a key while it was authenticated.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith(API):
            return response
        if response.status_code == NOT_ALLOWED and response["Content-Type"] != "application/json":
            allowed = response.get("Allow", "")
            message = f"{request.method} is not allowed here. Allowed: {allowed}."
            body = {"error": "method_not_allowed", "message": message}
            response = JsonResponse(body, status=NOT_ALLOWED, headers={"Allow": allowed})
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        claim = getattr(request, "idempotency_claim", None)
        if isinstance(claim, KeyClaim):
            response_store(claim=claim, response=response)
        return response

    return handle
