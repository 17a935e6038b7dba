"""Views that use several rooms."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.export import reader_export_stream
from digest.requests import reader_of
from digest.throttling import EXPORT, rate_limited


@login_required
@never_cache
@require_safe
@rate_limited(EXPORT, when=lambda request: request.method == "GET")
def reader_export(request: HttpRequest) -> StreamingHttpResponse:
    """Download everything about the signed-in reader as one JSON file."""
    reader, now = reader_of(request), timezone.now()
    name = f"tidings-{now:%Y-%m-%d}.json"
    return StreamingHttpResponse(
        reader_export_stream(reader=reader, now=now),
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@csrf_exempt
def api_missing(request: HttpRequest) -> JsonResponse:
    """Answer an unknown address below `/api/` with 404 in the shape of every error."""
    message = "There is no such operation. /api/openapi.json lists those there are."
    return JsonResponse({"error": "not_found", "message": message}, status=404)
