"""Personal access tokens for scripts. A token is shown once, stored as a hash, and can be revoked."""

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
# Responses to one item, or marking many as read. Nothing below or beside these addresses.
_RESPONSES = re.compile(r"^/api/(items/(\d+/(feedback|read|save|saved|named)|read|unread)|named)/?$")
# Only operators may read these.
_OPERATORS = re.compile(r"^/api/(admin|costs|debug|metrics)(/|$)")

PREFIX = "tidings_"
# 256 bits cannot be guessed, so a plain SHA-256 needs no salt (NIST SP 800-63B, 5.1.2.2).
SECRET_BYTES = 32
HINT_CHARS = 6
TOKENS_MAX = 20
# The last use is stored at most once an hour. Otherwise every read would be a write.
USED_EVERY = timedelta(hours=1)
# Five a second: far above a script's need, and far below a load that would slow the site down.
REQUESTS_PER_MINUTE = 300
TOO_OFTEN = "More than 300 requests in a minute with one token. Wait for the next one."


def scope_needed(method: str, path: str) -> str:
    """Return the lowest scope that allows a request with this method to this path.

    `path` begins at the root and has no query.
    """
    if _OPERATORS.match(path):
        return FULL
    if method.upper() in SAFE_METHODS:
        return READ
    return RATE if _RESPONSES.match(path) else FULL


def scope_allows(scope: str, needed: str) -> bool:
    """Return whether a token of `scope` may do something that needs `needed`.

    A scope includes those before it.
    """
    return SCOPES.index(scope) >= SCOPES.index(needed)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which is shown once and never stored."""

    token: ApiToken
    secret: str


def token_issue(
    *, reader: Reader, name: str, scope: str, expires_at: datetime | None, now: datetime
) -> IssuedToken:
    """Create a token for `reader`; return it with its secret.

    `name` is cut to 60 characters. `scope` is read, rate or full. With `expires_at=None` the token is valid
    until it is revoked. Raises `TooManyTokens` if the reader has twenty already, and `ValueError` for an
    unknown scope.
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
    """Revoke a token of the reader at once; return whether it existed."""
    deleted, _ = ApiToken.objects.filter(reader=reader, pk=token_id).delete()
    return deleted > 0


def token_use(*, secret: str, now: datetime) -> ApiToken:
    """Return the token of `secret` with its reader loaded, and store its last use (once an hour).

    Raises `InvalidToken` if it is unknown or its reader is switched off, and `TokenExpired` if it has
    expired.
    """
    digest = _digest(secret)
    token = ApiToken.objects.select_related("reader").filter(digest=digest).first()
    # The index already compared a hash, which no attacker can choose. Comparing in constant time costs
    # nothing.
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


def token_limit() -> Limit:
    """Return the limit of the requests with one token."""
    return Limit("token", REQUESTS_PER_MINUTE, MINUTE, TOO_OFTEN)


def token_authorise(*, secret: str, needed: str, now: datetime, cost: float = 1) -> ApiToken:
    """Return the token of `secret` for a request that needs the scope `needed`, and count the request.

    A small request counts as less than one by its `cost`. Raises `InvalidToken`, `TokenExpired`,
    `ScopeMissing` or `TooManyRequests`.
    """
    used = token_use(secret=secret, now=now)
    limit_count(limit=token_limit(), who=used.pk, now=now, cost=cost)
    if not scope_allows(used.scope, needed):
        raise ScopeMissing(
            gettext(
                "This token has the scope “{scope}”; this needs “{needed}”. Make one that may do it."
            ).format(scope=used.scope, needed=needed)
        )
    return used


class TokenAuth(HttpBearer):
    """Authenticate a request by a personal token, within the token's scope.

    It needs no CSRF token, because a browser never sends this header by itself.
    """

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """Return the token that was sent, and set `request.user` to its reader.

        Raises `InvalidToken`, `TokenExpired`, `ScopeMissing` or `TooManyRequests`. A bad token never falls
        back to a session.
        """
        needed = scope_needed(request.method or "GET", request.path_info)
        used = token_authorise(secret=token.strip(), needed=needed, now=timezone.now())
        request.user = used.reader
        return used

    def authenticate_again(self, request: HttpRequest, token: str) -> None:
        """Set `request.user` to the token's reader as they are now.

        Raises `InvalidToken` or `TokenExpired`.
        """
        request.user = token_use(secret=token.strip(), now=timezone.now()).reader


def tokens_of(*, reader_id: UUID) -> list[ApiToken]:
    """Return the reader's tokens without their hashes, newest first; one query."""
    return list(ApiToken.objects.filter(reader_id=reader_id).defer("digest"))
