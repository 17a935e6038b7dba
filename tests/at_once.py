"""Several writers at the same moment, each on a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection

T = TypeVar("T")
WRITERS = 6


def at_once(write: Callable[[int], T]) -> list[T]:
    """The results of `write(0)` to `write(5)`, run in as many threads."""

    def on_own_connection(number: int) -> T:
        try:
            return write(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(on_own_connection, range(WRITERS)))


def need_real_locks() -> None:
    """Skip on SQLite in memory, which answers a second writer with an error instead of letting it wait."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("needs a database with real locks: runs in `make test-services`")
