"""Make functions fail for hostile rows, in every process that has this folder on its path.

`DAY_POISON` is the path of a JSON file: of each function (module.name) the mark of the rows for which it
fails, and the id of the reader of that name. Each failure adds a line to the file beside it, `met.txt`.
Python imports this module when it starts.
"""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

PLAN = Path(os.environ["DAY_POISON"]) if os.environ.get("DAY_POISON") else None
POISON: dict[str, list[str]] = json.loads(PLAN.read_text(encoding="utf-8")) if PLAN and PLAN.exists() else {}
NAMES = ("username", "title", "url", "reader_id")
RELATED = ("reader", "feed", "destination")


class Poisoner:
    """Finds the modules of the poisoned functions, and replaces these once the module is loaded."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how a module is loaded, with the functions replaced afterwards."""
        paths = [one for one in POISON if one.rpartition(".")[0] == name]
        if not paths:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_poison(module: ModuleType) -> None:
            load(module)
            for one in paths:
                function = one.rpartition(".")[2]
                setattr(module, function, poisoned(getattr(module, function), one))

        spec.loader.exec_module = load_and_poison  # type: ignore[method-assign]
        return spec


def poisoned(real: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return the function, failing for its hostile row."""

    def broken(*args: Any, **given: Any) -> Any:
        if is_about(POISON[path], [*args, *given.values()]):
            assert PLAN
            with PLAN.with_name("met.txt").open("a", encoding="utf-8") as met:
                met.write(f"{path}\n")
            raise ArithmeticError(f"poisoned {path}")
        return real(*args, **given)

    return broken


def is_about(marks: list[str], values: Iterable[Any]) -> bool:
    """Return whether one of `values` is the hostile row, names it, or holds it."""
    for value in values:
        if isinstance(value, str):
            if any(mark in value for mark in marks):
                return True
        elif isinstance(value, dict):
            if is_about(marks, [*value, *value.values()]):
                return True
        elif isinstance(value, list | tuple | set | frozenset):
            if is_about(marks, value):
                return True
        elif str(value) in marks or is_about(marks, named(value)):
            return True
    return False


def named(value: object) -> list[object]:
    """Return what a row says of itself, without a query."""
    own = vars_of(value)
    found: list[object] = [str(getattr(value, name)) for name in NAMES if name in own]
    if "_state" in own:  # a row of the database loads what it is related to only when it is asked
        row: Any = value
        loaded = row._state.fields_cache
        return [*found, str(row.pk), *(loaded[name] for name in RELATED if name in loaded)]
    return found + [getattr(value, name) for name in RELATED if name in own]


def vars_of(value: object) -> Iterable[str]:
    """Return the names of an object's own values."""
    return getattr(value, "__dict__", None) or getattr(type(value), "__slots__", ())


if POISON:
    sys.meta_path.insert(0, Poisoner())  # type: ignore[arg-type]
