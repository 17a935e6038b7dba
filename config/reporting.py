"""What a report of a crash shows of settings and of the environment: no secret, by whatever name it goes."""

import re
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter

# Beside Django's own words: addresses of services carry passwords (DATABASE_URL, a cache's LOCATION).
MORE = ("URL", "LOCATION", "BROKER", "BACKEND_SETTINGS", "COOKIE", "DSN")


class Reporter(SafeExceptionReporterFilter):
    """Django's filter, over more names."""

    hidden_settings = re.compile(
        "|".join((SafeExceptionReporterFilter.hidden_settings.pattern, *MORE)), re.IGNORECASE
    )

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        """What a form sent, without what was typed into fields for passwords, keys and codes."""
        shown = super().get_post_parameters(request)
        hidden = re.compile(f"{self.hidden_settings.pattern}|CODE", re.IGNORECASE)
        return {
            name: self.cleansed_substitute if hidden.search(name) else said for name, said in shown.items()
        }
