"""The gates of the product's shape: contracts, cycles, purity, sizes of files and functions.

`python -m tests.lab size` prints other figures for people to look at; no test fails by them.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from tests.lab.size import source

ROOT = Path(__file__).resolve().parent.parent
STACK = ["tidings", "advisor", "suggestions", "digest", "ranking"]
MODULES = source.modules_of(ROOT)
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 50
BANNED_CALLS = {"get_model", "import_string", "send_task"}
EFFECTS = ("django", "celery", "redis", "openai", "httpcore2", "socket")


def inside(path: Path) -> str:
    """Return `path` as seen from the root."""
    return path.relative_to(ROOT).as_posix()


def test_no_modules_import_one_another_in_a_circle():
    """Imports inside functions count, too: a late import hides a circle and does not end it."""
    try:
        TopologicalSorter(source.import_graph(ROOT)).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


@pytest.mark.parametrize("room", STACK)
def test_foreign_keys_point_down_the_stack(room: str):
    for model in apps.get_app_config(room).get_models():
        for field in model._meta.get_fields():
            target = (
                field.related_model if field.many_to_one or field.one_to_one or field.many_to_many else None
            )
            if target is None or field.auto_created or target._meta.label == settings.AUTH_USER_MODEL:
                continue
            if target._meta.app_label in STACK:
                assert STACK.index(target._meta.app_label) >= STACK.index(room), f"{model}.{field.name}"


def test_files_and_functions_stay_small():
    long = [inside(path) for path in MODULES if source.lines_of(path) > FILE_LINES_MAX]
    long += [
        f"{inside(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(source.tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []


def test_no_name_has_a_participle_that_says_nothing():
    assert source.banned_names(ROOT) == []


def test_nothing_reaches_round_the_contracts():
    for path in MODULES:
        for node in ast.walk(source.tree_of(path)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                where = f"{inside(path)}:{node.lineno}"
                assert name not in BANNED_CALLS, f"{where}: {name} hides an import from the linter"
                signal = name == "connect" and "signal" in ast.dump(node.func)
                assert not signal, f"{where}: no logic in signals"


def test_a_module_called_pure_reaches_neither_django_nor_a_table():
    imports = source.import_graph(ROOT)
    pure = {
        source.name_of(path, ROOT)
        for path in MODULES
        if re.search(r"\bPure\.(\s|$)", ast.get_docstring(source.tree_of(path)) or "")
    }
    assert len(pure) > 100
    for start in sorted(pure):
        seen, queue = {start}, [start]
        while queue:
            module = queue.pop()
            for name in imports.get(module, set()) - seen:
                assert name.split(".")[0] not in EFFECTS, f"{start} reaches {name} by {module}"
                assert ".models" not in f".{name}.", f"{start} reaches {name} by {module}"
                seen.add(name)
                queue.append(name)


def test_the_map_of_changes_names_files_that_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = page.partition("## The map of changes")[2].partition("\n## ")[0].splitlines()
    changes = [row for row in rows if row.startswith("| ") and not row.startswith("| change |")]
    assert changes
    for row in changes:
        names = re.findall(r"`([^`]+)`", row.split("|")[2])
        assert names, row
        assert [name for name in names if not (ROOT / name).is_file()] == [], row
