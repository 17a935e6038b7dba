"""The shape of the house: what import-linter cannot see, and budgets that keep rooms small."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from advisor.tools.registry import TOOLS

ROOT = Path(__file__).resolve().parent.parent
STACK = ["tidings", "advisor", "suggestions", "digest", "ranking"]
ROOMS = ["config", "advisor", "suggestions", "digest", "ranking"]
FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 40
TOOL_LINES_MAX = 25
BANNED_CALLS = {"get_model", "import_string", "send_task"}


def room_files() -> list[Path]:
    return [p for room in ROOMS for p in (ROOT / room).rglob("*.py") if "migrations" not in p.parts]


def test_import_contracts_hold():
    script = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


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


@pytest.mark.parametrize("path", room_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= FILE_LINES_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < FUNCTION_LINES_MAX, f"{node.name} is too long"


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_a_tool_function_has_at_most_25_lines(tool):
    lines, _ = inspect.getsourcelines(tool.function)
    assert len(lines) <= TOOL_LINES_MAX


@pytest.mark.parametrize("path", room_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_reaches_round_the_contracts(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            assert name not in BANNED_CALLS, f"{name} hides an import from the linter"
            assert not (name == "connect" and "signal" in ast.dump(node.func)), "no logic in signals"


def test_every_public_function_of_a_room_says_what_it_does():
    missing = []
    for path in room_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree) or path.stat().st_size == 0, f"{path} has no module docstring"
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):
                missing.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert missing == []
