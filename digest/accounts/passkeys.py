"""Forms of passkeys: they sign in, and refuse what no browser sends, on which allauth and fido2 raise."""

from typing import Any

from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django.core.exceptions import ValidationError
from django.forms.utils import ErrorDict
from django.utils.translation import gettext as _

# As allauth calls too many failures.
TOO_MANY = "too_many_login_attempts"
# What reading JSON of any shape, and bytes within it, may come to.
MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class PasskeyAnswer:
    """A form with a device's answer, refused in plain words where it is malformed or opens nothing."""

    # Where the page of the form shows errors: with the field, or above.
    shown_at: str | None = None

    def full_clean(self) -> None:
        """Clean the form."""
        form: Any = self
        try:
            super().full_clean()  # type: ignore[misc]
        except MALFORMED:
            form._errors, form.cleaned_data = ErrorDict(), {}
            form.add_error(None, self.refusal())
        if form._errors:
            form.data = {}  # a page that is shown again cannot write all of it either
            found = [one for errors in form._errors.as_data().values() for one in errors]
            limits = [one for one in found if one.code == TOO_MANY]
            form._errors = ErrorDict()
            form.add_error(self.shown_at, limits or self.refusal())

    def refusal(self) -> ValidationError:
        """Return what the reader is told."""
        return ValidationError(
            _("This passkey does not fit this account, or no longer. Use another, or another way."),
            code="incorrect_code",
        )


class PasskeySignInForm(PasskeyAnswer, LoginWebAuthnForm):  # type: ignore[misc]
    """Signs in by a passkey alone; a stranger's to send."""

    shown_at = "credential"

    def refusal(self) -> ValidationError:
        """Return what somebody is told whom the passkey does not sign in."""
        return ValidationError(
            _("You are not signed in: this passkey opens no account here. Sign in another way."),
            code="incorrect_code",
        )


class PasskeyCodeForm(PasskeyAnswer, AuthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey as the second factor."""


class PasskeyAgainForm(PasskeyAnswer, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey before a sensitive change."""

    shown_at = "credential"


class NewPasskeyForm(PasskeyAnswer, AddWebAuthnForm):  # type: ignore[misc]
    """Adds a passkey, and none that could stand for the code alone."""

    passwordless = None

    def clean(self) -> dict[str, Any]:
        """Return the answer of a device that knew its owner. Raises `ValidationError` for another."""
        self.cleaned_data["passwordless"] = True
        cleaned: dict[str, Any] = super().clean()
        return cleaned

    def refusal(self) -> ValidationError:
        """Return what somebody is told whose passkey was not added."""
        return ValidationError(_("No passkey was added. Try it again."), code="incorrect_code")
