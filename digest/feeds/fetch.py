"""Requests to other servers over HTTP: conditional GETs with few redirects, and POSTs without any, all
limited.

A name is resolved once, every address is checked, and the connection goes to a checked address. So a name
that changes its address after the check gains nothing. TLS is still verified by name. Proxies and other
settings of the environment are ignored.
"""

import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from digest.feeds.addresses import NotAnAddress, WebAddress, address_read
from digest.feeds.connect import PORTS, allowed_from, resolve_addresses
from digest.feeds.entities import FeedProblem, Headers
from digest.feeds.polling import fresh_seconds, retry_after_seconds
from digest.feeds.prechecks import (
    BODY_MAX_BYTES,
    COMPRESSED_MAX_BYTES,
    GZIP_MAGIC,
    RATIO_MAX,
    RATIO_UNCHECKED_BYTES,
)
from digest.feeds.rate_limit import HostLock
from ranking.language import gettext_noop

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpcore2 import Response

READ_TIMEOUT_S: Final = 10.0
TOTAL_TIMEOUT_S: Final = 30.0
POST_TIMEOUT_S: Final = 10.0
POST_ANSWER_BYTES: Final = 64 * 1024
# A browser follows twenty. Servers that set a cookie and redirect back need several on one host.
HOPS_MAX, HOSTS_MAX = 10, 5
COOKIES_MAX, COOKIE_CHARS_MAX = 20, 4096
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
# A whole document: as it is, just made, or changed on its way by a proxy.
WHOLE_STATUSES: Final = (200, 201, 203)
PERMANENT_STATUSES: Final = frozenset({301, 308})
ACCEPT: Final = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"
)
ENCODING: Final = "Accept-Encoding"
# Values of `Content-Encoding` that need no look at the bytes, and values that we cannot decode.
PLAIN_ENCODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip"})
OTHER_ENCODINGS: Final = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
# How plain documents begin: markup, JSON, or a byte order mark.
TEXT_STARTS: Final = (b"<", b"{", b"[", b"\xef", b"\xff", b"\xfe")
LINKS_MAX_CHARS: Final = 8_000
USER_AGENT: Final = f"Tidings/{version('tidings')}"
STATUS_MESSAGES: Final = {
    401: gettext_noop("The server wants a password (status 401)."),
    403: gettext_noop("The server refuses to hand out this feed (status 403)."),
    404: gettext_noop("The server has nothing at this address (status 404)."),
    429: gettext_noop("The server was asked too often and wants a pause (status 429)."),
    500: gettext_noop("The publisher’s server has a fault (status 500)."),
    502: gettext_noop("The publisher’s server cannot be reached from its front (status 502)."),
    503: gettext_noop("The publisher’s server is overloaded or being worked on (status 503)."),
    504: gettext_noop("The publisher’s server took too long (status 504)."),
}


@dataclass(frozen=True, slots=True)
class Access:
    """How to ask for a private feed. `headers` are secret and go to `origin` only; `user_agent` may be ""."""

    origin: str
    headers: Headers = field(repr=False)
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """A good answer from `url`, after redirects. `body` is None if nothing changed (304), and may be gzip.

    `asked` is the address before redirects; the answer may be stored for that feed only. `fresh_s` is how
    long the answer is fresh by its headers, in seconds. `moved_url` is the target of the permanent redirects
    at the head of the chain, or "". `content_type` and `links` are headers.
    """

    url: str
    body: bytes | None
    etag: str
    last_modified: str
    retry_after_s: float | None
    fresh_s: float | None = None
    moved_url: str = ""
    content_type: str = ""
    asked: str = ""
    links: str = ""


@dataclass(frozen=True, slots=True)
class _Redirect:
    address: WebAddress
    permanent: bool
    cookies: tuple[str, ...] = ()


@dataclass(slots=True)
class _Jar:
    """The cookies of one fetch, by host: gone with it, and sent back to the host that set them alone."""

    cookies: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def keep(self, address: WebAddress, headers: Sequence[str]) -> None:
        """Keep the cookies that a host set, within the usual number and size."""
        mine = self.cookies.setdefault(address.host, {})
        for header in headers:
            pair, _, attributes = header.partition(";")
            name, is_pair, value = (part.strip() for part in pair.partition("="))
            fits = len(pair) <= COOKIE_CHARS_MAX and len(mine) < COOKIES_MAX
            if name and is_pair and fits and _sendable(pair):
                mine[name] = value, "secure" in {one.strip().lower() for one in attributes.split(";")}

    def headers(self, address: WebAddress, secret: Headers) -> Headers:
        """Return `secret` with the cookies for an address. Cookies set over TLS go over TLS only."""
        mine = self.cookies.get(address.host, {}).items()
        sent = [f"{name}={value}" for name, (value, safe) in mine if not safe or address.scheme == "https"]
        if own := secret.get("Cookie"):
            sent.insert(0, own if isinstance(own, str) else own.decode("ascii"))
        return secret | ({"Cookie": "; ".join(sent)} if sent else {})


@dataclass(frozen=True, slots=True)
class _Limits:
    """Which hosts and ports are allowed, and until when (monotonic) the answer must be there."""

    allow: Sequence[str]
    ports: Collection[int]
    deadline: float
    read_s: float
    body_max: int
    compressed_max: int


def fetch(
    url: str,
    *,
    etag: str = "",
    last_modified: str = "",
    allow: Sequence[str] = (),
    ports: Collection[int] = PORTS,
    total_s: float = TOTAL_TIMEOUT_S,
    read_s: float = READ_TIMEOUT_S,
    host_lock: HostLock | None = None,
    accept: str = ACCEPT,
    body_max: int | None = None,
    check: Callable[[str], None] | None = None,
    access: Access | None = None,
) -> FetchResponse:
    """GET `url`, following up to ten redirects on one host and five between hosts.

    Each redirect is checked like the first address. Cookies are kept for this fetch, per host. `allow` lists
    hosts ("host" or "host:port") that skip the address and port rules, but only if `url` itself is at one, so
    no redirect from elsewhere leads there. `host_lock` moves to the host of each redirect after `check` has
    accepted its address (it may raise). `accept` is the header. With `body_max`, in bytes, nothing compressed
    is asked for. The secret of `access` is sent until a redirect leads to another origin.

    Raises `FeedProblem`: `bad_url`, `bad_port`, `not_found`, `forbidden_address`, `timeout`,
    `connect_failed`, `tls_failed`, `broken_response`, `too_large`, `too_many_redirects`, `gone`, `http_…`,
    `host_busy`.
    """
    address = web_address(url)
    limits = _limits(allowed_from(address, allow), ports, total_s, read_s, body_max)
    agent, encoding = (access and access.user_agent) or USER_AGENT, "identity" if body_max else "gzip"
    headers = _headers(etag, last_modified) | {"User-Agent": agent, "Accept": accept, ENCODING: encoding}
    moved, permanent = "", True
    asked, hops, hosts, jar = str(address), 0, 0, _Jar()
    while hops <= HOPS_MAX and hosts <= HOSTS_MAX:
        access = access if access and address.origin == access.origin else None
        secret = access.headers if access else {}
        answer = _get(address, headers | jar.headers(address, secret), limits)
        if isinstance(answer, FetchResponse):
            return replace(answer, moved_url=moved, asked=asked)
        jar.keep(address, answer.cookies)
        same = answer.address.host == address.host
        hops, hosts = hops + same, hosts + (not same)
        address, permanent = answer.address, permanent and answer.permanent
        moved = str(address) if permanent else moved
        if check:
            check(str(address))
        if host_lock:
            host_lock.move_to(address.host, until=limits.deadline)
    most = HOPS_MAX if hops > HOPS_MAX else HOSTS_MAX
    raise FeedProblem("too_many_redirects", f"The address redirects more than {most} times.")


def host_of(url: str) -> str:
    """Return the host of an address, or "" if it names none."""
    try:
        return address_read(url).host
    except NotAnAddress:
        return ""


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a web address. Raises `FeedProblem("bad_url")`."""
    return web_address(url).origin


def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    allow: Sequence[str] = (),
    ports: Collection[int] = PORTS,
    total_s: float = POST_TIMEOUT_S,
) -> bytes:
    """POST `body` to `url` with the same checks as `fetch`, and return up to 64 KiB of the answer.

    Redirects are not followed, because the data is for this address only. Raises `FeedProblem` with the codes
    of `fetch`, `redirected` for a redirect, and `http_<status>` for any answer outside the 200s.
    """
    limits = _Limits(allow, ports, time.monotonic() + total_s, total_s, POST_ANSWER_BYTES, POST_ANSWER_BYTES)
    sent: Headers = {"User-Agent": USER_AGENT, ENCODING: "identity"}
    sent |= dict[str | bytes, str | bytes](headers.items())
    with _exchange("POST", web_address(url), sent, limits, body) as response:
        if response.status in REDIRECT_STATUSES:
            raise FeedProblem("redirected", "The server sends us to another address.")
        if not 200 <= response.status < 300:
            raise FeedProblem(f"http_{response.status}", f"The server answered with {response.status}.")
        answer = b""
        for chunk in response.iter_stream():
            answer += chunk
            if len(answer) >= POST_ANSWER_BYTES:
                break
        return answer[:POST_ANSWER_BYTES]


def _get(address: WebAddress, headers: Headers, limits: _Limits) -> FetchResponse | _Redirect:
    """Send one request. Return the answer, or the address it redirects to."""
    with _exchange("GET", address, headers, limits) as response:
        return _answer(address, response, limits)


def _exchange(
    method: str, address: WebAddress, headers: Headers, limits: _Limits, body: bytes | None = None
) -> "AbstractContextManager[Response]":
    """Send one request to a checked address. The context is the response while it is read."""
    left = limits.deadline - time.monotonic()
    checked = resolve_addresses(
        address.host, address.port, allow=limits.allow, ports=limits.ports, within_s=left
    )
    from digest.feeds.exchange import exchange  # noqa: PLC0415 - httpcore2, for who asks other sites

    return exchange(method, address, headers, body, checked, deadline=limits.deadline, read_s=limits.read_s)


def web_address(url: str) -> WebAddress:
    """Return the address that a request for `url` goes to. Raises `FeedProblem("bad_url")`."""
    try:
        return address_read(url)
    except NotAnAddress as error:
        raise FeedProblem("bad_url", gettext_noop("This is not a web address.")) from error


def _answer(address: WebAddress, response: "Response", limits: _Limits) -> FetchResponse | _Redirect:
    listed = [(name.decode("ascii").lower(), _header_text(value)) for name, value in response.headers]
    headers = dict(listed)
    now = datetime.now(UTC)
    wait = retry_after_seconds(headers.get("retry-after", ""), now=now)
    if response.status in REDIRECT_STATUSES and headers.get("location"):
        try:
            target = address_read(urljoin(str(address), headers["location"]))
        except ValueError as error:
            raise FeedProblem(
                "bad_url", gettext_noop("The server redirects to something that is no web address.")
            ) from error
        cookies = tuple(value for name, value in listed if name == "set-cookie")
        return _Redirect(target, response.status in PERMANENT_STATUSES, cookies)
    if response.status == 410:
        raise FeedProblem(
            "gone", gettext_noop("The publisher says that this feed is gone for good."), gone=True
        )
    if response.status not in (*WHOLE_STATUSES, 304):
        message = STATUS_MESSAGES.get(response.status, f"The server answered with status {response.status}.")
        raise FeedProblem(f"http_{response.status}", message, retry_after_s=wait)
    return FetchResponse(
        str(address),
        _body(response, headers, limits) if response.status in WHOLE_STATUSES else None,
        headers.get("etag", "")[:500],
        headers.get("last-modified", "")[:100],
        wait,
        fresh_seconds(headers, now=now),
        content_type=headers.get("content-type", "")[:200],
        links=", ".join(value for name, value in listed if name == "link")[:LINKS_MAX_CHARS],
    )


def _header_text(value: bytes) -> str:
    """Return a header as text: UTF-8, which servers write although nothing allows it, else Latin 1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _body(response: "Response", headers: dict[str, str], limits: _Limits) -> bytes:
    """Return the body as sent, gzip or plain. The caller decompresses it, within its own limits.

    The bytes decide, not `Content-Encoding`: many servers name an encoding they did not use (`aws-chunked`,
    `utf-8`), and some deflate without being asked.
    """
    named = {one.strip().lower() for one in headers.get("content-encoding", "").split(",")}
    body = _bytes(response, limits)
    if body.startswith(GZIP_MAGIC) or not named - PLAIN_ENCODINGS:
        return body
    if named & {"deflate", "x-deflate"} and body.lstrip()[:1] not in TEXT_STARTS:
        return _inflate(body, limits)
    if named & OTHER_ENCODINGS and body.lstrip()[:1] not in TEXT_STARTS:
        raise FeedProblem("broken_response", gettext_noop("The server sent a compression nobody asked for."))
    return body


def _inflate(body: bytes, limits: _Limits) -> bytes:
    """Return deflated bytes as plain ones, with the frame of zlib or without, within the limits of gzip."""
    limit = min(limits.body_max, max(RATIO_MAX * len(body), RATIO_UNCHECKED_BYTES))
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(wbits=wbits)
        try:
            plain = stream.decompress(body, limit + 1)
        except zlib.error:
            continue
        if len(plain) > limit:
            raise FeedProblem("too_large", f"What the server sends is larger than {limit >> 20} MiB.")
        if stream.eof:
            return plain
    raise FeedProblem("broken_response", gettext_noop("The server sent a compression nobody asked for."))


def _bytes(response: "Response", limits: _Limits) -> bytes:
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        limit = limits.compressed_max if body.startswith(GZIP_MAGIC) else limits.body_max
        if len(body) > limit:
            raise FeedProblem("too_large", f"What the server sends is larger than {limit >> 20} MiB.")
    return bytes(body)


def _limits(
    allow: Sequence[str], ports: Collection[int], total_s: float, read_s: float, body_max: int | None
) -> _Limits:
    most = (body_max, body_max) if body_max else (BODY_MAX_BYTES, COMPRESSED_MAX_BYTES)
    return _Limits(allow, ports, time.monotonic() + total_s, read_s, *most)


def _headers(etag: str, last_modified: str) -> Headers:
    headers: Headers = {"If-None-Match": etag} if _sendable(etag) else {}
    return headers | ({"If-Modified-Since": last_modified} if _sendable(last_modified) else {})


def _sendable(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable()
