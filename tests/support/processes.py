"""Processes that tests start: an installed database without work, and waiting for their effects."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from advisor.selectors import JOB_PREFIX
from config.jobs.schedule import JOBS

PATIENCE_S, POLL_S = 60.0, 0.05


def database_without_work(installed: Path, path: Path) -> None:
    """Copy the database of a new installation to `path`, with every scheduled job just begun."""
    shutil.copy(installed, path)
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    with closing(sqlite3.connect(path)) as rows, rows:
        jobs = [(f"{JOB_PREFIX}{job.name}", now) for job in JOBS]
        rows.executemany("INSERT INTO advisor_heartbeat (worker, at) VALUES (?, ?)", jobs)


def workers_alive(path: Path) -> int:
    """Return the number of embedded workers with a heartbeat in the database at `path`."""
    with closing(sqlite3.connect(path)) as rows:
        query = "SELECT count(*) FROM advisor_heartbeat WHERE worker NOT LIKE ?"
        return int(rows.execute(query, [f"{JOB_PREFIX}%"]).fetchone()[0])


def wait_until(done: Callable[[], object], what: str) -> None:
    """Wait for `done`; fail with `what` after a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_S)
