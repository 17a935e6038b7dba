"""The site as the `Procfile` runs it: gunicorn with its documented settings, on a loopback port."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.bench.engine import peak_mb, resident_mb

ROOT = Path(__file__).resolve().parents[3]
READY_S, GOODBYE_S = 180.0, 30.0


@dataclass(frozen=True, slots=True)
class Site:
    """A running site: its port, its command as the Procfile has it, its processes."""

    port: int
    command: str
    pid: int

    def workers(self) -> list[int]:
        """Return the processes that answer requests."""
        said = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [int(pid) for pid in said.split()]

    def memory(self) -> list[dict[str, int]]:
        """MB of each worker: now, and the most it had."""
        return [{"resident_mb": resident_mb(pid), "peak_mb": peak_mb(pid)} for pid in self.workers()]


def processor_s(pids: Iterable[int]) -> float:
    """Seconds of the processor that those processes used so far; of those that are there."""
    ticks = 0
    for pid in pids:
        try:
            said = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        except OSError:
            continue
        user, system = said.rpartition(")")[2].split()[11:13]
        ticks += int(user) + int(system)
    return ticks / os.sysconf("SC_CLK_TCK")


def processor_ms(pids: Iterable[int]) -> dict[str, float]:
    """Return the same in milliseconds and to the nanosecond, by thread, of those that are there
    (`schedstat`)."""
    used = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                used[task.parent.name] = int(task.read_text(encoding="ascii").split()[0]) / 1_000_000
            except (OSError, IndexError):
                continue
    return used


def used_since(before: dict[str, float], pids: Iterable[int]) -> float:
    """Milliseconds that those processes used since `before`; new threads count whole, ended ones do not."""
    return sum(used - before.get(thread, 0.0) for thread, used in processor_ms(pids).items())


def backends() -> list[int]:
    """Return the processes of a database server on this machine that answer others."""
    from django.db import connection  # noqa: PLC0415

    query = (
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [pid for (pid,) in cursor.fetchall()]


def database_s() -> float:
    """Return the same for a database server on this machine: its processes, and those that ended."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), array_agg(pid) FROM pg_stat_activity")
        own, pids = cursor.fetchone()
    try:
        parent = Path(f"/proc/{own}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]
        ended = Path(f"/proc/{parent}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[13:15]
    except OSError:
        return 0.0
    return processor_s(pids) + sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def site() -> Iterator[Site]:
    """Run the Procfile's `web` line until the block ends. Raises `RuntimeError` if it does not start."""
    lines = (ROOT / "Procfile").read_text(encoding="utf-8").splitlines()
    command = next(line.partition(": ")[2] for line in lines if line.startswith("web: "))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shell = f"exec {sys.executable} -m {command}"
    environment = os.environ | {"BIND": f"127.0.0.1:{port}", "DEBUG": "false", "LOG_LEVEL": "ERROR"}
    process = subprocess.Popen(["/bin/sh", "-c", shell], cwd=ROOT, env=environment)
    try:
        _wait(process, port)
        yield Site(port, command, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}; is gunicorn installed?")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"no answer within {READY_S:g} seconds")
