"""Find the tests that must also run on PostgreSQL, from the source of product and tests. Pure.

A function of the product needs PostgreSQL if it has its own SQL, takes a row lock, claims rows by a
conditional update, writes with a conflict clause, catches a broken constraint or asks for a special order. So
does a function that calls such a function of its module.

A test needs PostgreSQL if it names such a function, or a fixture or helper of its file that does. The first
test of each file always counts, so that every file is tried there.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
# SQL of our own; locks; claims by conditional update; upserts; constraints; orders that databases differ in.
OWN_SQL = re.compile(
    r"\.cursor\(|\.raw\(|RawSQL|\.vendor\b|SearchVector|SearchQuery"
    r"|select_for_update|advisory"
    r"|if not [^\n]*\.update\("
    r"|update_conflicts|ignore_conflicts"
    r"|IntegrityError"
    r"|Collate|nulls_first|nulls_last"
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def postgres_tests_of(path: Path) -> frozenset[str]:
    """Return the names of the test functions of a file that need PostgreSQL."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    foreign = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ROOMS
        for alias in node.names
        if alias.name in postgres_functions_of(node.module)
    }
    definitions = _definitions(tree)
    needing = {name for name, node in definitions.items() if _names(node) & foreign}
    needing |= {name for name, node in definitions.items() if OWN_SQL.search(_text(text, node))}
    first = [name for name in definitions if name.startswith("test_")][:1]
    return frozenset(_with_callers(needing, definitions)).union(first)


@cache
def postgres_functions_of(module: str) -> frozenset[str]:
    """Return the names of the functions and classes of a product module that need PostgreSQL."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.is_file():
        return frozenset()
    text = path.read_text(encoding="utf-8")
    definitions = _definitions(ast.parse(text))
    needing = {name for name, node in definitions.items() if OWN_SQL.search(_text(text, node))}
    return frozenset(_with_callers(needing, definitions))


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    return {node.name: node for node in tree.body if isinstance(node, Definition)}


def _text(text: str, node: Definition) -> str:
    return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


def _names(node: Definition) -> set[str]:
    """Return all names in a definition: those it uses, its arguments (fixtures), and attributes."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    found |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return found | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def _with_callers(needing: Iterable[str], definitions: Mapping[str, Definition]) -> set[str]:
    """Return `needing` and every definition of the same file that names one of them, at any distance."""
    found, names = set(needing), {name: _names(node) for name, node in definitions.items()}
    while more := {name for name in names if name not in found and names[name] & found}:
        found |= more
    return found
