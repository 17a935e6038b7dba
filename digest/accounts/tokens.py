"""Personal tokens for scripts: issued once, stored as a hash, revoked by their reader."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from ninja.security import HttpBearer

from digest.errors import InvalidToken, ScopeMissing, TokenExpired, TooManyTokens
from digest.models import ApiToken, Reader
from digest.throttling import MINUTE, Limit, limit_count

READ, RATE, FULL = "read", "rate", "full"
SCOPES = (READ, RATE, FULL)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# A reader's response to one item, or many read, and nothing below or beside it.
_RESPONSES = re.compile(r"^/api/items/(\d+/(feedback|read|save|saved)|read|unread)/?$")
# Only operators may read these.
_OPERATORS = re.compile(r"^/api/(admin|costs|debug|metrics)(/|$)")

PREFIX = "tidings_"
# 256 bits, which cannot be guessed, so a plain SHA-256 of it needs no salt (NIST SP 800-63B, 5.1.2.2).
SECRET_BYTES = 32
HINT_CHARS = 6
TOKENS_MAX = 20
# A row that changes with every request would make every read a write; an hour is exact enough.
USED_EVERY = timedelta(hours=1)
# Five a second over a minute: far above what a script needs, far below what would slow the site down.
REQUESTS_PER_MINUTE = 300
TOO_OFTEN = "More than 300 requests in a minute with one token. Wait for the next one."


def scope_needed(method: str, path: str) -> str:
    """Return the least scope for a request with this method to this path (from the root, without a query)."""
    if _OPERATORS.match(path):
        return FULL
    if method.upper() in SAFE_METHODS:
        return READ
    return RATE if _RESPONSES.match(path) else FULL


def scope_allows(scope: str, needed: str) -> bool:
    """Return whether a token of `scope` may do what needs `needed`; each scope includes those before it."""
    return SCOPES.index(scope) >= SCOPES.index(needed)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which is shown once and never stored."""

    token: ApiToken
    secret: str


def token_issue(
    *, reader: Reader, name: str, scope: str, expires_at: datetime | None, now: datetime
) -> IssuedToken:
    """Create a token for `reader` under a name of at most 60 characters; `scope` is read, rate or full.

    `expires_at` is `None` for one that is valid until it is revoked. Raises `TooManyTokens` where the reader
    has twenty already, `ValueError` for an unknown scope.
    """
    scope = ApiToken.Scope(scope)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        Reader.objects.select_for_update().get(pk=reader.pk)
        if ApiToken.objects.filter(reader=reader).count() >= TOKENS_MAX:
            raise TooManyTokens(
                gettext("You have {tokens_max} tokens. Revoke one that you no longer use first.").format(
                    tokens_max=TOKENS_MAX
                )
            )
        token = ApiToken.objects.create(
            reader=reader,
            name=name[:60],
            digest=_digest(secret),
            hint=secret[len(PREFIX) :][:HINT_CHARS],
            scope=scope,
            created_at=now,
            expires_at=expires_at,
        )
    return IssuedToken(token, secret)


def token_revoke(*, reader: Reader, token_id: int) -> bool:
    """Revoke a token of the reader's at once; return whether there was one."""
    deleted, _ = ApiToken.objects.filter(reader=reader, pk=token_id).delete()
    return deleted > 0


def token_use(*, secret: str, now: datetime) -> ApiToken:
    """Return the token of `secret`, with its reader at hand; its last use is stored once an hour.

    Raises `InvalidToken` for one that is unknown or whose reader is switched off, `TokenExpired` for one
    whose time is over.
    """
    digest = _digest(secret)
    token = ApiToken.objects.select_related("reader").filter(digest=digest).first()
    # The index compared a hash, which no attacker can choose; a comparison in constant time costs nothing.
    if token is None or not compare_digest(token.digest, digest) or not token.reader.is_active:
        raise InvalidToken(gettext("This token is not valid here. Make a new one on your account page."))
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenExpired(
            gettext("This token expired on {expires_at}. Make a new one.").format(
                expires_at=date_format(token.expires_at, gettext("j F Y"))
            )
        )
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    if token.last_used_at is None or token.last_used_at <= now - USED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def token_authorise(*, secret: str, needed: str, now: datetime) -> ApiToken:
    """Return the token of `secret` for a request that needs the scope `needed`, and count the request.

    Raises `InvalidToken`, `TokenExpired`, `ScopeMissing` or `TooManyRequests`.
    """
    used = token_use(secret=secret, now=now)
    limit_count(limit=Limit("token", REQUESTS_PER_MINUTE, MINUTE, TOO_OFTEN), who=used.pk, now=now)
    if not scope_allows(used.scope, needed):
        raise ScopeMissing(
            gettext(
                "This token has the scope “{scope}”; this needs “{needed}”. Make one that may do it."
            ).format(scope=used.scope, needed=needed)
        )
    return used


class TokenAuth(HttpBearer):
    """Authenticates a request by a personal token, within the token's scope.

    It needs no CSRF token, since a browser never sends this header by itself.
    """

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """Return the token that was sent; its reader is the request's user from here on.

        Raises `InvalidToken`, `TokenExpired`, `ScopeMissing` or `TooManyRequests`; a bad token never falls
        back to a session.
        """
        needed = scope_needed(request.method or "GET", request.path_info)
        used = token_authorise(secret=token.strip(), needed=needed, now=timezone.now())
        request.user = used.reader
        return used


def tokens_of(*, reader_id: UUID) -> list[ApiToken]:
    """Return the reader's tokens, the newest first, without their hashes; one query."""
    return list(ApiToken.objects.filter(reader_id=reader_id).defer("digest"))
