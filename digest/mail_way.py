"""Whether mail leaves this machine."""

from django.conf import settings

# Backends of Django that keep mail here: for trying things out, not for reaching anybody.
STAYING = ("console", "dummy", "filebased")


def mail_goes_out() -> bool:
    """Whether EMAIL_URL names a server that delivers mail, rather than a log or a folder."""
    return not any(f".backends.{name}." in settings.EMAIL_BACKEND for name in STAYING)
