"""Readiness checks behind `/readyz`, and the warm-up of a new process."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

import structlog
from django.conf import settings
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from advisor.run.workers import jobs_last_started
from advisor.selectors import worker_alive

if TYPE_CHECKING:
    from redis import Redis

log = structlog.get_logger(__name__)

# The reconciler runs each quarter of a minute; twelve missed turns are no hiccup.
SCHEDULE_LATE = timedelta(minutes=3)
BROKER_TIMEOUT_S = 1.0
# The server ends a process that gives no sign of life for a minute.
ERROR_CHARS = 200
_migrated: set[str] = set()


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, with its time in milliseconds; `needed`: without it no request is served."""

    name: str
    ok: bool
    needed: bool
    detail: str
    ms: float


def readiness(*, now: datetime) -> list[Check]:
    """Check the database and its migrations, which are needed, and the broker and the schedule.

    Without those two, pages work and requests run inline, but nothing happens on schedule.
    """
    database = _check("database", True, _database)
    if not database.ok:
        return [database]
    return [
        database,
        _check("migrations", True, _migrations),
        _check("broker", False, _broker),
        _check("schedule", False, lambda: _schedule(now)),
    ]


def is_ready(checks: list[Check]) -> bool:
    """Return whether requests can be served."""
    return all(check.ok for check in checks if check.needed)


def broker_client() -> "Redis":
    """Return a client of the broker with a short timeout and no retry; a context manager that closes it."""
    # A tenth of a second for who runs without.
    from redis import Redis  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=BROKER_TIMEOUT_S,
        socket_timeout=BROKER_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


def queue_lengths(names: Iterable[str]) -> dict[str, int]:
    """Return how many messages wait in each of the broker's queues; none of any where it does not answer."""
    from redis.exceptions import RedisError  # noqa: PLC0415

    try:
        with broker_client() as redis:
            return {name: cast(int, redis.llen(name)) for name in names}
    except RedisError as error:
        log.warning("broker_down", error=error_text(error))
        return {}


def error_text(error: BaseException) -> str:
    """Return an error's message as one short line."""
    return " ".join(str(error).split())[:ERROR_CHARS]


def migrations_missing() -> list[Migration]:
    """Return the migrations that are still to apply, in order, those first that `migrate` refuses."""
    from ranking.common.migrations import migrations_half_applied  # noqa: PLC0415 - psycopg, which migrations load

    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [*migrations_half_applied(connection), *(migration for migration, _ in plan)]


def _check(name: str, needed: bool, probe: Callable[[], tuple[bool, str]]) -> Check:
    """Run a probe; an exception is a result too."""
    began = time.monotonic()
    try:
        ok, detail = probe()
    except Exception as error:
        ok, detail = False, f"{type(error).__name__}: {error_text(error)}"
    return Check(name, ok, needed, detail, round((time.monotonic() - began) * 1000, 1))


def _database() -> tuple[bool, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True, connection.vendor


def _migrations() -> tuple[bool, str]:
    """Read the migration files only until this process has found all of them applied."""
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        if missing := migrations_missing():
            first = f"{missing[0].app_label}.{missing[0].name}"
            return False, f"{len(missing)} to apply, {first} first: run manage.py migrate."
        _migrated.add(name)
    return True, "all applied"


def _broker() -> tuple[bool, str]:
    if not settings.REDIS_URL:
        return True, "none: embedded"
    with broker_client() as redis:
        redis.ping()
    return True, "answers"


def _schedule(now: datetime) -> tuple[bool, str]:
    """Check the last turn of Celery beat, or without a broker the heartbeat of an embedded worker."""
    last = jobs_last_started().get("reconcile")
    if last is not None and now - last < SCHEDULE_LATE:
        return True, f"last turn {round((now - last).total_seconds())} s ago"
    if not settings.REDIS_URL and worker_alive(now=now):
        return True, "an embedded worker is alive"
    state = "never began" if last is None else f"has stopped since {last:%Y-%m-%d %H:%M} UTC"
    start = "celery beat and a worker" if settings.REDIS_URL else "manage.py work"
    return False, f"It {state}: start {start}."
