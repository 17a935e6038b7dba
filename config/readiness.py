"""Run the checks behind `/readyz`: database, migrations, disk, network, alerts, broker, schedule, workers."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import cast

import structlog
from django.conf import settings
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from advisor.agent.alerts import alert_remembered
from advisor.run.workers import jobs_last_started
from advisor.selectors import worker_alive
from config.disk import (
    FREE_LOW_BYTES,
    FREE_MIN_BYTES,
    disk_folders,
    disk_free,
    is_database_here,
    size_words,
)
from config.pulse.broker import broker_client, queues_unserved, workers_known
from config.pulse.files import HUNG_S, pulse_ages, worker_has_pulse
from digest.feeds.health import outage_message
from digest.feeds.selectors import outage_began_at
from ranking.common.clocks import is_ahead
from ranking.common.damage import is_damage

log = structlog.get_logger(__name__)

# The reconciler runs four times a minute, so twelve turns were missed.
SCHEDULE_LATE = timedelta(minutes=3)
ERROR_CHARS = 200
NO_ALERT = "none within a day"
CLOCK_TO_DO = (
    "Is this machine's clock right (timedatectl)? If it is, it was ahead: start the worker, and it goes on."
)
_migrated: set[str] = set()


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, with its time in milliseconds.

    Requests can be served if all `needed` checks pass.
    """

    name: str
    ok: bool
    needed: bool
    detail: str
    ms: float


def readiness(*, now: datetime) -> list[Check]:
    """Check the database, its migrations, disk, network, alerts, the broker, the schedule and the workers.

    The first two are needed, and the disk if it is full and SQLite is on it. Without the others, pages work
    and requests run inline, but no scheduled job runs. An alert of the last day says that a part of the
    database failed, until it is well again. If all of it fails, only the disk is checked, too.
    """
    database = _check("database", True, _database)
    if not database.ok:
        return [database, _disk_check()]
    return [database, _check("migrations", True, _migrations), *readiness_background(now=now)]


def readiness_background(*, now: datetime) -> list[Check]:
    """Check what most pages can do without for a while: disk space, tables, broker, schedule, workers."""
    return [
        _disk_check(),
        _check("network", False, _network),
        _check("alerts", False, lambda: _alerts(now)),
        _check("broker", False, _broker),
        _check("schedule", False, lambda: _schedule(now)),
        _check("workers", False, _workers),
    ]


def is_ready(checks: list[Check]) -> bool:
    """Return whether requests can be served, according to the needed checks."""
    return all(check.ok for check in checks if check.needed)


def queue_lengths(names: Iterable[str]) -> dict[str, int]:
    """Return the number of waiting messages in each queue, or `{}` if the broker does not answer."""
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
    """Return the migrations to apply, in order. Half-applied ones, which `migrate` refuses, come first."""
    from ranking.common.migrations import migrations_half_applied  # noqa: PLC0415 - psycopg, which migrations load

    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [*migrations_half_applied(connection), *(migration for migration, _ in plan)]


def _check(name: str, needed: bool, probe: Callable[[], tuple[bool, str]]) -> Check:
    """Run a probe and return its result. An exception counts as a failed check."""
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


def _disk_check() -> Check:
    """Check the free space of our folders. The check is needed if SQLite has no room to write."""
    free = disk_free(disk_folders())
    is_full = is_database_here() and free.get("database", FREE_MIN_BYTES) < FREE_MIN_BYTES
    return _check("disk", is_full, lambda: _disk(free, is_full=is_full))


def _disk(free: dict[str, int], *, is_full: bool) -> tuple[bool, str]:
    if not free:
        return True, "no folder of ours exists yet"
    name, least = min(free.items(), key=lambda one: one[1])
    left = f"{size_words(least)} free"
    if least >= FREE_LOW_BYTES:
        return True, left
    what = "is full: nothing can be stored" if is_full else "is nearly full"
    return False, f"The disk of “{disk_folders()[name]}” {what} ({left}). Free space there."


def _network() -> tuple[bool, str]:
    """Check that the last fetch batches reached the internet. Only they notice an outage, and its end."""
    began_at = outage_began_at()
    return (False, outage_message(began_at)) if began_at else (True, "no outage noticed")


def _alerts(now: datetime) -> tuple[bool, str]:
    """Check that no job or page failed within a day because of the database, or that it is well again."""
    alert = alert_remembered(now=now)
    if alert is None:
        return True, NO_ALERT
    at = datetime.fromisoformat(alert.at).astimezone(UTC)
    is_over, damaged = alert.is_over(now=now), is_damage(alert.reason)
    what = ("was damaged" if is_over else "is damaged") if damaged else "failed"
    since = "; it has worked since" if is_over else ""
    where = f"{alert.where}, {at:%Y-%m-%d %H:%M} UTC"
    return is_over, f"The database {what} ({where}: {' '.join(alert.reason.split())[:ERROR_CHARS]}){since}."


def _migrations() -> tuple[bool, str]:
    """Check that all migrations are applied. After the first success this process checks no more."""
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
    """Check the last turn of the reconciler or, without a broker, the heartbeat of an embedded worker."""
    last = jobs_last_started().get("reconcile")
    if last is not None and is_ahead(last, now):
        return False, f"Its last turn was at {last:%Y-%m-%d %H:%M} UTC, in the future. {CLOCK_TO_DO}"
    if last is not None and now - last < SCHEDULE_LATE:
        return True, f"last turn {round((now - last).total_seconds())} s ago"
    if not settings.REDIS_URL and (worker_alive(now=now) or worker_has_pulse(settings.VAR_DIR)):
        return True, "an embedded worker is alive"
    state = "never began" if last is None else f"has stopped since {last:%Y-%m-%d %H:%M} UTC"
    start = "celery beat and a worker" if settings.REDIS_URL else "manage.py work"
    return False, f"It {state}: start {start}."


def _workers() -> tuple[bool, str]:
    """Check that no worker has fallen silent and, with a broker, that each queue has a living worker."""
    unserved: list[str] = []
    if settings.REDIS_URL:
        workers = workers_known()
        ages, unserved = {worker.name: worker.age_s for worker in workers}, queues_unserved(workers)
    else:
        ages = pulse_ages(settings.VAR_DIR)
    silent = [
        f"{name} gave no sign of life for {round(age)} s: restart it"
        if isfinite(age)
        else f"the last sign of life of {name} lies in the future: the clock was wrong. Restart it"
        for name, age in sorted(ages.items())
        if age > HUNG_S
    ]
    unserved = [f"no worker serves the queue {queue}" for queue in unserved]
    return not (silent or unserved), "; ".join([*silent, *unserved]) or f"{len(ages)} alive"
