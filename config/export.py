"""Export everything about one reader as one JSON object. docs/readers.md describes the format.

Each room exports its own tables. This module joins the parts and serves the download.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from django.contrib.auth.decorators import login_required
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from advisor.selectors import reader_export_advisor
from digest.accounts.services import reader_export_digest
from digest.errors import TooManyRequests
from digest.models import Reader
from digest.places import EXPORTS
from digest.requests import reader_of
from digest.throttling import EXPORT, PlacedStream, rate_limited, too_many_requests_page
from ranking.selectors import reader_export_ranking
from suggestions.selectors import reader_export_suggestions

SCHEMA = "tidings.reader-export"
# Raise this number if a key is removed or changes its meaning. New keys do not count.
SCHEMA_VERSION = 1


def reader_export_parts(*, reader: Reader) -> Iterator[tuple[str, object]]:
    """Yield (name, value or iterator of rows) from all rooms. The account comes first."""
    return chain(
        reader_export_digest(reader=reader),
        reader_export_ranking(reader_id=reader.pk),
        reader_export_suggestions(reader_id=reader.pk),
        reader_export_advisor(reader_id=reader.pk),
    )


def reader_export_stream(*, reader: Reader, now: datetime) -> Iterator[str]:
    """Yield the export as pieces of one JSON document, one row a line, without loading all rows at once."""
    head = {"schema": SCHEMA, "version": SCHEMA_VERSION, "exported_at": now}
    yield _json(head)[:-1]
    for name, value in reader_export_parts(reader=reader):
        yield f",\n{_json(name)}: "
        if isinstance(value, Iterator):
            yield "["
            for n, row in enumerate(value):
                yield (",\n  " if n else "\n  ") + _json(row)
            yield "]"
        else:
            yield _json(value)
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


@login_required
@never_cache
@require_safe
@rate_limited(EXPORT, when=lambda request: request.method == "GET")
def reader_export(request: HttpRequest) -> StreamingHttpResponse | HttpResponse:
    """Answer with everything about the signed-in reader as one JSON file to download, one at a time."""
    reader, now = reader_of(request), timezone.now()
    name = f"tidings-{now:%Y-%m-%d}.json"
    try:
        parts = PlacedStream(EXPORTS, reader.pk, reader_export_stream(reader=reader, now=now))
    except TooManyRequests as refused:
        return too_many_requests_page(request, refused)
    return StreamingHttpResponse(
        parts,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
