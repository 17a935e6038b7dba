"""The page about the API, made from the API's own description: `/api/docs`.

Anybody may read it, as they may `/api/openapi.json`: both say what can be asked, and nothing of anybody's.
"""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from config.api import api
from config.api_codes import KEY_CHARS_MAX, KEY_HEADER, codes_of_every
from config.api_schema import Operation, operations_by_area
from config.idempotency import KEPT
from digest.limits import API, DECIDE, GENERATE, SEARCH
from digest.tokens import REQUESTS_PER_MINUTE


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Every operation: what it takes, what it answers, what it refuses."""
    context = {
        "areas": _areas(),
        "codes": codes_of_every(),
        "header": KEY_HEADER,
        "key_chars": KEY_CHARS_MAX,
        "kept_hours": int(KEPT.total_seconds() // 3600),
        "per_minute": REQUESTS_PER_MINUTE,
        "limits": {limit.name: limit.times for limit in (API, SEARCH, GENERATE, DECIDE)},
    }
    return render(request, "api_docs.html", context)


@cache
def _areas() -> dict[str, list[Operation]]:
    """The operations by area; they stay the same as long as the process does."""
    return operations_by_area(api.get_openapi_schema())
