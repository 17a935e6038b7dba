"""Requests to others over HTTP: conditional GETs with few redirects, POSTs with none, all bounded.

A name is resolved once, every address is checked, and the connection goes to a checked address, so that a
name that changes between check and use gains nothing; TLS is still verified by name. Proxies and other
settings of the environment are ignored.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from digest.feeds.addresses import NotAnAddress, WebAddress, address_read
from digest.feeds.connect import PORTS, resolve_addresses
from digest.feeds.entities import FeedProblem, Headers
from digest.feeds.polling import fresh_seconds, retry_after_seconds
from digest.feeds.prechecks import BODY_MAX_BYTES, COMPRESSED_MAX_BYTES, GZIP_MAGIC
from digest.feeds.rate_limit import HostLock
from ranking.language import gettext_noop

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpcore2 import Response

READ_TIMEOUT_S: Final = 10.0
TOTAL_TIMEOUT_S: Final = 30.0
POST_TIMEOUT_S: Final = 10.0
POST_ANSWER_BYTES: Final = 64 * 1024
REDIRECTS_MAX: Final = 3
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
PERMANENT_STATUSES: Final = frozenset({301, 308})
ACCEPT: Final = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"
)
ENCODING: Final = "Accept-Encoding"
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
    """How a private feed is asked: `headers` are secret and go to `origin` alone; `user_agent` may be ""."""

    origin: str
    headers: Headers = field(repr=False)
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """A good answer from `url`, after redirects. `body` is None if nothing changed (304); it may be gzip.

    `asked` is the address of the request, before redirects: an answer may be stored as that feed's alone.
    `fresh_s` is how long the answer counts as fresh by its headers, in seconds. `moved_url` is where the
    permanent redirects at the head of the chain led, "" where there were none; `content_type` is the header.
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


@dataclass(frozen=True, slots=True)
class _Redirect:
    address: WebAddress
    permanent: bool


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
    """GET `url`, following at most three redirects, each checked like the first address.

    `allow` lists hosts ("host" or "host:port") that pass the address and port rules; `host_lock` moves to
    the host of each redirect, once `check` got its address, which may raise. `accept` is the header; with
    `body_max`, in bytes, nothing compressed is asked for. What is secret in `access` is sent until a redirect
    leads elsewhere. Raises `FeedProblem`: `bad_url`, `bad_port`, `not_found`, `forbidden_address`, `timeout`,
    `connect_failed`, `tls_failed`, `broken_response`, `too_large`, `too_many_redirects`, `gone`, `http_…`,
    `host_busy`.
    """
    limits = _limits(allow, ports, total_s, read_s, body_max)
    agent, encoding = (access and access.user_agent) or USER_AGENT, "identity" if body_max else "gzip"
    headers = _headers(etag, last_modified) | {"User-Agent": agent, "Accept": accept, ENCODING: encoding}
    moved, permanent, address = "", True, web_address(url)
    asked = str(address)
    for _ in range(REDIRECTS_MAX + 1):
        access = access if access and address.origin == access.origin else None
        answer = _get(address, headers | (access.headers if access else {}), limits)
        if isinstance(answer, FetchResponse):
            return replace(answer, moved_url=moved, asked=asked)
        address, permanent = answer.address, permanent and answer.permanent
        moved = str(address) if permanent else moved
        if check:
            check(str(address))
        if host_lock:
            host_lock.move_to(address.host, until=limits.deadline)
    raise FeedProblem("too_many_redirects", f"The address redirects more than {REDIRECTS_MAX} times.")


def host_of(url: str) -> str:
    """Return the host that a request to an address goes to; "" if it names none."""
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
    """POST `body` to `url`, through the same guard as `fetch`, and return up to 64 KiB of the answer.

    No redirect is followed: what is sent is for this address alone. Raises `FeedProblem` with the codes of
    `fetch`, `redirected` for a redirect, and `http_<status>` for any answer that is not in the 200s.
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
    """Send one request; return the answer, or the address it redirects to."""
    with _exchange("GET", address, headers, limits) as response:
        return _answer(address, response, limits)


def _exchange(
    method: str, address: WebAddress, headers: Headers, limits: _Limits, body: bytes | None = None
) -> "AbstractContextManager[Response]":
    """Send one request to a checked address; the context is the answer, until it is read."""
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
    headers = {name.decode("ascii").lower(): _header_text(value) for name, value in response.headers}
    now = datetime.now(UTC)
    wait = retry_after_seconds(headers.get("retry-after", ""), now=now)
    if response.status in REDIRECT_STATUSES and headers.get("location"):
        try:
            target = address_read(urljoin(str(address), headers["location"]))
        except ValueError as error:
            raise FeedProblem(
                "bad_url", gettext_noop("The server redirects to something that is no web address.")
            ) from error
        return _Redirect(target, response.status in PERMANENT_STATUSES)
    if response.status == 410:
        raise FeedProblem(
            "gone", gettext_noop("The publisher says that this feed is gone for good."), gone=True
        )
    if response.status not in (200, 304):
        message = STATUS_MESSAGES.get(response.status, f"The server answered with status {response.status}.")
        raise FeedProblem(f"http_{response.status}", message, retry_after_s=wait)
    return FetchResponse(
        str(address),
        _body(response, headers, limits) if response.status == 200 else None,
        headers.get("etag", "")[:500],
        headers.get("last-modified", "")[:100],
        wait,
        fresh_seconds(headers, now=now),
        content_type=headers.get("content-type", "")[:200],
    )


def _header_text(value: bytes) -> str:
    """Return a header as text: UTF-8, which servers write although nothing allows it, else Latin 1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _body(response: "Response", headers: dict[str, str], limits: _Limits) -> bytes:
    """Return the body as sent; whoever reads it decompresses it, within limits of its own."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip", "x-gzip", ""):
        raise FeedProblem("broken_response", gettext_noop("The server sent a compression nobody asked for."))
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
