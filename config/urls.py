"""All URLs of the site."""

from allauth.account.decorators import reauthentication_required, secure_admin_login
from allauth.account.views import password_set
from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path, re_path
from django.views.generic import RedirectView, TemplateView

from config.admin_names import names_apply
from config.api.mcp_endpoint import mcp
from config.api.routes import api, api_docs, api_missing
from config.export import reader_export
from config.metrics import healthz, metrics, readyz
from digest.throttling import without_turn
from digest.web.oauth import endpoints
from digest.web.pages.account import (
    SecondFactor,
    SecondFactorAgain,
    SignIn,
    oidc_again,
    oidc_callback,
    oidc_login,
)

# The admin uses the site's sign-in, with its second factor.
admin.autodiscover()
names_apply(admin.site)
admin.site.site_header = admin.site.site_title = "Tidings"
# All tables are on the first page. Beside a list they would take a quarter of its width.
admin.site.enable_nav_sidebar = False
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler500 = "config.middleware.server_error"

# A page that was opened before an update asks for its files at their earlier addresses.
STATIC_BEFORE = (
    []
    if settings.DEBUG
    else [
        re_path(
            f"^static/(?!{settings.STATIC_URL.split('/')[-2]}/)(?:[0-9a-f]{{12}}/)?(?P<path>.+)$",
            without_turn(RedirectView.as_view(url=f"{settings.STATIC_URL}%(path)s")),
            name="static_before",
        )
    ]
)

# The browser asks for these by itself, beside what a reader does: they wait for nobody and are never refused.
BY_BROWSER = [
    path(
        "offline",
        without_turn(TemplateView.as_view(template_name="digest/offline.html")),
        name="offline",
    ),
    path("favicon.ico", without_turn(RedirectView.as_view(url=static("icon-192.png"))), name="icon"),
    *STATIC_BEFORE,
    path(
        "sw.js",
        without_turn(TemplateView.as_view(template_name="sw.js", content_type="text/javascript")),
        name="worker",
    ),
]

handler429 = "digest.throttling.too_many_requests_page"  # for allauth
# These pages exist only if an OpenID Connect provider is set.
first_password = reauthentication_required(app="allauth.account")(password_set)
_OIDC = "accounts/oidc/<str:provider_id>/login"
OIDC = (
    [
        path("accounts/oidc/again/", oidc_again, name="oidc_again"),
        # A first password is a way to sign in, too, so ask again who it is. allauth does not.
        path("accounts/password/set/", first_password, name="account_set_password"),
        path("accounts/oidc/<str:provider_id>/login/", oidc_login, name="openid_connect_login"),
        path(
            "accounts/oidc/<str:provider_id>/login/callback/", oidc_callback, name="openid_connect_callback"
        ),
    ]
    if settings.OIDC_ISSUER
    else []
)
if settings.PASSKEYS:
    from digest.web.pages import passkeys

    OIDC.append(path("accounts/2fa/webauthn/", include(passkeys.URLS)))
# Addresses for assistants (programs). The page on which a reader allows one is in digest.urls.
ASSISTANTS = [
    path("mcp", mcp, name="mcp"),
    path("oauth/token", endpoints.token, name="token"),
    path("oauth/revoke", endpoints.revoke, name="revoke"),
    path("oauth/register", endpoints.register, name="register"),
    path(".well-known/oauth-authorization-server", endpoints.server_metadata, name="authorization_server"),
    path(".well-known/oauth-protected-resource", endpoints.resource_metadata, name="protected_resource"),
    path(".well-known/oauth-protected-resource/mcp", endpoints.resource_metadata, name="protected_mcp"),
]
urlpatterns = [
    path("", include((ASSISTANTS, "assistants"))),
    path("", include("digest.urls")),
    path("", include("ranking.urls")),
    path("", include("suggestions.urls")),
    path("", include("advisor.urls")),
    path("", include("digest.web.greader.urls")),
    path("api/docs", api_docs, name="api_docs"),
    path("api/", api.urls),
    re_path("^api/", api_missing),
    path("accounts/login/", SignIn.as_view(), name="account_login"),
    path("accounts/2fa/authenticate/", SecondFactor.as_view(), name="mfa_authenticate"),
    path("accounts/2fa/reauthenticate/", SecondFactorAgain.as_view(), name="mfa_reauthenticate"),
    *OIDC,
    path("accounts/", include("allauth.urls")),
    path("ui/account/export", reader_export, name="reader_export"),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    *BY_BROWSER,
]
