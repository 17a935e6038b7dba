"""Sign-in by OpenID Connect: whom a provider's answer signs in, and what happens where it gives none."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from allauth.account.internal.flows.login import record_authentication
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.app_settings import UID_MAX_LENGTH
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.utils import timezone

from digest.accounts.adapters import PROVIDER_METHOD
from digest.models import Reader

log = structlog.get_logger(__name__)

# RFC 5321, section 4.5.3.1: what a mail server must take, and our column of addresses.
ADDRESS_CHARS_MAX = 254
NAME_CHARS_MAX = 1000
# The one provider's id in addresses, and the mark of a sign-in that confirms who is here already.
PROVIDER, SIGN_IN_AGAIN = "oidc", "again"
# The way there and back, and clocks that differ.
FRESH_S = 300
_CLAIMS = {
    "sub": UID_MAX_LENGTH,
    "email": ADDRESS_CHARS_MAX,
    **dict.fromkeys(("preferred_username", "name", "given_name", "family_name"), NAME_CHARS_MAX),
}


def claims_checked(claims: Any) -> dict[str, Any]:
    """Return a provider's claims about who signs in, once those that are used are text of a bounded length.

    Raises `OAuth2Error`, which becomes the page of a sign-in that failed.
    """
    if not isinstance(claims, dict) or not claims.get("sub"):
        raise OAuth2Error("the provider named nobody")
    for name, longest in _CLAIMS.items():
        claim = claims.get(name)
        if claim is not None and not (isinstance(claim, str) and len(claim) <= longest and "\0" not in claim):
            raise OAuth2Error(f"the provider's {name} is no text of at most {longest} characters")
    return claims


def is_fresh(claims: Mapping[str, Any], *, now: datetime) -> bool:
    """Return whether a provider says that somebody signed in there just now, or does not say when.

    Its `auth_time` is required where `max_age` was sent (OpenID Connect Core 1.0, section 2). Some leave it
    out: they can only be taken at their word that they asked.
    """
    at = claims.get("auth_time")
    if at is None:
        return True
    return isinstance(at, int | float) and abs(now.timestamp() - at) <= FRESH_S


def provider_of(request: HttpRequest, provider_id: str) -> Any:
    """Return the provider, of whose answers those that no account can be made of are refused.

    Its module needs the library's tables, which are there with OIDC_ISSUER alone.
    """
    from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter  # noqa: PLC0415

    class Provider(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
        def _fetch_user_info(self, access_token: str) -> dict[str, Any]:
            return claims_checked(super()._fetch_user_info(access_token))

        def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
            return claims_checked(super()._decode_id_token(app, id_token))

    return Provider(request, provider_id)


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

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Record that a reader signed in again where that was asked for, and nobody else in their place."""
        if sociallogin.state.get("data") != SIGN_IN_AGAIN:
            return
        claims = (sociallogin.account.extra_data or {}).get("id_token") or {}
        is_theirs = sociallogin.is_existing and sociallogin.user == request.user
        if not (is_theirs and is_fresh(claims, now=timezone.now())):
            page = {"name": settings.OIDC_NAME, "again": True}
            answer = render(request, "socialaccount/authentication_error.html", page, status=403)
            raise ImmediateHttpResponse(answer)
        record_authentication(request, request.user, method=PROVIDER_METHOD, reauthenticated=True)

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
