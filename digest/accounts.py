"""How accounts behave here: the adapters of django-allauth."""

import re
from smtplib import SMTPException
from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib import messages
from django.utils import timezone

from digest.models import Reader

log = structlog.get_logger(__name__)

NOT_SENT = (
    "The mail could not be sent: the mail server did not take it. Nothing else was lost. Please try again in "
    "a few minutes, and tell whoever runs this site if it happens again."
)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts by e-mail: a mail server that fails is said and logged, and breaks no page."""

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
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, SMTPException) as error:
            log.error("mail_failed", template=template_prefix, error=type(error).__name__)
            messages.error(self.request, NOT_SENT)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Codes from an authenticator app, shown in a page that allows no `data:` images."""

    def build_totp_svg(self, url: str) -> str:
        """The QR code of `url` as an `<svg>` element to stand in a page: without the XML declaration, which
        HTML knows nothing of, and without a fixed size."""
        drawn = str(super().build_totp_svg(url))
        return re.sub(r' (width|height)="[^"]*"', "", drawn[drawn.index("<svg") :], count=2)
