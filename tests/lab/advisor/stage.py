"""Run shards of an evaluation two at a time, each in its own process and SQLite database.

The database is migrated once, and each shard gets a copy: migrations take ten seconds of processor. Nothing
here can reach the operator's database: a shard gets the address of a file in a temporary folder, and ends at
once if it finds itself anywhere else.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.conf import settings

from tests.lab.advisor.shard import DATABASE_VARIABLE

Json = dict[str, Any]
WORKERS = 2
OUTPUT_CHARS = 400
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "LOCAL_LLM_BASE_URL")
# Tasks whose progress counts readers, not weeks of all readers.
OF_READERS = ("model", "trial")
Say = Callable[[str], None]


class ShardFailed(Exception):
    """A shard ended without a result. The message holds the end of its output."""


def shards_run(
    tasks: Sequence[Json],
    *,
    say: Say,
    workers: int = WORKERS,
    done: Callable[[Json, Json], None] | None = None,
) -> list[Json]:
    """Return the tasks' results, in the tasks' order. A task with `"models": true` keeps the configured
    models.

    Each task names itself in `"name"`, for `say`. `done` is told each task with its result as soon as there
    is one. Raises `ShardFailed`.
    """

    with tempfile.TemporaryDirectory(prefix="tidings-evaluation-") as folder:
        migrated = Path(folder) / "migrated.sqlite3"
        _migrate(migrated)

        def run(task: Json) -> Json:
            result = _shard(task, say, migrated)
            if done:
                done(task, result)
            return result

        with ThreadPoolExecutor(max_workers=workers) as pool:
            return list(pool.map(run, tasks))


def _migrate(database: Path) -> None:
    """Create an empty database. Raises `ShardFailed`."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    done = subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        env=_environment(database, models=False, extra={}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ShardFailed(f"migrate: {done.stderr[-OUTPUT_CHARS:]}")


def _shard(task: Json, say: Say, migrated: Path) -> Json:
    with tempfile.TemporaryDirectory(prefix="tidings-evaluation-") as folder:
        database = Path(folder) / "evaluation.sqlite3"
        shutil.copyfile(migrated, database)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.advisor.shard"],
            cwd=settings.BASE_DIR,
            env=_environment(database, models=bool(task.get("models")), extra=task.get("env", {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Both pipes are read at once: a long result would otherwise wait for the end of the other.
        with process, ThreadPoolExecutor(max_workers=1) as reader:
            printing = reader.submit(process.stdout.read if process.stdout else str)
            said = _converse(process, task, say)
            printed = printing.result()
    if process.returncode:
        raise ShardFailed(f"{task['name']}: {' | '.join(said[-8:])}")
    result: Json = json.loads(printed)
    say(f"{task['name']}: done in {result['seconds']} s")
    return result


def _converse(process: "subprocess.Popen[str]", task: Json, say: Say) -> list[str]:
    """Hand over the task, pass on the progress in weeks or readers, and keep the other output."""
    if process.stdin is None or process.stderr is None:
        return []
    process.stdin.write(json.dumps(task))
    process.stdin.close()
    said = []
    for line in process.stderr:
        if line.strip().isdigit():
            unit = "reader" if task.get("kind") in OF_READERS else "week"
            say(f"{task['name']}: {unit} {line.strip()}")
        elif line.strip():
            said.append(line.strip())
    return said


def _environment(database: Path, *, models: bool, extra: dict[str, str]) -> dict[str, str]:
    """This process's environment with the shard's own database, no broker and, by default, no models."""
    off = {} if models else dict.fromkeys(KEYS, "")
    own = {
        "DATABASE_URL": f"sqlite:///{database}",
        DATABASE_VARIABLE: str(database),
        "REDIS_URL": "",
        "LOG_LEVEL": "ERROR",
        "DEBUG": "false",
        "ADVISOR_ENABLED": "true",
    }
    return {**os.environ, **off, **own, **extra}
