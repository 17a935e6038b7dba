"""A document read apart: the same answer, and an end to whatever does not end by itself."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from digest import contained, parse
from digest.contained import parse_contained
from digest.feeds import FeedProblem, feed_as_json, feed_from_json
from digest.parse import document_read, parse_document
from tests.documents import MADE

LIMITS = "from digest.parse_child import *; limits_set(cpu_s=1, memory_bytes=300 << 20); "


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", LIMITS + code)


def code_of(command: tuple[str, ...], **limits: float) -> str:
    with pytest.raises(FeedProblem) as problem:
        parse_contained("<rss/>", url="", command=command, **limits)
    assert problem.value.message
    return problem.value.code


@pytest.mark.parametrize("body", MADE, ids=["rss", "atom", "rdf", "json"])
def test_a_child_reads_what_the_parent_reads(body: bytes):
    text, url = body.decode(), "https://r.example/feed"
    assert parse_contained(text, url=url) == document_read(text, url=url)


def test_what_the_fast_parser_refuses_and_what_is_large_is_read_by_a_child(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(
        parse, "parse_contained", lambda text, url: asked.append(text) or parse_contained(text, url=url)
    )
    monkeypatch.setattr(parse, "_xml_slow", None)  # the parent must not try it
    assert parse_document(b"<channel><item><title>Bare</title></item></channel>").entries[0].title == "Bare"
    assert len(asked) == 1
    asked.clear()
    huge = MADE[0].replace(b"</channel>", b"<item><title>x</title></item>" * 21_000 + b"</channel>")
    feed = parse_document(huge)
    assert len(asked) == 1
    assert (len(feed.entries), feed.dropped) == (parse.ENTRIES_MAX, 21_002 - parse.ENTRIES_MAX)


def test_problems_cross_the_border_with_their_codes():
    with pytest.raises(FeedProblem) as problem:
        parse_contained("hello", url="")
    assert problem.value.code == "malformed"


def test_an_endless_parser_is_stopped_by_its_processor_time():
    assert code_of(child("exec('while 1: pass')")) == "parse_timeout"


def test_a_parser_that_waits_is_stopped_by_the_clock():
    assert code_of(child("import time; time.sleep(60)"), wall_s=0.5) == "parse_timeout"


def test_a_greedy_parser_is_stopped_by_its_memory():
    greedy = "\ntry: bytearray(400 << 20)\nexcept MemoryError: sys.exit(MEMORY_EXIT)"
    assert code_of(child(greedy)) == "parse_memory"


@pytest.mark.parametrize(
    "death", ["import os; os.abort()", "sys.exit(1)", "print('{')", "print('[]')", "print('{\"feed\": {}}')"]
)
def test_a_child_that_dies_or_babbles_is_one_feeds_problem(death: str):
    assert code_of(child(death)) == "parse_crashed"


def test_without_a_process_the_fault_is_said_to_be_ours():
    assert code_of(("/nowhere/python",)) == "parse_unavailable"


def test_a_child_writes_no_files_and_knows_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in contained._environment().values()
    writes = f"\nwith open({str(tmp_path / 'x')!r}, 'w') as f: f.write('x' * 100_000)"
    assert code_of(child(writes)) == "parse_crashed"
    assert not (tmp_path / "x").exists() or (tmp_path / "x").stat().st_size == 0


def test_threads_may_ask_at_once():
    with ThreadPoolExecutor(4) as pool:
        feeds = pool.map(lambda _: parse_contained(MADE[0].decode(), url=""), range(4))
    assert {feed.title for feed in feeds} == {"Rivers"}


def test_a_daemonic_worker_may_ask_too():
    """Celery's pool processes are daemonic: `multiprocessing` would refuse them a child."""
    queue = (context := multiprocessing.get_context("spawn")).Queue()
    worker = context.Process(target=ask, args=(queue,), daemon=True)
    worker.start()
    assert queue.get(timeout=60) == "Rivers"
    worker.join()


def ask(queue: "multiprocessing.Queue[str]") -> None:
    """What a worker does."""
    queue.put(parse_contained(MADE[0].decode(), url="").title)


def test_a_feed_survives_json_with_every_field():
    feed = document_read(MADE[0].decode(), url="https://r.example/feed")
    assert feed_from_json(feed_as_json(feed)) == feed
    assert feed.entries[0].published
