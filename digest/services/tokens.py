"""Personal tokens for scripts: issued once, kept as a hash, revoked by their reader."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest

from django.db import transaction
from django.db.models import Q

from digest.errors import InvalidToken, TokenExpired, TooManyTokens
from digest.models import ApiToken, Reader

PREFIX = "tidings_"
# 256 bits, so that nobody guesses one and a plain SHA-256 of it needs no salt (NIST SP 800-63B, 5.1.2.2).
SECRET_BYTES = 32
HINT_CHARS = 6
TOKENS_MAX = 20
# A row that changes with every request would make readers out of writers; an hour is exact enough.
USED_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token with its secret, which is known at this moment only."""

    token: ApiToken
    secret: str


def token_issue(
    *, reader: Reader, name: str, scope: str, expires_at: datetime | None, now: datetime
) -> IssuedToken:
    """Make a token for `reader` under a name of at most 60 characters; `scope` is read, rate or full.

    `expires_at` is `None` for one that holds until it is revoked. Raises `TooManyTokens` where the reader has
    twenty already, `ValueError` for an unknown scope.
    """
    scope = ApiToken.Scope(scope)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        Reader.objects.select_for_update().get(pk=reader.pk)
        if ApiToken.objects.filter(reader=reader).count() >= TOKENS_MAX:
            raise TooManyTokens(f"You have {TOKENS_MAX} tokens. Revoke one that you no longer use first.")
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
    """Make a token of the reader's worthless at once; whether there was one."""
    deleted, _ = ApiToken.objects.filter(reader=reader, pk=token_id).delete()
    return deleted > 0


def token_use(*, secret: str, now: datetime) -> ApiToken:
    """The token behind `secret`, with its reader at hand; that it was used is noted once an hour.

    Raises `InvalidToken` for one that is unknown or whose reader is switched off, `TokenExpired` for one
    whose time is over.
    """
    digest = _digest(secret)
    token = ApiToken.objects.select_related("reader").filter(digest=digest).first()
    # The index has compared a hash that nobody can aim at; comparing again in constant time costs nothing.
    if token is None or not compare_digest(token.digest, digest) or not token.reader.is_active:
        raise InvalidToken("This token is not valid here. Make a new one on your account page.")
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenExpired(f"This token expired on {token.expires_at:%d %B %Y}. Make a new one.")
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    if token.last_used_at is None or token.last_used_at <= now - USED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def _digest(secret: str) -> str:
    """What is kept of a secret: its SHA-256 in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()
