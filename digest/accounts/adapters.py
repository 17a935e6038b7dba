"""Adapters of django-allauth: usernames, links, mails about an account, and the second factor."""

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

from digest.mail.render import site_link
from digest.models import Reader
from digest.requests import reader_id_by_login

log = structlog.get_logger(__name__)

NOT_SENT = (
    "The mail could not be sent: the mail server did not accept it. Please try again in a few minutes, and "
    "contact the operator of this site if it happens again."
)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts by name and e-mail: links lead to this site's own address (`SITE_URL`), failed sign-ins count
    against an account however it is named, and a mail server that fails breaks no page."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return a new username in compatibility form (NFKC), so that no two differ in width alone.

        Raises `ValidationError` for one that is taken, and for an address: signing in takes either.
        """
        if "@" in username:
            raise ValidationError("A username is no e-mail address. Leave out the “@”.")
        return str(super().clean_username(unicodedata.normalize("NFKC", username), shallow))

    def is_safe_url(self, url: str) -> bool:
        """Return whether to redirect there after signing in; what is no address is not safe."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Return the key that failed sign-ins count against.

        One account has the same key by its name and by its address, whatever host name the browser asked
        for; a name that nobody has counts by itself.
        """
        login = str(credentials.get("email") or credentials.get("username") or "").lower()
        return str(reader_id_by_login(login=login) or f"nobody:{login}")

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Reader,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Notify a reader of a change of the account, in their time zone whoever's session it came from."""
        with timezone.override(user.zone):
            super().send_notification_mail(template_prefix, user, context, email)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail about an account, with links to SITE_URL; a failure is a message on the page."""
        here = self.request.build_absolute_uri("/") if self.request else site_link("")
        links = {
            name: site_link(value.removeprefix(here))
            for name, value in context.items()
            if isinstance(value, str) and value.startswith(here)
        }
        netloc = urlsplit(settings.SITE_URL).netloc
        site = SimpleNamespace(domain=netloc, name=netloc)
        try:
            super().send_mail(template_prefix, email, {**context, **links, "current_site": site})
        except (OSError, SMTPException) as error:
            log.error("mail_failed", template=template_prefix, error=type(error).__name__)
            messages.error(self.request, NOT_SENT)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Shows the QR code of an authenticator app on pages that allow no `data:` images."""

    def build_totp_svg(self, url: str) -> str:
        """Return the QR code of `url` as an `<svg>` element, without XML declaration and fixed size."""
        svg = str(super().build_totp_svg(url))
        return re.sub(r' (width|height)="[^"]*"', "", svg[svg.index("<svg") :], count=2)
