"""OAuth rules for assistants: which clients may register, where codes may go, and for which scopes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from django.conf import settings
from django.http import JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from digest.accounts.assistant_access import LOOPBACK, READ, SCOPES, client_room_make
from digest.models import Reader

# The largest request to register, or to fetch or revoke a token. The longest known registration has 1,100
# bytes. The protocol's library parses a form several times, which takes seconds at some megabytes.
BYTES_MAX: Final = 8192
URIS_MAX: Final = 10
URI_CHARS_MAX: Final = 500
NAME_CHARS_MAX: Final = 60
# Browsers read a backslash as a slash, so a text that looks like our host may be a path on another one.
_NO_URI_CHARACTERS: Final = frozenset("\\*<>\"'`{}|^ ")
# A SHA-256 in base64url (RFC 7636, section 4.2).
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def redirect_problem(uri: object) -> str:
    """Return why codes may not be sent to `uri`, as a sentence; "" if they may.

    https is allowed anywhere, and plain http on the reader's own device (RFC 8252, section 7.3). Credentials
    and fragments are not allowed.
    """
    if not isinstance(uri, str) or not 0 < len(uri) <= URI_CHARS_MAX:
        return f"A redirect URI is a text of {URI_CHARS_MAX} characters at most."
    if not uri.isascii() or not uri.isprintable() or _NO_URI_CHARACTERS & set(uri):
        return "A redirect URI has characters that no address has."
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return "A redirect URI cannot be read."
    if not parts.hostname or "@" in parts.netloc or "#" in uri:
        return "A redirect URI names a host, without a user and a fragment."
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return ""
    return "A redirect URI begins with https://, or leads to the reader's own device (http://127.0.0.1)."


def redirect_is_registered(uri: str, registered: Sequence[str]) -> bool:
    """Return whether a client registered exactly this `uri` (RFC 9700, section 4.1.3).

    Only the port of a program on the reader's own device may differ (RFC 8252, section 7.3).
    """
    return _without_port(uri) in map(_without_port, registered)


def _without_port(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "::1"):
        return uri
    return parts._replace(netloc=parts.hostname).geturl()


def is_protected(*, challenge: str, method: str) -> bool:
    """Return whether PKCE with S256 binds a code to the client that asked for it."""
    return method == "S256" and bool(_CHALLENGE.fullmatch(challenge))


def registration_clean(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a registration (RFC 7591) that we keep, with our own choices for the rest.

    Each client is public, redeems codes, refreshes tokens, and may ask only for our scopes.
    """
    asked = metadata.get("scope")
    asked_for = asked.split() if isinstance(asked, str) else []
    name = metadata.get("client_name")
    plain = " ".join(name.split()) if isinstance(name, str) else ""
    return {
        "client_name": "".join(c for c in plain if c.isprintable() and c not in "<>")[:NAME_CHARS_MAX],
        "redirect_uris": metadata.get("redirect_uris"),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": " ".join(scope for scope in SCOPES if scope in asked_for) or " ".join(SCOPES),
    }


class AssistantAdapter(DefaultOIDCAdapter):  # type: ignore[misc]
    """Limits for registration, and the scopes in plain words."""

    scope_display = dict(SCOPES)

    def get_issuer(self) -> str:
        """Return the address of this installation. Clients know by it who issued a token."""
        return str(settings.SITE_URL).rstrip("/")

    def get_user_sub(self, client: Any, user: Any) -> str:
        """Return whom a code is for. With the hash of the password, because a new one ends all access.

        Whoever was let in a minute before would else redeem their code a minute after.
        """
        return f"{super().get_user_sub(client, user)}:{user.get_session_auth_hash()}"

    def get_user_by_sub(self, client: Any, sub: str) -> Any:
        """Return the reader of a code; None if they have another password by now, or are switched off.

        They are locked until their tokens are stored, so that a new password ends these, too.
        """
        user_id, _, password = sub.partition(":")
        found = super().get_user_by_sub(client, user_id)
        user = found and Reader.objects.select_for_update().filter(pk=found.pk, is_active=True).first()
        return user if user and constant_time_compare(password, user.get_session_auth_hash()) else None

    def validate_client_registration(self, *, client: Any, client_metadata: Any, **more: Any) -> None:
        """Refuse a client with a forbidden redirect URI (400), and any client if the table is full (503)."""
        uris = client.get_redirect_uris()
        problems = [words for uri in uris if (words := redirect_problem(uri))]
        if len(uris) > URIS_MAX:
            problems.append(f"A client has {URIS_MAX} redirect URIs at most.")
        if problems:
            raise ImmediateHttpResponse(_refusal("invalid_redirect_uri", problems[0], 400))
        if not client_room_make(now=timezone.now()):
            words = "As many assistants are connected here as there may be. Try again later."
            raise ImmediateHttpResponse(_refusal("temporarily_unavailable", words, 503))
        client.set_default_scopes([READ])


def _refusal(code: str, words: str, status: int) -> JsonResponse:
    return JsonResponse({"error": code, "error_description": words}, status=status)
