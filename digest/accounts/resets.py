"""Tokens in links to a new password.

Making one takes the same reads and no write for every account, so its timing shows nothing.
"""

from allauth.account.models import EmailAddress
from django.contrib.auth.tokens import PasswordResetTokenGenerator

from digest.models import Reader


class ResetTokens(PasswordResetTokenGenerator):
    """Tokens that become invalid with a new password, a sign-in or a changed address of the reader."""

    def _make_hash_value(self, user: Reader, timestamp: int) -> str:
        """Return the state that a token is bound to; one query."""
        addresses = set(EmailAddress.objects.filter(user=user.pk).values_list("email", flat=True))
        known = sorted(addresses | {user.email} - {""})
        return super()._make_hash_value(user, timestamp) + "|".join(known)
