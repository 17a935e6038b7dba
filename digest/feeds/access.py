"""Access to feeds that are not public: a password, a header or a cookie, encrypted, for one origin alone."""

import json
import re
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from digest.errors import AccessInvalid
from digest.feeds.entities import FeedProblem, Headers
from digest.feeds.fetch import Access, origin_of
from digest.models import Feed, FeedAccess
from ranking.common.encryption import SecretUnreadable, secret_decrypt, secret_encrypt

Kind = FeedAccess.Kind
NAME_CHARS_MAX, SECRET_CHARS_MAX, USER_AGENT_CHARS_MAX = 200, 4000, 200
# A token of RFC 9110, 5.6.2.
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}\Z")
# Headers that frame or address a request, or that have a field of their own here.
_OURS: Final = re.compile(
    r"(?:host|cookie|user-agent|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|range|keep-alive"
    r"|accept|accept-encoding|if-.*|proxy-.*|forwarded|x-forwarded-.*|x-real-ip)\Z",
    re.IGNORECASE,
)
# HTTP statuses of a server that refuses our secret, and the code of a secret we cannot decrypt.
REFUSED_STATUSES: Final = frozenset({"http_401", "http_403"})
REFUSED: Final = "access_refused"
UNREADABLE: Final = "secret_unreadable"
# Codes of a feed whose owner must type a new secret.
LOCKED: Final = REFUSED_STATUSES | {REFUSED, UNREADABLE}
REFUSED_MESSAGE: Final = gettext_noop(
    "The server does not accept the password, header or cookie you gave for this feed."
)
UNREADABLE_MESSAGE: Final = gettext_noop(
    "What you gave for this feed cannot be read any more, since SECRETS_KEY changed. Type it again."
)


@dataclass(frozen=True, slots=True)
class AccessGiven:
    """The secret that a reader typed for a private feed.

    `name` is the user's or the header's name. `value` is the password, the header's value or the cookies.
    """

    kind: str
    name: str = field(default="", repr=False)
    value: str = field(default="", repr=False)
    user_agent: str = ""


def access_check(given: AccessGiven) -> None:
    """Check a secret before it is stored. Raises `AccessInvalid`; its message never repeats the secret."""
    if given.kind not in Kind.values:
        raise AccessInvalid(_("Choose how the feed is opened: basic, header, cookie or none."))
    if len(given.name) > NAME_CHARS_MAX or len(given.value) > SECRET_CHARS_MAX:
        raise AccessInvalid(_("That is longer than any name (200 characters) or secret (4,000)."))
    if not (given.user_agent.isascii() and given.user_agent.isprintable()):
        raise AccessInvalid(_("A user agent has plain letters, numbers and signs only."))
    if len(given.user_agent) > USER_AGENT_CHARS_MAX:
        raise AccessInvalid(_("A user agent has 200 characters at most."))
    if given.kind == Kind.NONE:
        if given.value or not given.user_agent:
            raise AccessInvalid(_("Type a user agent, or choose what kind of secret you typed."))
        return
    if not given.value:
        raise AccessInvalid(_("Type the password, the header’s value or the cookie."))
    if given.kind == Kind.BASIC:
        if not given.name or ":" in given.name or not (given.name + given.value).isprintable():
            raise AccessInvalid(_("Type a user name without a colon, and a password in one line."))
        return
    if not (given.value.isascii() and given.value.isprintable()):
        raise AccessInvalid(_("Headers and cookies have plain letters, numbers and signs, in one line."))
    if given.kind == Kind.HEADER and (not _HEADER_NAME.match(given.name) or _OURS.match(given.name)):
        raise AccessInvalid(
            _("Type the header’s name, such as Authorization or X-Token. Some cannot be set here.")
        )


def access_store(*, feed: Feed, given: AccessGiven) -> None:
    """Store the secret of a private feed, encrypted. The caller has checked it."""
    plain = json.dumps([given.name, given.value])
    FeedAccess.objects.update_or_create(
        feed=feed,
        defaults={
            "kind": given.kind,
            "secret": "" if given.kind == Kind.NONE else secret_encrypt(plain),
            "user_agent": given.user_agent,
        },
    )


def access_headers(given: AccessGiven) -> Headers:
    """Return the headers that carry the secret."""
    match given.kind:
        case Kind.BASIC:
            token = b64encode(f"{given.name}:{given.value}".encode()).decode()
            return {"Authorization": f"Basic {token}"}  # RFC 7617, in UTF-8
        case Kind.HEADER:
            return {given.name: given.value}
        case Kind.COOKIE:
            return {"Cookie": given.value}
    return {}


def access_of(given: AccessGiven, *, address: str) -> Access:
    """Return how the feed at `address` is asked: its secret goes to that origin alone."""
    return Access(origin_of(address), access_headers(given), given.user_agent)


def secret_read(row: FeedAccess) -> AccessGiven:
    """Return the decrypted secret.

    Raises `FeedProblem("secret_unreadable")` if none of today's keys decrypts it.
    """
    try:
        name, value = json.loads(secret_decrypt(row.secret)) if row.secret else ("", "")
    except SecretUnreadable as error:
        raise FeedProblem(UNREADABLE, UNREADABLE_MESSAGE) from error
    return AccessGiven(row.kind, name, value, row.user_agent)


def access_read(*, row: FeedAccess | None, address: str) -> Access | None:
    """Return the secret headers for a private feed, or None for a feed without a row.

    Needs no query. Raises as `secret_read`.
    """
    return access_of(secret_read(row), address=address) if row else None


def accesses_of(*, feeds: Collection[Feed]) -> dict[int, FeedAccess]:
    """Return the access rows of the private feeds among `feeds`, by feed id.

    One query, or none if all feeds are public.
    """
    private = [feed.pk for feed in feeds if feed.owner_id]
    return {row.feed_id: row for row in FeedAccess.objects.filter(feed__in=private)} if private else {}


def refusal_read(problem: FeedProblem, *, access: Access | None) -> FeedProblem:
    """Return the problem as its owner should read it: a secret that was sent and not taken, else as it is."""
    if access is None or not access.headers or problem.code not in REFUSED_STATUSES:
        return problem
    return FeedProblem(REFUSED, REFUSED_MESSAGE, retry_after_s=problem.retry_after_s)
