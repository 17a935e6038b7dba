"""The sandbox: parse a document in a process with little memory, little time and none of our secrets.

Starting an interpreter with its imports costs more than most documents (0.1 s and more). So one process, the
sandbox server (`digest.feeds.sandbox_server`), starts when first needed and stays. It reads no strangers'
bytes itself: for each document it forks a child that sets its limits, reads, answers and ends. We do not fork
this process, because a process with threads would hand down its locks. We do not use `multiprocessing`,
because Celery's workers are daemonic and may not have such children.
"""

import atexit
import errno
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from digest.feeds.entities import FeedProblem, ParsedFeed, feed_from_json
from ranking.language import gettext_noop

# The child limits its own processor time and memory. This limit ends a child that waits instead of working,
# on machines where two seconds of work may take ten.
WALL_S: Final = 20.0
# How long after that we wait for the server to say how the child ended.
GRACE_S: Final = 5.0
MEMORY_EXIT: Final = 3
# A document has 10 MiB, and twice that as JSON. Code that a fault of a parser let in could send more than our
# memory holds.
ANSWER_MAX_BYTES: Final = 64 * 1024 * 1024
# The request to the server: the seconds a child may take. Two files come along, for its document and its
# exit.
REQUEST: Final = struct.Struct("!d")
ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
COMMAND: Final = (sys.executable, "-s", "-P", "-m", "digest.feeds.sandbox_server")


class _ServerEnded(Exception):
    """The server is gone. It ends by itself after some idle time."""


class SandboxServer:
    """The sandbox server: a process that forks a child for each document. Threads may share it.

    `command` starts it, with a socket for requests as its standard input. `spent_s` counts its children's
    processor seconds.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command, self._lock, self.spent_s = command, Lock(), 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def ask(self, document: bytes, *, wall_s: float) -> tuple[int, bytes]:
        """Return a child's answer to `document` and its exit code (negative: the signal that ended it), code
        first.

        Raises `OSError` if no process can be started, and `TimeoutError` if no answer comes in time.
        """
        for _ in range(2):
            with suppress(_ServerEnded):
                return self._ask_once(document, wall_s)
        raise ChildProcessError(errno.ECHILD, "it ends before it answers")

    def end(self) -> None:
        """End the server. The next document starts another."""
        with self._lock:
            self._drop()

    def reset_after_fork(self) -> None:
        """Let go of the parent's server in a forked child, which starts its own."""
        self._lock = Lock()
        if self._requests:
            self._requests.close()
        if self._process:
            self._process.returncode = 0  # the parent waits for it
        self._process = self._requests = None

    def _ask_once(self, document: bytes, wall_s: float) -> tuple[int, bytes]:
        ours, child_end = socket.socketpair()
        exit_ours, exit_server = socket.socketpair()
        with ours, exit_ours:
            with child_end, exit_server:
                requests = self._send(REQUEST.pack(wall_s), [child_end.fileno(), exit_server.fileno()])
            for end in (ours, exit_ours):
                end.settimeout(wall_s + GRACE_S)
            with suppress(BrokenPipeError, ConnectionResetError):  # it ended before it had read everything
                ours.sendall(document)
                ours.shutdown(socket.SHUT_WR)
            answer = bytearray()
            with suppress(ConnectionResetError):
                while chunk := ours.recv(1 << 20):
                    answer += chunk
                    if len(answer) > ANSWER_MAX_BYTES:
                        return MEMORY_EXIT, b""
            code, _, seconds = exit_ours.recv(64).decode().partition(" ")
        if not code:
            with self._lock:
                if self._requests is requests:  # no other thread has started another meanwhile
                    self._drop()
            raise _ServerEnded
        self.spent_s += float(seconds)
        return int(code), bytes(answer)

    def _send(self, request: bytes, files: list[int]) -> socket.socket:
        """Send a request to the server, starting it if needed. Return the socket that was used."""
        with self._lock:
            requests = self._requests = self._requests or self._start()
            try:
                socket.send_fds(requests, [request], files)
            except (BrokenPipeError, ConnectionResetError) as error:
                self._drop()
                raise _ServerEnded from error
        return requests

    def _start(self) -> socket.socket:
        # Only where the code is. Keys and passwords stay with the parent.
        env = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        env["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=env,
                    start_new_session=True,  # a Ctrl-C is for us
                )
            except OSError:
                ours.close()
                raise
        return ours

    def _drop(self) -> None:
        if self._requests:
            self._requests.close()
        if self._process:
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._requests = None


SANDBOX: Final = SandboxServer()
atexit.register(SANDBOX.end)
os.register_at_fork(after_in_child=SANDBOX.reset_after_fork)


def parse_in_sandbox(
    document: str | bytes,
    *,
    url: str,
    content_type: str = "",
    nursery: SandboxServer = SANDBOX,
    wall_s: float = WALL_S,
) -> ParsedFeed:
    """Read a document from `url`, with its content type header, in the sandbox.

    Bytes are decoded and checked there. A text must have been checked already.

    Raises the errors of `parse_document`, and `FeedProblem`: `parse_timeout` (over two seconds of processor
    time), `parse_memory` (over 300 MiB), `parse_crashed` (the child died), `parse_unavailable` (it could not
    be started, which is no fault of the feed).
    """
    answer = sandbox_answer(document, url=url, server=nursery, wall_s=wall_s, content_type=content_type)
    try:
        return feed_from_json(answer)
    except (ValueError, KeyError, TypeError) as error:
        raise _crash_problem() from error


def sandbox_answer(
    document: str | bytes,
    *,
    url: str,
    server: SandboxServer,
    wall_s: float,
    content_type: str = "",
    is_mail: bool = False,
) -> dict[str, Any]:
    """Return the answer of a child of `server` to `document`. Raises as `parse_in_sandbox`."""
    asked = {"url": url, "content_type": content_type, "raw": isinstance(document, bytes), "mail": is_mail}
    head = json.dumps(asked).encode()
    body = document if isinstance(document, bytes) else document.encode("utf-8", "replace")
    try:
        code, answer = server.ask(head + b"\n" + body, wall_s=wall_s)
    except TimeoutError as error:
        raise _timeout() from error
    except OSError as error:
        message = f"No process could be started to read the document ({error.strerror})."
        raise FeedProblem("parse_unavailable", message) from error
    return _read_answer(code, answer)


def _read_answer(code: int, answer: bytes) -> dict[str, Any]:
    if code in (-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGALRM):
        raise _timeout()
    if code == MEMORY_EXIT:
        raise FeedProblem(
            "parse_memory", gettext_noop("Reading this document takes more memory than any feed should.")
        )
    try:
        body: dict[str, Any] = json.loads(answer) if code == 0 else {}
        if "problem" in body:
            raise FeedProblem(str(body["problem"]["code"]), str(body["problem"]["message"]))
        return dict(body["read"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _crash_problem() from error


def _crash_problem() -> FeedProblem:
    return FeedProblem("parse_crashed", gettext_noop("Reading this document broke the parser."))


def _timeout() -> FeedProblem:
    return FeedProblem(
        "parse_timeout", gettext_noop("Reading this document takes longer than any feed should.")
    )
