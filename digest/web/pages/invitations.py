"""The page behind an invitation's link: it remembers the invitation and leads to the sign-up."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from digest.accounts.invitations import SESSION_KEY, invitation_is_open


@never_cache
@require_safe
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Remember the invitation in this browser's session. Opening the link uses nothing up."""
    if request.user.is_authenticated:
        return redirect("digest:today")
    if not invitation_is_open(secret=token, now=timezone.now()):
        return render(request, "account/invitation_over.html", status=404)
    request.session[SESSION_KEY] = token
    return redirect("account_signup")
