"""Every address of the site, room by room."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import TemplateView

from config.api import api
from config.views import reader_export

# The admin has no sign-in of its own: whoever has a second factor is asked for it there as well.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]


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
    path("ui/account/export", reader_export, name="reader_export"),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("offline", TemplateView.as_view(template_name="digest/offline.html"), name="offline"),
    path("sw.js", TemplateView.as_view(template_name="sw.js", content_type="text/javascript"), name="worker"),
]
