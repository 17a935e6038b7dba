"""Per-request context."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from digest.models import Reader

Handler = Callable[[HttpRequest], HttpResponse]


def reader_time_zone(get_response: Handler) -> Handler:
    """Render every time of a request in its reader's zone; UTC for visitors."""

    def handle(request: HttpRequest) -> HttpResponse:
        zone = request.user.zone if isinstance(request.user, Reader) else None
        with timezone.override(zone or "UTC"):
            return get_response(request)

    return handle
