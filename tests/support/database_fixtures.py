"""A pytest plugin: the test database, installed once a run and copied for each worker."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from tests.support.databases import database_installed, file_installed

# How long a browser may take for the answer it last asked for.
LAST_ANSWER_S = 20
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
        post_migrate.connect(_restore_reason_tags, sender=apps.get_app_config("digest"))
        if connection.vendor == "sqlite":
            patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: _restore_database(path))
        with django_db_blocker.block():
            yield path


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


def _restore_reason_tags(**_: object) -> None:
    """Fill the table that a migration had filled: a transactional test ends by emptying every table."""
    import_module("digest.migrations.0001_squashed").reason_tags_add(apps, None)


def _restore_database(path: Path) -> None:
    """Copy the installed database back, which takes a twentieth of the time of emptying every table."""
    deadline = time.monotonic() + LAST_ANSWER_S

    def fail_when_late(*_: int) -> None:
        # SQLite's copy waits for other readers for ever, and no signal reaches it.
        if time.monotonic() > deadline:
            raise TimeoutError("another connection still uses the test database: close it in the test")

    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        copy.backup(connection.connection, progress=fail_when_late)
