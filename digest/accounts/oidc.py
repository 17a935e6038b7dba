"""Sign-in by OpenID Connect: whom a provider's answer signs in, and what happens where it gives none."""

from typing import Any

import structlog
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest
from django.shortcuts import render

from digest.models import Reader

log = structlog.get_logger(__name__)


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Links a provider's account to a reader by an address that both sides have confirmed, no other."""

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Reader:
        """Return the reader to be, once what the provider says of addresses is true or false.

        Some say "false" in text (Amazon Cognito), which Python takes for true: anybody's account would open.
        """
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True or address.verified == "true"
        reader: Reader = super().populate_user(request, sociallogin, data)
        return reader

    def can_authenticate_by_email(self, login: Any, email: str) -> bool:
        """Return whether an account of ours has confirmed the address, which the provider has, too.

        Whoever signed up with somebody's address, unconfirmed, must not get their sign-in.
        """
        confirmed = EmailAddress.objects.filter(email__iexact=email, verified=True).exists()
        return confirmed and bool(super().can_authenticate_by_email(login, email))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, **more: Any
    ) -> None:
        """Answer a sign-in that failed with a page that says so, and log why."""
        log.warning("oidc_failed", error=str(error or ""), exception=type(exception).__name__)
        page = {"name": provider.name, "cancelled": str(error) == "cancelled"}
        answer = render(request, "socialaccount/authentication_error.html", page, status=401)
        raise ImmediateHttpResponse(answer)
