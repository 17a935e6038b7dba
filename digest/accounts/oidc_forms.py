"""The form to sign up through a provider. Its base needs the tables that exist only with `OIDC_ISSUER`."""

from allauth.socialaccount.forms import SignupForm

from digest.accounts.forms import BoundedFields
from digest.accounts.invitations import ByInvitation


class NewAccountByProviderForm(ByInvitation, BoundedFields, SignupForm):  # type: ignore[misc]
    """A name and a time zone for a new account whose provider vouches for its owner."""
