"""How accounts behave here: the adapters of django-allauth."""

import re
import unicodedata
from smtplib import SMTPException
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from digest.mailing import site_link
from digest.models import Reader
from digest.selectors.readers import reader_signing_in

log = structlog.get_logger(__name__)

NOT_SENT = (
    "The mail could not be sent: the mail server did not take it. Nothing else was lost. Please try again in "
    "a few minutes, and tell whoever runs this site if it happens again."
)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts by name and e-mail: links lead to this site's own address (`SITE_URL`), failed sign-ins count
    against an account however it is named, and a mail server that fails breaks no page."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """A new reader's name, in compatibility form (NFKC), so that no two look the same but for their
        width. Raises `ValidationError` for one that is taken, and for an address: signing in takes either."""
        if "@" in username:
            raise ValidationError("A username is no e-mail address. Leave out the “@”.")
        return str(super().clean_username(unicodedata.normalize("NFKC", username), shallow))

    def is_safe_url(self, url: str) -> bool:
        """Whether to lead there after signing in; what is no address is not safe."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failed sign-ins count against: one account by its name and by its address, whatever name of
        this site the browser asked for; a name that nobody has counts by itself."""
        login = str(credentials.get("email") or credentials.get("username") or "").lower()
        return str(reader_signing_in(login=login) or f"nobody:{login}")

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Reader,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Tell a reader that something about the account changed, in their own time even where the change
        came from a visitor's session."""
        with timezone.override(user.zone):
            super().send_notification_mail(template_prefix, user, context, email)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send one of the mails about an account. Where the server fails, the page says so."""
        here = self.request.build_absolute_uri("/") if self.request else site_link("")
        led = {
            name: site_link(said.removeprefix(here))
            for name, said in context.items()
            if isinstance(said, str) and said.startswith(here)
        }
        try:
            super().send_mail(template_prefix, email, {**context, **led, "current_site": _site()})
        except (OSError, SMTPException) as error:
            log.error("mail_failed", template=template_prefix, error=type(error).__name__)
            messages.error(self.request, NOT_SENT)


def _site() -> SimpleNamespace:
    """This site as the mails name it."""
    netloc = urlsplit(settings.SITE_URL).netloc
    return SimpleNamespace(domain=netloc, name=netloc)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Codes from an authenticator app, shown in a page that allows no `data:` images."""

    def build_totp_svg(self, url: str) -> str:
        """The QR code of `url` as an `<svg>` element to stand in a page: without the XML declaration, which
        HTML knows nothing of, and without a fixed size."""
        drawn = str(super().build_totp_svg(url))
        return re.sub(r' (width|height)="[^"]*"', "", drawn[drawn.index("<svg") :], count=2)
