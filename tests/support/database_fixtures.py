"""A pytest plugin: the test database, installed once a run and copied for each worker."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from advisor.run import execute
from config.jobs import lease
from tests.support.databases import database_installed, file_installed
from tests.support.selection import commits, uses_database

# How long a browser may take for the answer it last asked for.
LAST_ANSWER_S = 20
NEVER_S = 3600.0
Build = Callable[[], Any]


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """Set up the test database. On SQLite, return the file of a copy that no test has written to."""
    own = tmp_path_factory.mktemp("database")
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if hasattr(request.config, "workerinput") else shared
    with (
        pytest.MonkeyPatch.context() as patch,
        django_db_blocker.unblock(),
        database_installed(shared, own) as path,
    ):
        restore = (
            partial(_restore_file, path) if connection.vendor == "sqlite" else _restore_rows(_keep_rows())
        )
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: restore())
        with django_db_blocker.block():
            yield path


@pytest.fixture(autouse=True)
def no_renewals(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew no lease while a test holds a transaction.

    On SQLite the renewal would wait 20 s for the lock of that transaction, and the end of the run for the
    renewal: a run that a busy machine makes longer than a heartbeat (5 s) would take 25 s.
    """
    if uses_database(request.node) and not commits(request.node):
        monkeypatch.setattr(execute, "BEAT_S", NEVER_S)
        monkeypatch.setattr(lease, "HEARTBEAT_S", NEVER_S)


@pytest.fixture(scope="session")
def installed(django_db_setup: Path) -> Path:
    """Return a SQLite database as `migrate` leaves it, for tests that start processes and copy it."""
    return file_installed(django_db_setup)


@pytest.fixture(scope="module")
def staged(django_db_setup: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[Build], Any]]:
    """Yield a function that builds a world once for all tests of a module. Each test runs on a savepoint
    above it.

    Every test of the module that uses the database finds that world.
    """

    def build(make: Build) -> Any:
        with django_db_blocker.unblock():
            return make()

    with django_db_blocker.unblock(), transaction.atomic():
        with django_db_blocker.block():
            yield build
        transaction.set_rollback(True)


def _restore_file(path: Path) -> None:
    """Copy the installed database back, which takes a twentieth of the time of emptying every table."""
    deadline = time.monotonic() + LAST_ANSWER_S

    def fail_when_late(*_: int) -> None:
        # SQLite's copy waits for other readers for ever, and no signal reaches it.
        if time.monotonic() > deadline:
            raise TimeoutError("another connection still uses the test database: close it in the test")

    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        copy.backup(connection.connection, progress=fail_when_late)


def _keep_rows() -> tuple[list[str], list[str]]:
    """Copy the rows that migrations wrote into a schema of their own. Return the names of all tables, and of
    those."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        tables = [quote(name) for name in connection.introspection.table_names(cursor)]
        filled = _filled(cursor, tables)
        cursor.execute("CREATE SCHEMA installed")
        for table in filled:
            cursor.execute(f"CREATE TABLE installed.{table} AS TABLE {table}")
    return tables, filled


def _restore_rows(kept: tuple[list[str], list[str]]) -> Callable[[], None]:
    """Return a function that puts the rows of `_keep_rows` back, and no others.

    Emptying every table, as Django does, writes a file for each table and index: two seconds instead of a
    twentieth of one.
    """
    tables, filled = kept

    def restore() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # Wait for whoever still writes, but not for ever.
            cursor.execute(f"SET LOCAL lock_timeout = '{LAST_ANSWER_S}s'")
            cursor.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table in _filled(cursor, tables):
                cursor.execute(f"DELETE FROM {table}")
            for table in filled:
                cursor.execute(f"INSERT INTO {table} SELECT * FROM installed.{table}")

    return restore


def _filled(cursor: Any, tables: Sequence[str]) -> list[str]:
    """Return the tables that have rows. One query."""
    cursor.execute(
        " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables)
    )
    return [name for (name,) in cursor.fetchall()]
