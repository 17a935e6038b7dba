"""Signing in, by django-allauth's views."""

from typing import Any

from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from django.http import HttpResponse

# As long as failures count against an account (`login_failed` in ACCOUNT_RATE_LIMITS), in seconds.
CLOSED_S = 300
TOO_MANY = "too_many_login_attempts"


class Counted:
    """The form again where it was refused, with the status 429 once there were too many failures."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form with its errors; whoever tries by a program learns when to come back."""
        answer: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        if any(error.code == TOO_MANY for errors in form.errors.as_data().values() for error in errors):
            answer.status_code, answer["Retry-After"] = 429, str(CLOSED_S)
        return answer


class SignIn(Counted, LoginView):  # type: ignore[misc]
    """Name or address, and password."""


class SecondFactor(Counted, AuthenticateView):  # type: ignore[misc]
    """The code at sign-in."""


class SecondFactorAgain(Counted, ReauthenticateView):  # type: ignore[misc]
    """The code before something that matters."""
