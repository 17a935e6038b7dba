"""Forms of django-allauth with this site's labels and rules."""

from typing import Any

from allauth.account import app_settings
from allauth.account.forms import AddEmailForm, LoginForm
from allauth.account.internal.flows.manage_email import emit_email_changed
from allauth.account.models import EmailAddress
from allauth.mfa import app_settings as mfa_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest

from digest.models import Reader


class SignInForm(LoginForm):  # type: ignore[misc]
    """Signs in by username or address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, remember = self.fields["login"], self.fields["remember"]
        login.label, remember.label = "Username or e-mail address", "Keep me signed in on this device"
        login.widget.attrs.pop("placeholder", None)
        # Browsers keep both under one name; a password manager fills in whichever it knows.
        login.widget.attrs["autocomplete"] = "username"


class AddressForm(AddEmailForm):  # type: ignore[misc]
    """A reader's new address, valid once a link sent to it was followed.

    Where addresses are not confirmed (`ACCOUNT_EMAIL_VERIFICATION=none`), it is valid at once.
    """

    def save(self, request: HttpRequest) -> EmailAddress:
        """Store the address that passed `clean_email`, and notify the old one."""
        if app_settings.EMAIL_VERIFICATION != app_settings.EmailVerificationMethod.NONE:
            return super().save(request)
        with transaction.atomic():
            before = EmailAddress(user=self.user, email=self.user.email) if self.user.email else None
            EmailAddress.objects.filter(user=self.user).delete()
            address = EmailAddress.objects.create(user=self.user, email=self.cleaned_data["email"])
            address.set_as_primary()
        emit_email_changed(request, before, address)
        return address


class SingleUseCode:
    """Accepts a code from an app once for as long as it is valid, whatever it was used for.

    RFC 6238, section 5.2: a second attempt with the same code must not be accepted. allauth remembers a code
    for one period, which is shorter than `MFA_TOTP_TOLERANCE` lets it live, and not the one that switched
    the app on.
    """

    user: Reader
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        """Return the code and mark it as used. Raises `ValidationError` for a wrong or used one."""
        code: str = super().clean_code()  # type: ignore[misc]
        lives_s = mfa_settings.TOTP_PERIOD * (2 * mfa_settings.TOTP_TOLERANCE + 1)
        if not cache.add(f"digest:code:{self.user.pk}:{''.join(code.split())}", True, timeout=lives_s):
            raise get_adapter().validation_error("incorrect_code")
        return code


class SecondFactorForm(SingleUseCode, AuthenticateForm):  # type: ignore[misc]
    """The code asked for at sign-in."""


class SecondFactorAgainForm(SingleUseCode, ReauthenticateForm):  # type: ignore[misc]
    """The code asked for before a sensitive change."""


class AppForm(SingleUseCode, ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app that is being switched on."""
