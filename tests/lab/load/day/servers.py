"""The servers behind the site: its own database on a running PostgreSQL, and its own Redis."""

import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from redis import Redis
from redis.exceptions import ConnectionError

START_S = 20.0


def port_free() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def database(admin_url: str) -> Iterator[str]:
    """Yield the address of a new, empty database beside the one of `admin_url`; it is dropped at the end."""
    name = f"tidings_day_{secrets.token_hex(4)}"
    parts = urlsplit(admin_url)
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(parts._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class OwnRedis:
    """A Redis server of our own that keeps nothing on disk: killed, it forgets everything."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder, self.port = folder, port or port_free()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = shutil.which("redis-server")
        assert program, "redis-server is not installed"
        command = [
            program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self._process = subprocess.Popen(
            [*command, "--dir", str(self.folder)], stdout=subprocess.DEVNULL, start_new_session=True
        )
        end = time.monotonic() + START_S
        with Redis.from_url(self.url) as redis:
            while True:
                try:
                    redis.ping()
                    return
                except ConnectionError:
                    assert time.monotonic() < end, "Redis does not answer"
                    time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, without a word."""
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
