"""The command of the measurements: its list, its scripts, its refusals."""

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.lab.__main__ import main, script_of
from tests.lab.subcommands import SUBCOMMANDS

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "tests" / "lab"


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def left(*argv: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(argv))
    return ended.value.code


def test_without_a_name_every_subcommand_is_listed(capsys):
    assert left() == 0
    said = capsys.readouterr().out
    assert all(name in said and subcommand.work in said for name, subcommand in SUBCOMMANDS.items())


@pytest.mark.parametrize("subcommand", SUBCOMMANDS.values(), ids=list(SUBCOMMANDS))
def test_every_subcommand_has_a_module(subcommand):
    assert find_spec(subcommand.module)


@pytest.mark.parametrize("name", ["nothing", "bench.nothing", "bench", "no such", "load.day"])
def test_only_scripts_are_found_by_their_dotted_name(name):
    assert script_of(name) is None


def test_an_unknown_name_is_a_usage_error(capsys):
    assert left("evaluation") == 2
    assert "evaluation" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [("faults", "--list"), ("bench", "--list"), ("bench.rank", "--help")])
def test_a_subcommand_takes_the_rest_of_the_command_line(argv):
    command = [sys.executable, "-m", "tests.lab", *argv]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout


def test_what_calls_itself_pure_needs_no_django_no_broker_and_no_provider():
    modules = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in LAB.rglob("*.py")
        if re.search(r"\bPure\.$", docstring(path), re.MULTILINE)
    ]
    assert len(modules) > 15
    code = (
        "import sys; from importlib import import_module; [import_module(name) for name in sys.argv[1:]]; "
        "sys.exit(' '.join({'django', 'celery', 'redis', 'openai'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *modules], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
