"""System checks of the settings that concern no single room."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from config.keeping import keep_problems


def check_schedule(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E011`: `NIGHTLY_HOUR` is no hour, so that nights begin at midnight or never."""
    if 0 <= settings.NIGHTLY_HOUR <= 23:
        return []
    text = f"NIGHTLY_HOUR={settings.NIGHTLY_HOUR} must be from 0 to 23 (UTC)."
    return [Error(text, hint="The default is 3.", id="tidings.E011")]


def check_tls(**kwargs: Any) -> list[CheckMessage]:
    """Warning `tidings.W014`: plain HTTP is sent to https, and no proxy is trusted to say which it was."""
    if not settings.SECURE_SSL_REDIRECT or settings.ALLAUTH_TRUSTED_PROXY_COUNT > 0:
        return []
    text = (
        "SITE_URL says https and TRUSTED_PROXY_COUNT is 0: unless this server speaks TLS itself, every page "
        "redirects to itself without end."
    )
    hint = "Set TRUSTED_PROXY_COUNT to the number of your proxies, which set X-Forwarded-Proto."
    return [Warning(text, hint=hint, id="tidings.W014")]


def check_keeping(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E014`: `KEEP_DAYS` names no kind of row, or keeps one shorter than it is read."""
    return [Error(said, id="tidings.E014") for said in keep_problems(settings.KEEP_DAYS)]
