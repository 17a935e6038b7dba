"""Feeds over real sockets: good answers, bad answers, and servers that mean harm."""

import socket
import threading
import time

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import FetchResponse, fetch
from digest.feeds.prechecks import BODY_MAX_BYTES


def get(server: HTTPServer, path: str = "/feed", **wanted: object) -> FetchResponse:
    return fetch(server.url_for(path), allow=[f"{server.host}:{server.port}"], **wanted)


def code_of(server: HTTPServer, path: str = "/feed", **wanted: object) -> str:
    with pytest.raises(FeedProblem) as problem:
        get(server, path, **wanted)
    return problem.value.code


def test_a_feed_comes_back_with_its_validators(httpserver: HTTPServer):
    httpserver.expect_request("/feed", headers={"Accept-Encoding": "gzip"}).respond_with_data(
        b"<rss/>",
        headers={"ETag": '"1"', "Last-Modified": "Wed, 18 Mar 2026 08:00:00 GMT", "Retry-After": "90"},
    )
    answer = get(httpserver)
    assert (answer.body, answer.etag, answer.retry_after_s) == (b"<rss/>", '"1"', 90)
    assert httpserver.log[0][0].headers["User-Agent"].startswith("Tidings/")


def test_an_unchanged_feed_sends_no_body(httpserver: HTTPServer):
    httpserver.expect_request("/feed", headers={"If-None-Match": '"1"'}).respond_with_data(b"", status=304)
    assert get(httpserver, etag='"1"').body is None


def test_a_validator_with_line_breaks_is_never_sent(httpserver: HTTPServer):
    httpserver.expect_request("/feed").respond_with_data(b"<rss/>")
    get(httpserver, etag='"1"\r\nX-Evil: 1')
    assert "X-Evil" not in httpserver.log[0][0].headers


def test_redirects_on_one_host_are_followed_ten_times_and_no_more(httpserver: HTTPServer):
    def hop(request: Request) -> Response:
        left = int(request.path[1:])
        return Response(status=302, headers={"Location": f"/{left - 1}"}) if left else Response(b"<rss/>")

    httpserver.expect_request("/feed").respond_with_handler(hop)
    for left in range(12):
        httpserver.expect_request(f"/{left}").respond_with_handler(hop)
    assert get(httpserver, "/10").url.endswith("/0")
    assert code_of(httpserver, "/11") == "too_many_redirects"


def test_redirects_between_hosts_are_followed_five_times_and_no_more(httpserver: HTTPServer):
    def hop(request: Request) -> Response:
        left = int(request.path[1:])
        other = "127.0.0.1" if request.host.startswith("localhost") else "localhost"
        there = f"http://{other}:{httpserver.port}/{left - 1}"
        return Response(status=302, headers={"Location": there}) if left else Response(b"<rss/>")

    for left in range(7):
        httpserver.expect_request(f"/{left}").respond_with_handler(hop)
    hosts = [f"{name}:{httpserver.port}" for name in ("127.0.0.1", "localhost")]
    ours = f"http://localhost:{httpserver.port}"
    assert fetch(f"{ours}/5", allow=hosts).url.endswith("/0")
    with pytest.raises(FeedProblem, match="too_many_redirects"):
        fetch(f"{ours}/6", allow=hosts)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://127.0.0.1/", "forbidden_address"),
        ("http://169.254.169.254/latest/meta-data/", "forbidden_address"),
        ("http://[::ffff:10.0.0.1]/", "forbidden_address"),
        ("http://localhost:6379/", "bad_port"),
        ("file:///etc/passwd", "bad_url"),
        ("gopher://127.0.0.1/", "bad_url"),
    ],
)
def test_a_redirect_to_an_inner_address_is_refused(httpserver: HTTPServer, target: str, code: str):
    httpserver.expect_request("/feed").respond_with_data(b"", status=302, headers={"Location": target})
    assert code_of(httpserver) == code


@pytest.mark.parametrize(
    ("status", "code"), [(404, "http_404"), (410, "gone"), (500, "http_500"), (429, "http_429")]
)
def test_a_bad_status_is_a_clear_code(httpserver: HTTPServer, status: int, code: str):
    httpserver.expect_request("/feed").respond_with_data(b"", status=status)
    assert code_of(httpserver) == code


def test_a_body_beyond_the_limit_is_cut_off(httpserver: HTTPServer):
    httpserver.expect_request("/feed").respond_with_data(b"x" * (BODY_MAX_BYTES + 1))
    assert code_of(httpserver) == "too_large"


def test_a_host_that_does_not_listen_or_exist_is_a_clear_code():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(FeedProblem, match="connect_failed"):
            fetch(f"http://127.0.0.1:{port}/", allow=["127.0.0.1"])
    with pytest.raises(FeedProblem, match="not_found"):
        fetch("http://no-such-host.invalid/")


def test_a_plain_server_fails_the_tls_check(httpserver: HTTPServer):
    with pytest.raises(FeedProblem) as problem:
        fetch(f"https://{httpserver.host}:{httpserver.port}/", allow=[httpserver.host])
    assert problem.value.code in {"tls_failed", "connect_failed"}
    # A reader sees it: no number, no name of a library.
    assert "SSL" not in problem.value.message and "_" not in problem.value.message


@pytest.mark.parametrize(
    ("hops", "moved"),
    [
        ([301, 308], "/2"),
        ([301, 302, 301], "/1"),
        ([302, 301], ""),
        ([307], ""),
    ],
)
def test_a_chain_counts_as_a_move_as_far_as_it_is_permanent(httpserver: HTTPServer, hops, moved):
    for n, status in enumerate(hops):
        httpserver.expect_request(f"/{n}").respond_with_data(
            b"", status=status, headers={"Location": f"/{n + 1}#part"}
        )
    httpserver.expect_request(f"/{len(hops)}").respond_with_data(
        b"<rss/>", headers={"Cache-Control": "max-age=60"}
    )
    answer = get(httpserver, "/0")
    assert answer.moved_url == (httpserver.url_for(moved) if moved else "")
    assert (answer.url, answer.fresh_s) == (httpserver.url_for(f"/{len(hops)}"), 60)


def test_the_operator_says_which_ports_feeds_may_use(httpserver: HTTPServer):
    with pytest.raises(FeedProblem, match="forbidden_address"):
        fetch(httpserver.url_for("/feed"), ports=[httpserver.port])
    with pytest.raises(FeedProblem, match="bad_port"):
        fetch("http://93.184.216.34:80/", ports=[8080])


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"], ids=["head", "body"]
)
def test_a_server_that_drips_is_left_at_the_deadline(head: bytes):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener, head))
        thread.start()
        started = time.monotonic()
        with pytest.raises(FeedProblem, match="timeout"):
            fetch(
                f"http://127.0.0.1:{listener.getsockname()[1]}/", allow=["127.0.0.1"], total_s=0.6, read_s=0.4
            )
        assert time.monotonic() - started < 7
        thread.join(10)


def drip(listener: socket.socket, head: bytes) -> None:
    """Answer one byte every tenth of a second, for at most ten seconds."""
    connection, _ = listener.accept()
    with connection:
        try:
            connection.sendall(head)
            for _ in range(100):
                connection.sendall(b"H")
                time.sleep(0.1)
        except OSError:
            pass  # the client has hung up, as it should
