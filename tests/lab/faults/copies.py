"""Copies of a database as it stands: one for each thing that is to go wrong with it."""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection, connections


class Template:
    """The present database of this process. No connection may use it while it is copied."""

    def __init__(self) -> None:
        connections.close_all()
        self._name = str(connection.settings_dict["NAME"])
        self._numbers = itertools.count()

    @contextmanager
    def copied(self) -> Iterator[None]:
        """Connect this process to its own copy, which is deleted afterwards."""
        name = f"{self._name}_{os.getpid()}_{next(self._numbers)}"
        self._make(name)
        use(name)
        try:
            yield
        finally:
            use(self._name)
            self._drop(name)

    def _make(self, name: str) -> None:
        if connection.vendor == "sqlite":
            shutil.copyfile(self._name, name)
        else:
            _administer(f'CREATE DATABASE "{name}" TEMPLATE "{self._name}"')

    def _drop(self, name: str) -> None:
        if connection.vendor == "sqlite":
            for ending in ("", "-wal", "-shm"):
                if os.path.exists(name + ending):
                    os.unlink(name + ending)
        else:
            _administer(f'DROP DATABASE "{name}" WITH (FORCE)')


def use(name: str) -> None:
    """Let this thread's connection go to another database of the same kind."""
    connections.close_all()
    connection.settings_dict["NAME"] = name


def _administer(statement: str) -> None:
    known = connection.settings_dict
    at = {"host": known["HOST"], "port": known["PORT"], "user": known["USER"], "password": known["PASSWORD"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **at) as server:
        server.execute(statement)  # type: ignore[call-overload]
