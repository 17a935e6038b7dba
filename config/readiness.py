"""Whether this process can serve, and whether somebody does the work behind it: asked by `/readyz`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from advisor.selectors import worker_alive
from advisor.services.queue import jobs_last

# The reconciler runs each quarter of a minute; twelve missed turns are no hiccup.
SCHEDULE_LATE = timedelta(minutes=3)
BROKER_PATIENCE_S = 1.0
ERROR_CHARS = 200
_migrated: set[str] = set()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. Without what is `needed`, no request can be served."""

    name: str
    ok: bool
    needed: bool
    detail: str
    ms: float


def readiness(*, now: datetime) -> list[Check]:
    """The database and its migrations, which are needed; the broker and the schedule, which are not.

    Without those two pages work and requests help themselves, but nothing happens by itself.
    """
    database = _checked("database", True, _database)
    if not database.ok:
        return [database]
    return [
        database,
        _checked("migrations", True, _migrations),
        _checked("broker", False, _broker),
        _checked("schedule", False, lambda: _schedule(now)),
    ]


def ready(checks: list[Check]) -> bool:
    """Whether requests can be served."""
    return all(check.ok for check in checks if check.needed)


def broker() -> Redis:
    """The broker, asked once and not for long; a context manager that hangs up."""
    return Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=BROKER_PATIENCE_S,
        socket_timeout=BROKER_PATIENCE_S,
        retry=Retry(NoBackoff(), 0),
    )


def _checked(name: str, needed: bool, look: Callable[[], tuple[bool, str]]) -> Check:
    """The outcome of a look; whatever it raises is an outcome too."""
    began = time.monotonic()
    try:
        ok, detail = look()
    except Exception as error:
        ok, detail = False, f"{type(error).__name__}: {' '.join(str(error).split())[:ERROR_CHARS]}"
    return Check(name, ok, needed, detail, round((time.monotonic() - began) * 1000, 1))


def _database() -> tuple[bool, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True, connection.vendor


def _migrations() -> tuple[bool, str]:
    """Once a process has found them all applied, it does not read the files again."""
    name = str(connection.settings_dict["NAME"])
    if name not in _migrated:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if missing:
            first = missing[0][0]
            told = f"{len(missing)} to apply, {first.app_label}.{first.name} first"
            return False, f"{told}: run manage.py migrate."
        _migrated.add(name)
    return True, "all applied"


def _broker() -> tuple[bool, str]:
    if not settings.REDIS_URL:
        return True, "none: embedded"
    with broker() as redis:
        redis.ping()
    return True, "answers"


def _schedule(now: datetime) -> tuple[bool, str]:
    """Whether the schedule moves: by beat's last turn, or an embedded worker's sign of life."""
    last = jobs_last().get("reconcile")
    if last is not None and now - last < SCHEDULE_LATE:
        return True, f"last turn {round((now - last).total_seconds())} s ago"
    if not settings.REDIS_URL and worker_alive(now=now):
        return True, "an embedded worker is alive"
    told = "never began" if last is None else f"stands still since {last:%Y-%m-%d %H:%M} UTC"
    start = "celery beat and a worker" if settings.REDIS_URL else "manage.py work"
    return False, f"It {told}: start {start}."
