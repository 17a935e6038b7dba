"""`python -m digest.parse_child`: the nursery, which forks a child under limits for each document.

It never touches what strangers wrote. Over its standard input, a socket, it gets the two files of each
document: one to read the document from and to answer in JSON on, one to say how the child ended. The limits
are set in the child, right after the fork: only then it is known what the interpreter needs for itself, and
only this document's seconds count. There are no threads here, so that a fork is safe.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Final

from digest.contained import GRACE_S, MEMORY_EXIT, WISH
from digest.feeds import FeedProblem, ParsedFeed, feed_as_json
from digest.parse import document_read

# Of processor time: the two seconds a document may cost, less what the parent's checks of a document of ten
# megabytes (0.3 s) and reading the answer take. The kernel's own limit counts whole seconds.
CPU_S: Final = 1.6
MEMORY_BYTES: Final = 300 * 1024 * 1024
# A nursery nobody asks for so long ends; the next document starts another.
IDLE_S: Final = 120.0
Reader = Callable[..., ParsedFeed]


def main() -> int:
    """Serve until the parent ends or has had nothing to read for a while."""
    nursery_serve(document_read)
    return 0


def nursery_serve(read: Reader, *, memory_bytes: int = MEMORY_BYTES, cpu_s: float = CPU_S) -> None:
    """Fork a child for each document asked for on standard input; `read` turns its text into a feed."""
    line = socket.socket(fileno=0)
    waker, woken = socket.socketpair()
    for end in (waker, woken):
        end.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.collect()
    gc.freeze()  # what children share with us stays shared
    limits = partial(limits_set, cpu_s=cpu_s, memory_bytes=memory_bytes)
    children: dict[int, tuple[int, float]] = {}
    while True:
        ready = select.select([line, waker], [], [], 1.0 if children else IDLE_S)[0]
        if waker in ready:
            waker.recv(4096)
        _ended_tell(children)
        if line in ready:
            wish, files, _, _ = socket.recv_fds(line, WISH.size, 2)
            if len(wish) < WISH.size or len(files) < 2:
                break  # the parent has ended
            (wall_s,) = WISH.unpack(wish)
            pid = _fork(files, partial(limits, wall_s=wall_s), read)
            children[pid] = files[1], time.monotonic() + wall_s + GRACE_S / 2
        elif not ready and not children:
            break
        _kill(pid for pid, (_, until) in children.items() if until < time.monotonic())
    _kill(children)


def _fork(files: Sequence[int], limit: Callable[[], None], read: Reader) -> int:
    """Have a child read from the first of `files`; its number. The second stays here, for how it ends."""
    pid = os.fork()
    if pid:
        os.close(files[0])
        return pid
    signal.set_wakeup_fd(-1)
    os.close(files[1])
    os.close(0)  # the nursery's line: it ends with the nursery
    limit()
    os._exit(_child(files[0], read))


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _ended_tell(children: dict[int, tuple[int, float]]) -> None:
    """Say of each child that has ended how it did: its exit code, negative for a signal, and its seconds of
    processor time."""
    while children:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        how = f"{os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime:.3f}"
        told = children.pop(pid)[0]
        with suppress(OSError):  # nobody may wait for it any more
            os.write(told, how.encode())
        os.close(told)


def _child(file: int, read: Reader) -> int:
    """Answer with `{"feed": …}` or `{"problem": {code, message}}`; the exit code."""
    try:
        with socket.socket(fileno=file) as end:
            head, _, text = end.makefile("rb").read().partition(b"\n")
            end.sendall(json.dumps(_answer(read, str(json.loads(head)["url"]), text.decode())).encode())
    except MemoryError:
        return MEMORY_EXIT
    except BaseException:
        return 1
    return 0


def _answer(read: Reader, url: str, text: str) -> dict[str, object]:
    try:
        return {"feed": feed_as_json(read(text, url=url))}
    except FeedProblem as problem:
        return {"problem": {"code": problem.code, "message": problem.message}}


def limits_set(*, cpu_s: float, memory_bytes: int, wall_s: float) -> None:
    """Give this process `cpu_s` more seconds of processor time, `wall_s` by the clock, and `memory_bytes`
    beyond what it has.

    It can write no files and leaves no core dump. A system that refuses one of the limits (macOS has no
    `RLIMIT_AS`) keeps the others.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    _limit(resource.RLIMIT_CPU, ceil(cpu_s) + 1)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(what, (value, hard))
    except (ValueError, OSError):
        return


def _address_space() -> int:
    """Bytes of address space this process has taken so far; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
