"""How a connection is made: to the addresses that were checked, and never beyond the deadline."""

import ssl
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache

import httpcore2


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """The one TLS configuration: certificates are verified, by name."""
    return ssl.create_default_context()


class DeadlineStream(httpcore2.NetworkStream):
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
        return DeadlineStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class CheckedBackend(httpcore2.NetworkBackend):
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
                return DeadlineStream(stream, self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure
