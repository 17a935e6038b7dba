"""A reader for whom one function breaks, whatever the reason: what loops over readers must survive."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest

from digest.models import Reader


def poison(monkeypatch: pytest.MonkeyPatch, path: str, reader: Reader) -> None:
    """Make the function at `path` (module.name) raise when an argument is, names or holds `reader`."""
    module, name = path.rsplit(".", 1)
    real = getattr(import_module(module), name)

    def broken(*args: Any, **given: Any) -> Any:
        if _about(reader, [*args, *given.values()]):
            raise ArithmeticError("poisoned")
        return real(*args, **given)

    monkeypatch.setattr(path, broken)


def _about(reader: Reader, values: Iterable[Any]) -> bool:
    """Return whether one of `values` is the reader, their id, a row of theirs, or a collection of such."""
    for value in values:
        if reader.pk in (value, getattr(value, "pk", None), getattr(value, "reader_id", None)):
            return True
        if isinstance(value, list | tuple | set | dict) and _about(reader, value):
            return True
    return False
