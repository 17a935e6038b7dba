"""Forms of django-allauth with this site's labels and rules."""

from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    LoginForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SignupForm,
    default_token_generator,
)
from allauth.account.internal.flows.manage_email import emit_email_changed
from allauth.account.internal.flows.signup import send_unknown_account_mail
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.core import context
from allauth.mfa import app_settings as mfa_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.forms import ReauthenticateForm as CodeAgainForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from django import forms
from django.core.cache import cache
from django.core.validators import MaxLengthValidator
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy

from digest.accounts.limits import (
    ACCOUNTS_MAX,
    ADDRESS,
    ADDRESS_SLOTS,
    LOGIN_CHARS,
    PASSWORD_CHARS,
    address_is_open,
    failure_count,
    failures_forget,
    readers_by_address,
)
from digest.accounts.services import reader_access_end
from digest.mail.render import site_link
from digest.models import Reader


class BoundedFields:
    """A form whose texts have a greatest length: passwords 4,096 characters, all else that of an address."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                hidden = isinstance(field.widget, forms.PasswordInput)
                field.validators.append(MaxLengthValidator(PASSWORD_CHARS if hidden else LOGIN_CHARS))


class NewAccountForm(BoundedFields, SignupForm):  # type: ignore[misc]
    """Signs up."""

    def validate_unique_email(self, value: str) -> str:
        """Return the address: signing up does the same whether or not another account has it.

        Were no account made, a second try with the same username would show it. Whose the address is, its
        mailbox is told (`AccountAdapter.send_confirmation_mail`).
        """
        return value


class EndsAccess(forms.Form):
    """A form with a new password, which ends what else opens the account, unless the reader objects."""

    user: Reader
    end_access = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("End all that opens my account without the password"),
        help_text=gettext_lazy(
            "Tokens for scripts, assistants, the address of your own feed, where notifications go, and "
            "the service you save to. Leave it on if somebody else may have been in."
        ),
    )

    def save(self) -> None:
        """Store the password, and end the rest where that is asked for."""
        super().save()  # type: ignore[misc]
        if self.cleaned_data["end_access"]:
            reader_access_end(reader=self.user)


class NewPasswordForm(BoundedFields, EndsAccess, ChangePasswordForm):  # type: ignore[misc]
    """A new password in place of the old one."""


class PasswordByLinkForm(BoundedFields, EndsAccess, ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password, chosen by a link that came by mail."""

    def save(self) -> None:
        """Store it, and forget the reader's failures."""
        super().save()
        failures_forget(context.request, self.user)


class PasswordAgainForm(BoundedFields, ReauthenticateForm):  # type: ignore[misc]
    """The password asked for before a sensitive change."""


class ForgottenPasswordForm(BoundedFields, ResetPasswordForm):  # type: ignore[misc]
    """Asks for a link to a new password.

    It takes as much work whether the address has no account or one: as many queries and links, and one mail.
    """

    users: list[Reader]

    def clean_email(self) -> str:
        """Return the address, and find who has it: the active readers who confirmed it, or else all."""
        email = str(account_adapter().clean_email(self.cleaned_data["email"].lower()))
        found = [row for row in readers_by_address(email) if row[0].is_active]
        confirmed = [reader for reader, is_confirmed in found if is_confirmed]
        self.users = (confirmed or [reader for reader, _ in found])[:ACCOUNTS_MAX]
        return str(self.cleaned_data["email"])

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Send one mail, whether the address has no account, one, or several; return the address."""
        email: str = self.cleaned_data["email"]
        accounts = [{"username": reader.username, "url": _reset_link(reader)} for reader in self.users]
        for _ in range(len(accounts), ADDRESS_SLOTS):
            _reset_link(Reader())
        if not accounts:
            send_unknown_account_mail(request, email)
            return email
        account_adapter().send_mail("account/email/password_reset_key", email, {"accounts": accounts})
        return email


def _reset_link(reader: Reader) -> str:
    key = default_token_generator.make_token(reader)
    ids = {"uidb36": user_pk_to_url_str(reader), "key": key}
    return site_link(reverse("account_reset_password_from_key", kwargs=ids))


class SignInForm(BoundedFields, LoginForm):  # type: ignore[misc]
    """Signs in by username or address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, remember = self.fields["login"], self.fields["remember"]
        login.label, remember.label = (
            gettext_lazy("Username or e-mail address"),
            gettext_lazy("Keep me signed in on this device"),
        )
        login.widget.attrs.pop("placeholder", None)
        # Browsers keep both under one name; a password manager fills in whichever it knows.
        login.widget.attrs["autocomplete"] = "username"


class AddressForm(BoundedFields, AddEmailForm):  # type: ignore[misc]
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


class SingleUseCode(BoundedFields):
    """Accepts a code from an app once for as long as it is valid, whatever it was used for.

    RFC 6238, section 5.2: a second attempt with the same code must not be accepted. allauth remembers a code
    for one period, which is shorter than `MFA_TOTP_TOLERANCE` lets it live, and not the one that switched
    the app on.
    """

    user: Reader
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        """Return the code and mark it as used. Raises `ValidationError` for a wrong or used one.

        Failures count against the account (by allauth) and against the network address.
        """
        request = context.request
        if not (address_is_open(request) and (counted := failure_count(request, action=ADDRESS))):
            raise account_adapter().validation_error("too_many_login_attempts")
        code: str = super().clean_code()  # type: ignore[misc]
        lives_s = mfa_settings.TOTP_PERIOD * (2 * mfa_settings.TOTP_TOLERANCE + 1)
        if not cache.add(f"digest:code:{self.user.pk}:{''.join(code.split())}", True, timeout=lives_s):
            raise get_adapter().validation_error("incorrect_code")
        counted.rollback()
        return code


class SecondFactorForm(SingleUseCode, AuthenticateForm):  # type: ignore[misc]
    """The code asked for at sign-in."""


class SecondFactorAgainForm(SingleUseCode, CodeAgainForm):  # type: ignore[misc]
    """The code asked for before a sensitive change."""


class AppForm(SingleUseCode, ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app that is being switched on."""
