"""A request's calls have room for their frames, however deep the server's own stack is."""

import io
import sys
from collections.abc import Callable
from resource import RUSAGE_THREAD, getrusage
from threading import Thread

import pytest

from config.wsgi import application

ROUNDS = 300
# Page faults allowed for other memory than frames.
FAULTS_MAX = 50


def down(depth: int, run: Callable[[], object]) -> object:
    """Call `run` this many calls deeper."""
    return down(depth - 1, run) if depth else run()


def faults_of_a_loop() -> int:
    """Count how often a loop of calls touched newly mapped memory."""
    before = getrusage(RUSAGE_THREAD).ru_minflt
    for _ in range(ROUNDS):
        down(8, int)
    return getrusage(RUSAGE_THREAD).ru_minflt - before


def answering(found: list[int]) -> None:
    """Answer a request, and measure a loop of calls meanwhile."""
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/nowhere",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(),
        "wsgi.url_scheme": "http",
    }
    list(application(environ, lambda *_: found.append(faults_of_a_loop())))


def at_all_depths(run: Callable[[list[int]], object]) -> list[int]:
    """Measure in a new thread, which begins with one chunk, at very many depths."""
    found: list[int] = []
    thread = Thread(target=lambda: [down(depth, lambda: run(found)) for depth in range(0, 160, 3)])
    thread.start()
    thread.join()
    return found


def test_no_call_that_answers_maps_memory_each_time():
    found = at_all_depths(answering)
    assert len(found) == 54 and max(found) < FAULTS_MAX


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="seen on Python 3.11")
def test_without_room_some_depth_is_a_border():
    assert max(at_all_depths(lambda found: found.append(faults_of_a_loop()))) >= ROUNDS


def test_a_page_that_waits_for_the_interpreter_gets_it_back_soon():
    """It lets go of it at each query; with Python's own 5 ms twenty queries beside a preview cost a tenth of
    a second.
    """
    assert sys.getswitchinterval() <= 0.0003
