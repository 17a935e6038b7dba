"""Changing an e-mail address."""

from allauth.account import app_settings
from allauth.account.forms import AddEmailForm
from allauth.account.internal.flows.manage_email import emit_email_changed
from allauth.account.models import EmailAddress
from django.db import transaction
from django.http import HttpRequest


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
