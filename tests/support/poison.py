"""Make one function fail for one row, to test that loops over rows survive any failure."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Model

# Attributes by which an argument says which row it is about.
RELATED = ("reader", "feed", "destination")
NAMES = ("pk", "reader_id", "reader", "feed", "destination", "title", "url")


def poison(monkeypatch: pytest.MonkeyPatch, path: str, row: Model | str) -> None:
    """Make the function at `path` (module.name) raise when an argument is, names or holds `row`.

    A row that is a text is in every text that contains it.
    """
    module, name = path.rsplit(".", 1)
    real = getattr(import_module(module), name)

    def broken(*args: Any, **given: Any) -> Any:
        if _about(row, [*args, *given.values()]):
            raise ArithmeticError("poisoned")
        return real(*args, **given)

    monkeypatch.setattr(path, broken)


def _about(row: Model | str, values: Iterable[Any]) -> bool:
    """Return whether one of `values` is the row, its id, its name, or a collection with one of these."""
    for value in values:
        if isinstance(value, list | tuple | set | dict):
            if _about(row, value):
                return True
        elif _is(row, value) or any(_is(row, _named(value, name)) for name in NAMES):
            return True
    return False


def _named(value: object, name: str) -> object:
    """Return an attribute, without a query: threads that send have no database connection."""
    if isinstance(value, Model) and name in RELATED and name not in value._state.fields_cache:
        return None
    return getattr(value, name, None)


def _is(row: Model | str, value: object) -> bool:
    if isinstance(row, str):
        return isinstance(value, str) and row in value
    if isinstance(value, str):
        return value == getattr(row, "address", None)
    # The whole numbers of two tables may be equal.
    return value == row or (isinstance(row.pk, UUID) and value == row.pk)
