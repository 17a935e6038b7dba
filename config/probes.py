"""What a load balancer, an orchestrator and Prometheus ask: `/healthz`, `/readyz`, `/metrics`."""

import hmac
from dataclasses import asdict

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.metrics import CONTENT_TYPE, metrics_text
from config.readiness import readiness, ready

LOOPBACK = ("127.0.0.1", "::1")


def healthz(request: HttpRequest) -> HttpResponse:
    """Plain `ok` as long as this process answers; it asks nothing else."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 where requests can be served, else 503: `{"ready", "degraded", "checks": {name: {"ok", …}}}`.

    What only the work behind needs (broker, schedule) shows as `degraded`. What went wrong in detail is for
    whoever may read `/metrics` alone.
    """
    checks = readiness(now=timezone.now())
    trusted = _may_look(request)
    rows = {check.name: asdict(check) for check in checks}
    for row in rows.values():
        del row["name"]
        if not trusted:
            del row["detail"]
    fine = ready(checks)
    body = {"ready": fine, "degraded": fine and not all(check.ok for check in checks), "checks": rows}
    return JsonResponse(body, status=200 if fine else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus's text format, for whoever sends `METRICS_TOKEN` as a bearer token; without one set, for
    this machine itself. To all others there is no such page."""
    if not _may_look(request):
        raise Http404
    return HttpResponse(metrics_text(now=timezone.now()), content_type=CONTENT_TYPE)


def _may_look(request: HttpRequest) -> bool:
    """By the token where one is set. A request that a proxy passed on is not this machine's own."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        return hmac.compare_digest(given, settings.METRICS_TOKEN.encode())
    forwarded = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return not forwarded and request.META.get("REMOTE_ADDR") in LOOPBACK
