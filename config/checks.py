"""System checks of the settings that concern no single room."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error


def check_schedule(**kwargs: Any) -> list[CheckMessage]:
    """Error `tidings.E011`: `NIGHTLY_HOUR` is no hour, so that nights begin at midnight or never."""
    if 0 <= settings.NIGHTLY_HOUR <= 23:
        return []
    text = f"NIGHTLY_HOUR={settings.NIGHTLY_HOUR} must be from 0 to 23 (UTC)."
    return [Error(text, hint="The default is 3.", id="tidings.E011")]
