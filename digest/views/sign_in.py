"""Signing in, by django-allauth's view."""

from typing import Any

from allauth.account.views import LoginView
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpResponse

# As long as failures count against an account (`login_failed` in ACCOUNT_RATE_LIMITS), in seconds.
CLOSED_S = 300


class SignIn(LoginView):  # type: ignore[misc]
    """The form again where it was refused, with the status 429 once there were too many failures."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form with its errors; whoever tries passwords by a program learns when to come back."""
        answer: HttpResponse = super().form_invalid(form)
        if form.has_error(NON_FIELD_ERRORS, "too_many_login_attempts"):
            answer.status_code, answer["Retry-After"] = 429, str(CLOSED_S)
        return answer
