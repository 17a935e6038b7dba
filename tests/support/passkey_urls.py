"""The site's addresses with those of passkeys, which `PASSKEYS` adds when the addresses are first loaded."""

from django.urls import include, path

from config.urls import *  # noqa: F403 - the handlers of errors, too
from config.urls import urlpatterns as _site
from digest.web.pages.passkeys import URLS

urlpatterns = [
    path("accounts/2fa/webauthn/", include(URLS)),
    path("accounts/2fa/webauthn/", include("allauth.mfa.webauthn.urls")),
    *_site,
]
