"""Adapters of django-allauth: usernames, links, mails about an account, and the second factor."""

import re
import time
import unicodedata
from smtplib import SMTPException
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import structlog
from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.models import EmailConfirmationHMAC
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy

from digest.accounts.limits import (
    ACCOUNT,
    ADDRESS,
    ADDRESS_SLOTS,
    TYPED,
    account_keys,
    address_is_open,
    failure_count,
    login_key,
    readers_by_login,
)
from digest.feeds.identity import domain_in
from digest.mail.render import site_link
from digest.models import Reader

log = structlog.get_logger(__name__)

# As allauth records a sign-in at a provider.
PROVIDER_METHOD = "socialaccount"
NAME_CHARS: int = Reader._meta.get_field("username").max_length or 0
NOT_SENT = gettext_lazy(
    "The mail could not be sent: the mail server did not accept it. Please try again in a "
    "few minutes, and contact the operator of this site if it happens again."
)


def signed_in_again(request: HttpRequest) -> bool:
    """Return whether the reader signed in again at the provider a short while ago."""
    records = get_authentication_records(request, cast(AbstractBaseUser, request.user))
    again = [row["at"] for row in records if row["method"] == PROVIDER_METHOD and row.get("reauthenticated")]
    return bool(again) and time.time() - again[-1] < app_settings.REAUTHENTICATION_TIMEOUT


def signed_in_lately(request: HttpRequest) -> bool:
    """Return whether the reader signed in by password, code or passkey a short while ago.

    A sign-in at the provider is none unless it was asked for again: there it may have taken nothing.
    """
    records = get_authentication_records(request, cast(AbstractBaseUser, request.user))
    shown = [row["at"] for row in records if row["method"] in ("password", "mfa")]
    lately = bool(shown) and time.time() - shown[-1] < app_settings.REAUTHENTICATION_TIMEOUT
    return lately or signed_in_again(request)


def has_app(user: Any) -> bool:
    """Return whether the reader's second factor is an authenticator app, maybe among others."""
    return bool(is_mfa_enabled(user, [Authenticator.Type.TOTP]))


def has_passkey(user: Any) -> bool:
    """Return whether the reader has a passkey."""
    return bool(is_mfa_enabled(user, [Authenticator.Type.WEBAUTHN]))


def _is_known_at_provider(user: Any) -> bool:
    if not (settings.OIDC_ISSUER and user.is_authenticated):
        return False
    from allauth.socialaccount.models import SocialAccount  # noqa: PLC0415  # with OIDC_ISSUER

    return bool(SocialAccount.objects.filter(user=user).exists())


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts by name and e-mail: links lead to this site's own address (`SITE_URL`), failed sign-ins count
    against an account however it is named, and a mail server that fails breaks no page."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return a new username in compatibility form (NFKC), so that no two differ in width alone.

        Raises `ValidationError` for one that is taken or too long in that form, and for an address: signing
        in takes either, and mails say the name to a mailbox whose owner may not know of it.
        """
        if "@" in username:
            raise ValidationError(gettext("A username is no e-mail address. Leave out the “@”."))
        name = unicodedata.normalize("NFKC", username)
        if len(name) > NAME_CHARS:
            raise ValidationError(
                gettext("A username has at most {name_chars} characters.").format(name_chars=NAME_CHARS)
            )
        if domain_in(name):
            raise ValidationError(gettext("A username is no web address. Leave out the dot."))
        return str(super().clean_username(name, shallow))

    def is_safe_url(self, url: str) -> bool:
        """Return whether to redirect there after signing in; what is no address is not safe."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Reader | None:
        """Return the reader with this login and password, active or not; `None` for any other.

        Counts and time tell nothing of who has an account: as many passwords are hashed, and as many
        failures counted, for a login that nobody has. Raises `ValidationError` beyond a limit.
        """
        username, email = (str(credentials.get(name) or "").strip() for name in ("username", "email"))
        login, password = email or username, str(credentials.get("password") or "")
        typed = address_is_open(request) and failure_count(request, action=TYPED, key=login_key(login))
        here = typed and failure_count(request, action=ADDRESS)
        if not (typed and here):
            raise self.validation_error("too_many_login_attempts")
        readers = readers_by_login(username=username, email=email)
        slots = ADDRESS_SLOTS if email else 1
        keys = account_keys(login, readers, slots=slots)
        counted = [failure_count(request, action=ACCOUNT, key=key) for key in keys]
        right = [reader.check_password(password) for reader in readers]
        for _ in range(len(readers), slots):
            Reader().set_password(password)
        opened = zip(readers, right, counted, strict=False)
        reader = next((one for one, is_right, usage in opened if is_right and usage), None)
        for usage in (typed, here, *counted) if reader else ():
            if usage:
                usage.rollback()
        return reader

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return how a reader can show that it is them; at the provider where there is no other way."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        for method in methods:
            if method["id"] == "mfa_reauthenticate:webauthn":
                method["description"] = gettext("Use a passkey")
            elif method["id"] == "mfa_reauthenticate" and not has_app(user):
                method["description"] = gettext("Use a recovery code")
        if methods or not _is_known_at_provider(user):
            return methods
        words = gettext("Sign in with {name} again").format(name=settings.OIDC_NAME)
        return [{"id": "oidc_again", "description": words, "url": reverse("oidc_again")}]

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Return whether `app` asks again at all.

        Raises `ReauthenticationRequired` for a reader whom only the provider knows: allauth asks nothing.
        """
        if not super().is_reauthentication_required(app=app, **more):
            return False
        user = self.request.user
        ways = {way["id"] for way in self.get_reauthentication_methods(user)}
        if ways == {"oidc_again"} and not signed_in_again(self.request):
            raise ReauthenticationRequired
        return True

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        """Leave the counts to `failures_forget`: an address that is only claimed keeps its own."""

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Reader,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Notify a reader of a change of the account in their zone and language, whoever made it."""
        language = user.language or translation.get_language() or settings.LANGUAGE_CODE
        with timezone.override(user.zone), translation.override(language):
            super().send_notification_mail(template_prefix, user, context, email)

    def send_confirmation_mail(
        self, request: HttpRequest, emailconfirmation: EmailConfirmationHMAC, signup: bool
    ) -> None:
        """Send the link that confirms an address; at a sign-up with one that another account has confirmed,
        which no link can change, say that instead."""
        address = emailconfirmation.email_address
        _ = address.user  # which the link's mail names: either takes as many queries
        if address.can_set_verified() or not signup:
            super().send_confirmation_mail(request, emailconfirmation, signup)
        else:
            self.send_account_already_exists_mail(address.email)

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
            messages.error(self.request, str(NOT_SENT))


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Shows the QR code of an authenticator app on pages that allow no `data:` images; names passkeys."""

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:
        """Return a name for a reader's next passkey, which they may change."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return gettext("Passkey {number}").format(number=number) if number > 1 else gettext("Passkey")

    def build_totp_svg(self, url: str) -> str:
        """Return the QR code of `url` as an `<svg>` element, without XML declaration and fixed size."""
        svg = str(super().build_totp_svg(url))
        return re.sub(r' (width|height)="[^"]*"', "", svg[svg.index("<svg") :], count=2)
