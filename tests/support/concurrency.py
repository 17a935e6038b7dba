"""Several writers at the same moment, each on a connection of its own."""

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
    """The results of `write(0)`, `write(1)`… begun together, in as many threads as there are writers."""
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
    """What `read` finds on a writer's connection, once all have written."""
    return at_once(lambda number: read(), writers=1)[0]


@contextmanager
def database_on_disk(path: Path) -> Iterator[None]:
    """Threads share no in-memory SQLite database: let them share a copy of it on disk. Others are shared.

    The copy takes what has been committed; this thread goes on reading the original (`seen_by_writers`).
    """
    if connection.vendor != "sqlite":
        yield
        return
    kept = connection.settings_dict["NAME"]
    connection.ensure_connection()
    connection.connection.execute(f"VACUUM INTO '{path}'")
    # As `migrate` leaves a file: of several that turn one into WAL at once all but one find it locked.
    with closing(sqlite3.connect(path)) as copy:
        copy.execute("PRAGMA journal_mode = WAL")
    connection.settings_dict["NAME"] = str(path)
    try:
        yield
    finally:
        connection.settings_dict["NAME"] = kept
