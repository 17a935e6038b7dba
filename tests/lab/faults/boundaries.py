"""Kill a process at a boundary: after its n-th statement or commit, or during its n-th question to a model.

The kill is a real SIGKILL of a fork, so no `except`, `finally` or rollback of ours runs. The database sees a
client that is gone.
"""

import itertools
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

Json = dict[str, Any]
HANGS_S = 120.0


class Hung(Exception):
    """A process that did nothing for two minutes."""


def forked(work: Callable[[], Json | None]) -> tuple[int, int, Json | None]:
    """Do `work` in a fork. Return its process id, the signal that ended it (0 for none), and its result.

    Raises `Hung`, and `RuntimeError` if the work itself failed.
    """
    connections.close_all()
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _work(work, writing)
    os.close(writing)
    said = _heard(reading, pid)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return pid, os.WTERMSIG(status), None
    if os.WEXITSTATUS(status):
        raise RuntimeError(said.decode(errors="replace"))
    return pid, 0, json.loads(said) if said else None


@contextmanager
def counted(kill_at: int = 0) -> Iterator[Callable[[], int]]:
    """Count the boundaries that every connection of this process passes; at number `kill_at` it dies."""
    numbers, passed = itertools.count(1), [0]

    def passing() -> None:
        passed[0] = next(numbers)
        if passed[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        passing()
        return result

    def connected(sender: object, connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
        connection.execute_wrappers.append(wrapper)

    commit = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]

    def committed(self: BaseDatabaseWrapper) -> None:
        commit(self)
        passing()

    connections.close_all()
    connection_created.connect(connected, weak=False)
    BaseDatabaseWrapper._commit = committed  # type: ignore[attr-defined]
    try:
        yield lambda: passed[0]
    finally:
        connection_created.disconnect(connected)
        BaseDatabaseWrapper._commit = commit  # type: ignore[attr-defined]
        connections.close_all()


def _work(work: Callable[[], Json | None], writing: int) -> None:
    """The fork's whole life."""
    try:
        said, code = json.dumps(work(), default=str), 0
    except BaseException:
        said, code = traceback.format_exc()[-2000:], 1
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        pipe.write(said)
    os._exit(code)


def _heard(reading: int, pid: int) -> bytes:
    """Return all that the fork says until it is gone."""
    parts = []
    with os.fdopen(reading, "rb") as pipe:
        while True:
            if not select.select([pipe], [], [], HANGS_S)[0]:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise Hung
            part = os.read(pipe.fileno(), 65536)
            if not part:
                return b"".join(parts)
            parts.append(part)
