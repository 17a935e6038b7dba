"""No feed address, redirect or changing name makes this machine call itself or its neighbours.

A canary listens on every address of the loopback network, and on ::1. No connection may reach it, in any
spelling. The test has its own resolver, so that only our guard is tested.
"""

import re
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.feeds import connect
from digest.feeds import fetch as fetch_module
from digest.feeds.connect import resolve_addresses
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import fetch
from digest.feeds.fetch_batch import feeds_fetch
from digest.models import Feed, Reader, Subscription

# Entries of a hostile feed list.
TABLE = """
    127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 2130706433 017700000001 0177.0.0.1 0177.1 0x7f000001
    0x7f.1 0x7f.0x0.0x0.0x1 0x7F.0.0.1 00000177.0.0.1 127.0.0.1. localhost localhost. LOCALHOST LocalHost.
    ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1 ⓛⓞⓒⓐⓛⓗⓞⓢⓣ 0 0.0.0.0 0x0 00.0.0.0 0.0.0.1
    10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1.1 169.254.169.254 2852039166
    0xa9fea9fe 0251.0376.0251.0376 169.254.43518 169.254.170.2 100.64.0.1 100.100.100.200 168.63.129.16
    192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.250
    240.0.0.1 255.255.255.255 [::1] [::] [0:0:0:0:0:0:0:1] [0000::0001] [::127.0.0.1] [::7f00:1]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:127.0.0.1] [::ffff:0:127.0.0.1] [::ffff:10.0.0.1]
    [::ffff:169.254.169.254] [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b:1::7f00:1]
    [2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::] [2001:0:7f00:1::] [fe80::1] [fe80::1%25lo] [fec0::1]
    [fc00::1] [fd00:ec2::254] [ff02::1] [ff0e::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1]
    user@127.0.0.1 user:pass@localhost public.example@127.0.0.1 public.example%40127.0.0.1
    127.0.0.1#@public.example 127.0.0.1?@public.example public.example#@a.internal a.internal inner.example
    mixed.example six.example mapped.example nat64.example
"""
FORMS = TABLE.split()
NAMES = {
    "a.internal": ["10.0.0.7"],
    "inner.example": ["127.0.0.1"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
    "six.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
}
REFUSALS = {"forbidden_address", "not_found", "bad_url"}
# Parts that differ between pages and feeds: no two wait equally long.
OWN = re.compile(
    r'csrfmiddlewaretoken"[^>]*|csrf-token" content="[^"]*|/ui/sources/\d+|feed[-=]\d+|id_\w*\d+|value="\d+"'
    r"|in about \d+ min"
)


class Canary:
    """A listener that must hear nothing. It counts connections, not requests."""

    def __init__(self) -> None:
        self.heard = 0
        self.sockets = [socket.create_server(("0.0.0.0", 0))]
        self.port = int(self.sockets[0].getsockname()[1])
        if socket.has_ipv6:
            self.sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        self.threads = [threading.Thread(target=self.listen, args=(s,), daemon=True) for s in self.sockets]
        [thread.start() for thread in self.threads]

    def listen(self, listener: socket.socket) -> None:
        try:
            while True:
                connection, _ = listener.accept()
                self.heard += 1
                connection.close()
        except OSError:
            return  # closed

    def close(self) -> None:
        for listener in self.sockets:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        [thread.join(5) for thread in self.threads]


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


@pytest.fixture
def resolver(monkeypatch) -> None:
    """Made-up names resolve to inner addresses; every other name that is no number resolves as usual."""
    usual = socket.getaddrinfo

    def answer(host: str, port: int, *args: object, **wanted: object) -> list[tuple[object, ...]]:
        if host in NAMES and not wanted.get("flags"):
            return [(2, 1, 6, "", (address, port)) for address in NAMES[host]]
        return usual(host, port, *args, **wanted)  # type: ignore[arg-type,return-value]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def attempt(url: str, canary: Canary, **wanted: object) -> str:
    """Fetch as an operator would have it who opened the canary's port to everyone; the refusal's code."""
    with pytest.raises(FeedProblem) as problem:
        fetch(url, ports=[80, 443, canary.port], total_s=5, **wanted)
    return problem.value.code


def test_the_table_is_as_long_as_it_should_be():
    assert len(set(FORMS)) >= 60


@pytest.mark.usefixtures("resolver")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_spelling_of_an_inner_address_is_called(canary: Canary, scheme: str):
    codes = {form: attempt(f"{scheme}://{form}:{canary.port}/feed", canary) for form in FORMS}
    assert {form: code for form, code in codes.items() if code not in REFUSALS} == {}
    assert canary.heard == 0


@pytest.mark.usefixtures("resolver")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_leads_inside(canary: Canary, httpserver: HTTPServer, status: int):
    codes = {}
    for n, form in enumerate(FORMS):
        target = f"{('http:', '')[n % 2]}//{form}:{canary.port}/feed"
        # In through the front, or after a hop that is allowed.
        httpserver.expect_request(f"/{n}").respond_with_data(
            b"", status=status, headers={"Location": f"/hop{n}" if n % 3 else target}
        )
        httpserver.expect_request(f"/hop{n}").respond_with_data(b"", 302, headers={"Location": target})
        codes[form] = attempt(httpserver.url_for(f"/{n}"), canary, allow=[f"localhost:{httpserver.port}"])
    assert {form: code for form, code in codes.items() if code not in REFUSALS} == {}
    assert canary.heard == 0


def test_a_name_that_changes_after_the_check_gains_nothing(canary: Canary, monkeypatch):
    asked: list[str] = []
    usual = socket.getaddrinfo

    def rebinding(host: str, port: int, *args: object, **wanted: object) -> list[tuple[object, ...]]:
        """Return a public address (one that never answers) at first, the canary's from then on."""
        if host != "rebind.example":
            return usual(host, port, *args, **wanted)  # type: ignore[arg-type,return-value]
        if wanted.get("flags"):
            raise socket.gaierror
        asked.append(host)
        return [(2, 1, 6, "", ("192.0.43.8" if len(asked) == 1 else "127.0.0.1", port))]

    dialled: list[object] = []

    def dial(address: tuple[str, int], *args: object, **wanted: object) -> socket.socket:
        dialled.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket, "create_connection", dial)
    assert attempt(f"http://rebind.example:{canary.port}/", canary) == "connect_failed"
    assert (asked, dialled, canary.heard) == (["rebind.example"], ["192.0.43.8"], 0)
    assert attempt(f"http://rebind.example:{canary.port}/", canary) == "not_found"
    assert (dialled, canary.heard) == (["192.0.43.8"], 0)


@pytest.mark.usefixtures("resolver")
def test_a_name_inside_is_answered_as_one_that_does_not_exist(ada: Reader, client: Client):
    """By the refusal and its words, when a site is looked up, and on the page of feeds.

    Both names begin with the same letter, since a source without an icon shows its first.
    """
    told: dict[str, list[str]] = {"inner.example": [], "imaginary.invalid": []}
    client.force_login(ada)
    for name, answers in told.items():
        with pytest.raises(FeedProblem) as problem:
            resolve_addresses(name, 443)
        answers += [problem.value.code, problem.value.message]
        answers.append(client.post("/ui/sources", {"url": name}).content.decode())
        added = client.post("/ui/sources", {"url": f"https://{name}/feed", "as_is": "on"})
        assert added.status_code == 302
        feeds_fetch(now=timezone.now(), feeds=list(Feed.objects.all()))
        answers.append(client.get("/ui/sources").content.decode())
        Subscription.objects.all().delete()
        Feed.objects.all().delete()
    inner, nobody = (
        [OWN.sub("", text.replace(name, "…")) for text in answers] for name, answers in told.items()
    )
    assert "There is no host" in inner[2] and "There is no host" in inner[3]
    assert inner == nobody


def test_the_canary_hears_what_reaches_it(canary: Canary):
    attempt(f"http://127.0.0.1:{canary.port}/", canary, allow=["127.0.0.1"])
    assert canary.heard == 1


def test_settings_of_the_environment_lead_nowhere(canary: Canary, httpserver: HTTPServer, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    httpserver.expect_request("/feed").respond_with_data(b"<rss/>")
    assert fetch(httpserver.url_for("/feed"), allow=["localhost"]).body == b"<rss/>"
    assert canary.heard == 0


def test_a_resolver_that_never_answers_is_left_at_the_deadline(monkeypatch):
    answer = threading.Event()

    def silent(*args: object, **wanted: object) -> list[object]:
        if wanted.get("flags"):
            raise socket.gaierror
        answer.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    began = time.monotonic()
    with pytest.raises(FeedProblem) as problem:
        fetch("https://slow.example/feed", total_s=0.2)
    assert (problem.value.code, time.monotonic() - began < 2) == ("timeout", True)
    answer.set()


def test_lookups_that_hang_are_no_more_than_a_bound(monkeypatch):
    monkeypatch.setattr(connect, "_LOOKUPS", threading.BoundedSemaphore(2))
    asked, answer = [], threading.Event()

    def silent(*args: object, **wanted: object) -> list[object]:
        if wanted.get("flags"):
            raise socket.gaierror
        asked.append(args)
        answer.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    for _ in range(4):
        with pytest.raises(FeedProblem, match="timeout"):
            fetch("https://slow.example/feed", total_s=0.1)
    assert len(asked) == 2
    answer.set()


@pytest.mark.parametrize(
    ("url", "reached"), [("https://paper.example/rss", False), ("http://inner/rss", True)]
)
def test_no_redirect_from_elsewhere_leads_to_an_allowed_host(monkeypatch, url: str, reached: bool):
    """A publisher's feed that redirects inside, and one of the operator's own that does."""
    asked: list[str] = []

    def look_up(host: str, port: int, seconds: float) -> list[object]:
        asked.append(host)
        return [(2, 1, 6, "", ("10.0.0.7" if host in ("inner", "other") else "93.184.215.14", port))]

    def answer(address, headers, limits):
        connect.resolve_addresses(address.host, address.port, allow=limits.allow, ports=limits.ports)
        if address.target == "/rss":
            return fetch_module._Redirect(fetch_module.web_address("http://other/secret"), True, ())
        return fetch_module.FetchResponse(str(address), b"inner", "", "", None)

    monkeypatch.setattr(connect, "_lookup", look_up)
    monkeypatch.setattr(fetch_module, "_get", answer)
    if reached:
        assert fetch_module.fetch(url, allow=["inner", "other"]).body == b"inner"
    else:
        with pytest.raises(FeedProblem, match="no host"):
            fetch_module.fetch(url, allow=["inner", "other"])


def test_no_page_from_elsewhere_names_a_feed_that_the_operator_allowed():
    allow = ["inner", "127.0.0.1:81"]
    assert connect.allowed_from(fetch_module.web_address("http://inner/"), allow) == allow
    for page in ("https://paper.example/", "http://127.0.0.1/", "http://inner.example/"):
        assert connect.allowed_from(fetch_module.web_address(page), allow) == ()
