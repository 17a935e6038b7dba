"""Imports of our own names, checked without running them."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.lab.size.source import ROOMS

ROOT = Path(__file__).resolve().parents[3]
OURS = (*ROOMS, "tests")


def names_missing(paths: Iterable[Path]) -> list[str]:
    """Return `file:line name` for each import of our own that names nothing, wherever in a file it stands."""
    found = []
    for path in sorted(paths):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found += [f"{path.name}:{node.lineno} {name}" for name in _imported(node) if not _exists(name)]
    return found


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the full names of our own that a statement imports."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    yield from (name for name in names if name.partition(".")[0] in OURS)


def _exists(name: str) -> bool:
    """Return whether a full name is a module, or a name that a module defines or imports."""
    module, _, last = name.rpartition(".")
    return bool(_file(name)) or (bool(_file(module)) and last in _defined(module))


@cache
def _file(module: str) -> Path | None:
    """Return the file of a module of ours, `None` if there is none."""
    path = ROOT.joinpath(*module.split("."))
    found = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
    return found[0] if found else None


@cache
def _defined(module: str) -> frozenset[str]:
    """Return the names that a module defines at any level outside functions, imports among them."""
    file = _file(module)
    assert file
    return frozenset(_bound(ast.parse(file.read_text(encoding="utf-8")).body))


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
            for part in ("body", "orelse", "finalbody"):
                yield from _bound(getattr(node, part, []))
