"""Pages that take something of every room."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.export import reader_export_stream
from digest.readers import reader_of


@login_required
@never_cache
@require_safe
def reader_export(request: HttpRequest) -> StreamingHttpResponse:
    """Everything about the signed-in reader, as a file to keep."""
    reader, now = reader_of(request), timezone.now()
    name = f"tidings-{now:%Y-%m-%d}.json"
    return StreamingHttpResponse(
        reader_export_stream(reader=reader, now=now),
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
