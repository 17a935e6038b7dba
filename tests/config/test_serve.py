"""`serve` as people run it: a real process with its worker, on a real port, ended by a real signal."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from wsgiref.simple_server import demo_app

import pytest
from django.core.management import CommandError, call_command
from django.core.servers import basehttp
from django.db.migrations.recorder import MigrationRecorder

from config.management.commands import serve
from config.management.commands.serve import Command, Server, worker_process, worker_spawn
from tests.support.processes import PATIENCE_S, POLL_S, database_without_work, wait_until, workers_alive

ROOT = Path(__file__).resolve().parents[2]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of an installation with its data in a folder."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    return {**kept, "TIDINGS_VAR_DIR": str(folder), "LOG_LEVEL": "WARNING"}


@pytest.fixture
def place(installed, tmp_path) -> dict[str, str]:
    """Return the environment of a new installation."""
    database_without_work(installed, tmp_path / "tidings.sqlite3")
    return environment(tmp_path)


def fetched(url: str, *, patience_s: float = PATIENCE_S) -> bytes:
    """Return the answer of a server that may still be starting."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)


def heartbeat_wait(place: dict[str, str]) -> None:
    """Wait for the worker's heartbeat."""
    database = Path(place["TIDINGS_VAR_DIR"]) / "tidings.sqlite3"
    wait_until(lambda: workers_alive(database), "the worker gave no sign of life")


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


def shared_mb(pid: int) -> float:
    """Return the memory that a process shares with another, without files."""
    lines = Path(f"/proc/{pid}/smaps").read_text(encoding="ascii").splitlines()
    sizes = dict.fromkeys(("Shared_Dirty",), 0)
    for line in lines:
        key = line.partition(":")[0]
        if key in sizes:
            sizes[key] += int(line.split()[1])
    return sum(sizes.values()) / 1024


def port_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the worker in /proc")
def test_serve_gives_pages_and_static_files_and_ends_with_its_worker(place):
    port = port_free()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=place,
        stdout=subprocess.PIPE,
        text=True,
        # Like a shell's background jobs, which inherit an ignored Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as site:
        try:
            assert fetched(f"http://127.0.0.1:{port}/healthz") == b"ok"
            assert b"--" in fetched(f"http://127.0.0.1:{port}/static/tidings.css")
            (worker,) = children_of(site.pid)
            shared = shared_mb(worker)
            heartbeat_wait(place)
            site.send_signal(signal.SIGINT)
            output, _ = site.communicate(timeout=PATIENCE_S)
        finally:
            site.kill()
    assert site.returncode == 0
    assert f"http://127.0.0.1:{port}/" in output and output.endswith("Stopped.\n")
    # The worker is forked from the loaded site, so it shares most of its memory.
    assert shared > 40
    assert not Path(f"/proc/{worker}").exists()


@contextmanager
def served() -> Iterator[int]:
    """Yield the port of a server in this process that answers with Django's demo page."""
    servers: list[Server] = []
    shape = type(
        "Server",
        (Server,),
        {"server_activate": lambda self: (servers.append(self), Server.server_activate(self))},
    )
    port = port_free()
    run = threading.Thread(
        target=basehttp.run,
        args=("127.0.0.1", port, demo_app),
        kwargs={"threading": True, "server_cls": shape},
    )
    run.start()
    try:
        assert fetched(f"http://127.0.0.1:{port}/")
        yield port
    finally:
        servers[0].shutdown()
        run.join()
        servers[0].server_close()


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.settimeout(10)
    return connection


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"])
def test_a_request_that_does_not_arrive_is_dropped(monkeypatch, sent: bytes):
    """Even one whose bytes come steadily, one by one, without end."""
    monkeypatch.setattr(serve, "ARRIVAL_S", 1.0)
    with served() as port, connected(port) as idle:
        began, answer = time.monotonic(), b"."
        idle.sendall(sent)
        while time.monotonic() - began < 8:
            with suppress(OSError):
                if sent.startswith(b"GET"):
                    idle.send(b"T")
            idle.settimeout(0.3)
            with suppress(TimeoutError):
                try:
                    answer = idle.recv(9999)
                except ConnectionError:
                    answer = b""
                break
        assert time.monotonic() - began < 6
        assert not answer or b"POST" in sent
        assert fetched(f"http://127.0.0.1:{port}/")


INSIDE = b"GET /inside HTTP/1.1\r\nHost: x\r\n\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    "headers",
    [
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3",
        b"Content-Length: -1",
        b"Content-Length: +36",
        b"Content-Length: 3_6",
        b"Content-Length: many",
        b"Content-Length : 36",
        b"Content-Length: 36\r\nContent-Length: 0",
        b"X: y\r\n Content-Length: 36",
        b"no header\r\nContent-Length: 36",
        FORM + b"\r\nno header\r\nContent-Length: 36",
        FORM + b"\r\n--x--\r\nContent-Length: 36",
        FORM + b"\r\n--x\r\nContent-Length: 36",
    ],
)
def test_a_body_is_never_read_as_another_request(headers: bytes):
    """A proxy takes it for one request, so the second had none of the headers that the proxy adds."""
    with served() as port, connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n" + INSIDE)
        answer = b""
        with suppress(ConnectionError):
            while received := client.recv(9999):
                answer += received
    assert answer.split(b" ")[1] in (b"400", b"411") and answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("kind", [b"X: y", FORM, b"Content-Type: application/json"])
def test_a_body_of_a_known_length_that_nobody_read_is_no_request_either(kind: bytes):
    with served() as port, connected(port) as client:
        length = str(len(INSIDE)).encode() + b"\r\n" + kind
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n" + INSIDE)
        client.settimeout(1)
        answer = b""
        with suppress(OSError):
            while received := client.recv(9999):
                answer += received
    assert b"HTTP/1.1 200 " in answer and answer.count(b"HTTP/1.1 ") == 1


def test_two_hundred_idle_connections_are_all_and_the_site_answers_once_they_go(monkeypatch):
    """1,100 idle connections took all files of the process, and the site was silent."""
    monkeypatch.setattr(serve, "CONNECTIONS_MAX", 5)
    monkeypatch.setattr(serve, "ARRIVAL_S", 2.0)
    with served() as port, ExitStack() as stack:
        time.sleep(0.3)  # the first request's connection has gone
        idle = [stack.enter_context(connected(port)) for _ in range(5)]
        time.sleep(0.3)
        with connected(port) as beyond:
            assert beyond.recv(999).startswith(b"HTTP/1.1 503 ")
        began = time.monotonic()
        wait_until(lambda: idle[0].recv(1) == b"", "idle connections were not closed")
        time.sleep(0.5)
        assert fetched(f"http://127.0.0.1:{port}/")
        assert time.monotonic() - began < 8


def test_the_site_trims_its_heap_once_when_readers_pause(monkeypatch):
    monkeypatch.setattr(serve, "PAUSE_S", 0.2)
    trims: list[float] = []
    monkeypatch.setattr(serve, "heap_trim", lambda: trims.append(time.monotonic()))
    servers: list[Server] = []
    shape = type(
        "Server",
        (Server,),
        {"server_activate": lambda self: (servers.append(self), Server.server_activate(self))},
    )
    port = port_free()
    run = threading.Thread(
        target=basehttp.run,
        args=("127.0.0.1", port, demo_app),
        kwargs={"threading": True, "server_cls": shape},
    )
    run.start()
    try:
        for _ in range(3):
            assert fetched(f"http://127.0.0.1:{port}/")
        assert not trims  # requests still come
        wait_until(lambda: trims, "the heap was not trimmed")
        time.sleep(1.5)
        assert len(trims) == 1  # no request came since
        assert fetched(f"http://127.0.0.1:{port}/")
        wait_until(lambda: len(trims) == 2, "the heap was not trimmed again")
    finally:
        servers[0].shutdown()
        run.join()
        servers[0].server_close()


@pytest.mark.parametrize("command", [["run"], ["serve"]])
def test_a_port_in_use_is_answered_with_how_to_choose_another_before_anything_is_done(place, command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT,
            env=place | {"PORT": str(taken.getsockname()[1])}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1 and "by --port for serve, by PORT for run" in done.stderr
    assert "The demo" not in done.stdout and "The data is in" not in done.stdout


def test_run_serves_nothing_where_the_demo_is_refused(place):
    """The documentation prints its passwords."""
    command = [sys.executable, "manage.py", "run"]
    public = place | {"ALLOWED_HOSTS": "news.example.org", "PORT": str(port_free())}
    done = subprocess.run(command, cwd=ROOT, env=public, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ALLOWED_HOSTS" in done.stderr and "Traceback" not in done.stderr
    assert "Tidings is on" not in done.stdout


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the worker in /proc")
def test_a_worker_leaves_when_the_site_beside_it_is_killed(place):
    """A shell stands in for the site and starts the worker with the same argument."""
    command = ["sh", "-c", f'"{sys.executable}" manage.py work --parent $$ & wait']
    with subprocess.Popen(command, cwd=ROOT, env=place) as site:
        try:
            heartbeat_wait(place)
            (worker,) = children_of(site.pid)
            gives_way = os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, site.pid)
        finally:
            site.kill()
    wait_until(lambda: not running(worker), "the worker outlived the site")
    assert site.returncode == -signal.SIGKILL
    assert gives_way, "an import of thousands of feeds slows no page down"


def running(pid: int) -> bool:
    """Return whether a process is alive. An ended one that was not reaped does not count."""
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
    MigrationRecorder.Migration.objects.filter(app="advisor").latest("pk").delete()
    with pytest.raises(CommandError, match="make migrate"):
        call_command("serve", port=0)


def test_a_worker_that_ends_by_itself_is_reported_and_replaced(settings, tmp_path):
    (tmp_path / "manage.py").write_text("raise SystemExit(3)")
    settings.BASE_DIR = tmp_path
    lines: list[str] = []
    with worker_process(first=worker_spawn, write=lines.append, restart_s=0.05) as workers:
        wait_until(lambda: len(lines) >= 2, "the worker was not replaced")
    assert "exit code 3" in lines[0] and "exit code 3" in lines[1]
    assert len(workers) >= 2 and not any(running(worker) for worker in workers)
