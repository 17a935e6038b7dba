"""Assistants over OAuth 2.1: the page that asks a reader, those that are connected, and what programs ask.

The protocol is `allauth.idp.oidc`'s; here is what it leaves open: PKCE by S256 alone, codes that are redeemed
once, and no redirect to another site without a page of ours in between.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from allauth.account.decorators import reauthentication_required
from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from digest.accounts.adapters import signed_in_lately
from digest.accounts.assistants import (
    SCOPES,
    assistant_connections,
    assistant_disconnect,
    client_redirects,
    code_claim,
    mcp_resource,
    refresh_claim,
    refresh_release,
)
from digest.accounts.oauth import (
    BYTES_MAX,
    is_protected,
    redirect_is_registered,
    redirect_problem,
)
from digest.errors import TooManyRequests
from digest.feeds.selectors import models_allowed
from digest.requests import reader_of
from digest.throttling import MINUTE, Limit, limit_count

# Of one network address: a token lives an hour, so this is room for hundreds of assistants.
TOKENS = Limit(
    "oauth_token",
    60,
    MINUTE,
    gettext_noop("More than 60 requests for tokens in a minute. Wait for the next one."),
)
NO_PKCE = gettext_noop("The assistant did not protect its request (PKCE with S256), so nothing was allowed.")
# The longest that we issue has 86 characters, the longest that a client makes 128 (RFC 7636, section 4.1).
FIELD_CHARS_MAX = 2000
NOT_OURS = gettext_noop("The assistant asked for something that is not here, so nothing was allowed.")
MODELS_OFF = gettext_noop(
    "You have turned language models off, for everything or for a source. An assistant is one, so it would "
    "be shown nothing. To connect it, turn them on first, on your account and sources pages."
)
UNREADABLE = gettext_noop("A field is longer than any of ours, or has a character NUL.")
View = Callable[..., HttpResponse]


def _switched_on(view: View) -> View:
    """Answer 404 while `MCP_HTTP` is off."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.MCP_HTTP:
            raise Http404(_("Assistants are switched off here."))
        return view(request, *args, **kwargs)

    return guarded


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@_switched_on
@reauthentication_required(  # type: ignore[untyped-decorator]
    app="allauth.account", enabled=lambda request: not signed_in_lately(request)
)
def consent(request: HttpRequest) -> HttpResponse:
    """Ask the reader what an assistant may do, and lead back to it with the answer."""
    if request.method != "POST":
        return _ask(request)
    if "request" not in request.POST:
        return _refused(request, NOT_OURS)
    if request.POST.get("action") == "grant" and not models_allowed(reader_id=reader_of(request).pk):
        return _refused(request, MODELS_OFF, is_fault=False)
    answer = _protocol("Consent", request)
    if answer.status_code != 302:
        return _shown(request, answer)
    return render(
        request, "socialaccount/leaving.html", {"name": _("the assistant"), "address": answer["Location"]}
    )


def _ask(request: HttpRequest) -> HttpResponse:
    asked = {name: request.GET.get(name, "") for name in ("client_id", "redirect_uri")}
    client, uri = asked["client_id"], asked["redirect_uri"]
    is_known = "\0" not in client and not redirect_problem(uri) and _is_for_us(request.GET)
    if not is_known or not redirect_is_registered(uri, client_redirects(client_id=client)):
        return _refused(request, NOT_OURS)
    challenge, method = (request.GET.get(f"code_challenge{part}", "") for part in ("", "_method"))
    if not is_protected(challenge=challenge, method=method):
        return _refused(request, NO_PKCE)
    answer = _protocol("Consent", request)
    if answer.status_code == 302 and not answer["Location"].startswith("/"):
        # Whoever registered may have made this request to send a reader there.
        return _refused(request, NOT_OURS)
    return _shown(request, answer)


def _shown(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Return the form; in place of a page about what is wrong with the request, ours."""
    is_ours = isinstance(answer, TemplateResponse) or answer.status_code != 200
    return answer if is_ours else _refused(request, NOT_OURS)


def _refused(request: HttpRequest, words: str, *, is_fault: bool = True) -> HttpResponse:
    page = {"words": _(words), "is_fault": is_fault}
    return render(request, "digest/assistant_refused.html", page, status=400)


@login_required
@never_cache
@require_safe
@_switched_on
def connections(request: HttpRequest) -> HttpResponse:
    """Show the assistants that are connected, and how to connect one."""
    page = {"connections": assistant_connections(reader_id=reader_of(request).pk), "address": mcp_resource()}
    return render(request, "digest/assistants.html", page)


@login_required
@require_POST
@_switched_on
def disconnect(request: HttpRequest, client_id: str) -> HttpResponse:
    """Revoke all that one assistant was allowed."""
    if not assistant_disconnect(reader=reader_of(request), client_id=client_id):
        raise Http404(_("You have connected no such assistant."))
    messages.success(request, _("Disconnected. That assistant can no longer reach anything of yours."))
    return redirect("digest:assistants")


def _protocol(name: str, request: HttpRequest) -> HttpResponse:
    """Return what a view of the protocol answers. It brings libraries that other pages do without."""
    from digest.web import oauth_views  # noqa: PLC0415

    return cast(HttpResponse, getattr(oauth_views, name).as_view()(request))


def _error(code: str, words: str, status: int = 400) -> HttpResponse:
    return JsonResponse({"error": code, "error_description": words}, status=status)


def _unread(request: HttpRequest) -> HttpResponse | None:
    """Return a refusal of what is too long to be read, or of a field that no database stores."""
    if len(request.body) > BYTES_MAX:
        return _error("invalid_request", f"What is sent here has {BYTES_MAX} bytes at most.", 413)
    values = [value for _, values in request.POST.lists() for value in values]
    if any(len(value) > FIELD_CHARS_MAX or "\0" in value for value in values):
        return _error("invalid_request", UNREADABLE)
    return None


def _for_programs(view: View) -> View:
    """Take POSTs without a CSRF token, since no browser sends what they hold by itself, and limit them."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        try:
            limit_count(limit=TOKENS, who=get_ip(request), now=timezone.now())
            answer = _unread(request) or view(request)
        except TooManyRequests as error:
            answer = _error("temporarily_unavailable", error.message, error.status)
            answer["Retry-After"] = str(error.retry_after_s)
        answer["Cache-Control"] = "no-store"
        return answer

    return csrf_exempt(require_POST(_switched_on(guarded)))


def _is_for_us(fields: QueryDict) -> bool:
    """Return whether a token is asked for our MCP endpoint, or for no named resource."""
    return all(uri == mcp_resource() for uri in fields.getlist("resource"))


@_for_programs
def token(request: HttpRequest) -> HttpResponse:
    """Issue tokens for a code, which is redeemed once, or for a refresh token, which is replaced."""
    code, refresh = request.POST.get("code", ""), request.POST.get("refresh_token", "")
    if code and not code_claim(code=code):
        return _error("invalid_grant", "This code was redeemed before. Ask the reader again.")
    if not _is_for_us(request.POST):
        return _error("invalid_target", f"Tokens are issued here for {mcp_resource()} alone.")
    if refresh and not refresh_claim(secret=refresh, now=timezone.now()):
        return _error("invalid_grant", "This token was replaced before. Ask the reader again.")
    answer = _protocol("TokenView", request)
    if refresh and answer.status_code != 200:
        refresh_release(secret=refresh)
    return answer


@_for_programs
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke a token (RFC 7009)."""
    return _protocol("RevokeView", request)


@_for_programs
def register(request: HttpRequest) -> HttpResponse:
    """Register a client (RFC 7591) without asking who it is: it may do nothing until a reader allows it."""
    return _protocol("Registration", request)


@require_safe
@_switched_on
def server_metadata(request: HttpRequest) -> HttpResponse:
    """Return where and how tokens are issued (RFC 8414)."""
    site = settings.SITE_URL.rstrip("/")
    return JsonResponse(
        {
            "issuer": site,
            "authorization_endpoint": f"{site}/oauth/authorize",
            "token_endpoint": f"{site}/oauth/token",
            "registration_endpoint": f"{site}/oauth/register",
            "revocation_endpoint": f"{site}/oauth/revoke",
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
        }
    )


@require_safe
@_switched_on
def resource_metadata(request: HttpRequest) -> HttpResponse:
    """Return who issues tokens for the MCP endpoint (RFC 9728)."""
    return JsonResponse(
        {
            "resource": mcp_resource(),
            "authorization_servers": [settings.SITE_URL.rstrip("/")],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Tidings",
        }
    )
