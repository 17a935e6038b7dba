"""The site's addresses with those of passkeys, which `PASSKEYS` adds when the addresses are first loaded."""

from allauth.mfa.webauthn import views
from django.urls import include, path

from config.urls import *  # noqa: F403 - the handlers of errors, too
from config.urls import urlpatterns as _site
from digest.web.pages.passkeys import RemovePasskey

urlpatterns = [
    path("accounts/2fa/webauthn/keys/<int:pk>/remove/", RemovePasskey.as_view(), name="mfa_remove_webauthn"),
    path("accounts/2fa/webauthn/", include("allauth.mfa.webauthn.urls")),
    path("accounts/2fa/webauthn/login/", views.login_webauthn, name="mfa_login_webauthn"),
    *_site,
]
