"""The test database: migrated once a run, then copied for each process of the tests."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection

# No test needs the rows to survive a power failure.
UNSYNCED = "PRAGMA synchronous=OFF;"


@contextmanager
def database_installed(shared: Path, own: Path) -> Iterator[Path]:
    """Connect this process to its own database until the block ends. Yield the template it was copied from.

    `shared` is a folder of all processes, `own` one of this process. A SQLite database is a file, as in an
    installation: in-memory databases lock differently between threads, and nobody can wait for those locks.
    PostgreSQL copies a template database, and the path is a file made by `file_installed`. Its databases stay
    until the next run makes them anew. To drop one at the end of a run took three minutes on a busy disk,
    since PostgreSQL first writes everything to disk.
    """
    before, name = connection.settings_dict["NAME"], str(connection.creation._get_test_db_name())
    template, made = f"installed_{before}", shared / "installed.made"
    file = shared / "installed.sqlite3"
    with _turn(shared):
        if connection.vendor == "sqlite":
            name = _file_copied(file, own)
        else:
            _template_copied(template, name, migrated=made.exists())
            made.touch()
    _connect_to(name)
    try:
        yield file
    finally:
        _connect_to(before)


def file_installed(file: Path) -> Path:
    """Return the file of a migrated SQLite database. Make it if it is missing."""
    with _turn(file.parent):
        if not file.exists():
            making = file.with_suffix(".making")
            environment = os.environ | {"DATABASE_URL": f"sqlite:///{making}", "REDIS_URL": ""}
            migrate = [sys.executable, "manage.py", "migrate", "-v0"]
            subprocess.run(migrate, cwd=settings.BASE_DIR, env=environment, check=True)
            making.rename(file)
    return file


@contextmanager
def _turn(shared: Path) -> Iterator[None]:
    """Let one process of the tests install after the other."""
    with (shared / "installing").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _file_copied(file: Path, own: Path) -> str:
    """Copy the file, after making it if it is missing. Return the copy's name."""
    connection.settings_dict["OPTIONS"]["init_command"] += UNSYNCED
    if not file.exists():
        making = file.with_suffix(".making")
        _migrate(str(making))
        making.rename(file)
    return str(shutil.copy(file, own / "tests.sqlite3"))


def _template_copied(template: str, name: str, *, migrated: bool) -> None:
    """Copy the template. Make it again if this run has not `migrated` it."""
    if not migrated:
        _create(template, "template0")
        _migrate(template)
    _connect_to(name)
    _create(name, template)


def _migrate(name: str) -> None:
    """Migrate the database, and hang up."""
    _connect_to(name)
    call_command("migrate", verbosity=0, interactive=False)
    _hang_up()


def _connect_to(name: str) -> None:
    """Let this process use the database of that name."""
    _hang_up()
    connection.settings_dict["NAME"] = name


def _hang_up() -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()


def _create(name: str, template: str) -> None:
    """Copy the template. Drop a database of that name first, though somebody may still be hanging up there.

    No commit in the copy waits for the disk.
    """
    copy, origin = connection.ops.quote_name(name), connection.ops.quote_name(template)
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {copy} TEMPLATE {origin}")
        cursor.execute(f"ALTER DATABASE {copy} SET synchronous_commit TO off")
