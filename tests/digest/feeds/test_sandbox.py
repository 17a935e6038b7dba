"""Reading a document in the sandbox: the same result, and an end to endless work."""

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import UTC, datetime

import pytest

from digest.feeds import parse, sandbox
from digest.feeds.entities import (
    Enclosure,
    FeedProblem,
    ParsedEntry,
    ParsedFeed,
    feed_as_json,
    feed_from_json,
)
from digest.feeds.parse import parse_checked, parse_document
from digest.feeds.sandbox import SandboxServer, parse_in_sandbox
from tests.support.documents import MADE

GOOD = MADE[0].decode()


@pytest.fixture
def server() -> Iterator[Callable[..., SandboxServer]]:
    """Return a function that makes sandbox servers whose children run the given statements instead of a
    parser."""
    made: list[SandboxServer] = []

    def make(statements: str, *, cpu_s: float = 1.0) -> SandboxServer:
        lines = ["import time", "def read(text, *, url):", f"    {statements}"]
        read = "\n".join([*lines, "    return parse_checked(text, url=url)"])
        served = f"warm_up()\nsandbox_serve(read, cpu_s={cpu_s})"
        code = f"from digest.feeds.sandbox_server import *\n{read}\n{served}"
        made.append(SandboxServer((sys.executable, "-c", code)))
        return made[-1]

    yield make
    for one in made:
        one.end()


def code_of(server: SandboxServer, text: str = "<rss/>", **limits: float) -> str:
    with pytest.raises(FeedProblem) as problem:
        parse_in_sandbox(text, url="", nursery=server, **limits)
    assert problem.value.message
    return problem.value.code


@pytest.mark.parametrize("body", MADE, ids=["rss", "atom", "rdf", "json"])
def test_a_child_reads_what_the_parent_reads(body: bytes):
    text, url = body.decode(), "https://r.example/feed"
    assert parse_in_sandbox(text, url=url) == parse_checked(text, url=url)


@pytest.mark.parametrize("body", MADE, ids=["rss", "atom", "rdf", "json"])
def test_every_document_is_read_by_a_child(monkeypatch: pytest.MonkeyPatch, body: bytes):
    for name in ("decode", "check_xml", "parse_checked", "feed_json_read", "_feed"):
        monkeypatch.setattr(parse, name, None)  # the parent must not try it
    assert parse_document(body).entries


def test_a_document_of_more_entries_than_are_kept_is_read_no_further():
    huge = MADE[0].replace(b"</channel>", b"<item><title>x</title></item>" * 21_000 + b"</channel>")
    feed = parse_document(huge)
    assert (len(feed.entries), feed.dropped) == (parse.ENTRIES_MAX, 21_002 - parse.ENTRIES_MAX)


@pytest.mark.parametrize("head", [b"", b"<rss>", b"<feed><a "])
def test_of_a_large_document_nothing_is_decoded_or_matched_here(monkeypatch: pytest.MonkeyPatch, head: bytes):
    """A pattern on ten megabytes is one call that stops all threads of a site for half a second."""
    monkeypatch.setattr(parse, "decode", None)
    monkeypatch.setattr(parse, "check_xml", None)
    try:
        feed = parse_document(head + b"<" * (1024 * 1024 + 1))
    except FeedProblem as problem:
        assert problem.code in ("not_a_feed", "malformed", "parse_timeout", "parse_memory")
    else:  # the child of a quick machine gets to the end, and finds nothing
        assert not feed.entries


def test_problems_leave_the_sandbox_with_their_codes():
    with pytest.raises(FeedProblem) as problem:
        parse_in_sandbox("hello", url="")
    assert problem.value.code == "malformed"


def test_an_endless_parser_is_stopped_by_its_processor_time(server):
    assert code_of(server("while True: pass", cpu_s=0.3)) == "parse_timeout"


def test_a_parser_that_waits_is_stopped_by_the_clock(server):
    assert code_of(server("time.sleep(60)"), wall_s=0.5) == "parse_timeout"


def test_a_greedy_parser_is_stopped_by_its_memory(server):
    assert code_of(server("bytearray(400 << 20)")) == "parse_memory"


@pytest.mark.parametrize("death", ["os.abort()", "os._exit(1)", "raise KeyError", "return text"])
def test_a_child_that_dies_or_answers_nonsense_is_one_feeds_problem(server, death: str):
    grim = server(f"if 'die' in text: {death}")
    assert code_of(grim, "<rss>die</rss>") == "parse_crashed"
    assert parse_in_sandbox(GOOD, url="", nursery=grim).title == "Rivers"


def test_a_child_that_answers_without_end_fills_no_memory_of_ours(server):
    files = "[n for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')]"
    flood = server(f"for _ in range(100): os.write({files}[0], b' ' * (1 << 20))", cpu_s=5.0)
    assert code_of(flood) == "parse_memory"
    assert parse_in_sandbox(GOOD, url="").title == "Rivers"


@pytest.mark.parametrize(
    "answer", [b"", b"{", b"[]", b'{"feed": {}}', b'{"feed": []}', b'{"read": ' + b"[" * 100_000]
)
def test_a_malformed_answer_is_one_feeds_problem(answer: bytes):
    with pytest.raises(FeedProblem, match="parse_crashed"):
        sandbox._read_answer(0, answer)


def test_every_document_has_its_own_seconds(server):
    """Limits of a process count all it ever did; no document pays for those before it."""
    busy = "end = time.process_time() + 0.1\n    while time.process_time() < end: pass"
    slow = server(busy, cpu_s=0.3)
    for _ in range(4):
        assert parse_in_sandbox(GOOD, url="", nursery=slow).title == "Rivers"
    assert slow.spent_s > 0.35


def test_what_one_document_leaves_behind_the_next_never_sees(server):
    marked = server("assert 'MARK' not in os.environ; os.environ['MARK'] = '1'")
    for _ in range(2):
        assert parse_in_sandbox(GOOD, url="", nursery=marked).title == "Rivers"


def test_a_server_that_ended_is_started_again(server):
    one = server("pass")
    for _ in range(2):
        assert parse_in_sandbox(GOOD, url="", nursery=one).title == "Rivers"
        one._process.kill()
        one._process.wait()


@pytest.mark.parametrize("command", [("/nowhere/python",), (sys.executable, "-c", "pass")])
def test_without_a_process_the_fault_is_reported_as_ours(command: tuple[str, ...]):
    idle = SandboxServer(command)
    assert code_of(idle) == "parse_unavailable"
    idle.end()


def test_a_child_writes_no_files_and_knows_no_secrets(server, monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    writes = f"open({str(tmp_path / 'x')!r}, 'w').write('x' * 100_000)"
    assert code_of(server(writes)) == "parse_crashed"
    assert not (tmp_path / "x").exists() or (tmp_path / "x").stat().st_size == 0
    knows = server("raise FeedProblem('knows', str('OPENAI_API_KEY' in os.environ))")
    with pytest.raises(FeedProblem, match="knows: False"):
        parse_in_sandbox(GOOD, url="", nursery=knows)


REACHES = {
    "a file": "open('/etc/hostname')",
    "the environment of another process": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "a folder": "os.listdir('/')",
    "a network": "socket.socket()",
    "a socket of this machine": "socket.socket(socket.AF_UNIX)",
    "a pipe": "os.pipe()",
    "a module": "import this",
}


@pytest.mark.parametrize("what", REACHES)
def test_a_child_opens_nothing(server, what: str):
    tries = server(f"""try: {REACHES[what]}
    except OSError as error: raise FeedProblem('refused', error.strerror)""")
    with pytest.raises(FeedProblem, match="refused: Too many open files"):
        parse_in_sandbox(GOOD, url="", nursery=tries)


def test_a_child_holds_no_file_but_its_documents(server):
    """Those of the server would tell it of other documents, or let it say how these ended."""
    code = """import errno
    open_ones = 0
    for number in range(3, 100):
        try: os.fstat(number)
        except OSError: continue
        open_ones += 1
    time.sleep(0.3)
    raise FeedProblem('held', str(open_ones))"""
    one = server(code)
    with ThreadPoolExecutor(4) as pool:
        told = [pool.submit(parse_in_sandbox, GOOD, url="", nursery=one) for _ in range(4)]
        assert {str(each.exception()) for each in told} == {"held: 1"}


def test_a_child_cannot_raise_its_limits(server):
    code = """names = ('NOFILE', 'NPROC', 'FSIZE', 'CORE', 'AS', 'CPU')
    limits = [resource.getrlimit(getattr(resource, f'RLIMIT_{name}')) for name in names]
    raise FeedProblem('limits', repr([(hard - soft, hard < 1 << 40) for soft, hard in limits]))"""
    with pytest.raises(FeedProblem) as told:
        parse_in_sandbox(GOOD, url="", nursery=server(code))
    assert told.value.message == repr([(0, True)] * 5 + [(1, True)])


@pytest.mark.parametrize("label", ["mbcs", "no-such", "x-user-defined", "johab", "koi8-u", "hz", "idna"])
def test_a_child_knows_every_encoding_without_a_file(label: str):
    document = f'<?xml version="1.0" encoding="{label}"?>' + GOOD[GOOD.index("<rss") :]
    assert parse_in_sandbox(document.encode("utf-8"), url="").title == "Rivers"


FORKS = """
import os
from digest.feeds.sandbox import SANDBOX, parse_in_sandbox
text = "<rss><channel><title>Rivers</title><item><title>x</title></item></channel></rss>"
parse_in_sandbox(text, url="")
before = SANDBOX._process.pid
child = os.fork()
if not child:
    assert parse_in_sandbox(text, url="").title == "Rivers" and SANDBOX._process.pid != before
    SANDBOX.end()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert parse_in_sandbox(text, url="").title == "Rivers" and SANDBOX._process.pid == before
"""


def test_a_process_that_was_forked_has_a_server_of_its_own():
    """Celery and gunicorn fork their workers, perhaps after a document was read."""
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_may_ask_at_once():
    with ThreadPoolExecutor(4) as pool:
        feeds = pool.map(lambda _: parse_in_sandbox(MADE[0].decode(), url=""), range(4))
    assert {feed.title for feed in feeds} == {"Rivers"}


def test_a_daemonic_worker_may_ask_too():
    """Celery's pool processes are daemonic: `multiprocessing` would refuse them a child."""
    queue = (context := multiprocessing.get_context("spawn")).Queue()
    worker = context.Process(target=ask, args=(queue,), daemon=True)
    worker.start()
    assert queue.get(timeout=60) == "Rivers"
    worker.join()


def ask(queue: "multiprocessing.Queue[str]") -> None:
    """Do a worker's job."""
    queue.put(parse_in_sandbox(MADE[0].decode(), url="").title)


def test_a_feed_survives_json_with_every_field():
    feed = parse_checked(MADE[0].decode(), url="https://r.example/feed")
    assert feed_from_json(feed_as_json(feed)) == feed
    assert feed.entries[0].published


def test_an_entry_survives_json_with_every_field_it_has_or_will_have():
    others = {
        "published": datetime(2026, 3, 18, 12, 30, tzinfo=UTC),
        "categories": ("Rivers", "Rain"),
        "enclosures": (Enclosure("https://r.example/a.mp3", "audio/mpeg", 7, 60),),
    }
    values = {field.name: f"{field.name} of it" for field in fields(ParsedEntry) if field.type is str}
    entry = ParsedEntry(**values, **others)
    feed = ParsedFeed("A feed", "https://r.example/", (entry,), dropped=1, blank=2, ttl_minutes=60)
    assert feed_from_json(json.loads(json.dumps(feed_as_json(feed)))) == feed
