"""A model's server that floods, compresses without end, or sends us elsewhere."""

import gzip
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.llm import wire
from digest.llm.client import chain_configured
from digest.llm.entities import Model, ModelError, ModelRefused, ModelUnavailable
from digest.llm.providers import Endpoint
from tests.support.pace import processor_within

ASK = [{"role": "user", "content": "What only Ada reads"}]
MEGABYTE = 1_000_000


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the most bytes that Python held at once for `work`."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def local(httpserver: HTTPServer, settings) -> Model:
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = httpserver.url_for("/v1"), ["local:tiny:1b"]
    return chain_configured()[0]


@pytest.mark.parametrize(("status", "error"), [(400, ModelRefused), (503, ModelUnavailable)])
def test_an_error_without_end_is_cut_off(local: Model, httpserver: HTTPServer, status: int, error: type):
    sent, over = [0], threading.Event()

    def flood() -> Iterator[bytes]:
        try:
            yield b"Refused: the model is unknown. "
            for _ in range(300):
                sent[0] += 1
                yield bytes(MEGABYTE)
        finally:
            over.set()

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda request: Response(flood(), status=status)
    )
    with pytest.raises(error, match=f"{status}.*the model is unknown"):
        local.complete(ASK, [], timeout_s=20)
    assert over.wait(10) and sent[0] < 50, f"{sent[0]} MB were read"


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("times", [1, 2])
def test_a_small_answer_that_unpacks_to_a_gigabyte_is_refused(
    local: Model, httpserver: HTTPServer, status: int, times: int
):
    bomb = bytes(100 * MEGABYTE)
    for _ in range(times):
        bomb = gzip.compress(bomb)
    headers = {"Content-Encoding": ", ".join(["gzip"] * times)}
    httpserver.expect_request("/v1/chat/completions").respond_with_data(bomb, status=status, headers=headers)

    def ask() -> None:
        with pytest.raises(ModelError):
            local.complete(ASK, [], timeout_s=20)

    assert peak_bytes(ask) < 90 * MEGABYTE


def packed(*pieces: tuple[bytes, int]) -> bytes:
    """Return the beginning of a gzip archive of these pieces, each so many times."""
    parts = [gzip.compress(b"")[:10]]
    for piece, times in pieces:
        deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
        parts.append((deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)) * times)
    return b"".join(parts)


def test_an_answer_that_unpacks_to_nothing_keeps_no_other_call_waiting(local: Model, httpserver: HTTPServer):
    """Blocks of deflate without content, 3 GB of them in some kilobytes, took ten seconds of the one loop."""
    blocks = b"\x00\x00\x00\xff\xff" * 4_000_000
    body = packed((packed((packed(), 1), (blocks, 150)), 1))
    headers = {"Content-Encoding": "gzip, gzip, gzip"}
    httpserver.expect_request("/v1/chat/completions").respond_with_data(body, headers=headers)
    with processor_within(2), pytest.raises(ModelError):
        local.complete(ASK, [], timeout_s=20)


def test_what_a_reader_reads_follows_no_redirect(local: Model, httpserver: HTTPServer):
    seen: list[Request] = []

    def inside(request: Request) -> Response:
        seen.append(request)
        return Response(b"{}")

    httpserver.expect_request("/inside").respond_with_handler(inside)
    for status in (301, 302, 307, 308):
        httpserver.expect_ordered_request("/v1/chat/completions").respond_with_data(
            b"", status=status, headers={"Location": httpserver.url_for("/inside")}
        )
        with pytest.raises(ModelUnavailable, match=str(status)):
            local.complete(ASK, [], timeout_s=5)
    assert seen == []


def test_a_question_about_the_server_is_bounded_too(httpserver: HTTPServer):
    bomb = gzip.compress(gzip.compress(bytes(100 * MEGABYTE)))
    headers = {"Content-Encoding": "gzip, gzip"}
    httpserver.expect_request("/v1/models").respond_with_data(bomb, headers=headers)
    endpoint = Endpoint(base_url=httpserver.url_for("/v1"), api_key="k", provider="openai")
    found: list[object] = []
    assert peak_bytes(lambda: found.append(wire.look(endpoint, "/models", timeout_s=10))) < 90 * MEGABYTE
    assert found == [None]
