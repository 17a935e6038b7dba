"""Servers' habits and lists' spellings that a plain client has to know."""

import gzip
import zlib
from collections.abc import Callable
from uuid import UUID

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.feeds.discovery import feeds_discover, header_feeds, site_addresses
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import Access, fetch, origin_of
from digest.feeds.prechecks import decompress
from digest.models import Reader
from digest.sources.subscriptions import opml_import, subscription_add
from tests.support.factories import FeedFactory

ADA_ID = UUID(int=1)

FEED = b"<rss><channel><title>Rivers</title><item><title>Rain</title></item></channel></rss>"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]


def answers(server: HTTPServer, path: str, answer: Callable[[Request], Response]) -> None:
    """Have the server answer there by a function."""
    server.expect_request(path).respond_with_handler(answer)


def get(server: HTTPServer, path: str = "/feed", **more: object) -> bytes:
    """The document there, as a reader of feeds has it."""
    hosts = [f"{name}:{server.port}" for name in ("127.0.0.1", "localhost")]
    answer = fetch(f"http://{server.host}:{server.port}{path}", allow=hosts, ports=[server.port], **more)
    return decompress(answer.body or b"")


def gate(request: Request) -> Response:
    """Set two cookies, and send back to where they are wanted."""
    answer = Response("", 302, {"Location": "/feed"})
    answer.headers.add("Set-Cookie", "seen=1; Path=/; HttpOnly")
    answer.headers.add("Set-Cookie", "safe=1; Secure")
    return answer


def wants_cookie(request: Request) -> Response:
    """Hand out the feed to who has the cookie, and send others to the gate."""
    has = request.headers.get("Cookie", "")
    return Response(FEED) if "seen=1" in has else Response("", 302, {"Location": "/gate"})


def test_cookies_last_for_one_fetch_and_go_to_their_host_over_their_scheme(httpserver: HTTPServer):
    answers(httpserver, "/feed", wants_cookie)
    answers(httpserver, "/gate", gate)
    assert get(httpserver) == get(httpserver) == FEED
    sent = [request.headers.get("Cookie") for request, _ in httpserver.log]
    assert sent == [None, None, "seen=1"] * 2  # each fetch begins without, and `safe` waits for TLS


def test_cookies_go_to_no_other_host_and_stand_beside_a_readers_own(httpserver: HTTPServer):
    away = f"http://localhost:{httpserver.port}/away"
    answers(httpserver, "/start", lambda _: Response("", 302, {"Location": "/feed", "Set-Cookie": "a=1"}))
    answers(httpserver, "/feed", lambda _: Response("", 302, {"Location": away, "Set-Cookie": "b=2"}))
    answers(httpserver, "/away", lambda _: Response(FEED))
    access = Access(origin_of(httpserver.url_for("/").replace("localhost", "127.0.0.1")), {"Cookie": "me=1"})
    hosts = [f"{name}:{httpserver.port}" for name in ("127.0.0.1", "localhost")]
    fetch(f"http://127.0.0.1:{httpserver.port}/start", allow=hosts, ports=[httpserver.port], access=access)
    assert [r.headers.get("Cookie") for r, _ in httpserver.log] == ["me=1", "me=1; a=1", None]


@pytest.mark.parametrize("cookie", ["", "=x", "novalue", "a=" + "x" * 5000, "a=\x7f", "é=1"])
def test_an_odd_cookie_is_not_kept(httpserver: HTTPServer, cookie: str):
    location = {"Location": "/feed", "Set-Cookie": cookie.encode().decode("latin-1")}
    answers(httpserver, "/start", lambda _: Response("", 302, location))
    answers(httpserver, "/feed", lambda request: Response(request.headers.get("Cookie", "none")))
    assert get(httpserver, "/start") == b"none"


def test_hops_between_hosts_are_followed_five_times(httpserver: HTTPServer):
    def hop(request: Request) -> Response:
        left, host = int(request.path[1:]), request.host.partition(":")[0]
        other = "localhost" if host == "127.0.0.1" else "127.0.0.1"
        place = f"http://{other}:{httpserver.port}/{left - 1}"
        return Response("", 302, {"Location": place}) if left else Response(FEED)

    for left in range(7):
        answers(httpserver, f"/{left}", hop)
    assert get(httpserver, "/5") == FEED
    with pytest.raises(FeedProblem, match="too_many_redirects"):
        get(httpserver, "/6")


RAW = zlib.compressobj(wbits=-15)
DEFLATED = RAW.compress(FEED) + RAW.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("aws-chunked", FEED),
        ("utf-8", FEED),
        ("none", FEED),
        ("br", FEED),
        ("deflate", FEED),
        ("gzip", FEED),
        ("gzip, aws-chunked", gzip.compress(FEED, mtime=0)),
        ("br", gzip.compress(FEED, mtime=0)),
        ("", gzip.compress(FEED, mtime=0)),
        ("deflate", zlib.compress(FEED)),
        ("DEFLATE ", DEFLATED),
    ],
)
def test_the_bytes_say_how_a_document_is_compressed(httpserver: HTTPServer, encoding: str, body: bytes):
    answers(httpserver, "/feed", lambda _: Response(body, headers={"Content-Encoding": encoding}))
    assert get(httpserver) == FEED


@pytest.mark.parametrize(
    ("encoding", "body", "code"),
    [
        ("br", b"\x0b\x02\x80abc\x03", "broken_response"),
        ("deflate", b"\x01nonsense", "broken_response"),
        ("deflate", zlib.compress(FEED)[:-9], "broken_response"),
        ("deflate", zlib.compress(b"a" * 20_000_000), "too_large"),
    ],
)
def test_what_is_compressed_otherwise_or_too_well_is_refused(httpserver, encoding, body, code):
    answers(httpserver, "/feed", lambda _: Response(body, headers={"Content-Encoding": encoding}))
    with pytest.raises(FeedProblem, match=code):
        get(httpserver)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('</f>; rel="alternate"; type="application/rss+xml"; title="News"', ["/f"]),
        ('<f>; rel=alternate; type=application/atom+xml, <g>; rel="alternate"; type="text/html"', ["/f"]),
        ('</a,b>; title="x, y; z"; type="application/feed+json"; rel="x alternate"', ["/a,b"]),
        ('</f>; rel="feed"', ["/f"]),
        ('</comments/f>; rel="feed", </f>; rel="feed", </f>; rel="feed"', ["/comments/f", "/f"]),
        ('<javascript:x>; rel="feed", <http://[>; rel="feed"', []),
        ("<" * 5000 + ">; rel=feed" + ";" * 5000, []),
        ("", []),
    ],
)
def test_a_header_names_feeds(header: str, found: list[str]):
    feeds = header_feeds(header, url="https://a.example/")
    assert [feed.url for feed in feeds] == [f"https://a.example{path}" for path in found]


def test_a_page_whose_header_names_its_feed_has_one(httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = [f"{httpserver.host}:{httpserver.port}"], 0
    link = '</news.xml>; rel="alternate"; type="application/rss+xml"'
    answers(httpserver, "/", lambda _: Response("<html></html>", headers={"Link": link}))
    answers(httpserver, "/news.xml", lambda _: Response(FEED))
    assert [f.url for f in feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/"))] == [
        httpserver.url_for("/news.xml")
    ]


def listed(reader: Reader, now, *rows: str):
    """The report of a list with these rows."""
    return opml_import(reader=reader, document=f"<opml><body>{''.join(rows)}</body></opml>".encode(), now=now)


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("feed://a.example/f", "https://a.example/f"),
        ("FEED:https://a.example/f", "https://a.example/f"),
        ("feed:http://a.example/f", "http://a.example/f"),
        ("feeds://a.example/f", "https://a.example/f"),
        ("itpc://a.example/f", "https://a.example/f"),
        ("pcast://a.example/f", "https://a.example/f"),
        ("//a.example/f", "https://a.example/f"),
    ],
)
def test_the_schemes_of_other_programs_are_taken_in_lists_as_when_typed(ada, now, typed, address):
    assert site_addresses(typed)[0] == address
    report = listed(ada, now, f'<outline type="rss" text="A" xmlUrl="{typed}"/>')
    assert (report.added, report.refused) == (1, 0)
    assert ada.subscriptions.get().feed.url == address


def test_a_second_mention_brings_its_folder_and_a_folder_called_rss_is_none_without_an_address(ada, now):
    one = '<outline type="rss" text="A" xmlUrl="https://a.example/f"/>'
    report = listed(ada, now, one, f'<outline text="music">{one}</outline>')
    assert (report.added, report.duplicates, report.folders) == (1, 1, 1)
    assert ada.subscriptions.get().folder == "music"
    other = one.replace("a.example", "b.example")
    report = listed(ada, now, f'<outline type="rss" text="tech">{other}</outline>')
    assert (report.added, report.rejects) == (1, [])
    report = listed(ada, now, '<outline type="rss" text="lost"></outline>', '<outline type="rss" text="x"/>')
    assert [reject.code for reject in report.rejects] == ["no_address"] * 2


def test_with_and_without_tls_is_one_subscription(ada: Reader, ben: Reader, now):
    rows = [f'<outline type="rss" text="A" xmlUrl="{scheme}://a.example/f"/>' for scheme in ("http", "https")]
    report = listed(ada, now, *rows)
    assert (report.added, report.duplicates) == (1, 1)
    mine = ada.subscriptions.get()
    assert mine.feed.url == "https://a.example/f"
    assert subscription_add(reader=ada, url="http://a.example/f", now=now) == mine
    assert listed(ada, now, rows[0]).already == 1
    # What others read by the other scheme says nothing: nobody has asked both.
    assert subscription_add(reader=ben, url="http://a.example/f", now=now).feed != mine.feed
    both = FeedFactory(url="http://b.example/f"), FeedFactory(url="https://b.example/f")
    for feed in both:
        ada.subscriptions.create(feed=feed, created_at=now)
    assert [subscription_add(reader=ada, url=feed.url, now=now).feed for feed in both] == [*both]
