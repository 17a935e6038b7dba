"""Every tool sees every file that git would commit, in folders of any name.

pytest skipped `tests/digest/build` for three days, and Ruff `digest/build`: both skip folders with common
names by default. A hatch build leaves out everything that `.gitignore` names.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import grimp
import pytest
from hatchling.builders.wheel import WheelBuilder
from mypy.find_sources import create_source_list
from mypy.options import Options
from pathspec import GitIgnoreSpec

from tests.lab.size.source import ROOMS, name_of

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Names of folders that tools skip by default, or that a careless pattern would match.
NAMES = (
    *("build", "dist", "venv", "env", "var", "target", "out", "lib", "bin", "wheels", "eggs", "sdist"),
    *(
        "data",
        "media",
        "static",
        "staticfiles",
        "logs",
        "cache",
        "tmp",
        "docs",
        "tests",
        "migration",
        "htmlcov",
    ),
)
# In a source folder mypy skips these two by name; they cannot be names of Python packages.
NOT_PACKAGES = ("node_modules", "site-packages")
BESIDE = ("pyproject.toml", ".gitignore", ".dockerignore", "README.md", "LICENSE", "manage.py")


def git_files(folder: Path) -> set[str]:
    """Return the files that git has, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if (folder / name).is_file()}


def ruff_files(folder: Path) -> set[str]:
    """Return the Python files that Ruff checks."""
    command = [Path(sys.executable).with_name("ruff"), "check", "--show-files", "."]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    names = {Path(line).relative_to(folder).as_posix() for line in listed.stdout.splitlines()}
    return {name for name in names if name.endswith(".py")}


def mypy_files(folder: Path) -> set[str]:
    """Return the files that `make types` checks."""
    options = Options()
    options.exclude = PYPROJECT["tool"]["mypy"]["exclude"]
    here = Path.cwd()
    os.chdir(folder)
    try:
        return {str(source.path) for source in create_source_list(ROOMS, options)}
    finally:
        os.chdir(here)


def wheel_files(folder: Path) -> set[str]:
    """Return the files that a wheel is made of."""
    return {included.relative_path for included in WheelBuilder(str(folder)).recurse_included_files()}


def pytest_files(folder: Path) -> set[str]:
    """Return the test files that `make test` collects, without importing them."""
    # Without plugins and conftest.py this takes half a second.
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--noconftest"]
    command += ["-p", "tests.support.collect_files", "-W", "ignore::pytest.PytestConfigWarning"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}


def docker_files(folder: Path) -> set[str]:
    """Return the files that a Docker build is given."""
    lines = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # Docker matches from the root of the context; git does so only with a leading slash.
    rules = [
        ("!" if line.startswith("!") else "") + "/" + line.lstrip("!/") for line in lines if line[:1] != "#"
    ]
    ignored = GitIgnoreSpec.from_lines(rules)
    # `--exclude` without a pattern: all files, those that git ignores among them.
    command = ["git", "ls-files", "--cached", "--others", "--exclude=/.venv", "--exclude=/var"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if not ignored.match_file(name)}


def product_modules(names: Iterable[str]) -> set[str]:
    """Return the Python files of the rooms without migrations."""
    return {
        name
        for name in names
        if name.endswith(".py") and name.split("/")[0] in ROOMS and "/migrations/" not in name
    }


def python_files(names: Iterable[str]) -> set[str]:
    """Return the Python files without migrations."""
    return {name for name in names if name.endswith(".py") and "/migrations/" not in name}


def wheel_sources(names: Iterable[str]) -> set[str]:
    """Return the files that belong in a wheel."""
    tops = {*ROOMS, "templates", "static", "manage.py"}
    return {name for name in names if name.split("/")[0] in tops}


def collectable_files(names: Iterable[str]) -> set[str]:
    """Return the test files."""
    return {name for name in names if name.startswith("tests/") and Path(name).match("test_*.py")}


# Name of a tool: the files it sees, and which files of git's list it should see.
TOOLS: dict[str, tuple[Callable[[Path], set[str]], Callable[[Iterable[str]], set[str]]]] = {
    "ruff": (ruff_files, python_files),
    "mypy": (mypy_files, product_modules),
    "wheel": (wheel_files, wheel_sources),
    "pytest": (pytest_files, collectable_files),
    "docker": (
        docker_files,
        lambda names: wheel_sources(names) | {"pyproject.toml", "constraints.txt"} & set(names),
    ),
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """Return a small checkout with our rules and folders of every suspicious name, and the files made in
    them."""
    folder, made = tmp_path_factory.mktemp("crowded"), set()
    for name in BESIDE:
        shutil.copy(ROOT / name, folder / name)
    for room in ROOMS:
        (folder / room).mkdir()
        (folder / room / "__init__.py").touch()
    shutil.copy(ROOT / "config/__init__.py", folder / "config/__init__.py")
    for name in NAMES:
        for file in (
            f"digest/{name}/__init__.py",
            f"digest/{name}/rows.py",
            f"digest/feeds/{name}/rows.py",
            f"tests/digest/{name}/test_rows.py",
            f"templates/digest/{name}/page.html",
        ):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).touch()
            made.add(file)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder, made


def test_git_ignores_no_file_because_of_its_folder(crowded: tuple[Path, set[str]]):
    folder, made = crowded
    assert made - git_files(folder) == set()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_skips_no_folder_by_its_name(tool: str, crowded: tuple[Path, set[str]]):
    folder, made = crowded
    files, wanted = TOOLS[tool]
    assert wanted(made)
    assert wanted(made) - files(folder) == set()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_sees_the_files_of_the_tree(tool: str):
    files, wanted = TOOLS[tool]
    missing = wanted(git_files(ROOT)) - files(ROOT)
    assert missing == set()


def test_no_file_of_the_tree_matches_what_git_ignores():
    """A tracked file that matches stays, but the next one beside it would be forgotten."""
    command = ["git", "check-ignore", "--no-index", "--stdin"]
    listed = "\n".join(git_files(ROOT))
    done = subprocess.run(command, cwd=ROOT, input=listed, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == []


def test_the_import_contracts_see_every_module():
    graph = grimp.build_graph(*ROOMS)
    modules = {name_of(ROOT / file, ROOT) for file in product_modules(git_files(ROOT))}
    assert modules - graph.modules == set()
