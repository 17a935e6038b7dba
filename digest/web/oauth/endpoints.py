"""The endpoints that assistants call: tokens, revocation, registration, and the metadata that names them.

`allauth.idp.oidc` speaks the protocol. This module adds its gaps: codes are redeemed once, refresh tokens are
replaced once, and requests are limited in number and size.
"""

from functools import wraps

from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext_noop
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from digest.accounts.assistant_access import (
    SCOPES,
    code_claim,
    mcp_resource,
    refresh_claim,
    refresh_lock,
    refresh_release,
    token_revoke,
)
from digest.accounts.oauth import BYTES_MAX
from digest.errors import TooManyRequests
from digest.throttling import MINUTE, Limit, limit_count
from digest.web.oauth.protocol import View, for_us, protocol_answer, switched_on

# One network address: a token lives an hour, so this is room for hundreds of assistants.
TOKENS = Limit(
    "oauth_token",
    60,
    MINUTE,
    gettext_noop("More than 60 requests for tokens in a minute. Wait for the next one."),
)
# The longest that we issue has 86 characters, the longest that a client makes 128 (RFC 7636, section 4.1).
FIELD_CHARS_MAX = 2000
UNREADABLE = gettext_noop("A field is longer than any of ours, or has a character NUL.")


def _error(code: str, words: str, status: int = 400) -> HttpResponse:
    return JsonResponse({"error": code, "error_description": words}, status=status)


def _refusal_of(request: HttpRequest) -> HttpResponse | None:
    """Return a refusal if the body or a field is too long, or a field has a NUL, which no database stores."""
    if len(request.body) > BYTES_MAX:
        return _error("invalid_request", f"What is sent here has {BYTES_MAX} bytes at most.", 413)
    values = [value for _, values in request.POST.lists() for value in values]
    if any(len(value) > FIELD_CHARS_MAX or "\0" in value for value in values):
        return _error("invalid_request", UNREADABLE)
    return None


def _for_programs(view: View) -> View:
    """Take POSTs without a CSRF token, and limit them. Browsers do not send these secrets by themselves."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        try:
            limit_count(limit=TOKENS, who=get_ip(request), now=timezone.now())
            answer = _refusal_of(request) or view(request)
        except TooManyRequests as error:
            answer = _error("temporarily_unavailable", error.message, error.status)
            answer["Retry-After"] = str(error.retry_after_s)
        answer["Cache-Control"] = "no-store"
        return answer

    return csrf_exempt(require_POST(switched_on(guarded)))


@_for_programs
def token(request: HttpRequest) -> HttpResponse:
    """Issue tokens for a code or for a refresh token. Each works once."""
    code, refresh = request.POST.get("code", ""), request.POST.get("refresh_token", "")
    if code and not code_claim(code=code):
        return _error("invalid_grant", "This code was redeemed before. Ask the reader again.")
    if not for_us(request.POST):
        return _error("invalid_target", f"Tokens are issued here for {mcp_resource()} alone.")
    if refresh and not refresh_claim(secret=refresh, now=timezone.now()):
        return _error("invalid_grant", "This token was replaced before. Ask the reader again.")
    are_given = False
    try:
        with transaction.atomic():
            if refresh:
                refresh_lock(secret=refresh)
            answer = protocol_answer("TokenView", request)
        are_given = answer.status_code == 200
    finally:
        if refresh and not are_given:
            refresh_release(secret=refresh)
    return answer


@_for_programs
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke a token (RFC 7009). Whoever has it may: its client is public, so it proves nothing else."""
    token_revoke(secret=request.POST.get("token", ""))
    return protocol_answer("RevokeView", request)


@_for_programs
def register(request: HttpRequest) -> HttpResponse:
    """Register a client (RFC 7591). Anybody may: a client can do nothing until a reader allows it."""
    return protocol_answer("Registration", request)


@require_safe
@switched_on
def server_metadata(request: HttpRequest) -> HttpResponse:
    """Return the addresses and methods by which tokens are issued (RFC 8414)."""
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
@switched_on
def resource_metadata(request: HttpRequest) -> HttpResponse:
    """Return the server that issues tokens for the MCP endpoint (RFC 9728)."""
    return JsonResponse(
        {
            "resource": mcp_resource(),
            "authorization_servers": [settings.SITE_URL.rstrip("/")],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Tidings",
        }
    )
