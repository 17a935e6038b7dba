"""Forms of django-allauth in this house's words and ways."""

from typing import Any

from allauth.account import app_settings
from allauth.account.forms import AddEmailForm, LoginForm
from allauth.account.internal.flows.manage_email import emit_email_changed
from allauth.account.models import EmailAddress
from django.db import transaction
from django.http import HttpRequest


class SignInForm(LoginForm):  # type: ignore[misc]
    """Signing in by username or address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        login, remember = self.fields["login"], self.fields["remember"]
        login.label, remember.label = "Username or e-mail address", "Keep me signed in on this device"
        login.widget.attrs.pop("placeholder", None)
        # Browsers keep both under one name; a password manager fills in whichever it knows.
        login.widget.attrs["autocomplete"] = "username"


class AddressForm(AddEmailForm):  # type: ignore[misc]
    """A reader's new address. It counts once a link sent to it was followed, or at once where addresses
    are not confirmed here (`ACCOUNT_EMAIL_VERIFICATION=none`)."""

    def save(self, request: HttpRequest) -> EmailAddress:
        """Keep the address that passed `clean_email`, and tell the old one about it."""
        if app_settings.EMAIL_VERIFICATION != app_settings.EmailVerificationMethod.NONE:
            return super().save(request)
        with transaction.atomic():
            before = EmailAddress(user=self.user, email=self.user.email) if self.user.email else None
            EmailAddress.objects.filter(user=self.user).delete()
            address = EmailAddress.objects.create(user=self.user, email=self.cleaned_data["email"])
            address.set_as_primary()
        emit_email_changed(request, before, address)
        return address
