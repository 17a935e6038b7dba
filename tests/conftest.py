"""Settings, readers and clock that all tests share: the readers Ada and Ben, the operator Olga.

Plugins in tests/support do the rest: the selection of tests (`selection`), the test database
(`database_fixtures`), hanging tests (`hanging`), and the speed of the suite (`speed`).
"""

import fcntl
import socket
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.test import override_settings
from django.utils import timezone
from hypothesis import settings as hypothesis_settings

from advisor.agent import alerts
from digest import throttling
from digest.feeds import rate_limit
from digest.models import Reader
from suggestions import measures
from tests.support.factories import OperatorFactory, ReaderFactory

pytest_plugins = [
    "tests.support.selection",
    "tests.support.database_fixtures",
    "tests.support.hanging",
    "tests.support.speed",
]
NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
# The same examples in every run. Without a deadline, since a slow machine is not a bug. `make nightly` tries
# three times as many. A test that wants another number names it by `examples` (tests/support/thinned.py).
ALIKE = {"deadline": None, "derandomize": True, "database": None}
hypothesis_settings.register_profile("tidings", **ALIKE, max_examples=33)
hypothesis_settings.register_profile("nightly", **ALIKE, max_examples=100)
hypothesis_settings.load_profile("tidings")
_getaddrinfo = socket.getaddrinfo
SETTINGS = {
    # No test reaches a paid model.
    "OPENAI_API_KEY": "",
    "ANTHROPIC_API_KEY": "",
    "GEMINI_API_KEY": "",
    "OPENROUTER_API_KEY": "",
    "LOCAL_LLM_BASE_URL": "",
    # A password hash that is made to be slow would take most of the time of a test that signs somebody in.
    "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
    # One test server stands for all publishers, so a pause between two of its feeds would be lost time.
    "FETCH_HOST_GAP_S": 0.0,
    # Guidance leaves out a tenth of its notes, chosen by the random id of a run. No test may depend on that.
    "GUIDANCE": {"holdout": "0"},
}


def resolve_local_names(
    host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
) -> Any:
    """Resolve localhost and numeric addresses only, so that no test depends on the network."""
    if host not in (None, "", "localhost", b"localhost"):
        flags |= socket.AI_NUMERICHOST
    return _getaddrinfo(host, port, family, type, proto, flags)


socket.getaddrinfo = resolve_local_names


@pytest.fixture(scope="session", autouse=True)
def settings_of_tests() -> Iterator[None]:
    """Set once the settings that all tests need. Each change of a setting calls twenty listeners."""
    with override_settings(**SETTINGS):
        yield


@pytest.fixture(autouse=True)
def embedded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run tasks in this process, except in tests that bring a broker and a worker."""
    if not django_settings.REDIS_URL or request.node.get_closest_marker("services"):
        yield
        return
    with override_settings(REDIS_URL=""):
        yield


@pytest.fixture(autouse=True)
def fresh_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reset rate limits between tests, and forget what was measured and which alert was raised."""
    mine = uuid4()
    monkeypatch.setattr(measures, "KEYS", f"measures:{mine}")
    monkeypatch.setattr(throttling, "KEYS", f"limit:{mine}")
    rest_key = rate_limit.LookupLock._rest_key
    monkeypatch.setattr(
        rate_limit.LookupLock, "_rest_key", lambda lock, host: f"{rest_key(lock, host)}:{mine}"
    )
    rate_limit._limiter.cache_clear()
    note = Path(tempfile.gettempdir()) / f"tidings-alert-{mine}.json"
    monkeypatch.setattr(alerts, "_file", lambda: note)
    yield
    note.unlink(missing_ok=True)


@pytest.fixture
def now() -> datetime:
    """Wednesday, 18 March 2026, noon UTC."""
    return NOW


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock: however slow the machine is, all that a test does is within one minute."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)


@pytest.fixture
def data_dir() -> Path:
    """Return the folder of real feeds and histories."""
    return Path(django_settings.TIDINGS_DATA)


@pytest.fixture
def broker_alone() -> Iterator[None]:
    """Use the one broker alone: another test's worker would take the messages, or its purge drop them."""
    with (Path(tempfile.gettempdir()) / "tidings-tests-broker.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def ada(db: None) -> Reader:
    """Return the first reader, in Berlin."""
    return ReaderFactory(username="ada", time_zone="Europe/Berlin")


@pytest.fixture
def ben(db: None) -> Reader:
    """Return the second reader, in New York, who must never see anything of Ada's."""
    return ReaderFactory(username="ben", time_zone="America/New_York")


@pytest.fixture
def operator(db: None) -> Reader:
    """Olga, who operates the site."""
    return OperatorFactory(username="olga")


@pytest.fixture
def own_cache(settings: object) -> None:
    """Give the test an empty cache in this process, so that counters start at zero."""
    backend = "django.core.cache.backends.locmem.LocMemCache"
    names = ("default", "claims")
    settings.CACHES = {  # type: ignore[attr-defined]
        name: {"BACKEND": backend, "LOCATION": str(uuid4())} for name in names
    }
