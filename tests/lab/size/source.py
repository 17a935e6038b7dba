"""Figures of a source tree: files, lines, imports, names, docs. Pure.

A *module* is a Python file of a room outside its migrations. `__init__.py` is one too, but small modules are
counted without it.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from suggestions.changes.change import Field, Kind

ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
SMALL_LINES = 30
MARKER = "__init__.py"
# A file of the advisor belongs to guidance or memory if its path has one of these.
GUIDANCE = ("guidance", "memor", "curated", "conditions")
# Participles that name nothing: who reads `told` cannot tell which thing is meant.
BANNED_PARTS = frozenset({"told", "said", "kept", "held", "stood", "standing"})
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def files_of(root: Path) -> list[Path]:
    """Return the product's Python files in order of path, migrations among them."""
    return sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))


def modules_of(root: Path) -> list[Path]:
    """Return the product's Python files without migrations."""
    return [path for path in files_of(root) if "migrations" not in path.parts]


def lines_of(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_text(encoding="utf-8").count("\n")


def name_of(path: Path, root: Path) -> str:
    """Return the dotted name of the module at `path`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if path.name == MARKER else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path, known: frozenset[str]) -> set[str]:
    """Return the modules that a file imports anywhere. Those in `known` have their full names."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known
            if len(names & known) < len(names):
                found.add(node.module)
    return found


def import_graph(root: Path) -> dict[str, set[str]]:
    """Return the imports of each module."""
    modules = {name_of(path, root): path for path in modules_of(root)}
    known = frozenset(modules)
    return {name: imports_of(path, known) for name, path in modules.items()}


def one_importer(root: Path) -> list[str]:
    """Return the modules that exactly one other module of the product imports."""
    graph = import_graph(root)
    importers = Counter(target for name, imports in graph.items() for target in imports if target != name)
    return sorted(name for name in graph if importers[name] == 1)


def small_modules(root: Path) -> list[Path]:
    """Return the modules of at most 30 lines, without package markers."""
    return [p for p in modules_of(root) if p.name != MARKER and lines_of(p) <= SMALL_LINES]


def private_calls(root: Path) -> Mapping[str, int]:
    """Return how often each private function of a module is named in its own file, by `path:name`."""
    found: dict[str, int] = {}
    for path in modules_of(root):
        tree = tree_of(path)
        names = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(r"_[^_]", node.name)
        ]
        used = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        found |= {f"{path.relative_to(root)}:{name}": used[name] for name in names}
    return found


def banned_names(root: Path) -> list[str]:
    """Return `path:line name` of every identifier of a module with a banned word as one of its parts.

    Migrations are left out, because they contain names of columns and of the past.
    """
    found: dict[str, None] = {}
    for path in modules_of(root):
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            if token.type == tokenize.NAME and BANNED_PARTS & {
                part.lower() for part in _PART.findall(token.string)
            }:
                found[f"{path.relative_to(root)}:{token.start[0]} {token.string}"] = None
    return list(found)


def guidance_lines(root: Path) -> int:
    """Return the lines of guidance and memory, with their services, admin, models and commands."""
    return sum(
        lines_of(path)
        for path in modules_of(root)
        if path.relative_to(root).parts[0] == "advisor"
        and any(word in path.relative_to(root).as_posix() for word in GUIDANCE)
    )


def tunables(root: Path) -> int:
    """Return the number of guidance's tunables: the fields of the class `Tunables`."""
    return sum(
        isinstance(field, ast.AnnAssign)
        for path in modules_of(root)
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and node.name == "Tunables"
        for field in node.body
    )


def glossary_entries(root: Path) -> int:
    """Return the rows of the glossary's table."""
    text = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    return sum(line.startswith("| **") for line in text.splitlines())


def page_words(root: Path) -> dict[str, int]:
    """Return the number of words of each page below docs."""
    pages = sorted((root / "docs").rglob("*.md"))
    return {str(p.relative_to(root)): len(p.read_text(encoding="utf-8").split()) for p in pages}


def screenshots(root: Path) -> int:
    """Return the number of pictures in docs/screenshots."""
    return sum(path.suffix in (".webp", ".png") for path in (root / "docs" / "screenshots").iterdir())


# Names in a comparison of a change's type or field: members of the enums, and the texts.
KIND_NAMES = frozenset({*Kind.__members__, *Field.__members__})
KIND_TEXTS = frozenset(map(str, (*Kind, *Field)))


def kind_comparisons(root: Path) -> int:
    """Return how often the product compares a type or field of a change, or matches one."""
    return sum(
        (isinstance(node, ast.Compare) and any(map(_names_kind, (node.left, *node.comparators))))
        or (isinstance(node, ast.match_case) and _names_kind(node.pattern))
        for path in modules_of(root)
        for node in ast.walk(tree_of(path))
    )


def _names_kind(tree: ast.AST) -> bool:
    """Return whether an operand, or one of several, names a type or field of a change."""
    match tree:
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts) | ast.MatchOr(patterns=parts):
            return any(map(_names_kind, parts))
        case ast.Attribute(value=ast.Name(id="Kind" | "Field"), attr=name) | ast.Name(id=name):
            return name in KIND_NAMES
        case ast.MatchValue(value=value):
            return _names_kind(value)
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _names_kind(value)
        case ast.Constant(value=str(text)):
            return text in KIND_TEXTS
    return False


def room_lines(root: Path, room: str) -> int:
    """Return the lines of a room's modules."""
    return sum(lines_of(path) for path in modules_of(root) if path.relative_to(root).parts[0] == room)
