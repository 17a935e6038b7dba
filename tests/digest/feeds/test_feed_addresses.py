"""A feed belongs to its own address: one encoder, and no other spelling writes into others' feeds."""

import ast
import re
import socket
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.accounts.tokens import token_issue
from digest.errors import InvalidFeedUrl
from digest.feeds.address_checks import check_address
from digest.feeds.addresses import NotAnAddress, address_read, feed_address, host_encode
from digest.feeds.connect import is_allowed
from digest.feeds.discovery import FoundFeed, page_feeds
from digest.feeds.fetch import FetchResponse, fetch
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.identity import canonical_url, source_key
from digest.feeds.parse import parse_document
from digest.feeds.services import feed_move
from digest.models import Feed, Item
from digest.sources.adding import feed_add
from digest.sources.subscriptions import opml_import, subscription_add
from tests.digest.web.greader.support import App
from tests.support.factories import FeedFactory
from tests.test_architecture import MODULES, inside

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]


def document(title: str) -> str:
    """Return a feed with one entry."""
    return (
        f"<rss><channel><title>{title}</title><item><title>{title} post</title>"
        f"<link>https://posts.example/{quote(title)}</link></item></channel></rss>"
    )


@pytest.fixture
def host(httpserver: HTTPServer, settings) -> HTTPServer:
    """Return a host of several people, which goes by prefixes and by parameters, as `/~mallory/%2e%2e`
    shows."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    settings.FETCH_HOST_GAP_S = 0

    def answer(request: Request) -> Response:
        raw = request.environ["RAW_URI"]
        is_hers = raw.startswith("/~mallory") or "?" in raw
        return Response(document("Mallory" if is_hers else "Paper"), content_type="text/xml")

    httpserver.expect_request(re.compile(".*")).respond_with_handler(answer)
    return httpserver


SPELLINGS = [
    "/~mallory/%2e%2e/~paper/rss",
    "/~mallory/../~paper/rss",
    "/~mallory/.%2E/~paper/rss",
    "/~mallory/x/%2e%2e/%2e%2e/~paper/rss",
    "/~paper/rss?utm_source=mallory",
    "/~paper/rss?at_user=mallory",
    "/~paper/rss?fbclid=1",
    "/%7Epaper/rss#x",
    "/./~paper/rss",
]


def by_page(reader, url: str) -> None:
    client = Client()
    client.force_login(reader)
    client.post("/ui/sources", {"url": url})


def by_api(reader, url: str) -> None:
    key = token_issue(reader=reader, name="s", scope="full", expires_at=None, now=timezone.now()).secret
    Client(headers={"Authorization": f"Bearer {key}"}).post("/api/feeds", {"url": url}, "application/json")


def by_app(reader, url: str) -> None:
    App(reader).post("subscription/quickadd", quickadd=url)


def by_list(reader, url: str) -> None:
    opml_import(
        reader=reader,
        document=f'<opml><body><outline xmlUrl="{url}"/></body></opml>'.encode(),
        now=timezone.now(),
    )
    feeds_fetch(now=timezone.now())


@pytest.mark.parametrize("door", [by_page, by_api, by_app, by_list])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("is_new", [False, True])
def test_no_spelling_writes_into_a_feed_that_others_read(host, ada, ben, door, spelling, is_new):
    paper = host.url_for("/~paper/rss")
    if not is_new:
        subscription_add(reader=ada, url=paper, now=timezone.now())
    door(ben, f"http://{host.host}:{host.port}{spelling}")
    assert ben.subscriptions.exists()
    for feed in Feed.objects.exclude(title=""):
        mine = "Mallory" if "?" in feed.url else "Paper"
        assert feed.title == mine
        assert [item.title for item in feed.items.all()] == [f"{mine} post"]


def test_what_was_asked_elsewhere_is_stored_nowhere(ada, now):
    moved = FeedFactory(url="https://old.example/f", state="moved", moved_url="https://new.example/f")
    FeedFactory(url="https://new.example/f", state="active", next_check_at=now)
    old = document("Old")
    answer = FetchResponse(moved.url, old.encode(), "", "", None, asked=moved.url)
    found = FoundFeed(moved.url, "Old", 1, answer, parse_document(old.encode()))
    added = feed_add(reader=ada, found=found, now=now)
    assert added.subscription.feed.url == "https://new.example/f" and not added.stored
    assert not Item.objects.exists()


NAMES = [
    ("faß.example", "xn--fa-hia.example"),
    ("FASS.example", "fass.example"),
    ("strasse.example", "strasse.example"),
    ("βόλος.example", "xn--nxasmm1c.example"),
    ("ΒΌΛΟΣ.example", "xn--nxasmq6b.example"),
    ("نامه\u200cای.example", "xn--mgba3gch31f060k.example"),
    ("Ｅxample。ORG", "example.org"),
    ("MÜNCHEN.example", "xn--mnchen-3ya.example"),
    ("mün\u00adchen.example", "xn--mnchen-3ya.example"),
    ("XN--FA-HIA.example", "xn--fa-hia.example"),
    ("example.org.", "example.org"),
    ("my_host.example", "my_host.example"),
    ("①②⑦.⓪.⓪.①", "127.0.0.1"),
]


@pytest.mark.parametrize(("name", "encoded"), NAMES)
def test_one_name_is_encoded_once_for_all_who_ask(name: str, encoded: str, monkeypatch, settings):
    assert host_encode(name) == encoded == host_encode(encoded)
    assert feed_address(f"https://{name}/feed") == f"https://{encoded}/feed"
    assert canonical_url(f"https://{name}/post") == f"https://{encoded}/post"
    assert source_key(f"https://{name}/feed") == source_key(f"https://{encoded}/feed")
    assert is_allowed(encoded, 443, [name.upper() if name.isascii() else name])
    link = f'<link rel="alternate" type="application/rss+xml" href="//{name}/feed">'
    assert [feed.url for feed in page_feeds(link, url="https://a.example/")] == [f"https://{encoded}/feed"]
    asked = []

    def answer(host: str, *args: object, **more: object) -> list[object]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(Exception, match=r"not_found|forbidden"):
        fetch(f"https://{name}/feed")
    assert set(asked) <= {encoded}


@pytest.mark.parametrize(
    "address",
    [
        "http://a\u200db.example/",
        "http://a..b/",
        "http://[::1%25lo]/",
        "http://good.example\\@evil.example/",
        "http://x.example:0/",
        "http://x.example:99999/",
        "http://public.example%40127.0.0.1/",
        "http://-a.example/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 130}example/",
        "http://i❤.example/",
        "ftp://x.example/",
        "//x.example/",
        "",
    ],
)
def test_what_no_host_is_called_is_no_address(address: str):
    with pytest.raises(NotAnAddress):
        address_read(address)
    assert feed_address(address) == canonical_url(address) == ""
    with pytest.raises(InvalidFeedUrl):
        check_address(url=address)


@pytest.mark.parametrize(
    "typed", ["http://a_b.example/feed", "https://news.example:/f", "http://bücher.example/"]
)
def test_a_name_that_resolvers_know_is_no_typing_error(typed: str):
    assert check_address(url=typed).startswith("http")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("http://a b.example/f", "No site can have the name"),
        (f"https://{'a' * 64}.example/", "No site can have the name"),
        ("ftp://x.example/", "It should start with https:// or http://"),
        ("x", "It should start with https:// or http://"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_address(typed: str, problem: str):
    with pytest.raises(InvalidFeedUrl, match=problem):
        check_address(url=typed)


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("HTTP://X.example:80/A?utm_source=x&b=1&&c=a=b#top", "http://x.example/A?utm_source=x&b=1&&c=a=b"),
        ("https://x.example:443", "https://x.example/"),
        ("https://x.example:8443/", "https://x.example:8443/"),
        ("https://u:p@x.example/", "https://x.example/"),
        ("https://x.example/proxy/https://y.example//f", "https://x.example/proxy/https://y.example//f"),
        ("https://x.example/a/%2E./%2f/%c3%a9é?é=%zz", "https://x.example/%2F/%C3%A9%C3%A9?%C3%A9=%25zz"),
        ("https://x.example/..", "https://x.example/"),
        ("https://x.example/a/.", "https://x.example/a/"),
        ("https://[0:0:0:0:0:0:0:1]:443/", "https://[::1]/"),
        ("\ufeff https://x.example/a b\u200b", "https://x.example/a%20b"),
    ],
)
def test_an_address_is_spelt_in_one_way_and_keeps_what_its_server_sees(typed: str, address: str):
    assert feed_address(typed) == address == feed_address(address)


@given(
    st.text("aZ.ßς\u200d1-_é", max_size=12),
    st.text("/.aZ%2eEfF é;:@\\?&=#+|{\u200d", max_size=20),
)
def test_reading_an_address_again_changes_nothing(host: str, rest: str):
    once = feed_address(f"http://{host}/{rest}")
    assert once.isascii() and feed_address(once) == once
    assert not re.search(r"/(\.|%2e){1,2}(/|\?|\Z)", once.partition("?")[0], re.IGNORECASE)


def test_a_redirect_is_read_by_the_same_encoder(host, settings, now):
    host.clear()
    place = f"{host.host}:{host.port}"
    away = f"http://user:secret@{place}/a/%2e%2e/f?utm_source=1#x"
    host.expect_request("/start").respond_with_response(Response("", 301, {"Location": away}))
    host.expect_request("/f").respond_with_data(document("Paper"))
    answer = fetch(f"http://{place}/start", allow=[place])
    assert answer.url == answer.moved_url == f"http://{place}/f?utm_source=1"
    assert answer.asked == f"http://{place}/start"
    feed = FeedFactory(url=f"http://{place}/start", state="active")
    assert feed_move(feed=feed, url=answer.moved_url, now=now).url == answer.moved_url


def test_an_operators_list_is_read_by_the_same_encoder():
    assert is_allowed("xn--fa-hia.example", 8080, ["Faß.Example.:8080"])
    assert not is_allowed("fass.example", 8080, ["faß.example:8080"])
    assert is_allowed("::1", 80, ["[0:0:0:0:0:0:0:1]:80"]) and is_allowed("::1", 81, ["::1"])
    assert not is_allowed("::1", 81, ["[::1]:80"])
    assert not is_allowed("x.example", 80, ["", ":", ":80", "..", "[", "y.example"])


def test_only_the_encoder_makes_an_address_and_encodes_a_name():
    makers = [
        inside(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "WebAddress")
        or (isinstance(node, ast.Call) and any(getattr(arg, "value", "") == "idna" for arg in node.args))
        or (isinstance(node, ast.Import) and "idna" in {alias.name for alias in node.names})
    ]
    assert {*makers} == {"digest/feeds/addresses.py"}
