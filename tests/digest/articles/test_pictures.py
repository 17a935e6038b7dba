"""Pictures over real sockets: signed, guarded, limited, cached, and served so that browsers run nothing."""

import gzip
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.articles import pictures
from digest.articles.pictures import inside_allowed, picture_get, picture_href
from digest.errors import PictureMissing, PicturesBusy
from digest.models import Reader
from digest.places import Places
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import FeedFactory, ItemFactory

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c626001000000ffff"
    "03000006000557bfabd40000000049454e44ae426082"
)

ADA_ID = UUID(int=1)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path, httpserver: HTTPServer, own_cache: None) -> Iterator[Path]:
    settings.VAR_DIR = tmp_path
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    yield tmp_path / "pictures"


def signed(address: str, *, inside: bool = True) -> str:
    return picture_href(address, inside=inside).rpartition("/")[2]


def get(address: str, *, inside: bool = True) -> pictures.Picture:
    return picture_get(signed=signed(address, inside=inside), reader_id=ADA_ID, now=timezone.now())


def missing(address: str, *, inside: bool = True) -> str:
    with pytest.raises(PictureMissing) as refused:
        get(address, inside=inside)
    return refused.value.message


def test_a_picture_is_fetched_once_without_a_word_about_the_reader(httpserver: HTTPServer):
    httpserver.expect_request("/b.png").respond_with_data(PNG, content_type="text/html")
    for _ in range(2):
        found = get(httpserver.url_for("/b.png"))
        assert (found.body, found.mime_type) == (PNG, "image/png")
    ((request, _),) = httpserver.log
    assert not {"Referer", "Cookie", "X-Forwarded-For", "Authorization"} & set(dict(request.headers))
    assert request.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("token", ["", "x", "a:b", "WyJodHRwOi8vMTI3LjAuMC4xLyIsMV0:abc", ".x:y", "é"])
def test_only_what_we_signed_is_fetched(token: str, httpserver: HTTPServer):
    with pytest.raises(PictureMissing):
        picture_get(signed=token, reader_id=ADA_ID, now=timezone.now())
    good = signed(httpserver.url_for("/b.png"))
    for changed in (good[:-1], good[:-2] + "AA", "A" + good[1:], signed("https://b.example/") + good):
        with pytest.raises(PictureMissing, match="No page"):
            picture_get(signed=changed, reader_id=ADA_ID, now=timezone.now())
    assert httpserver.log == []


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/b.png",
        "http://localhost/b.png",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/b.png",
        "http://[::ffff:10.0.0.1]/b.png",
        "http://0x7f000001/b.png",
        "http://10.0.0.1/b.png",
    ],
)
def test_an_inner_address_is_refused(address: str):
    assert "forbidden_address" in missing(address)


def test_an_allowed_host_is_for_the_pictures_of_feeds_from_there_alone(httpserver: HTTPServer):
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    assert "bad_port" in missing(httpserver.url_for("/b.png"), inside=False)
    assert httpserver.log == []


def test_what_was_fetched_inside_is_handed_out_to_nobody_else(httpserver: HTTPServer):
    """The cache is shared: a page of a feed from elsewhere may name an address that is in it."""
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    address = httpserver.url_for("/b.png")
    assert get(address).body == PNG
    assert "bad_port" in missing(address, inside=False)


def test_a_refusal_of_an_inner_picture_to_others_keeps_it_from_nobody(httpserver: HTTPServer):
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    assert "bad_port" in missing(httpserver.url_for("/b.png"), inside=False)
    assert get(httpserver.url_for("/b.png")).body == PNG


@pytest.mark.django_db
def test_a_feed_from_elsewhere_names_no_picture_inside(httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}", "intranet"]
    for url, allowed in (
        (httpserver.url_for("/feed"), True),
        ("http://intranet:8080/feed", True),
        ("https://intranet.example/feed", False),
        ("https://evil.example/intranet", False),
    ):
        item = ItemFactory(feed=FeedFactory(url=url))
        assert inside_allowed(item=item) is allowed, url
    settings.FETCH_ALLOW_HOSTS = []
    assert not inside_allowed(item=item)


def test_a_redirect_inside_is_refused(httpserver: HTTPServer):
    headers = {"Location": "http://10.0.0.1/b.png"}
    httpserver.expect_request("/b.png").respond_with_data(b"", status=302, headers=headers)
    assert "forbidden_address" in missing(httpserver.url_for("/b.png"))


@pytest.mark.parametrize(
    "body",
    [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", b"", b"\x1f\x8b" + PNG],
    ids=["svg", "page", "empty", "gzip"],
)
def test_what_is_no_picture_is_not_passed_on(httpserver: HTTPServer, body: bytes, folder: Path):
    httpserver.expect_request("/b.svg").respond_with_data(body, content_type="image/png")
    assert missing(httpserver.url_for("/b.svg")) == "What is there is no picture that is shown here."
    assert not folder.exists()


def test_five_mebibytes_are_enough(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch):
    most = 5 * 1024 * 1024
    httpserver.expect_request("/good").respond_with_data(PNG.ljust(most, b"\0"))
    httpserver.expect_request("/large").respond_with_data(PNG.ljust(most + 1, b"\0"))
    assert len(get(httpserver.url_for("/good")).body) == most
    assert "too_large" in missing(httpserver.url_for("/large"))


def test_one_readers_pictures_push_out_nobody_elses(httpserver: HTTPServer, settings):
    """They are shown all the same."""
    settings.PICTURE_CACHE_MB = 10
    large = PNG.ljust(2_000_000, b"\0")
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    bens = signed(httpserver.url_for("/b.png"))
    picture_get(signed=bens, reader_id=UUID(int=2), now=timezone.now())
    for n in range(8):
        httpserver.expect_request(f"/{n}").respond_with_data(large)
        assert get(httpserver.url_for(f"/{n}")).body == large
    httpserver.clear_log()
    picture_get(signed=bens, reader_id=UUID(int=2), now=timezone.now())
    assert get(httpserver.url_for("/0")).body == large, "the first of hers fitted into her share"
    assert httpserver.log == []
    get(httpserver.url_for("/7"))
    assert [request.path for request, _ in httpserver.log] == ["/7"]


LIES = {
    "a part": (PNG, 206, {"Content-Range": "bytes 0-69/9000"}),
    "nothing new": (b"", 304, {}),
    "gzip": (gzip.compress(PNG), 200, {"Content-Encoding": "gzip"}),
    "deflate that grows": (zlib.compress(PNG + b"\0" * 50_000_000), 200, {"Content-Encoding": "deflate"}),
    "an error with a picture": (PNG, 500, {}),
    "another site's data": (b"", 302, {"Location": "data:image/png;base64,AAAA"}),
    "a file of ours": (b"", 302, {"Location": "file:///etc/passwd"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_is_no_whole_picture_is_neither_shown_nor_stored(httpserver: HTTPServer, lie: str, folder: Path):
    body, status, headers = LIES[lie]
    httpserver.expect_request("/b.png").respond_with_data(body, status=status, headers=headers)
    assert missing(httpserver.url_for("/b.png"))
    assert not folder.exists()


def slow_at(httpserver: HTTPServer) -> threading.Event:
    """Let `/slow` answer only after five seconds, or once the event is set."""
    done = threading.Event()

    def slow(request: Request) -> Response:
        done.wait(5)
        return Response(PNG)

    httpserver.expect_request("/slow").respond_with_handler(slow)
    return done


def test_a_slow_server_is_left_after_the_time_and_for_a_minute(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pictures, "TOTAL_S", 0.3)
    done = slow_at(httpserver)
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    try:
        assert "timeout" in missing(httpserver.url_for("/slow"))
        assert "a moment ago" in missing(httpserver.url_for("/b.png"))
    finally:
        done.set()


@pytest.mark.parametrize("way", ["slow", "asked too often", "another port"])
def test_no_readers_picture_keeps_a_host_from_others(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, settings, way: str
):
    """Any feed may name an address of a newspaper's host that fails."""
    monkeypatch.setattr(pictures, "TOTAL_S", 0.3)
    done = slow_at(httpserver)
    httpserver.expect_request("/asked").respond_with_data(b"", status=429)
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    with socket() as shut:
        shut.bind((httpserver.host, 0))
        port = shut.getsockname()[1]
        settings.FETCH_ALLOW_HOSTS = [*settings.FETCH_ALLOW_HOSTS, f"{httpserver.host}:{port}"]
        named = {"slow": httpserver.url_for("/slow"), "asked too often": httpserver.url_for("/asked")}
        missing(named.get(way, f"http://{httpserver.host}:{port}/"))
    done.set()
    address = signed(httpserver.url_for("/b.png"))
    assert picture_get(signed=address, reader_id=UUID(int=2), now=timezone.now()).body == PNG


def test_a_picture_that_failed_is_not_asked_for_again_at_once(httpserver: HTTPServer):
    httpserver.expect_request("/b.png").respond_with_data(b"", status=404)
    assert "http_404" in missing(httpserver.url_for("/b.png"))
    assert "a moment ago" in missing(httpserver.url_for("/b.png"))
    assert [request.path for request, _ in httpserver.log].count("/b.png") == 1


def test_pages_keep_a_thread_however_many_pictures_are_slow(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pictures, "PICTURES", Places(1))
    httpserver.expect_request("/b.png").respond_with_data(PNG)
    with pictures.PICTURES.place("Ben"), pytest.raises(PicturesBusy):
        get(httpserver.url_for("/b.png"))
    assert get(httpserver.url_for("/b.png")).body == PNG


@pytest.mark.django_db
def test_a_picture_may_do_nothing_in_a_browser(client: Client, ada: Reader, httpserver: HTTPServer):
    httpserver.expect_request("/b.png").respond_with_data(PNG, content_type="image/svg+xml")
    href = picture_href(httpserver.url_for("/b.png"), inside=True)
    assert client.get(href).status_code == 302, "for signed-in readers alone"
    assert httpserver.log == []
    client.force_login(ada)
    answer = client.get(href)
    assert (answer.status_code, answer.content) == (200, PNG)
    assert {name: answer[name] for name in answer.headers if name.startswith(("Content-", "X-Content"))} == {
        "Content-Type": "image/png",
        "Content-Length": str(len(PNG)),
        "Content-Disposition": 'inline; filename="picture.png"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    assert (answer["Cache-Control"], answer["Cross-Origin-Resource-Policy"]) == (
        "private, max-age=86400",
        "same-origin",
    )


@pytest.mark.django_db
def test_a_picture_that_cannot_be_had_says_so_without_a_page(client: Client, ada: Reader, monkeypatch):
    client.force_login(ada)
    answer = client.get(picture_href("http://10.0.0.1/b.png"))
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/plain")
    monkeypatch.setattr(pictures, "PICTURES", Places(1))
    with pictures.PICTURES.place("Ben"):
        busy = client.get(picture_href("https://b.example/b.png"))
    assert (busy.status_code, busy["Retry-After"], busy["Cache-Control"]) == (503, "1", "no-store")


@pytest.mark.django_db
def test_the_article_names_pictures_by_our_own_address(client: Client, ada: Reader):
    subscribe(ada)
    item = fresh_item(ada, title="Boats", image="https://gazette.example/cover.png", body_hash=1)
    client.force_login(ada)
    body = client.get(f"/ui/item/{item.pk}").content.decode()
    assert picture_href("https://gazette.example/cover.png") in body
    assert "https://gazette.example/cover.png" not in body
