"""The one way out to feeds over HTTP: checked addresses, few redirects, bounded bytes and seconds.

A name is resolved once, every address is checked, and the checked address itself is dialled, so that an
answer that changes between check and use gains nothing; TLS is still verified by name. Proxies and other
settings of the environment are ignored.
"""

import ssl
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import httpcore2

from digest.addresses import addresses_checked
from digest.feeds import FeedProblem
from digest.polling import retry_after_seconds
from digest.prechecks import BODY_MAX_BYTES, COMPRESSED_MAX_BYTES, GZIP_MAGIC

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 10.0
TOTAL_TIMEOUT_S = 30.0
REDIRECTS_MAX = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ACCEPT = "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"
Headers = dict[str | bytes, str | bytes]
USER_AGENT = f"Tidings/{version('tidings')}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A good answer. `body` is None where nothing changed (304); it may be gzip. `url` is the last one."""

    url: str
    body: bytes | None
    etag: str
    last_modified: str
    retry_after_s: float | None


def fetch(
    url: str,
    *,
    etag: str = "",
    last_modified: str = "",
    allow: Sequence[str] = (),
    total_s: float = TOTAL_TIMEOUT_S,
    read_s: float = READ_TIMEOUT_S,
) -> Fetched:
    """GET `url`, following at most three redirects, each checked like the first address.

    `allow` lists hosts ("host" or "host:port") that pass the address and port rules. Raises `FeedProblem`:
    `bad_url`, `bad_port`, `not_found`, `forbidden_address`, `connect_failed`, `tls_failed`, `timeout`,
    `broken_response`, `too_large`, `too_many_redirects`, `gone`, `http_<status>`.
    """
    deadline = time.monotonic() + total_s
    headers: Headers = {"User-Agent": USER_AGENT, "Accept": ACCEPT, "Accept-Encoding": "gzip"}
    headers |= {"If-None-Match": etag} if _sendable(etag) else {}
    headers |= {"If-Modified-Since": last_modified} if _sendable(last_modified) else {}
    for _ in range(REDIRECTS_MAX + 1):
        answer = _get(url, headers, allow=allow, deadline=deadline, read_s=read_s)
        if isinstance(answer, Fetched):
            return answer
        url = answer
    raise FeedProblem("too_many_redirects", f"The address redirects more than {REDIRECTS_MAX} times.")


def _get(
    url: str, headers: Headers, *, allow: Sequence[str], deadline: float, read_s: float
) -> Fetched | str:
    """One request: the answer, or the address it redirects to."""
    parts, port = _split(url)
    host = parts.hostname or ""
    backend = _CheckedBackend(addresses_checked(host, port, allow=allow), deadline)
    timeouts = {"connect": CONNECT_TIMEOUT_S, "read": read_s, "write": read_s, "pool": CONNECT_TIMEOUT_S}
    try:
        with (
            httpcore2.ConnectionPool(network_backend=backend, ssl_context=_tls()) as pool,
            pool.stream(
                "GET", _target(parts, host, port), headers=headers, extensions={"timeout": timeouts}
            ) as answer,
        ):
            return _answer(url, answer)
    except httpcore2.TimeoutException as error:
        raise FeedProblem("timeout", "The server took too long to answer.") from error
    except httpcore2.ConnectError as error:
        code = "tls_failed" if isinstance(error.__cause__, ssl.SSLError) else "connect_failed"
        raise FeedProblem(
            code, f"No connection to “{host[:100]}” could be made ({str(error)[:120]})."
        ) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ValueError) as error:
        raise FeedProblem(
            "broken_response", f"The answer broke off or is no HTTP ({str(error)[:120]})."
        ) from error


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise FeedProblem("bad_url", "This is not a web address.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FeedProblem("bad_url", "Feeds are fetched from http and https addresses only.")
    return parts, port


def _target(parts: SplitResult, host: str, port: int) -> httpcore2.URL:
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    ascii_path = quote(path, safe="!\"#$%&'()*+,/:;<=>?@[\\]^_`{|}~", errors="replace")
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise FeedProblem("bad_url", "This is not a web address: no host can have that name.") from error
    return httpcore2.URL(scheme=parts.scheme, host=ascii_host, port=port, target=ascii_path)


def _answer(url: str, response: httpcore2.Response) -> Fetched | str:
    headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
    wait = retry_after_seconds(headers.get("retry-after", ""), now=datetime.now(UTC))
    if response.status in REDIRECTS and headers.get("location"):
        return _redirect(url, headers["location"])
    if response.status == 410:
        raise FeedProblem("gone", "The publisher says that this feed is gone for good.", gone=True)
    if response.status not in (200, 304):
        raise FeedProblem(
            f"http_{response.status}",
            f"The server answered with status {response.status}.",
            retry_after_s=wait,
        )
    body = _body(response, headers) if response.status == 200 else None
    return Fetched(url, body, headers.get("etag", "")[:500], headers.get("last-modified", "")[:100], wait)


def _redirect(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise FeedProblem("bad_url", "The server redirects to something that is no web address.") from error


def _body(response: httpcore2.Response, headers: dict[str, str]) -> bytes:
    """The body as sent; it is decompressed by whoever reads it, within limits of its own."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip", "x-gzip", ""):
        raise FeedProblem("broken_response", "The server sent a compression nobody asked for.")
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        limit = COMPRESSED_MAX_BYTES if body.startswith(GZIP_MAGIC) else BODY_MAX_BYTES
        if len(body) > limit:
            raise FeedProblem("too_large", f"The feed is larger than {limit >> 20} MiB.")
    return bytes(body)


def _sendable(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable()


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection whose every read and write ends by the deadline: a server that drips gains nothing."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: float) -> None:
        self._inner, self._deadline = inner, deadline

    def _left(self, timeout: float | None) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the whole answer took too long")
        return left if timeout is None else min(timeout, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._left(timeout))
        return _DeadlineStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class _CheckedBackend(httpcore2.NetworkBackend):
    """Dials the addresses that were checked, whatever the name would resolve to by now."""

    def __init__(self, addresses: Sequence[str], deadline: float) -> None:
        self._addresses, self._deadline, self._inner = addresses, deadline, httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise httpcore2.ConnectTimeout("connecting took too long")
            try:
                stream = self._inner.connect_tcp(
                    address, port, min(timeout or left, left), local_address, socket_options
                )
                return _DeadlineStream(stream, self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure
