"""Forms of passkeys, which refuse what no browser sends: allauth and fido2 raise on some of it."""

from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django.forms.utils import ErrorDict

# What reading JSON of any shape, and bytes within it, may come to.
MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class PasskeyAnswer:
    """A form with a device's answer, which counts as a wrong code where it is malformed."""

    def full_clean(self) -> None:
        """Clean the form."""
        form: Any = self
        try:
            super().full_clean()  # type: ignore[misc]
        except MALFORMED:
            form._errors, form.cleaned_data = ErrorDict(), {}
            form.add_error(None, get_adapter().validation_error("incorrect_code"))
        if form._errors:
            form.data = {}  # a page that is shown again cannot write all of it either


class PasskeySignInForm(PasskeyAnswer, LoginWebAuthnForm):  # type: ignore[misc]
    """Signs in by a passkey alone; a stranger's to send."""


class PasskeyCodeForm(PasskeyAnswer, AuthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey as the second factor."""


class PasskeyAgainForm(PasskeyAnswer, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """Takes a passkey before a sensitive change."""


class NewPasskeyForm(PasskeyAnswer, AddWebAuthnForm):  # type: ignore[misc]
    """Adds a passkey."""
