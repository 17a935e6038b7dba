"""Servers' habits and lists' spellings that a plain client has to know."""

import gzip
import re
import zlib
from collections.abc import Callable
from uuid import UUID

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.feeds.discovery import feeds_discover, header_feeds, site_addresses
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import Access, fetch, origin_of
from digest.feeds.parse import parse_document
from digest.feeds.prechecks import decompress
from digest.models import Reader
from digest.sources.opml import opml_read
from digest.sources.subscriptions import opml_import, subscription_add
from tests.support.factories import FeedFactory

ADA_ID = UUID(int=1)

FEED = b"<rss><channel><title>Rivers</title><item><title>Rain</title></item></channel></rss>"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]


def answers(server: HTTPServer, path: str, answer: Callable[[Request], Response]) -> None:
    """Have the server answer there by a function."""
    server.expect_request(path).respond_with_handler(answer)


def get(server: HTTPServer, path: str = "/feed", **more: object) -> bytes:
    """Return the document there, as a reader of feeds has it."""
    hosts = [f"{name}:{server.port}" for name in ("127.0.0.1", "localhost")]
    answer = fetch(f"http://{server.host}:{server.port}{path}", allow=hosts, ports=[server.port], **more)
    return decompress(answer.body or b"")


def gate(request: Request) -> Response:
    """Set two cookies, and redirect back to the page that needs them."""
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


HABITS = {
    "another type": Response(FEED, content_type="text/html"),
    "no type": Response(FEED, headers={"Content-Type": ""}),
    "an unknown charset": Response(FEED, content_type="text/xml; charset=none"),
    "a proxy between": Response(FEED, 203),
    "made for this request": Response(FEED, 201),
    "blank lines before": Response(b"\n\n  " + FEED),
    "two byte order marks": Response(b"\xef\xbb\xbf" * 2 + FEED),
    "a warning before": Response(b"<br />\n<b>Warning</b>: x() in <b>/y.php</b><br />\n" + FEED),
    "a notice before": Response(b"Notice: Undefined index in x.php\n" + FEED),
    "a script behind": Response(FEED + b"<!-- cached --><script>x()</script>"),
    "an error behind": Response(FEED + b"\n\0\0 Fatal error"),
    "compressed twice": Response(gzip.compress(gzip.compress(FEED)), headers={"Content-Encoding": "gzip"}),
    "compressed in parts": Response(gzip.compress(FEED[:30]) + gzip.compress(FEED[30:])),
    "compressed, with more behind": Response(gzip.compress(FEED) + b"\0\0\0"),
    "compressed as raw deflate": Response(zlib.compress(FEED)[2:-4], headers={"Content-Encoding": "deflate"}),
    "an encoding that is none": Response(FEED, headers={"Content-Encoding": "UTF-8"}),
}


@pytest.mark.parametrize("answer", HABITS.values(), ids=HABITS)
def test_a_feed_is_read_whatever_its_server_does_around_it(httpserver: HTTPServer, answer: Response):
    httpserver.expect_request("/feed").respond_with_response(answer)
    (entry,) = parse_document(get(httpserver)).entries
    assert entry.title == "Rain"


@pytest.mark.parametrize(
    ("status", "there"),
    [
        (301, "other"),
        (302, "/o ther?a=b c"),
        (303, "/ö"),
        (307, "?x=1"),
        (308, "/other#x"),
        (301, "//127.0.0.1:{}/other"),
        (302, "HTTP://127.0.0.1:{}/other"),
    ],
)
def test_a_redirect_is_followed_however_it_is_written(httpserver: HTTPServer, status: int, there: str):
    def answer(request: Request) -> Response:
        if request.path == "/feed" and not request.query_string:
            return Response("", status, {"Location": there.format(httpserver.port)})
        return Response(FEED)

    httpserver.expect_request(re.compile("/.*")).respond_with_handler(answer)
    assert get(httpserver) == FEED


@pytest.mark.parametrize("status", [202, 204, 206, 226, 300])
def test_what_is_no_whole_document_is_refused(httpserver: HTTPServer, status: int):
    httpserver.expect_request("/feed").respond_with_response(Response(FEED, status))
    with pytest.raises(FeedProblem) as refused:
        get(httpserver)
    assert refused.value.code == f"http_{status}"


def test_archives_within_archives_grow_within_the_limits():
    bomb = gzip.compress(b"\0" * 12_000_000)
    for body in (gzip.compress(bomb), gzip.compress(b"x") + bomb, gzip.compress(gzip.compress(bomb))):
        with pytest.raises(FeedProblem) as refused:
            parse_document(body)
        assert refused.value.code in ("too_large", "not_a_feed")


def test_an_archive_of_many_parts_is_joined_or_refused_in_linear_time():
    parts = [gzip.compress(bytes(str(n), "ascii")) for n in range(900)]
    assert decompress(b"".join(parts)) == "".join(map(str, range(900))).encode()
    assert decompress(parts[0] * 3 + b"behind") == b"000"
    with pytest.raises(FeedProblem) as refused:  # of 5 MiB, these took a minute
        decompress(gzip.compress(b"") * 20_000)
    assert refused.value.code == "too_large"
    for broken in (gzip.compress(FEED)[:-1], b"".join(parts)[:-1], parts[0] + gzip.compress(FEED)[:2]):
        with pytest.raises(FeedProblem) as refused:
            decompress(broken)
        assert refused.value.code == "malformed"


def listed(reader: Reader, now, *rows: str):
    """Return the report of a list with these rows."""
    return opml_import(reader=reader, document=f"<opml><body>{''.join(rows)}</body></opml>".encode(), now=now)


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("feed://a.example/f", "http://a.example/f"),
        ("FEED:https://a.example/f", "https://a.example/f"),
        ("feed:http://a.example/f", "http://a.example/f"),
        ("feeds://a.example/f", "https://a.example/f"),
        ("itpc://a.example/f", "http://a.example/f"),
        ("pcast://a.example/f", "http://a.example/f"),
        ("//a.example/f", "https://a.example/f"),
    ],
)
def test_the_schemes_of_other_programs_are_taken_in_lists_as_when_typed(ada, now, typed, address):
    # What is typed is asked by TLS first; an import asks nobody.
    assert address in site_addresses(typed)
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


LISTS = {
    "an address that is called url": '<outline type="rss" text="A" url="{}"/>',
    "of type atom": '<outline type="Atom" text="A" url="{}"/>',
    "escaped twice": '<outline type="rss" text="A" xmlUrl="https://a.example/f?a=1&amp;amp;b=2"/>',
    "escaped never": '<outline type="rss" text="A" xmlUrl="https://a.example/f?a=1&b=2"/>',
    "in capitals": '<OUTLINE TEXT="A" TYPE="RSS" XMLURL="{}"/>',
    "in single quotes": "<outline text='A' xmlUrl='{}'/>",
    "with breaks": '<outline text="A" xmlUrl="\n  {}\n"/>',
    "with a title alone": '<outline title="A" xmlUrl="{}"/>',
    "of no type": '<outline text="A" xmlUrl="{}"/>',
    "with an end of its own": '<outline text="A" xmlUrl="{}"></outline>',
    "beside a comment": '<!-- <outline xmlUrl="https://b.example/"/> --><outline text="A" xmlUrl="{}"/>',
    "beside an empty line": '<outline text=""></outline><outline text="A" xmlUrl="{}"/>',
}


@pytest.mark.parametrize("row", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("around", ["<opml><body>{}</body></opml>", "{}", "<opml><body>{}"])
def test_a_feed_is_found_however_a_list_writes_it(row: str, around: str):
    address = "https://a.example/f?a=1&b=2"
    document = around.format(row.format(address.replace("&", "&amp;")))
    for encoded in (document.encode(), b"\xef\xbb\xbf" + document.encode()):
        assert [(feed.url, feed.title) for feed in opml_read(encoded).feeds] == [(address, "A")]


def test_a_list_that_escapes_twice_has_its_names_escaped_once_and_another_keeps_them():
    feed = '<outline text="Tom &amp;amp; Co" xmlUrl="https://a.example/{}"/>'
    twice = f'<outline text="R&amp;amp;B">{feed.format("f?a=1&amp;amp;b=2")}{feed.format("g")}</outline>'
    once = f'<outline text="R&amp;amp;B">{feed.format("f?a=1&amp;b=2")}</outline>'
    read = [opml_read(f"<opml><body>{rows}</body></opml>".encode()).feeds for rows in (twice, once)]
    assert [(one.title, one.folder) for one in read[0]] == [("Tom & Co", "R&B")] * 2
    assert [(one.title, one.folder) for one in read[1]] == [("Tom &amp; Co", "R&amp;B")]


def test_an_address_of_another_kind_is_no_feed():
    rows = (
        '<outline text="x" url="https://a.example/"/><outline type="link" text="x" url="https://a.example/"/>'
    )
    assert opml_read(f"<opml><body>{rows}</body></opml>".encode()).feeds == ()


def test_with_and_without_tls_is_one_subscription(ada: Reader, ben: Reader, now):
    rows = [f'<outline type="rss" text="A" xmlUrl="{scheme}://a.example/f"/>' for scheme in ("http", "https")]
    report = listed(ada, now, *rows)
    assert (report.added, report.duplicates) == (1, 1)
    mine = ada.subscriptions.get()
    # A server with TLS sends readers there, and one without could never be read by the other address.
    assert mine.feed.url == "http://a.example/f"
    assert subscription_add(reader=ada, url="https://a.example/f", now=now) == mine
    assert listed(ada, now, rows[1]).already == 1
    # Other readers' feeds with the other scheme prove nothing, because nobody has asked both.
    assert subscription_add(reader=ben, url="https://a.example/f", now=now).feed != mine.feed
    both = FeedFactory(url="http://b.example/f"), FeedFactory(url="https://b.example/f")
    for feed in both:
        ada.subscriptions.create(feed=feed, created_at=now)
    assert [subscription_add(reader=ada, url=feed.url, now=now).feed for feed in both] == [*both]
