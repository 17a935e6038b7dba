"""What answers a request has room for its frames, however deep the server calls it."""

import io
import sys
from collections.abc import Callable
from resource import RUSAGE_THREAD, getrusage
from threading import Thread

import pytest

from config.wsgi import application

ROUNDS = 300
# What may be mapped and touched for the first time, beside the frames.
FAULTS_MAX = 50


def down(depth: int, run: Callable[[], object]) -> object:
    """Run something so many calls further down."""
    return down(depth - 1, run) if depth else run()


def faults_of_a_loop() -> int:
    """How often a loop of calls touched memory that had just been mapped."""
    before = getrusage(RUSAGE_THREAD).ru_minflt
    for _ in range(ROUNDS):
        down(8, int)
    return getrusage(RUSAGE_THREAD).ru_minflt - before


def answering(found: list[int]) -> None:
    """Answer a request, and look at a loop of calls meanwhile."""
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
    """What is found in a thread of its own, which begins with one chunk, from very many depths."""
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
