"""Telling a person that something needs a person: one mail an outage, and always a log event."""

from datetime import datetime

import structlog
from django.conf import settings
from django.core.cache import cache
from django.core.mail import send_mail

log = structlog.get_logger(__name__)

# While the trouble goes on, each further alert of its kind renews the silence; an hour after the last one
# the next is an outage of its own.
QUIET_S = 3600
REASON_CHARS_MAX = 500


def alert_raise(*, kind: str, where: str, reason: str, now: datetime) -> bool:
    """Log `alert_raised` and mail it to ALERT_EMAILS; whether a mail went out.

    One mail for each kind and outage, counted in the cache, since the database may be what failed. Never
    raises: an alert that breaks must not become the second failure.
    """
    try:
        first = _first_of_outage(kind)
        log.error("alert_raised", kind=kind, where=where, reason=reason[:REASON_CHARS_MAX], first=first)
        if not first or not settings.ALERT_EMAILS:
            return False
        return bool(send_mail(*_mail(kind, where, reason, now), None, settings.ALERT_EMAILS))
    except Exception:
        log.exception("alert_failed", kind=kind)
        return False


def _first_of_outage(kind: str) -> bool:
    """Whether this kind was quiet before; a cache that fails counts as quiet, a mail too many as harmless."""
    try:
        if cache.add(f"alert:{kind}", 1, QUIET_S):
            return True
        cache.touch(f"alert:{kind}", QUIET_S)
        return False
    except Exception:
        log.warning("alert_cache_failed", kind=kind)
        return True


def _mail(kind: str, where: str, reason: str, now: datetime) -> tuple[str, str]:
    """Subject and body, in plain text; `reason` may hold anything, so it goes nowhere near a header."""
    body = (
        f"{where} failed at {now:%Y-%m-%d %H:%M} UTC with an error of the kind “{kind}”:\n\n"
        f"{reason[:REASON_CHARS_MAX]}\n\n"
        "The decisions and runs in the admin and the log around this time say more. No further mail of this "
        "kind is sent before it has been quiet for an hour.\n"
    )
    return f"Tidings: {kind} error needs a person", body
