"""Forms for passkeys: sign-in, second factor, and adding one.

They refuse malformed answers that no browser sends. allauth and fido2 would raise on them and the page would
fail.
"""

from hashlib import sha256
from typing import Any

import structlog
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import (
    get_authenticator_by_credential_id,
    parse_authentication_response,
    parse_registration_response,
)
from django.core.exceptions import ValidationError
from django.db import transaction
from django.forms.utils import ErrorDict
from django.utils.translation import gettext as _

from digest.accounts.forms import BoundedFields

log = structlog.get_logger(__name__)

# The keys in a stored passkey: of the counter in its last answer (0 before the first), and of the hashes of
# the last challenges that it answered.
COUNTER, ANSWERED = "counter", "answered"
# Two answers to one challenge that come at once are seconds apart at most.
ANSWERED_MAX = 20
# allauth's error code for too many failures.
TOO_MANY = "too_many_login_attempts"
# A person has a few devices. Each passkey is a row, with what the device answered when it was added.
PASSKEYS_MAX = 20
# The longest answer, in characters. Without certificates, for which we do not ask, one has about a thousand.
ANSWER_CHARS_MAX = 8192
# The errors that reading JSON of any shape, and the bytes in it, can raise.
MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class PasskeyAnswer:
    """A form with a device's answer.

    If the answer is malformed or opens nothing, it says so in plain words.
    """

    # The field at which the page shows errors, or `None` for the top of the form.
    shown_at: str | None = None

    def full_clean(self) -> None:
        """Clean the form; turn malformed input and every other error into one sentence."""
        form: Any = self
        try:
            if len(form.data.get("credential", "")) > ANSWER_CHARS_MAX:
                raise ValueError("longer than any device's answer")
            super().full_clean()  # type: ignore[misc]
        except MALFORMED:
            form._errors, form.cleaned_data = ErrorDict(), {}
            form.add_error(None, self.refusal())
        if form._errors:
            form.data = {}  # Rendering malformed data again could fail, too.
            found = [one for errors in form._errors.as_data().values() for one in errors]
            limits = [one for one in found if one.code == TOO_MANY]
            form._errors = ErrorDict()
            form.add_error(self.shown_at, limits or self.refusal())

    def refusal(self) -> ValidationError:
        """Return the error that the reader sees."""
        return ValidationError(
            _("This passkey does not fit this account, or no longer. Use another, or another way."),
            code="incorrect_code",
        )


class CountedAnswer(PasskeyAnswer):
    """An answer that opens something. A device's counter must have grown since its last answer.

    A counter that stands still or goes back means that the key was copied (WebAuthn, section 6.1.1). Passkeys
    that are kept in several devices always send 0. A challenge is answered once: the session forgets it, but
    two requests that come at once both read it there.
    """

    def clean_credential(self) -> Authenticator:
        """Return the passkey that answered. Raises `ValidationError` if it is no passkey of this account."""
        form: Any = self
        answer = parse_authentication_response(form.cleaned_data["credential"])
        with transaction.atomic():
            passkey: Authenticator = super().clean_credential()  # type: ignore[misc]
            row = Authenticator.objects.select_for_update().get(pk=passkey.pk)
            counter, last = answer.response.authenticator_data.counter, row.data.get(COUNTER, 0)
            if counter <= last and (counter or last):
                log.warning("passkey_copied", reader_id=str(row.user_id))
                raise self.refusal()
            challenge = sha256(answer.response.client_data.challenge).hexdigest()
            if challenge in (answered := row.data.get(ANSWERED, [])):
                raise self.refusal()
            row.data |= {COUNTER: counter, ANSWERED: [*answered, challenge][-ANSWERED_MAX:]}
            row.save(update_fields=["data"])
            passkey.data = row.data
        return passkey


class PasskeySignInForm(CountedAnswer, LoginWebAuthnForm):  # type: ignore[misc]
    """Sign in with a passkey alone. Anybody may send this form."""

    shown_at = "credential"

    def clean_credential(self) -> Authenticator:
        """Return the passkey that answered. Raises `ValidationError` also if it did not verify its owner.

        The challenge in the session says whether it must. But it may be that of a second factor, which need
        not: whoever found a device would ask for that at an account of their own.
        """
        answer = parse_authentication_response(self.cleaned_data["credential"])
        if not answer.response.authenticator_data.is_user_verified():
            raise self.refusal()
        return super().clean_credential()

    def refusal(self) -> ValidationError:
        """Return the error for a passkey that signs nobody in."""
        return ValidationError(
            _("You are not signed in: this passkey opens no account here. Sign in another way."),
            code="incorrect_code",
        )


class PasskeyCodeForm(CountedAnswer, AuthenticateWebAuthnForm):  # type: ignore[misc]
    """A passkey as the second factor."""


class PasskeyAgainForm(CountedAnswer, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """A passkey, asked for again before a sensitive change."""

    shown_at = "credential"


class PasskeyNameForm(BoundedFields, EditWebAuthnForm):  # type: ignore[misc]
    """Another name for a passkey."""


class NewPasskeyForm(PasskeyAnswer, BoundedFields, AddWebAuthnForm):  # type: ignore[misc]
    """Add a passkey that can sign in by itself. A passkey that is only a second factor is not offered."""

    passwordless = None

    def clean(self) -> dict[str, Any]:
        """Return the device's answer.

        Raises `ValidationError` if the device did not verify its owner, or the reader has twenty passkeys or
        this one.
        """
        if Authenticator.objects.filter(user=self.user).count() >= PASSKEYS_MAX:
            raise self.refusal()
        self.cleaned_data["passwordless"] = True
        cleaned: dict[str, Any] = super().clean()
        answer = parse_registration_response(cleaned["credential"]).response.attestation_object.auth_data
        if get_authenticator_by_credential_id(self.user, answer.credential_data.credential_id):
            raise self.refusal()
        return cleaned

    def refusal(self) -> ValidationError:
        """Return the error for a passkey that was not added."""
        return ValidationError(_("No passkey was added. Try it again."), code="incorrect_code")
