"""The SSRF guard: which hosts, addresses and ports feeds may be fetched from."""

import socket
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from typing import Any, Final

from digest.feeds.addresses import NotAnAddress, WebAddress, host_encode
from digest.feeds.entities import FeedProblem
from ranking.language import gettext_noop

Address = IPv4Address | IPv6Address

PORTS: Final = frozenset({80, 443})
# A resolver has no time limit of its own and may wait half a minute for a dead domain. So we limit the
# lookups that wait at once, and the seconds each may take. A lookup that we give up still runs on in its
# thread.
LOOKUPS_AT_ONCE: Final = 64
LOOKUP_S: Final = 5.0
_LOOKUPS: Final = BoundedSemaphore(LOOKUPS_AT_ONCE)
# Added if a feed's host does not exist. Pages drop it if no feed at all can be reached.
ADDRESS_QUESTION: Final = gettext_noop("Is the address right?")
# Addresses that Python's `is_global` wrongly allows (measured on 3.11): those that carry another address
# inside, site-local ones, and the metadata services of clouds.
DENIED: Final = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        "::/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)


def address_is_public(address: Address) -> bool:
    """Return whether `address` is an ordinary public one. A mapped IPv4 address is judged as IPv4."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in DENIED if network.version == address.version)


def resolve_addresses(
    host: str,
    port: int,
    *,
    allow: Sequence[str] = (),
    ports: Collection[int] = PORTS,
    within_s: float = LOOKUP_S,
) -> list[str]:
    """Resolve `host` once and return its addresses in the resolver's order, if all of them are allowed.

    `allow` lists hosts ("host" or "host:port") that skip both rules. `ports` are the ports allowed at any
    host. The resolver has `within_s` seconds, at most five.

    Raises `FeedProblem`: `bad_port`; `forbidden_address` for localhost (RFC 6761, section 6.3) and for
    numeric addresses that are not public, both without a lookup; `timeout`; `not_found` if the host does not
    exist or one of its addresses is not public. A name with public and private addresses is an attack or a
    mistake, and the answer must not reveal which names an inner network has.
    """
    trusted = is_allowed(host, port, allow)
    if not trusted:
        check_host(host, port, ports=ports)
    try:
        found = _lookup(host, port, min(within_s, LOOKUP_S))
    except TimeoutError as error:
        words = gettext_noop("The server took too long to answer.")
        raise FeedProblem("timeout", words, is_local=True) from error
    except (OSError, UnicodeError) as error:
        raise _unknown(host, is_local=isinstance(error, OSError)) from error
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    if not trusted and not all(address_is_public(ip_address(text)) for text in addresses):
        raise _unknown(host)
    return addresses


def host_resolves(host: str, port: int) -> bool:
    """Return whether the resolver knows `host` within five seconds."""
    try:
        return bool(_lookup(host, port, LOOKUP_S))
    except (OSError, UnicodeError):
        return False


def _lookup(host: str, port: int, seconds: float) -> list[Any]:
    """Ask the resolver, in a thread that may run longer than we wait.

    Raises `TimeoutError`, and the errors of `socket.getaddrinfo`.
    """
    with suppress(ValueError):
        ip_address(host)  # a numeric address needs no lookup
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    deadline = time.monotonic() + seconds
    places = _LOOKUPS
    if not places.acquire(timeout=max(seconds, 0)):
        raise TimeoutError
    answer: SimpleQueue[list[Any] | OSError | UnicodeError] = SimpleQueue()

    def ask() -> None:
        try:
            answer.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.put(error)
        finally:
            places.release()

    Thread(target=ask, name="lookup", daemon=True).start()
    try:
        found = answer.get(timeout=max(deadline - time.monotonic(), 0))
    except Empty as error:
        raise TimeoutError from error
    if isinstance(found, list):
        return found
    raise found


def check_host(host: str, port: int, *, allow: Sequence[str] = (), ports: Collection[int] = PORTS) -> None:
    """Refuse a port, `localhost` or a numeric address in any spelling, all without a lookup.

    Raises `FeedProblem`: `bad_port`, `forbidden_address`.
    """
    if is_allowed(host, port, allow):
        return
    _check_port(port, ports)
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        raise _forbidden(host)
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return  # a name
    if not all(address_is_public(ip_address(str(row[4][0]))) for row in found):
        raise _forbidden(host)


def is_allowed(host: str, port: int, allow: Collection[str]) -> bool:
    """Return whether an operator's list names the host, alone or with this port.

    `host` is encoded as in a `WebAddress`. The list is as the operator typed it.
    """
    return any(_parse_allowed(entry) in ((host, None), (host, port)) for entry in allow)


def allowed_from(address: WebAddress, allow: Sequence[str]) -> Sequence[str]:
    """Return `allow` for requests that begin at an address it names, else nothing.

    A publisher's redirect or page must not lead us to a host of the operator's own network.
    """
    return allow if is_allowed(address.host, address.port, allow) else ()


@lru_cache(maxsize=256)
def _parse_allowed(entry: str) -> tuple[str, int | None]:
    """Return the encoded host and the port of an operator's entry. The port is None if any is allowed."""
    name, _, port = entry.strip().rpartition(":")
    if not (name and port.isascii() and port.isdigit()) or (":" in name and not name.endswith("]")):
        name, port = entry.strip(), ""
    try:
        return host_encode(name.removeprefix("[").removesuffix("]")), int(port) if port else None
    except NotAnAddress:
        return "", None


def _check_port(port: int, ports: Collection[int]) -> None:
    if port not in ports:
        listed = ", ".join(map(str, sorted(ports)))
        raise FeedProblem("bad_port", f"Feeds are fetched from these ports only: {listed}; not from {port}.")


def _unknown(host: str, *, is_local: bool = False) -> FeedProblem:
    words = f"There is no host “{host[:100]}” on the public internet. {ADDRESS_QUESTION}"
    return FeedProblem("not_found", words, is_local=is_local)


def _forbidden(host: str) -> FeedProblem:
    return FeedProblem(
        "forbidden_address",
        f"“{host[:100]}” is not on the public internet. An operator can allow it in FETCH_ALLOW_HOSTS.",
    )
