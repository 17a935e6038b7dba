"""An installation's folder, processes to stop, and the check of /readyz."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from config.pulse import celery, files
from config.readiness import readiness


@pytest.fixture(autouse=True)
def folder(settings, tmp_path) -> Path:
    """Return the installation's folder."""
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture
def quick(monkeypatch) -> None:
    """Beat twenty times a second."""
    monkeypatch.setattr(files, "BEAT_S", 0.05)
    monkeypatch.setattr(celery, "BEAT_S", 0.05)


def workers_check(now: datetime) -> tuple[bool, str]:
    (check,) = [check for check in readiness(now=now) if check.name == "workers"]
    return check.ok, check.detail


@contextmanager
def process_of(work: Callable[[], object]) -> Iterator[int]:
    """Yield the id of a forked process that does `work` for ever; kill it afterwards."""
    if not (pid := os.fork()):
        work()
        time.sleep(60)
        os._exit(0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
