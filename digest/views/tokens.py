"""Personal tokens for scripts."""

from datetime import timedelta

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import DigestError
from digest.forms import TokenForm
from digest.readers import reader_of
from digest.selectors.tokens import tokens_of
from digest.services.tokens import TOKENS_MAX, IssuedToken, token_issue
from digest.services.tokens import token_revoke as revoke


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The reader's tokens; a POST makes one, for which the password is asked again after a while."""
    return _issue(request) if request.method == "POST" else _page(request, TokenForm())


@login_required
@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one token; it stops working at once."""
    if not revoke(reader=reader_of(request), token_id=token_id):
        raise Http404("You have no such token.")
    messages.success(request, "Revoked. Whatever used that token is turned away from now on.")
    return redirect("digest:tokens")


@reauthentication_required(app="allauth.account")  # type: ignore[untyped-decorator]
def _issue(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once: the page is not kept anywhere, nor is the secret."""
    form, now = TokenForm(request.POST), timezone.now()
    if not form.is_valid():
        return _page(request, form)
    said = form.cleaned_data
    expires_at = now + timedelta(days=said["days"]) if said["days"] else None
    try:
        issued = token_issue(
            reader=reader_of(request), name=said["name"], scope=said["scope"], expires_at=expires_at, now=now
        )
    except DigestError as error:
        form.add_error(None, error.message)
        return _page(request, form)
    return _page(request, TokenForm(), issued)


def _page(request: HttpRequest, form: TokenForm, issued: IssuedToken | None = None) -> HttpResponse:
    """The page, with a new token on it where one was just made."""
    now = timezone.now()
    page = {
        "form": form,
        "issued": issued,
        "tokens": tokens_of(reader_id=reader_of(request).pk),
        "now": now,
        "most": TOKENS_MAX,
    }
    return render(request, "digest/account_tokens.html", page, status=422 if form.errors else 200)
