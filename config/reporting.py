"""What a report of a crash shows of settings and of the environment: no secret, by whatever name it goes."""

import re

from django.views.debug import SafeExceptionReporterFilter

# Beside Django's own words: addresses of services carry passwords (DATABASE_URL, a cache's LOCATION).
MORE = ("URL", "LOCATION", "BROKER", "BACKEND_SETTINGS", "COOKIE", "DSN")


class Reporter(SafeExceptionReporterFilter):
    """Django's filter, over more names."""

    hidden_settings = re.compile(
        "|".join((SafeExceptionReporterFilter.hidden_settings.pattern, *MORE)), re.IGNORECASE
    )
