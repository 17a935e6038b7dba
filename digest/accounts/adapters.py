"""Adapters for django-allauth: usernames, redirects, account mails, sign-in limits and second factors."""

import re
import time
import unicodedata
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
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
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy

from digest.accounts.invitations import signup_is_open
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
from digest.errors import TooManyRequests
from digest.feeds.identity import domain_in
from digest.mail.render import site_link
from digest.models import Reader
from digest.places import MAILS
from digest.throttling import SIGN_IN, limit_count, too_many_requests_page

log = structlog.get_logger(__name__)

# The method name under which allauth records a sign-in at the provider.
PROVIDER_METHOD = "socialaccount"
# The IPv4 addresses of clients as a translator writes them (RFC 6052, section 2.1).
TRANSLATED = IPv6Network("64:ff9b::/96")
NAME_CHARS: int = Reader._meta.get_field("username").max_length or 0
NOT_SENT = gettext_lazy(
    "The mail could not be sent: the mail server did not accept it. Please try again in a "
    "few minutes, and contact the operator of this site if it happens again."
)


def signed_in_again(request: HttpRequest) -> bool:
    """Return whether the reader signed in again at the provider within `REAUTHENTICATION_TIMEOUT`."""
    records = get_authentication_records(request, cast(AbstractBaseUser, request.user))
    again = [row["at"] for row in records if row["method"] == PROVIDER_METHOD and row.get("reauthenticated")]
    return bool(again) and time.time() - again[-1] < app_settings.REAUTHENTICATION_TIMEOUT


def signed_in_lately(request: HttpRequest) -> bool:
    """Return whether the reader proved their identity within `REAUTHENTICATION_TIMEOUT`.

    A password, a code or a passkey counts. A sign-in at the provider counts only if we asked for it again,
    because the provider may have let the reader through without asking for anything.
    """
    records = get_authentication_records(request, cast(AbstractBaseUser, request.user))
    shown = [row["at"] for row in records if row["method"] in ("password", "mfa")]
    lately = bool(shown) and time.time() - shown[-1] < app_settings.REAUTHENTICATION_TIMEOUT
    return lately or signed_in_again(request)


def has_app(user: Any) -> bool:
    """Return whether the reader has an authenticator app as a second factor.

    They may have other factors, too.
    """
    return bool(is_mfa_enabled(user, [Authenticator.Type.TOTP]))


def has_passkey(user: Any) -> bool:
    """Return whether the reader has a passkey."""
    return bool(is_mfa_enabled(user, [Authenticator.Type.WEBAUTHN]))


def is_last_way(passkey: Authenticator) -> bool:
    """Return whether its reader has no password, provider or other passkey to sign in with."""
    user = passkey.user
    others = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN).exclude(pk=passkey.pk)
    return not (user.has_usable_password() or _is_known_at_provider(user) or others.exists())


def _is_known_at_provider(user: Any) -> bool:
    if not (settings.OIDC_ISSUER and user.is_authenticated):
        return False
    from allauth.socialaccount.models import SocialAccount  # noqa: PLC0415  # with OIDC_ISSUER

    return bool(SocialAccount.objects.filter(user=user).exists())


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in by username or e-mail address.

    Links lead to this site's own address (`SITE_URL`). Failed sign-ins count against an account under every
    login it has. If the mail server fails, the page still works.
    """

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether this browser may sign up, here or through a provider (`SIGNUP`)."""
        return signup_is_open(request, now=timezone.now())

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return a new username in compatibility form (NFKC): two names never differ in width alone.

        Raises `ValidationError` if that form is taken or too long, or if it is an e-mail or web address.
        E-mail addresses are refused because people sign in with either. Web addresses are refused because
        mails quote the name to a mailbox whose owner may not know the sender.
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

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's address; an IPv4 address in its own form.

        Sockets and proxies for both kinds write it as IPv6 (`::ffff:192.0.2.1`), and so do translators (RFC
        6052). All of these lie in one /64, which counts as one address. By 6to4 (RFC 3056) one IPv4 address
        has 65,536 of them.
        """
        read = ip_address(str(super().get_client_ip(request)))
        if not isinstance(read, IPv6Address):
            return str(read)
        translated = IPv4Address(read.packed[-4:]) if read in TRANSLATED else None
        return str(read.ipv4_mapped or read.sixtofour or translated or read)

    def is_safe_url(self, url: str) -> bool:
        """Return whether a redirect to `url` after signing in is safe. A malformed address is not."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Reader | None:
        """Return the reader with this login and password, even an inactive one; `None` if there is none.

        Neither the failure counts nor the time taken show who has an account: an unknown login costs as many
        password hashes and as many counted failures as a known one. Raises `ValidationError` beyond a limit.
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

    def pre_login(self, request: HttpRequest, user: Any, **more: Any) -> HttpResponse | None:
        """Return the page for 429 if a reader signed in too often, whatever way they came; else `None`."""
        try:
            limit_count(limit=SIGN_IN, who=user.pk, now=timezone.now())
        except TooManyRequests as refused:
            request.sign_in_refused = True  # type: ignore[attr-defined]  # then no session is stored
            return too_many_requests_page(request, refused)
        answer: HttpResponse | None = super().pre_login(request, user, **more)
        return answer

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the ways in which a reader can confirm that it is them.

        The provider is offered only if there is no other way.
        """
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
        """Return whether the reader must confirm their identity before a sensitive change.

        Raises `ReauthenticationRequired` if the reader can confirm it only at the provider and has not done
        so lately. allauth itself would ask such a reader for nothing.
        """
        if not super().is_reauthentication_required(app=app, **more):
            return False
        user = self.request.user
        ways = {way["id"] for way in self.get_reauthentication_methods(user)}
        if ways == {"oidc_again"} and not signed_in_again(self.request):
            raise ReauthenticationRequired
        return True

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        """Do nothing: `failures_forget` clears the counts. An unconfirmed address keeps its own."""

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Reader,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Mail a reader about a change of their account, in their own time zone and language."""
        language = user.language or translation.get_language() or settings.LANGUAGE_CODE
        with timezone.override(user.zone), translation.override(language):
            super().send_notification_mail(template_prefix, user, context, email)

    def send_confirmation_mail(
        self, request: HttpRequest, emailconfirmation: EmailConfirmationHMAC, signup: bool
    ) -> None:
        """Send the link that confirms an address.

        At a sign-up with an address that another account has confirmed, send the mail "you already have an
        account" instead, because no link can move the address.
        """
        address = emailconfirmation.email_address
        # Loads the user, who is named in the link's mail. Both mails then take the same number of queries.
        _ = address.user
        if address.can_set_verified() or not signup:
            super().send_confirmation_mail(request, emailconfirmation, signup)
        else:
            self.send_account_already_exists_mail(address.email)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail about an account, with links to `SITE_URL`. If it fails, show a message on the page."""
        here = self.request.build_absolute_uri("/") if self.request else site_link("")
        links = {
            name: site_link(value.removeprefix(here))
            for name, value in context.items()
            if isinstance(value, str) and value.startswith(here)
        }
        netloc = urlsplit(settings.SITE_URL).netloc
        site = SimpleNamespace(domain=netloc, name=netloc)
        try:
            with MAILS.place(object()) as has_place:
                if not has_place:
                    raise ConnectionError("the mail server keeps others waiting")
                super().send_mail(template_prefix, email, {**context, **links, "current_site": site})
        except (OSError, SMTPException) as error:
            log.error("mail_failed", template=template_prefix, error=type(error).__name__)
            messages.error(self.request, str(NOT_SENT))


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Names for passkeys, and a QR code that also works on pages that allow no `data:` images."""

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:
        """Return a name for a reader's next passkey, which they may change."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return gettext("Passkey {number}").format(number=number) if number > 1 else gettext("Passkey")

    def build_totp_svg(self, url: str) -> str:
        """Return the QR code of `url` as an `<svg>` element without XML declaration and fixed size."""
        svg = str(super().build_totp_svg(url))
        return re.sub(r' (width|height)="[^"]*"', "", svg[svg.index("<svg") :], count=2)
