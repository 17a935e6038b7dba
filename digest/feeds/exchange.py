"""One request over one connection to a checked address. It imports httpcore2, which few processes need."""

import errno
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Final

import httpcore2

from digest.feeds.addresses import WebAddress
from digest.feeds.entities import FeedProblem, Headers
from ranking.language import gettext_noop

CONNECT_TIMEOUT_S: Final = 5.0
# No way out of this machine.
NO_ROUTE: Final = (errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH)
# Problems of a certificate, by OpenSSL's numbers (x509_vfy.h).
CERTIFICATE_PROBLEMS: Final = {
    9: "is not valid yet",
    10: "has expired",
    18: "was signed by the server itself",
    19: "was signed by somebody unknown",
    20: "was signed by somebody unknown",
    21: "was signed by somebody unknown",
    23: "was taken back",
    62: "belongs to another name",
    64: "belongs to another address",
}


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Return the one TLS configuration: certificates are verified, by name."""
    return ssl.create_default_context()


class DeadlineStream(httpcore2.NetworkStream):
    """A connection whose reads and writes all end by the deadline, so a slow server gains nothing."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: float) -> None:
        self._inner, self._deadline = inner, deadline

    def _timeout(self, timeout: float | None) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the whole answer took too long")
        return left if timeout is None else min(timeout, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read at most `max_bytes` before the deadline."""
        return self._inner.read(max_bytes, self._timeout(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write `buffer` before the deadline."""
        self._inner.write(buffer, self._timeout(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Return this connection encrypted, with the same deadline."""
        inner = self._inner.start_tls(ssl_context, server_hostname, self._timeout(timeout))
        return DeadlineStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> object:
        """Return a property of the inner connection, such as the peer's address."""
        return self._inner.get_extra_info(info)


class CheckedBackend(httpcore2.NetworkBackend):
    """Connects only to the checked addresses, even if the name resolves to others by now."""

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
        """Connect to the first checked address that answers before the deadline."""
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise httpcore2.ConnectTimeout("connecting took too long")
            try:
                stream = self._inner.connect_tcp(
                    address, port, min(timeout or left, left), local_address, socket_options
                )
                return DeadlineStream(stream, self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


@contextmanager
def exchange(
    method: str,
    address: WebAddress,
    headers: Headers,
    body: bytes | None,
    checked: Sequence[str],
    *,
    deadline: float,
    read_s: float,
) -> Iterator[httpcore2.Response]:
    """Send one request to a `checked` address of its host and yield the response while it is read.

    Raises `FeedProblem`: `timeout`, `connect_failed`, `tls_failed`, `broken_response`.
    """
    backend = CheckedBackend(checked, deadline)
    timeouts = {"connect": CONNECT_TIMEOUT_S, "read": read_s, "write": read_s, "pool": CONNECT_TIMEOUT_S}
    target = httpcore2.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target)
    # One connection for one request: a pool would have nothing to reuse.
    connection = httpcore2.HTTPConnection(target.origin, tls_context(), network_backend=backend)
    try:
        with (
            closing(connection),
            connection.stream(
                method, target, headers=headers, content=body, extensions={"timeout": timeouts}
            ) as response,
        ):
            yield response
    except httpcore2.TimeoutException as error:
        raise FeedProblem("timeout", gettext_noop("The server took too long to answer.")) from error
    except httpcore2.ConnectError as error:
        raise _connect_problem(address.host[:100], error.__cause__) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ValueError) as error:
        message = gettext_noop("The server broke off in the middle of its answer, or does not speak HTTP.")
        raise FeedProblem("broken_response", message) from error


def _connect_problem(host: str, cause: BaseException | None) -> FeedProblem:
    """Return a failed connection as a problem that a reader understands."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = CERTIFICATE_PROBLEMS.get(cause.verify_code, "is not one that can be trusted")
        return FeedProblem("tls_failed", f"The certificate of “{host}” {why}.")
    if isinstance(cause, ssl.SSLError):
        return FeedProblem("tls_failed", f"“{host}” does not answer with a secure connection.")
    if isinstance(cause, ConnectionRefusedError):
        return FeedProblem("connect_failed", f"“{host}” does not accept connections right now.")
    is_local = isinstance(cause, OSError) and cause.errno in NO_ROUTE
    return FeedProblem("connect_failed", f"“{host}” cannot be reached right now.", is_local=is_local)
