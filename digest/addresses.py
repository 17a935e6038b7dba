"""Which network addresses a feed may be fetched from: public ones only, whatever spelling hides them."""

import socket
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from digest.feeds import FeedProblem

PORTS: Final = frozenset({80, 443})
Address = IPv4Address | IPv6Address
# Asked of a reader whose feed has no host; where nothing at all is reached, it is the wrong question.
DOUBT: Final = "Is the address right?"

# What `is_global` of Python's ipaddress wrongly lets through (measured on 3.11): addresses that carry another
# address inside, site-local ones, and the metadata services of clouds.
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
    """Whether `address` is an ordinary public one; a mapped IPv4 address counts as what it carries."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in DENIED if network.version == address.version)


def host_allowed(host: str, port: int, allow: Collection[str]) -> bool:
    """Whether the operator lets `host` (or `host:port`) past the address and port rules."""
    return host in allow or f"{host}:{port}" in allow


def addresses_checked(
    host: str, port: int, *, allow: Sequence[str] = (), ports: Collection[int] = PORTS
) -> list[str]:
    """Resolve `host` once and return its addresses, in the resolver's order, for dialling.

    `allow` lists hosts that pass both rules, `ports` the ports any host may be asked at.

    Raises `FeedProblem`: `bad_port`, `not_found` (no such host), `forbidden_address` as soon as one of the
    addresses is not public, since a name that answers both ways is an attack or a mistake.
    """
    trusted = host_allowed(host, port, allow)
    if not trusted:
        _port_checked(port, ports)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FeedProblem("not_found", f"There is no host “{host[:100]}”. {DOUBT}") from error
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    if not trusted and not all(address_is_public(ip_address(text)) for text in addresses):
        raise _forbidden(host)
    return addresses


def address_plausible(
    host: str, port: int, *, allow: Sequence[str] = (), ports: Collection[int] = PORTS
) -> None:
    """What `addresses_checked` can tell without asking a resolver: the port, and an address in figures,
    however spelt, or `localhost`.

    Raises `FeedProblem` with the same codes and words: `bad_port`, `forbidden_address`.
    """
    if host_allowed(host, port, allow):
        return
    _port_checked(port, ports)
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        raise _forbidden(host)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return  # a name
    if not all(address_is_public(ip_address(str(row[4][0]))) for row in found):
        raise _forbidden(host)


def _port_checked(port: int, ports: Collection[int]) -> None:
    if port not in ports:
        listed = ", ".join(map(str, sorted(ports)))
        raise FeedProblem("bad_port", f"Feeds are fetched from these ports only: {listed}; not from {port}.")


def _forbidden(host: str) -> FeedProblem:
    return FeedProblem(
        "forbidden_address",
        f"“{host[:100]}” is not on the public internet. An operator can allow it in FETCH_ALLOW_HOSTS.",
    )
