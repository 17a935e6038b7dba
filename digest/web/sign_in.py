"""Signing in, and showing again that it is you: by a password, a second factor, or OpenID Connect."""

from collections.abc import Callable
from typing import Any, cast

import structlog
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from digest.accounts.adapters import signed_in_again

log = structlog.get_logger(__name__)
# As long as failures count against an account (`login_failed` in ACCOUNT_RATE_LIMITS), in seconds.
LOGIN_RETRY_S = 300
TOO_MANY = "too_many_login_attempts"


class LoginLimit:
    """Answers a refused form with status 429 once there were too many failures."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """Return the form with its errors; the header tells programs when to try again."""
        answer: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        if any(error.code == TOO_MANY for errors in form.errors.as_data().values() for error in errors):
            answer.status_code, answer["Retry-After"] = 429, str(LOGIN_RETRY_S)
        return answer


class SignIn(LoginLimit, LoginView):  # type: ignore[misc]
    """Signs in by name or address, and password."""


@require_http_methods(["GET", "HEAD", "POST"])
def oidc_login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Ask before leading to the provider, and lead there; a page that says so where it does not answer.

    By a page, since the policy of ours lets no form end at another site.
    """
    from allauth.socialaccount.providers.openid_connect.views import login  # noqa: PLC0415  # with OIDC_ISSUER

    return _left_by(request, lambda: cast(HttpResponse, login(request, provider_id=provider_id)))


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def oidc_again(request: HttpRequest) -> HttpResponse:
    """Ask a reader without a password to sign in at the provider again, and go on where they were."""
    from digest.accounts.oidc import PROVIDER, SIGN_IN_AGAIN, provider_of  # noqa: PLC0415  # with OIDC_ISSUER

    if signed_in_again(request):
        return resume_request(request) or redirect("digest:account")
    if request.method != "POST":
        return render(request, "socialaccount/again.html", {"name": settings.OIDC_NAME})
    provider = provider_of(request, PROVIDER).get_provider()
    back, fresh = request.get_full_path(), {"prompt": "login", "max_age": "0"}

    def lead() -> HttpResponse:
        answer = provider.redirect(request, "redirect", next_url=back, data=SIGN_IN_AGAIN, auth_params=fresh)
        return cast(HttpResponse, answer)

    return _left_by(request, lead)


def _left_by(request: HttpRequest, lead: Callable[[], HttpResponse]) -> HttpResponse:
    """Lead to the provider by a page of ours; one that says so where it does not answer."""
    try:
        answer = lead()
    except (OSError, ValueError, KeyError) as error:  # those of requests are OSErrors
        log.warning("oidc_unreachable", exception=type(error).__name__)
        page = {"name": settings.OIDC_NAME, "unreachable": True}
        return render(request, "socialaccount/authentication_error.html", page, status=503)
    if not answer.has_header("Location"):
        return answer
    return render(
        request, "socialaccount/leaving.html", {"name": settings.OIDC_NAME, "address": answer["Location"]}
    )


def oidc_callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in whom the provider names; a page that says so where its answer names nobody."""
    from allauth.socialaccount.models import SocialApp  # noqa: PLC0415  # with OIDC_ISSUER
    from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView  # noqa: PLC0415

    from digest.accounts.oidc import provider_of  # noqa: PLC0415

    try:
        view = OAuth2CallbackView.adapter_view(provider_of(request, provider_id))
        return cast(HttpResponse, view(request))
    except SocialApp.DoesNotExist as error:
        raise Http404 from error


class SecondFactor(LoginLimit, AuthenticateView):  # type: ignore[misc]
    """Asks for the code at sign-in."""


class SecondFactorAgain(LoginLimit, ReauthenticateView):  # type: ignore[misc]
    """Asks for the code before a sensitive change."""
