"""Every subcommand of `python -m tests.lab` runs, in its quick form, and every row of the benchmarks parses.

Figures of so little work say nothing, so that a missed target is no failure here. A traceback is.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.bench.registry import ROWS
from tests.lab.subcommands import SUBCOMMANDS, Subcommand
from tests.lab.tests.imports import names_missing
from tests.lab.tests.parsing import lab_parses
from tests.support.processes import database_without_work

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 280


def marks(subcommand: Subcommand) -> list[pytest.MarkDecorator]:
    """Return the markers of a subcommand for its needs and its schedule."""
    named = {"slow": not subcommand.long, "nightly": subcommand.long, "data": subcommand.data}
    return [getattr(pytest.mark, name) for name, holds in named.items() if holds]


QUICK = [
    pytest.param(name, one.quick, marks=marks(one), id=name)
    for name, one in SUBCOMMANDS.items()
    if one.quick is not None
]


@pytest.mark.alike
@pytest.mark.parametrize(("name", "options"), QUICK)
def test_a_subcommand_runs_in_its_quick_form(
    name: str, options: tuple[str, ...], installed: Path, tmp_path: Path
):
    database_without_work(installed, tmp_path / "tidings.sqlite3")
    own = {"TIDINGS_VAR_DIR": str(tmp_path), "DATABASE_URL": "", "REDIS_URL": "", "LOG_LEVEL": "CRITICAL"}
    command = [sys.executable, "-m", "tests.lab", *name.split(), *options]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr[-3000:]
    assert done.stdout and "BROKE" not in done.stdout


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_subcommand_runs_or_says_what_it_needs(name: str):
    one = SUBCOMMANDS[name]
    assert (one.quick is None) == bool(one.needs)
    lab_parses([*name.split(), *(one.quick or ())])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("quick", [False, True])
def test_a_row_of_the_benchmarks_has_options_that_its_command_takes(row, quick: bool, monkeypatch):
    module, lab, *words = row.command
    assert (module, lab) == ("-m", "tests.lab")
    lab_parses([*words, *(row.quick if quick else ()), "--json"])


def test_the_lab_imports_only_names_that_exist():
    """An import inside a function breaks only when somebody measures: `guidance` was broken for days."""
    assert names_missing([*(ROOT / "tests/lab").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]) == []


def test_a_name_that_is_gone_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        "def f():\n    from ranking.entities import Config, Gone\n    import digest.nothing\n"
        "    from digest import feeds\n    from digest.feeds import nothing\n"
    )
    assert names_missing([tmp_path / "a.py"]) == [
        "a.py:2 ranking.entities.Gone",
        "a.py:3 digest.nothing",
        "a.py:5 digest.feeds.nothing",
    ]
