"""Real workers of one's own: Celery's, its beat, or the embedded one, each in its own process group."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

ROOT = Path(__file__).resolve().parents[3]
CELERY = (sys.executable, "-m", "celery", "-A", "config")
LEAVES_S = 120.0


class TooLong(Exception):
    """The awaited event did not happen in time."""


def until(done: Callable[[], object], seconds: float, *, by: "Worker | None" = None) -> float:
    """Wait for other processes. Return the seconds it took. Raises `TooLong`, at once if `by` has ended."""
    began = time.monotonic()
    while not done():
        if by is not None and not by.alive:
            raise TooLong(f"the worker has left: {by.said()}")
        if time.monotonic() - began > seconds:
            raise TooLong(f"nothing happened in {seconds:.0f} seconds")
        time.sleep(0.1)
    return time.monotonic() - began


@dataclass
class Worker:
    """A process that works through the queue. Its log is kept in the case's folder."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin."""
        log = Path(settings.VAR_DIR) / "workers.log"
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def said(self) -> str:
        """Return the end of the log."""
        return (Path(settings.VAR_DIR) / "workers.log").read_text(encoding="utf-8", errors="replace")[-300:]

    def kill(self) -> None:
        """kill -9, children and all."""
        if self.process is not None:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=LEAVES_S)

    def stop(self) -> int | None:
        """Ask it to leave, as a deploy does; its exit code."""
        if self.process is None:
            return None
        self.process.terminate()
        return self.process.wait(timeout=LEAVES_S)

    @property
    def alive(self) -> bool:
        """Return whether it runs."""
        return self.process is not None and self.process.poll() is None


def worker(environment: Mapping[str, str], *, concurrency: int = 2) -> Worker:
    """Return the worker for this database: Celery's if there is a broker, else the embedded one."""
    if settings.REDIS_URL:
        return Worker((*CELERY, "worker", "-c", str(concurrency), "--loglevel", "WARNING"), environment)
    return Worker((sys.executable, "manage.py", "work"), environment)


def beat(environment: Mapping[str, str]) -> Worker:
    """Celery's beat; the embedded worker has its own."""
    return Worker((*CELERY, "beat", "--loglevel", "WARNING"), environment)


@contextmanager
def working(*workers: Worker) -> Iterator[None]:
    """Start the workers, and stop them at the end of the block in any case."""
    try:
        for one in workers:
            one.start()
        yield
    finally:
        for one in workers:
            one.kill()
