"""Run several writers at the same moment, each on its own connection."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier
from typing import TypeVar

from django.db import connection

T = TypeVar("T")
WRITERS = 6


def at_once(write: Callable[[int], T], writers: int = WRITERS) -> list[T]:
    """Return the results of `write(0)`, `write(1)`… begun together, in as many threads as there are
    writers."""
    start = Barrier(writers)

    def on_own_connection(number: int) -> T:
        start.wait()
        try:
            return write(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(writers) as pool:
        return list(pool.map(on_own_connection, range(writers)))


def seen_by_writers(read: Callable[[], T]) -> T:
    """Return the result of `read` on a writer's connection, after all have written."""
    return at_once(lambda number: read(), writers=1)[0]


@contextmanager
def database_on_disk(path: Path) -> Iterator[None]:
    """Let threads share a copy of an in-memory SQLite database on disk. Other databases are shared anyway.

    The copy has the committed rows. This thread goes on reading the original (`seen_by_writers`).
    """
    if connection.vendor != "sqlite":
        yield
        return
    kept = connection.settings_dict["NAME"]
    connection.ensure_connection()
    connection.connection.execute(f"VACUUM INTO '{path}'")
    # The copy uses WAL, as after `migrate`. If several connections switch to WAL at once, all but one find it
    # locked.
    with closing(sqlite3.connect(path)) as copy:
        copy.execute("PRAGMA journal_mode = WAL")
    connection.settings_dict["NAME"] = str(path)
    try:
        yield
    finally:
        connection.settings_dict["NAME"] = kept
