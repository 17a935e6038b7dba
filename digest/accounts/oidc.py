"""Sign-in by OpenID Connect: which reader an answer signs in, and the error page if it signs in nobody."""

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

# RFC 5321, section 4.5.3.1: the longest address that a mail server must accept, and our column's length.
ADDRESS_CHARS_MAX = 254
NAME_CHARS_MAX = 1000
# The id of the only provider in URLs, and the mark of a sign-in that confirms a reader who is here already.
PROVIDER, SIGN_IN_AGAIN = "oidc", "again"
# How old a sign-in may be: allows for the redirects and for clocks that differ.
FRESH_S = 300
_CLAIMS = {
    "sub": UID_MAX_LENGTH,
    "email": ADDRESS_CHARS_MAX,
    **dict.fromkeys(("preferred_username", "name", "given_name", "family_name"), NAME_CHARS_MAX),
}


def claims_check(claims: Any) -> dict[str, Any]:
    """Return a provider's claims after checking that those we use are text of a bounded length.

    Raises `OAuth2Error`, which becomes the page of a failed sign-in.
    """
    if not isinstance(claims, dict) or not claims.get("sub"):
        raise OAuth2Error("the provider named nobody")
    for name, longest in _CLAIMS.items():
        claim = claims.get(name)
        if claim is not None and not (isinstance(claim, str) and len(claim) <= longest and "\0" not in claim):
            raise OAuth2Error(f"the provider's {name} is no text of at most {longest} characters")
    return claims


def subjects_check(*, user_info: Mapping[str, Any] | None, id_token: Mapping[str, Any]) -> None:
    """Raise `OAuth2Error` if the user info is of another person than the ID token.

    A client must compare the two (OpenID Connect Core 1.0, section 5.3.2), and the library does not.
    """
    if user_info is not None and user_info["sub"] != id_token["sub"]:
        raise OAuth2Error("the provider named two people")


def is_fresh(claims: Mapping[str, Any], *, now: datetime) -> bool:
    """Return whether the provider's `auth_time` is at most five minutes away from `now`, or missing.

    A provider must send `auth_time` if we sent `max_age` (OpenID Connect Core 1.0, section 2). Some leave it
    out. Then we can only trust that they asked.
    """
    at = claims.get("auth_time")
    if at is None:
        return True
    return isinstance(at, int | float) and abs(now.timestamp() - at) <= FRESH_S


def provider_of(request: HttpRequest, provider_id: str) -> Any:
    """Return the provider, which refuses answers that no account can be made of.

    The import is here because the library's tables exist only with `OIDC_ISSUER`.
    """
    from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter  # noqa: PLC0415

    class Provider(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
        _user_info: dict[str, Any] | None = None

        def _fetch_user_info(self, access_token: str) -> dict[str, Any]:
            self._user_info = claims_check(super()._fetch_user_info(access_token))
            return self._user_info

        def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
            claims = claims_check(super()._decode_id_token(app, id_token))
            subjects_check(user_info=self._user_info, id_token=claims)
            return claims

    return Provider(request, provider_id)


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Link a provider's account to a reader only by an address that both sides have confirmed."""

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Reader:
        """Return the new reader, after turning the provider's `email_verified` into a real boolean.

        Some providers send the text "false" (Amazon Cognito). Python takes it for true, and anybody's account
        would open.
        """
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True or address.verified == "true"
        reader: Reader = super().populate_user(request, sociallogin, data)
        return reader

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Record that the reader signed in again, if that was asked for.

        Refuse any other person in their place (403).
        """
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
        """Return whether both the provider and an account of ours have confirmed the address.

        Somebody who signed up with a stranger's address, unconfirmed, must not receive that stranger's
        sign-in.
        """
        confirmed = EmailAddress.objects.filter(email__iexact=email, verified=True).exists()
        return confirmed and bool(super().can_authenticate_by_email(login, email))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, **more: Any
    ) -> None:
        """Answer a failed sign-in with an error page (401), and log the cause."""
        log.warning("oidc_failed", error=str(error or ""), exception=type(exception).__name__)
        page = {"name": provider.name, "cancelled": str(error) == "cancelled"}
        answer = render(request, "socialaccount/authentication_error.html", page, status=401)
        raise ImmediateHttpResponse(answer)
