"""Rows into PostgreSQL by COPY: text as the server reads it, from many processes, with indexes made last."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

# Lines in one message to the server.
LINES = 2_000
PROCESSES = 2


@contextmanager
def connected() -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to the database of `DATABASE_URL` that checks no foreign key and does not wait for
    the disk.

    The written rows are consistent by construction, and a crash loses nothing of value.
    """
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '1GB'")
        yield connection


def copy(connection: psycopg.Connection[Any], table: str, columns: str, lines: Iterable[str]) -> int:
    """Write lines of tab-separated values (no tab or backslash within); how many there were."""
    count = 0
    with connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as stream:
        some: list[str] = []
        for line in lines:
            some.append(line)
            if len(some) >= LINES:
                stream.write("\n".join(some) + "\n")
                count, some = count + len(some), []
        if some:
            stream.write("\n".join(some) + "\n")
    return count + len(some)


def in_parts(work: Callable[[int, int], None], count: int) -> None:
    """Call `work(first, last)` for parts of `range(count)`, each in a fork. Raises if one failed."""
    cuts = [count * n // PROCESSES for n in range(PROCESSES + 1)]
    context = multiprocessing.get_context("fork")
    parts = [
        context.Process(target=work, args=(cuts[n], cuts[n + 1]), name=f"part {n}") for n in range(PROCESSES)
    ]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    if broken := [part.name for part in parts if part.exitcode]:
        raise RuntimeError(f"{', '.join(broken)} broke; what it said is above")


def indexes_drop(connection: psycopg.Connection[Any], tables: Iterable[str]) -> list[str]:
    """Drop the indexes of `tables` that hold no constraint; the statements that make them again."""
    rows = connection.execute(
        "SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i "
        "JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid "
        "WHERE t.relname = ANY(%s) AND NOT i.indisunique "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)",
        [list(tables)],
    ).fetchall()
    for name, _ in rows:
        connection.execute(f'DROP INDEX "{name}"')
    return [statement for _, statement in rows]


def indexes_make(statements: list[str]) -> None:
    """Make indexes: the search's, which takes as long as all others together, beside the rest."""
    order = sorted(statements, key=lambda statement: "search_words" not in statement)
    piles = [order[:1], order[1:]]

    def make(first: int, last: int) -> None:
        with connected() as connection:
            for statement in (one for pile in piles[first:last] for one in pile):
                connection.execute(statement)

    in_parts(make, len(piles))
