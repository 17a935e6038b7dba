"""Assistants that readers connected over MCP: their tokens and scopes, and how to disconnect them.

Clients and tokens are those of `allauth.idp.oidc`, which stores only the hash of a token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from allauth.idp.oidc.models import Client, Token
from django.conf import settings
from django.core.cache import cache, caches
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext, gettext_noop

from digest.errors import InvalidToken
from digest.models import Reader

log = structlog.get_logger(__name__)

READ, RATE, PROPOSE = "read", "rate", "propose"
# The permission behind each scope, in the words that a reader sees before they allow it.
SCOPES: Mapping[str, str] = MappingProxyType(
    {
        READ: gettext_noop(
            "Read your digest, sources and articles, search them, and see why each is where it is"
        ),
        RATE: gettext_noop("Rate articles for you. Ranking learns from these ratings as from your own"),
        PROPOSE: gettext_noop(
            "See your ratings and settings, and propose changes, which wait until you accept them here"
        ),
    }
)
MCP_PATH = "/mcp"
# Room for every assistant of a large installation; a flood of registrations ends here.
CLIENTS_MAX = 500
# A client without any token is deleted after a day. If the table is full, one older than 15 minutes goes, or
# else any.
UNUSED_LIFETIME = timedelta(days=1)
UNUSED_LEAST = timedelta(minutes=15)
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# allauth ends a code after a minute. We remember its use a little longer.
CODE_CLAIM_S = 300
# A client that lost our answer, or sent the token twice at once, may repeat it within a minute. After that
# the second use counts as theft.
REFRESH_GRACE_S = 60
# The cache that remembers which tokens were used.
CLAIMS = "claims"


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of an access token: its reader, the client that holds it, and its scopes."""

    reader: Reader
    client: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Connection:
    """One assistant to which a reader gave access. `host` is the host that receives its codes."""

    client_id: str
    name: str
    host: str
    allowed: tuple[str, ...]
    since: datetime
    renewed_at: datetime


def mcp_resource() -> str:
    """Return the address of the MCP endpoint. Tokens are valid for this address only (RFC 8707)."""
    return f"{settings.SITE_URL.rstrip('/')}{MCP_PATH}"


def access_of(*, secret: str) -> Access:
    """Return the rights of the access token `secret` at our MCP endpoint.

    Raises `InvalidToken` if it is unknown, expired, revoked or meant for another resource, or if its reader
    is switched off.
    """
    token = Token.objects.select_related("user").filter(client__isnull=False)
    found = token.lookup(Token.Type.ACCESS_TOKEN, secret) if secret else None
    if found is None or not isinstance(found.user, Reader) or not found.user.is_active:
        raise InvalidToken(
            gettext("This token is not valid here, or no longer. Connect the assistant again.")
        )
    if found.get_resources() != [mcp_resource()]:
        raise InvalidToken(
            gettext("This token is for another resource. Ask for one for {mcp_resource}.").format(
                mcp_resource=mcp_resource()
            )
        )
    return Access(found.user, str(found.client_id), frozenset(found.get_scopes()) & SCOPES.keys())


def client_redirects(*, client_id: str) -> list[str]:
    """Return the redirect URIs that a client registered; an empty list if there is no such client."""
    client = Client.objects.filter(pk=client_id).first()
    return client.get_redirect_uris() if client else []


def code_claim(*, code: str) -> bool:
    """Return whether this authorization code is redeemed for the first time.

    Of several requests at once, one wins.
    """
    return bool(cache.add(f"digest:oauth:code:{sha256(code.encode()).hexdigest()}", 1, timeout=CODE_CLAIM_S))


def refresh_claim(*, secret: str, now: datetime) -> bool:
    """Return whether this refresh token is used for the first time. Of several requests at once, one wins.

    If a token comes again after more than a minute, two parties hold it. Then all tokens of this client and
    reader are deleted (RFC 9700, section 4.14.2). The use is remembered for the token's lifetime, in a cache
    of its own that a flood of counters cannot empty.
    """
    key, claims = _refresh_key(secret), caches[CLAIMS]
    used = claims.get(key)
    if used is None:
        row = Token.objects.filter(client__isnull=False).lookup(Token.Type.REFRESH_TOKEN, secret)
        if row is None:
            return True  # An unknown token: allauth refuses it.
        claim = (now.timestamp(), row.user_id, row.client_id)
        return bool(claims.add(key, claim, timeout=settings.IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN))
    at, reader_id, client_id = used
    if now.timestamp() - at > REFRESH_GRACE_S:
        Token.objects.filter(user_id=reader_id, client_id=client_id).delete()
        log.warning("refresh_token_replayed", user_id=str(reader_id))
    return False


def refresh_lock(*, secret: str) -> None:
    """Lock the reader of a refresh token, in a transaction: a new password waits for the tokens it ends."""
    row = Token.objects.filter(client__isnull=False).lookup(Token.Type.REFRESH_TOKEN, secret)
    if row is not None:
        Reader.objects.select_for_update().filter(pk=row.user_id).first()


def refresh_release(*, secret: str) -> None:
    """Allow a refresh token to be used again after its use was refused."""
    caches[CLAIMS].delete(_refresh_key(secret))


def token_revoke(*, secret: str) -> None:
    """Delete a token. With a refresh token go all tokens of its client and reader (RFC 7009, section 2.1).

    The library leaves the access token to work for its hour, and takes a wrong `token_type_hint` at its word.
    """
    row = Token.objects.filter(client__isnull=False).by_value(secret).first() if secret else None
    if row is None:
        return
    own = Token.objects.filter(user_id=row.user_id, client_id=row.client_id)
    (own if row.type == Token.Type.REFRESH_TOKEN else own.filter(pk=row.pk)).delete()


def _refresh_key(secret: str) -> str:
    return f"digest:oauth:refresh:{sha256(secret.encode()).hexdigest()}"


def hosts_words(uris: Sequence[str]) -> str:
    """Return the hosts that receive codes, separated by commas and each once.

    A program on the reader's own device is described as such instead of by its host.
    """
    hosts = dict.fromkeys(urlsplit(uri).hostname or "" for uri in uris)
    words = (gettext("a program on your own device") if host in LOOPBACK else host for host in hosts)
    return ", ".join(dict.fromkeys(words))


def client_name(client: Client, host: str) -> str:
    """Return the name that the client gave itself, or `host` if it gave none. Pages show it in quotes."""
    return client.name or host


def assistant_connections(*, reader_id: UUID) -> list[Connection]:
    """Return the assistants that still hold a valid token of the reader, sorted by name; two queries."""
    tokens: dict[str, list[Any]] = {}
    for token in Token.objects.valid().filter(user_id=reader_id).select_related("client"):
        tokens.setdefault(token.client_id, []).append(token)
    found = []
    for client_id, own in tokens.items():
        scopes = {scope for token in own for scope in token.get_scopes()}
        moments = [token.created_at for token in own]
        client = own[0].client
        host = hosts_words(client.get_redirect_uris())
        allowed = tuple(gettext(words) for scope, words in SCOPES.items() if scope in scopes)
        found.append(
            Connection(client_id, client_name(client, host), host, allowed, client.created_at, max(moments))
        )
    return sorted(found, key=lambda row: (row.name.casefold(), row.client_id))


def assistant_disconnect(*, reader: Reader, client_id: str) -> bool:
    """Revoke at once all tokens that the reader gave a client; return whether there were any."""
    deleted, _ = Token.objects.filter(user=reader, client_id=client_id).delete()
    return int(deleted) > 0


def client_room_make(*, now: datetime) -> bool:
    """Return whether one more client may register, after deleting clients that nobody uses.

    If the table is full of new ones, a random one goes. So a flood of registrations keeps nobody out, and has
    to go on to hit one client among all in the minute that its reader needs.
    """
    _unused_clients(now - UNUSED_LIFETIME).delete()
    if Client.objects.count() < CLIENTS_MAX:
        return True
    oldest = _unused_clients(now - UNUSED_LEAST).order_by("created_at")
    any_one = _unused_clients(now).order_by("?")
    goes = oldest.values_list("pk", flat=True).first() or any_one.values_list("pk", flat=True).first()
    deleted, _ = _unused_clients(now).filter(pk=goes).delete()
    return int(deleted) > 0


def assistants_prune(*, now: datetime) -> int:
    """Delete expired tokens, and clients that hold no token any more; return the number of rows."""
    deleted, _ = Token.objects.filter(expires_at__lte=now).delete()
    return int(deleted) + int(_unused_clients(now - UNUSED_LIFETIME).delete()[0])


def _unused_clients(before: datetime) -> QuerySet[Any]:
    used = Exists(Token.objects.filter(client=OuterRef("pk")))
    return Client.objects.filter(~used, created_at__lt=before)  # type: ignore[no-any-return]
