"""The sandbox server (`python -m digest.feeds.sandbox_server`): fork a child under limits for each document.

It never reads strangers' bytes. Its standard input is a socket that brings two files per document: one to
read the document from and to answer in JSON, and one to report how the child ended. The child sets its limits
right after the fork, because only then the interpreter's own memory is known, and so that only this
document's seconds count. There are no threads here, so a fork is safe.
"""

import encodings
import gc
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from math import ceil
from typing import Any, Final

import charset_normalizer  # noqa: F401  # before the first fork, so that children share it

import digest.feeds.feed_xml  # noqa: F401  # as above
from digest.feeds.entities import FeedProblem, feed_as_json
from digest.feeds.mails import letter_as_json, mail_parse
from digest.feeds.parse import document_text, parse_checked
from digest.feeds.sandbox import GRACE_S, MEMORY_EXIT, REQUEST

# Processor time: the two seconds a document may cost, minus the time the parent needs to read the answer. The
# kernel's own limit counts whole seconds.
CPU_S: Final = 1.9
MEMORY_BYTES: Final = 300 * 1024 * 1024
# Two documents of our own, read before the first fork. Children then share compiled patterns and the like. A
# small document costs a child 5 ms instead of 8.
WARM_UP: Final = (
    """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Harbour &amp; sea</title><link>https://harbour.example/</link><language>en</language>
<item><title>Low tide</title><link>https://harbour.example/1</link><guid isPermaLink="false">1</guid>
<pubDate>Fri, 27 Nov 2026 10:00:00 +0100</pubDate><dc:creator>Ada Hill (ada@harbour.example)</dc:creator>
<category>Tides</category><description>The sea is far out.</description>
<media:content url="https://harbour.example/1.jpg" medium="image" width="640" height="480"/>
<enclosure url="https://harbour.example/1.mp3" type="audio/mpeg" length="1000"/>
<content:encoded><![CDATA[<p>The sea is <b>far</b> out, see <a href="/tables">the tables</a>.</p>
<img src="2.jpg" srcset="3.jpg 2x" alt="Mud"><ul><li>1 &lt; 2</li></ul><pre>a  b</pre>]]></content:encoded>
</item></channel></rss>""",
    """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://harbour.example/"><title>Harbour</title>
<entry><id>urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a</id><title type="html">High &amp;amp; low</title>
<link href="/2"/><updated>2026-11-27T10:00:00Z</updated><author><name>Ada Hill</name></author>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>The sea <i>rises</i>.</p></div></content>
</entry></feed>""",
)
# A server that is idle this long ends. The next document starts another.
IDLE_S: Final = 120.0
Parser = Callable[..., Any]


def main() -> int:
    """Serve until the parent ends or has had nothing to read for a while."""
    warm_up()
    sandbox_serve(parse_checked)
    return 0


def warm_up() -> None:
    """Read our own documents before the first fork. What parsers load from files only then, children need."""
    for document in WARM_UP:
        feed_as_json(parse_checked(document_text(document.encode()), url="https://harbour.example/feed"))


def sandbox_serve(
    parser: Parser,
    *,
    memory_bytes: int = MEMORY_BYTES,
    cpu_s: float = CPU_S,
    as_json: Callable[[Any], object] = feed_as_json,
) -> None:
    """Fork a child for each request on standard input. `parser` reads its text, and `as_json` converts the
    result."""

    def read(text: str, *, url: str) -> object:
        return as_json(parser(text, url=url))

    _load_codecs()
    requests = socket.socket(fileno=0)
    waker, woken = socket.socketpair()
    for end in (waker, woken):
        end.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.collect()
    gc.freeze()  # memory shared with children stays shared
    limits = partial(limits_set, cpu_s=cpu_s, memory_bytes=memory_bytes)
    children: dict[int, tuple[int, float]] = {}  # the file for the exit, and the time to kill, by process
    while True:
        ready = select.select([requests, waker], [], [], 1.0 if children else IDLE_S)[0]
        if waker in ready:
            waker.recv(4096)
        _report_ended(children)
        if requests in ready:
            request, files, _, _ = socket.recv_fds(requests, REQUEST.size, 2)
            if len(request) < REQUEST.size or len(files) < 2:
                break  # the parent has ended
            (wall_s,) = REQUEST.unpack(request)
            ours = [waker.fileno(), woken.fileno(), *(file for file, _ in children.values())]
            pid = _fork(files, ours, partial(limits, wall_s=wall_s), read)
            children[pid] = files[1], time.monotonic() + wall_s + GRACE_S / 2
        elif not ready and not children:
            break
        _kill(pid for pid, (_, until) in children.items() if until < time.monotonic())
    _kill(children)


def _load_codecs() -> None:
    """Load every codec of Python, because a child opens no files. All of them take 40 ms and 2 MB."""
    for codec in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError):  # those of Windows
            import_module(f"encodings.{codec.name}")


def _fork(files: Sequence[int], ours: Sequence[int], limit: Callable[[], None], parser: Parser) -> int:
    """Fork a child that reads from the first of `files`. Return its process id. The second file
    stays here, and so do `ours`: by these a child would report how the children of other documents ended."""
    pid = os.fork()
    if pid:
        os.close(files[0])
        return pid
    signal.set_wakeup_fd(-1)
    for file in (0, files[1], *ours):  # 0 is the server's socket: it ends with the server
        os.close(file)
    limit()
    os._exit(_run_child(files[0], parser))


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _report_ended(children: dict[int, tuple[int, float]]) -> None:
    """Write of each child that ended its exit code (negative: a signal) and its seconds of processor time."""
    while children:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        report = f"{os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime:.3f}"
        file = children.pop(pid)[0]
        with suppress(OSError):  # perhaps nobody waits for it any more
            os.write(file, report.encode())
        os.close(file)


def _run_child(file: int, parser: Parser) -> int:
    """Answer with `{"read": …}` or `{"problem": {code, message}}`. Return the exit code."""
    try:
        with socket.socket(fileno=file) as end:
            lines = end.makefile("rb")
            head, body = json.loads(lines.readline()), lines.read()
            try:
                answer: object = {"read": _read(head, body, parser)}
            except FeedProblem as problem:
                answer = {"problem": {"code": problem.code, "message": problem.message}}
            end.sendall(json.dumps(answer).encode())
    except MemoryError:
        return MEMORY_EXIT
    except BaseException:
        return 1
    return 0


def _read(head: Mapping[str, Any], body: bytes, parser: Parser) -> object:
    """Return a mail, or a document read by `parser`, as JSON-ready values."""
    if head["mail"]:
        return letter_as_json(mail_parse(body))
    text = document_text(body, content_type=str(head["content_type"])) if head["raw"] else body.decode()
    return parser(text, url=str(head["url"]))


def limits_set(*, cpu_s: float, memory_bytes: int, wall_s: float) -> None:
    """Limit this process to `cpu_s` more seconds of processor time, `wall_s` seconds by the clock, and
    `memory_bytes` of further memory.

    It opens no file and no connection, starts no process, and leaves no core dump. It cannot raise these
    limits, whatever code a fault of a parser lets in. If the system refuses a limit (macOS has no
    `RLIMIT_AS`, and root may start processes), the others still apply.
    """
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    # One second more until the kernel kills: before that it tells that the time was over.
    _limit(resource.RLIMIT_CPU, ceil(cpu_s) + 1, 1)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)
    for none in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        _limit(none, 0)


def _limit(resource_id: int, value: int, more: int = 0) -> None:
    hard = resource.getrlimit(resource_id)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource_id, (_least(value, hard), _least(value + more, hard)))


def _least(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _address_space() -> int:
    """Return the bytes of address space of this process, or 0 if the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
