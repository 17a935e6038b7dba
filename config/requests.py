"""How many requests this process answered, with what, and how long they took."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram

Handler = Callable[[HttpRequest], HttpResponse]
REQUESTS = CollectorRegistry()
# Seconds; the target for pages is 0.2 at the 95th percentile.
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
UNKNOWN = "unknown"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_ANSWERED = Counter("tidings_requests", "Requests answered.", ("view", "method", "status"), registry=REQUESTS)
_SECONDS = Histogram(
    "tidings_request_seconds", "Time to an answer.", ("view",), buckets=BUCKETS, registry=REQUESTS
)


def count_requests(get_response: Handler) -> Handler:
    """Middleware: count each request by the name of its view, never by its address."""

    def handle(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        view = (match and match.view_name) or UNKNOWN
        method = request.method if request.method in METHODS else UNKNOWN
        _ANSWERED.labels(view, method, str(response.status_code)).inc()
        _SECONDS.labels(view).observe(time.perf_counter() - began)
        return response

    return handle
