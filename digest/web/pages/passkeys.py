"""The sign-in by a passkey, and the page that removes one. Loaded only where passkeys are switched on."""

from typing import Any

from allauth.core import ratelimit
from allauth.mfa.webauthn.views import LoginWebAuthnView, RemoveWebAuthnView
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _

from digest.accounts.adapters import is_last_way
from digest.models import Reader


class SignInByPasskey(LoginWebAuthnView):  # type: ignore[misc]
    """Signs in with a passkey alone."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return a challenge, which is stored in a session. allauth limits only the answers."""
        refused = ratelimit.consume_or_429(request, action="passkey_challenge", limit_get=True)
        answer: HttpResponse = refused or super().get(request, *args, **kwargs)
        return answer


class RemovePasskey(RemoveWebAuthnView):  # type: ignore[misc]
    """Removes a passkey, unless the reader could not sign in any more."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add whether the passkey is the only way to sign in."""
        return {**super().get_context_data(**kwargs), "is_last_way": is_last_way(self.object)}

    def form_valid(self, form: Any) -> HttpResponse:
        """Remove it. Requests that remove the last two at once come one after the other."""
        with transaction.atomic():
            Reader.objects.select_for_update().get(pk=self.request.user.pk)
            if not is_last_way(self.object):
                answer: HttpResponse = super().form_valid(form)
                return answer
        messages.error(
            self.request, _("Not removed: it is your only way to sign in. Choose a password first.")
        )
        return redirect("mfa_list_webauthn")


# Instead of allauth's views at the same addresses.
URLS = [
    path("login/", SignInByPasskey.as_view(), name="mfa_login_webauthn"),
    path("keys/<int:pk>/remove/", RemovePasskey.as_view(), name="mfa_remove_webauthn"),
]
