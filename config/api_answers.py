"""What every answer of the API has, whoever made it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse

API = "/api/"
NOT_ALLOWED = 405


def api_answers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: a method that an address does not know is refused in the shape of every error, and no
    cache keeps what was told to one reader."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith(API):
            return response
        if response.status_code == NOT_ALLOWED and response["Content-Type"] != "application/json":
            response = _not_allowed(request, response.get("Allow", ""))
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response

    return handle


def _not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    message = f"{request.method} does nothing here. What does: {allowed}."
    body = {"error": "method_not_allowed", "message": message}
    return JsonResponse(body, status=NOT_ALLOWED, headers={"Allow": allowed})
