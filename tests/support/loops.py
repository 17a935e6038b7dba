"""Find loops in jobs and commands that work on rows without isolating their failures.

A loop counts if a job or a command reaches its function, and its body calls a function of ours that queries
the database, asks a server or reads a document, directly or through others. It isolates if the call stands in
`with isolate(…)`, or the called function isolates.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOMS: Final = ("advisor", "config", "digest", "ranking", "suggestions")
HELPERS: Final = frozenset({"isolate", "isolate_batches", "parts.run"})
ASKS: Final = frozenset({"fetch", "post", "parse_document", "sandbox_answer"})
Name = tuple[str, str]
Loop = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Code:
    """The functions of some modules, {module: source}, and their calls."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.functions: dict[Name, ast.FunctionDef] = {}
        self._imports: defaultdict[str, dict[str, Name]] = defaultdict(dict)
        self._methods: defaultdict[Name, list[Name]] = defaultdict(list)
        for module, source in sources.items():
            self._read(module, ast.parse(source))
        self.calls = {name: set(self._named(name, node)) - {name} for name, node in self.functions.items()}
        self.isolating = {name for name, node in self.functions.items() if _isolates(node)}
        self.touching = self._closed(lambda node: _touches(node))

    def _read(self, module: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self._imports[module] |= {a.asname or a.name: (node.module, a.name) for a in node.names}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[module, node.name] = node
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    name = module, f"{node.name}.{method.name}"
                    self.functions[name] = method
                    self._methods[module, node.name].append(name)

    def _named(self, inside: Name, node: ast.AST) -> Iterator[Name]:
        """Yield the functions, and the methods of the classes, that `node` names."""
        module, own = inside[0], inside[1].rpartition(".")[0]
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                for full in ((module, one.id), self._imports[module].get(one.id)):
                    if full in self.functions:
                        yield full
                    yield from self._methods.get(full or ("", ""), ())
            elif isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self":
                yield from {(module, f"{own}.{one.attr}")} & self.functions.keys()

    def _closed(self, test: Callable[[ast.FunctionDef], bool]) -> set[Name]:
        found = {name for name, node in self.functions.items() if test(node)}
        while more := {name for name, called in self.calls.items() if name not in found and called & found}:
            found |= more
        return found

    def reached(self, roots: Collection[Name]) -> set[Name]:
        """Return the functions that these reach."""
        found, todo = set(roots), list(roots)
        while todo:
            new = self.calls[todo.pop()] - found
            found |= new
            todo += new
        return found

    def roots(self, steps: Collection[Name] = ()) -> set[Name]:
        """Return the tasks, the commands and the steps of the night."""
        found = {name for name in self.functions if name[1] == "Command.handle" or name in steps}
        for name, node in self.functions.items():
            if any("shared_task" in ast.unparse(one) for one in node.decorator_list):
                found.add(name)
        return found

    def loops(self, inside: Collection[Name]) -> Iterator[tuple[Name, set[str]]]:
        """Yield (function, names its loop calls) for each loop in these functions that does not isolate."""
        for name in sorted(inside):
            node = self.functions[name]
            safe = {
                id(one) for block in ast.walk(node) if self._isolated(name, block) for one in ast.walk(block)
            }
            for loop in ast.walk(node):
                found = set()
                for part in _bodies(loop):
                    for call in ast.walk(part):
                        if isinstance(call, ast.Call) and id(call) not in safe:
                            named = set(self._named(name, call.func))
                            found |= {one[1] for one in named & self.touching - self.isolating}
                if found:
                    yield name, found

    def _isolated(self, inside: Name, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return ast.unparse(node.func) in HELPERS
        if not isinstance(node, ast.With):
            return False
        managers = [item.context_expr for item in node.items]
        return any(
            isinstance(one, ast.Call)
            and (ast.unparse(one.func) in HELPERS or set(self._named(inside, one.func)) & self.isolating)
            for one in managers
        )


def _isolates(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Call) and ast.unparse(one.func) in HELPERS for one in ast.walk(node))


def _touches(node: ast.FunctionDef) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr == "objects":
            return True
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ASKS:
            return True
    return False


def _bodies(node: ast.AST) -> list[ast.AST]:
    """Return the repeated parts of a loop, or an empty list for other nodes."""
    match node:
        case ast.For():
            return list(node.body)
        case ast.While():
            return [node.test, *node.body]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return [node.elt]
        case ast.DictComp():
            return [node.key, node.value]
    return []


def product() -> Code:
    """Return the product's code."""
    paths = [path for room in ROOMS for path in Path(room).rglob("*.py") if "migrations" not in path.parts]
    return Code({".".join(path.with_suffix("").parts): path.read_text() for path in paths})
