"""Every address of the site, room by room."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from config.api import api


def healthz(request: HttpRequest) -> HttpResponse:
    """Plain `ok` as long as this process answers; it asks nothing else."""
    return HttpResponse("ok", content_type="text/plain")


urlpatterns = [
    path("", include("digest.urls")),
    path("", include("ranking.urls")),
    path("", include("suggestions.urls")),
    path("", include("advisor.urls")),
    path("api/", api.urls),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
]
