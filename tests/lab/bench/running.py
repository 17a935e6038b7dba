"""Run one row of the registry in its own process and database, and record the result."""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.lab.bench.entities import Row
from tests.lab.bench.peers import ROOT, versions
from tests.lab.subcommands import SUBCOMMANDS

Json = dict[str, Any]
# Packages that influence the figures. Peers are listed only if they were installed.
PACKAGES = (
    "django",
    "feedparser",
    "httpcore2",
    "numpy",
    "openai",
    "scipy",
    "openai-agents",
    "pydantic-ai-slim",
    "reader",
)
LONGEST_S = 3 * 3600
ERROR_CHARS = 400
# No setting of the operator reaches a benchmark: it has its own database, no broker, no models.
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "LOCAL_LLM_BASE_URL")


class RowFailed(Exception):
    """A row ended without a report. The message is the end of its output, without paths."""


def row_run(row: Row, python: Path | str, *, quick: bool) -> Json:
    """Return the row's record: command, time, machine, report and targets.

    If the row broke, `error` says so and there is no report.
    """
    options = row.quick if quick else ()
    told: Json = {
        "name": row.name,
        "group": row.group,
        "work": row.work,
        "beside": row.beside,
        "command": " ".join(["python", *row.command, *options, "--json"]),
        "data": row.data,
        "quick": quick,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
    }
    watch = Watch()
    try:
        found = {"report": reported(row, python, options), "error": ""}
    except RowFailed as failed:
        found = {"report": None, "error": str(failed)}
    told |= watch.read() | {"seed": (found["report"] or {}).get("seed", row.seed)}
    told["versions"] = versions(python, PACKAGES)
    return told | found | {"targets": targets_of(row, found["report"])}


def targets_of(row: Row, report: Json | None) -> list[Json]:
    """Return each target with its measured value, from the row itself or from its report."""
    if report is None:
        return []
    if row.aims:
        return [aim.held(report) for aim in row.aims]
    return [dict(target) for target in report.get("targets", [])]


def reported(row: Row, python: Path | str, options: tuple[str, ...]) -> Json:
    """Return the JSON that the row's command prints. Raises `RowFailed`."""
    if row.open_data and not os.environ.get("TIDINGS_DATA"):
        raise RowFailed("TIDINGS_DATA is not set: this row reads data that others made")
    if row.large and not os.environ.get("LOAD_DATABASE_URL"):
        raise RowFailed(
            "LOAD_DATABASE_URL is not set: this row needs what `python -m tests.lab load.seed` makes"
        )
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder:
        own = {**dict.fromkeys(KEYS, ""), "DATABASE_URL": "", "REDIS_URL": "", "TIDINGS_VAR_DIR": folder}
        if row.large:
            own["DATABASE_URL"] = os.environ["LOAD_DATABASE_URL"]
            own["REDIS_URL"] = os.environ.get("REDIS_URL", "")
        environment = {**os.environ, **own, "LOG_LEVEL": "CRITICAL", "PYTHONDONTWRITEBYTECODE": ""}
        environment.pop("TIDINGS_SERVICES", None)
        if needs_django(row.command):
            spoken([str(python), "manage.py", "migrate", "--verbosity", "0"], environment, folder)
        said = spoken([str(python), *row.command, *options, "--json"], environment, folder)
    try:
        return dict(json.loads(said.strip().splitlines()[-1]))
    except (IndexError, ValueError) as error:
        raise RowFailed(f"the last line is no report: {said[-ERROR_CHARS:]}") from error


def needs_django(command: tuple[str, ...]) -> bool:
    """Return whether a row's command is a subcommand that uses the database as it stands."""
    return command[:2] == ("-m", "tests.lab") and command[2] in SUBCOMMANDS and SUBCOMMANDS[command[2]].django


def spoken(command: list[str], environment: dict[str, str], folder: str) -> str:
    """Return the output of a command. Exit code 1, a missed target, is fine with output. Raises
    `RowFailed`."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RowFailed(f"took more than {LONGEST_S} seconds") from error
    if done.returncode > 1 or (done.returncode == 1 and not done.stdout.strip()) or done.returncode < 0:
        end = (done.stderr.strip() or done.stdout.strip())[-ERROR_CHARS:]
        for path in (folder, sys.prefix, str(ROOT), str(Path.home())):
            end = end.replace(path, "…")
        raise RowFailed(f"exit code {done.returncode}: {end}")
    return done.stdout


def machine() -> Json:
    """Return facts about the machine, without its name."""
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


class Watch:
    """How long something took, and how much of the processors others used meanwhile."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), busy_s(), own_s()

    def read(self) -> Json:
        """Return `seconds` and `others`, the share of all processors used by others, or `None` if the system
        does not tell."""
        seconds = time.monotonic() - self._began
        now, before = busy_s(), self._busy
        others = None
        if now is not None and before is not None and seconds > 0:
            used = now - before - (own_s() - self._own)
            others = round(max(0.0, used) / seconds / (os.cpu_count() or 1), 2)
        return {"seconds": round(seconds, 1), "others": others}


def busy_s() -> float | None:
    """Seconds of processor time that everybody on this machine has used, as Linux counts them."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, softirq, *_ = (int(part) for part in line.split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return processor seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
