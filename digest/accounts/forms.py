"""Forms of django-allauth with this site's labels, limits and rules."""

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
from django.conf import settings
from django.core.cache import cache
from django.core.validators import MaxLengthValidator
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext

from digest.accounts.invitations import ByInvitation
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
    """Limit the length of text fields: 4,096 characters for passwords, 254 (an e-mail address) for others."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                hidden = isinstance(field.widget, forms.PasswordInput)
                field.validators.append(MaxLengthValidator(PASSWORD_CHARS if hidden else LOGIN_CHARS))


class NewAccountForm(ByInvitation, BoundedFields, SignupForm):  # type: ignore[misc]
    """The form to sign up."""

    def validate_unique_email(self, value: str) -> str:
        """Return the address unchanged: signing up looks the same if another account already has it.

        If no account were created, a second try with the same username would show that the address is taken.
        The owner learns of it by mail (`AccountAdapter.send_confirmation_mail`).
        """
        return value


STAYS = gettext_noop(
    "Passkeys, and the connection to a provider that signs you in, stay. Afterwards look at them on your "
    "account page, and remove any that is not yours."
)


class EndsAccess(forms.Form):
    """A form for a new password.

    It also ends all other access to the account, unless the reader unticks that.
    """

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if settings.PASSKEYS or settings.OIDC_ISSUER:
            # A link from a mail must not remove a second factor, so no new password removes passkeys.
            field = self.fields["end_access"]
            field.help_text = f"{field.help_text} {gettext(STAYS)}"

    def save(self) -> None:
        """Store the password, and end all other access if the reader left that ticked."""
        super().save()  # type: ignore[misc]
        if self.cleaned_data["end_access"]:
            reader_access_end(reader=self.user)


class NewPasswordForm(BoundedFields, EndsAccess, ChangePasswordForm):  # type: ignore[misc]
    """A new password in place of the old one, for a reader who is signed in."""


class PasswordByLinkForm(BoundedFields, EndsAccess, ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password for a reader who followed a link from a mail."""

    def save(self) -> None:
        """Store the password, and forget the reader's failed sign-ins."""
        super().save()
        failures_forget(context.request, self.user)


class PasswordAgainForm(BoundedFields, ReauthenticateForm):  # type: ignore[misc]
    """The password, asked for again before a sensitive change."""


class ForgottenPasswordForm(BoundedFields, ResetPasswordForm):  # type: ignore[misc]
    """The form that asks for a link to a new password.

    It does the same work for any address: as many queries and links, and one mail. So its timing does not
    show whether the address has an account.
    """

    users: list[Reader]

    def clean_email(self) -> str:
        """Return the address, and find its active readers: those who confirmed it, or all if nobody did."""
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
    """The form to sign in by username or e-mail address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, remember = self.fields["login"], self.fields["remember"]
        login.label, remember.label = (
            gettext_lazy("Username or e-mail address"),
            ngettext(
                "Keep me signed in on this device for {n} day",
                "Keep me signed in on this device for {n} days",
                settings.SESSION_DAYS,
            ).format(n=settings.SESSION_DAYS),
        )
        # At home nobody wants to type a password with each start of the browser.
        remember.initial = True
        remember.help_text = gettext_lazy(
            "On a shared computer, untick this: closing the browser then signs you out."
        )
        login.widget.attrs.pop("placeholder", None)
        # Browsers store a name and an address under one key. A password manager fills in the one it knows.
        login.widget.attrs["autocomplete"] = "username"


class AddressForm(BoundedFields, AddEmailForm):  # type: ignore[misc]
    """A reader's new e-mail address, which counts once they follow a link sent to it.

    If addresses are not confirmed here (`ACCOUNT_EMAIL_VERIFICATION=none`), it counts at once.
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
    """Accept a code from an authenticator app only once while it is valid.

    RFC 6238, section 5.2: a second attempt with the same code must not be accepted. allauth remembers a code
    for one period, but `MFA_TOTP_TOLERANCE` keeps it valid longer. allauth also forgets the code that
    switched the app on.
    """

    user: Reader
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        """Return the code and mark it as used. Raises `ValidationError` if it is wrong or was used before.

        Failures count against the account (in allauth) and against the network address (here).
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
    """The first code of an app that the reader is switching on."""
