"""Run one row in its own database and process, and record the result."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from tests.lab.bench.peers import ROOT
from tests.lab.bench.running import ERROR_CHARS, KEYS, Json, Watch, machine
from tests.lab.faults.registry import Fault
from tests.lab.faults.servers import HOST, Postgres, Redis

# A full run takes at most this many times as long as a short one.
FULL_TIMES = 30
MIGRATES_S = 900
DATABASE = "faults.sqlite3"


@dataclass
class Stage:
    """One of the two ways to run. Every row gets its own migrated database."""

    name: str
    folder: Path
    postgres: Postgres | None = None
    redis: Redis | None = None
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def environment(self) -> dict[str, str]:
        """Return the environment of a row's process, without the operator's settings."""
        own = self._folder()
        if self.postgres is None or self.redis is None:
            shutil.copyfile(self._migrated, own / DATABASE)
            return self._told(own, f"sqlite:///{own / DATABASE}")
        name = own.name.replace("-", "_")
        psql(self.postgres, f"CREATE DATABASE {name} TEMPLATE {self._migrated}")
        self.redis.ask("FLUSHALL")
        return self._told(own, self.postgres.url(name)) | {
            "REDIS_URL": self.redis.url,
            "FAULTS_POSTGRES": str(self.postgres.folder),
            "FAULTS_POSTGRES_PORT": str(self.postgres.port),
            "FAULTS_REDIS": str(self.redis.folder),
            "FAULTS_REDIS_PORT": str(self.redis.port),
        }

    @cached_property
    def _migrated(self) -> str:
        """Return an empty database to copy: a file, or a name."""
        own = self._folder()
        where, url = str(own / DATABASE), f"sqlite:///{own / DATABASE}"
        if self.postgres:
            where, url = "migrated", self.postgres.url("migrated")
            psql(self.postgres, f"CREATE DATABASE {where}")
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=self._told(own, url), check=True, timeout=MIGRATES_S)
        return where

    def _folder(self) -> Path:
        own = self.folder / f"case-{next(self._numbers)}"
        own.mkdir()
        return own

    def _told(self, own: Path, database: str) -> dict[str, str]:
        told = {**os.environ, **dict.fromkeys(KEYS, ""), "TIDINGS_VAR_DIR": str(own), "LOG_LEVEL": "CRITICAL"}
        told |= {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": ""}
        told.pop("TIDINGS_SERVICES", None)
        return told | {"DATABASE_URL": database}


def fault_run(fault: Fault, stage: Stage, *, full: bool) -> Json:
    """Return the row's record: the fault, the time, the machine, its figures and its targets."""
    options = [f"--stage {stage.name}", *(["--full"] if full else [])]
    record: Json = {
        "name": f"{fault.name}@{stage.name}",
        "work": fault.work,
        "command": " ".join(["python -m tests.lab faults", fault.name, *options]),
        "full": full,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }
    watch = Watch()
    environment = stage.environment()
    report, error = reported(fault, environment, full)
    targets = [aim.held(report) for aim in fault.aims] if report is not None else []
    return record | watch.read() | {"report": report, "error": error, "targets": targets}


def reported(fault: Fault, environment: dict[str, str], full: bool) -> tuple[Json | None, str]:
    """Return the figures that the row's process prints as its last line; or how it failed."""
    command = [sys.executable, "-m", "tests.lab.faults.case", fault.name, *(["--full"] if full else [])]
    longest_s = fault.longest_s * (FULL_TIMES if full else 1)
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=longest_s, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"took more than {longest_s} seconds"
    if done.returncode:
        return None, f"exit code {done.returncode}: {told(done.stderr or done.stdout, environment)}"
    return dict(json.loads(done.stdout.strip().splitlines()[-1])), ""


def told(words: str, environment: dict[str, str]) -> str:
    """Return the end of a process's output, without paths."""
    words = words.strip()[-3 * ERROR_CHARS :]
    for path in (environment["TIDINGS_VAR_DIR"], sys.prefix, str(ROOT), str(Path.home())):
        words = words.replace(path, "…")
    return words


def psql(postgres: Postgres, statement: str) -> None:
    """One statement for the server itself."""
    import psycopg  # noqa: PLC0415 - only where there is a PostgreSQL

    with psycopg.connect(
        host=HOST, port=postgres.port, user="postgres", dbname="postgres", autocommit=True
    ) as server:
        server.execute(statement)  # type: ignore[call-overload]
