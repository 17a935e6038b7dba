"""Parsing apart: a process with little memory, little time and none of our secrets for each document.

Starting an interpreter and its imports costs more than most documents (0.1 s and more), so one process is
started when first needed and has done that by the time it is asked: the nursery (`digest.parse_child`). It
reads nothing of strangers; for each document it forks a child that sets its limits, reads, answers and ends.
No fork of ours: a process with threads would hand down its locks; nor `multiprocessing`: Celery's workers are
daemonic and may not have children of that kind.
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

from digest.feeds import FeedProblem, ParsedFeed, feed_from_json

# The child limits its own processor time and memory; this is for one that waits instead of working, on
# machines where two seconds of work may take ten.
WALL_S: Final = 20.0
# Beyond it nobody waits for the nursery to say what became of the child.
GRACE_S: Final = 5.0
MEMORY_EXIT: Final = 3
WISH: Final = struct.Struct("!d")
PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
COMMAND: Final = (sys.executable, "-s", "-P", "-m", "digest.parse_child")


class _Ended(Exception):
    """The nursery is no longer there; it goes by itself where nobody asks for a while."""


class Nursery:
    """The process that forks a child for each document. Safe to share between threads and to inherit.

    `command` starts it; it is asked through its standard input, a socket. `spent_s` counts the processor
    seconds of its children.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command, self._lock, self.spent_s = command, Lock(), 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    def ask(self, said: bytes, *, wall_s: float) -> tuple[int, bytes]:
        """A child's exit code (negative: the signal that ended it) and what it answered to `said`.

        Raises `OSError` where no process can be started, and `TimeoutError` where nothing comes back in time.
        """
        for _ in range(2):
            with suppress(_Ended):
                return self._asked(said, wall_s)
        raise ChildProcessError(errno.ECHILD, "it ends before it answers")

    def end(self) -> None:
        """Let the process go; the next document starts another."""
        with self._lock:
            self._drop()

    def forget(self) -> None:
        """After a fork, in the child: what the parent has is the parent's."""
        self._lock = Lock()
        if self._line:
            self._line.close()
        if self._process:
            self._process.returncode = 0  # not ours to wait for
        self._process = self._line = None

    def _asked(self, said: bytes, wall_s: float) -> tuple[int, bytes]:
        ours, theirs = socket.socketpair()
        heard, told = socket.socketpair()
        with ours, heard:
            with theirs, told:
                line = self._hand_over(WISH.pack(wall_s), [theirs.fileno(), told.fileno()])
            for end in (ours, heard):
                end.settimeout(wall_s + GRACE_S)
            with suppress(BrokenPipeError, ConnectionResetError):  # it ended before it had read everything
                ours.sendall(said)
                ours.shutdown(socket.SHUT_WR)
            answer = bytearray()
            with suppress(ConnectionResetError):
                while chunk := ours.recv(1 << 20):
                    answer += chunk
            code, _, seconds = heard.recv(64).decode().partition(" ")
        if not code:
            with self._lock:
                if self._line is line:  # nobody has started another meanwhile
                    self._drop()
            raise _Ended
        self.spent_s += float(seconds)
        return int(code), bytes(answer)

    def _hand_over(self, wish: bytes, files: list[int]) -> socket.socket:
        with self._lock:
            line = self._line = self._line or self._start()
            try:
                socket.send_fds(line, [wish], files)
            except (BrokenPipeError, ConnectionResetError) as error:
                self._drop()
                raise _Ended from error
        return line

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_environment(),
                    start_new_session=True,  # a Ctrl-C is for us
                )
            except OSError:
                ours.close()
                raise
        return ours

    def _drop(self) -> None:
        if self._line:
            self._line.close()
        if self._process:
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._line = None


NURSERY: Final = Nursery()
atexit.register(NURSERY.end)
os.register_at_fork(after_in_child=NURSERY.forget)


def parse_contained(text: str, *, url: str, nursery: Nursery = NURSERY, wall_s: float = WALL_S) -> ParsedFeed:
    """Read the checked document `text`, fetched from `url`, in a child process.

    Raises what `parse_document` raises, and `FeedProblem`: `parse_timeout` (over two seconds of processor
    time), `parse_memory` (over 300 MiB), `parse_crashed` (the child died), `parse_unavailable` (it could
    not be started: no fault of the feed's).
    """
    said = f"{json.dumps({'url': url})}\n{text}".encode("utf-8", "replace")
    try:
        code, answer = nursery.ask(said, wall_s=wall_s)
    except TimeoutError as error:
        raise _timeout() from error
    except OSError as error:
        message = f"No process could be started to read the document ({error.strerror})."
        raise FeedProblem("parse_unavailable", message) from error
    return _answer(code, answer)


def _environment() -> dict[str, str]:
    """What the child may know: where the code is. Keys and passwords stay with the parent."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def _answer(code: int, said: bytes) -> ParsedFeed:
    if code in (-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGALRM):
        raise _timeout()
    if code == MEMORY_EXIT:
        raise FeedProblem("parse_memory", "Reading this document takes more memory than any feed should.")
    try:
        answer: dict[str, Any] = json.loads(said) if code == 0 else {}
        if "problem" in answer:
            problem = answer["problem"]
            raise FeedProblem(str(problem["code"]), str(problem["message"]))
        return feed_from_json(answer["feed"])
    except (ValueError, KeyError, TypeError) as error:
        raise FeedProblem("parse_crashed", "Reading this document broke the parser.") from error


def _timeout() -> FeedProblem:
    return FeedProblem("parse_timeout", "Reading this document takes longer than any feed should.")
