"""`serve` as people run it: a real process with its worker, on a real port, ended by a real signal."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder

from config.management.commands.serve import Command, worker_process

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


def environment(folder: Path) -> dict[str, str]:
    """The environment of an installation that keeps its data in a folder."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    return {**kept, "TIDINGS_VAR_DIR": str(folder), "LOG_LEVEL": "WARNING"}


@pytest.fixture
def place(installed, tmp_path) -> dict[str, str]:
    """The environment of an installation of its own."""
    shutil.copy(installed, tmp_path / "tidings.sqlite3")
    return environment(tmp_path)


def fetched(url: str) -> bytes:
    """The answer of a server that may still be starting."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def heartbeat_seen(database: Path) -> None:
    """Wait for the worker's sign of life."""
    deadline = time.monotonic() + PATIENCE_S
    with closing(sqlite3.connect(database)) as rows:
        while not rows.execute("SELECT 1 FROM advisor_heartbeat WHERE worker LIKE '%:%'").fetchall():
            assert time.monotonic() < deadline, "the worker gave no sign of life"
            time.sleep(0.2)


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


def port_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the worker in /proc")
@pytest.mark.parametrize("begun", [signal.SIG_DFL, signal.SIG_IGN], ids=["in front", "in the background"])
def test_serve_gives_pages_and_static_files_and_ends_with_its_worker(place, begun):
    port = port_free()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=place,
        stdout=subprocess.PIPE,
        text=True,
        # What a shell does to its background jobs: they inherit a Ctrl-C that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, begun),
    ) as site:
        try:
            assert fetched(f"http://127.0.0.1:{port}/healthz") == b"ok"
            assert b"--" in fetched(f"http://127.0.0.1:{port}/static/tidings.css")
            workers = children_of(site.pid)
            heartbeat_seen(Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3")
            site.send_signal(signal.SIGINT)
            said, _ = site.communicate(timeout=PATIENCE_S)
        finally:
            site.kill()
    assert site.returncode == 0
    assert f"http://127.0.0.1:{port}/" in said and said.endswith("Stopped.\n")
    assert workers and not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the worker in /proc")
def test_a_worker_leaves_when_the_site_beside_it_is_killed(place):
    command = [sys.executable, "manage.py", "serve", "--port", str(port_free())]
    with subprocess.Popen(command, cwd=ROOT, env=place, stdout=subprocess.DEVNULL) as site:
        try:
            heartbeat_seen(Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3")
            workers = children_of(site.pid)
        finally:
            site.kill()
    deadline = time.monotonic() + PATIENCE_S
    while alive := [pid for pid in workers if running(pid)]:
        assert time.monotonic() < deadline, f"{alive} outlived the site"
        time.sleep(0.2)
    assert workers


def running(pid: int) -> bool:
    """Whether a process lives; one that ended and that nobody has buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_cannot_be_is_wrong_usage(port, capsys):
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "serve", f"--port={port}"])
    assert ended.value.code == 2 and "from 0 to 65535" in capsys.readouterr().err


@pytest.mark.django_db
def test_serve_refuses_to_start_while_a_migration_is_missing():
    MigrationRecorder.Migration.objects.filter(app="digest").latest("pk").delete()
    with pytest.raises(CommandError, match="make migrate"):
        call_command("serve", port=0)


def test_a_worker_that_ends_by_itself_is_reported_and_replaced(settings, tmp_path):
    (tmp_path / "manage.py").write_text("raise SystemExit(3)")
    settings.BASE_DIR = tmp_path
    said: list[str] = []
    with worker_process(write=said.append, restart_s=0.05) as workers:
        deadline = time.monotonic() + PATIENCE_S
        while len(said) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "exit code 3" in said[0] and "exit code 3" in said[1]
    assert len(workers) >= 2 and all(worker.poll() is not None for worker in workers)
