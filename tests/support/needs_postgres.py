"""Find the tests that must also run on PostgreSQL, from the source of product and tests. Pure.

A function of the product needs PostgreSQL if it has its own SQL, takes a row lock, claims rows by a
conditional update, writes with a conflict clause, catches a broken constraint or asks for a special order. So
does a function that calls such a function of its module.

A test needs PostgreSQL if it stands in the folder of such a function and names it, or a fixture or helper of
its file that does. In another folder such functions are mostly the set-up: of each file there the first test
counts that names each. The first test of every file counts, so that all are tried there.

Of a test with many cases the first is enough for locks, claims and upserts: their statement is always the
same. Our own SQL, constraints and orders depend on the rows, so all cases of their tests count. So do those
of tests marked `every_case`.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
# SQL of our own; constraints; orders that databases differ in.
BY_ROWS = re.compile(
    r"\.cursor\(|\.raw\(|RawSQL|\.vendor\b|SearchVector|SearchQuery"
    r"|IntegrityError"
    r"|Collate|nulls_first|nulls_last"
)
# Those, and locks, claims by conditional update and upserts.
OWN_SQL = re.compile(
    BY_ROWS.pattern + r"|select_for_update|advisory"
    r"|if not [^\n]*\.update\("
    r"|update_conflicts|ignore_conflicts"
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class PostgresTests:
    """The names of a file's test functions that need PostgreSQL, and of those that need it for every case."""

    names: frozenset[str]
    every_case: frozenset[str]


@cache
def postgres_tests_of(path: Path) -> PostgresTests:
    """Return which tests of a file need PostgreSQL."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    folder = path.relative_to(ROOT).parts[1:-1]
    near, far, by_rows = set[str](), set[str](), set[str]()
    for node in _imports(tree):
        if node.module and node.module.split(".")[0] in ROOMS:
            needing = _imported(node, OWN_SQL)
            is_near = tuple(node.module.split(".")[:-1]) == folder
            (near if is_near else far).update(needing)
            by_rows |= _imported(node, BY_ROWS) if is_near else set()
    definitions, lines = _definitions(tree), text.splitlines()
    names = {name: _names(node) for name, node in definitions.items()}

    def tests_of(functions: set[str], pattern: re.Pattern[str]) -> set[str]:
        needing = {name for name, used in names.items() if used & functions}
        needing |= {name for name, node in definitions.items() if pattern.search(_text(lines, node))}
        return _with_callers(needing, names)

    tests = [name for name in definitions if name.startswith("test_")]
    first = set(tests[:1])
    for function in far:
        callers = _with_callers({name for name, used in names.items() if function in used}, names)
        first.update([name for name in tests if name in callers][:1])
    return PostgresTests(frozenset(tests_of(near, OWN_SQL) | first), frozenset(tests_of(by_rows, BY_ROWS)))


def _imported(node: ast.ImportFrom, pattern: re.Pattern[str]) -> set[str]:
    """Return the names that a statement imports of functions with the pattern."""
    needing = postgres_functions_of(str(node.module), pattern)
    return {alias.asname or alias.name for alias in node.names if alias.name in needing}


@cache
def postgres_functions_of(module: str, pattern: re.Pattern[str] = OWN_SQL) -> frozenset[str]:
    """Return the names of a product module's functions and classes that need PostgreSQL, by `pattern`."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.is_file():
        return frozenset()
    text = path.read_text(encoding="utf-8")
    if not pattern.search(text):
        return frozenset()
    definitions, lines = _definitions(ast.parse(text)), text.splitlines()
    needing = {name for name, node in definitions.items() if pattern.search(_text(lines, node))}
    names = {name: _names(node) for name, node in definitions.items()}
    return frozenset(_with_callers(needing, names))


def _definitions(tree: ast.Module) -> dict[str, Definition]:
    return {node.name: node for node in tree.body if isinstance(node, Definition)}


def _imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield every `from ... import` among the statements of a module, at any depth."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.expr):
            yield from _imports(node)


def _text(lines: Sequence[str], node: Definition) -> str:
    return "\n".join(lines[node.lineno - 1 : node.end_lineno])


def _names(node: Definition) -> set[str]:
    """Return all names in a definition: those it uses, its arguments (fixtures), and attributes."""
    found = set[str]()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
    return found


def _with_callers(needing: Iterable[str], names: Mapping[str, set[str]]) -> set[str]:
    """Return `needing` and every definition that names one of them, at any distance.

    `names` has the names that each definition of a file uses.
    """
    found = set(needing)
    while more := {name for name in names if name not in found and names[name] & found}:
        found |= more
    return found
