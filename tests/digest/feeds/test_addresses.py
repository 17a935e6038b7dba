"""No spelling of an inner address passes for a public one."""

from ipaddress import ip_address

import pytest

from digest.feeds.connect import address_is_public, resolve_addresses
from digest.feeds.entities import FeedProblem

INNER = """
    127.0.0.1 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255
    192.168.0.1 100.64.0.1 100.100.100.200 169.254.169.254 169.254.170.2 192.0.0.192 192.0.0.8
    192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 168.63.129.16 224.0.0.1 239.255.255.250 240.0.0.1
    255.255.255.255 192.88.99.1 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
    ::ffff:169.254.169.254 ::ffff:100.64.0.1 ::ffff:0:127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1
    2002:7f00:1::1 2002:a9fe:a9fe:: 2001::1 2001:db8::1 100::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1
    ff02::1 ff0e::1 3fff::1 5f00::1
"""
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize("text", INNER.split())
def test_inner_addresses_are_refused(text: str):
    assert not address_is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_pass(text: str):
    assert address_is_public(ip_address(text))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "::1", "0", "[::1]"]
)
def test_unusual_spellings_of_this_machine_are_refused(host: str):
    with pytest.raises(FeedProblem) as problem:
        resolve_addresses(host, 80)
    assert problem.value.code in {"forbidden_address", "not_found"}


def test_other_ports_are_refused_and_the_operator_can_allow_both():
    with pytest.raises(FeedProblem, match="bad_port"):
        resolve_addresses("1.1.1.1", 6379)
    assert resolve_addresses("127.0.0.1", 6379, allow=["127.0.0.1:6379"]) == ["127.0.0.1"]
    with pytest.raises(FeedProblem, match="bad_port"):
        resolve_addresses("127.0.0.1", 6380, allow=["127.0.0.1:6379"])
