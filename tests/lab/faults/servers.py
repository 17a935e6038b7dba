"""A throwaway PostgreSQL and Redis, on spare ports of the loopback, to be stopped and started at will.

Each is controlled by its own tools through files on disk. So every process that knows its folder may stop it
and start it again.
"""

import glob
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
PG_PORT, REDIS_PORT = 55432, 56379
PG_BINARIES = "/usr/lib/postgresql/*/bin"
# PostgreSQL refuses to be run by root.
PG_ACCOUNT = "postgres"
PATIENCE_S = 60
COPY_S = 1200.0


class Missing(Exception):
    """A server that is not installed here, by name."""


def spare_port(first: int) -> int:
    """Return the first free port from `first` on."""
    for port in range(first, first + 200):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)):
                return port
    raise OSError(f"no spare port from {first} on")


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL or Redis. Raises `Missing`."""
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"{PG_BINARIES}/{name}"), reverse=True)), None)
    if found is None:
        raise Missing(f"{name} is not installed")
    return found


@dataclass(frozen=True, slots=True)
class Postgres:
    """A cluster in `folder`; `start` and `stop` wait until it is so."""

    folder: Path
    port: int

    @classmethod
    def make(cls, folder: Path) -> "Postgres":
        """Create a new cluster that trusts every client on this machine."""
        folder.mkdir(mode=0o700)
        if not os.geteuid():
            shutil.chown(folder, PG_ACCOUNT)
        _run(
            [program("initdb"), "-D", str(folder), "-U", PG_ACCOUNT, "-A", "trust", "-E", "UTF8"],
            demoted=True,
        )
        port = spare_port(PG_PORT)
        settings = f"port={port}\nlisten_addresses='{HOST}'\nmax_connections=200\n"
        settings += f"unix_socket_directories='{folder}'\n"
        with (folder / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(settings)
        return cls(folder, port)

    @classmethod
    def follow(cls, folder: Path, address: str) -> "Postgres":
        """Return a copy of the cluster at `address`, that follows it once it is started: a streaming
        replica."""
        folder.mkdir(mode=0o700)
        if not os.geteuid():
            shutil.chown(folder, PG_ACCOUNT)
        source = ["-d", address, "-D", str(folder), "-R", "-X", "stream", "-c", "fast"]
        _run([program("pg_basebackup"), *source], demoted=True, longest_s=COPY_S)
        port = spare_port(PG_PORT)
        with (folder / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"port={port}\nlisten_addresses='{HOST}'\nunix_socket_directories='{folder}'\n")
        return cls(folder, port)

    def start(self) -> None:
        """Begin to serve."""
        self._control("start", "-l", str(self.folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        """Stop: `fast` in good order, `immediate` as in a crash."""
        self._control("stop", "-m", mode)

    def url(self, database: str) -> str:
        """Return the address of one of its databases."""
        return f"postgres://{PG_ACCOUNT}@{HOST}:{self.port}/{database}"

    def _control(self, *words: str) -> None:
        _run([program("pg_ctl"), "-D", str(self.folder), "-w", "-t", str(PATIENCE_S), *words], demoted=True)


@dataclass(frozen=True, slots=True)
class Redis:
    """A server that keeps nothing on disk; its process id is in `folder`."""

    folder: Path
    port: int

    @classmethod
    def make(cls, folder: Path) -> "Redis":
        """Choose a port; nothing runs yet."""
        folder.mkdir()
        return cls(folder, spare_port(REDIS_PORT))

    def start(self) -> None:
        """Begin to serve, from nothing."""
        words = ["--port", str(self.port), "--bind", HOST, "--dir", str(self.folder), "--save", ""]
        words += ["--appendonly", "no", "--daemonize", "yes", "--logfile", str(self.folder / "log")]
        _run([program("redis-server"), *words])
        for _ in range(PATIENCE_S * 10):
            if self.ask("PING") == "PONG":
                return

    def stop(self) -> None:
        """Go away and forget everything."""
        self.ask("SHUTDOWN", "NOSAVE")

    def ask(self, *words: str) -> str:
        """Return its answer to a command, or "" if it is not running."""
        command = [program("redis-cli"), "-p", str(self.port), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        return done.stdout.strip() if done.returncode == 0 else ""

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://{HOST}:{self.port}/0"


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Postgres, Redis]]:
    """Both, running, in two folders below `folder`; gone afterwards. Raises `Missing`."""
    for name in ("initdb", "pg_ctl", "redis-server", "redis-cli"):
        program(name)
    folder.chmod(0o755)
    postgres, redis = Postgres.make(folder / "postgres"), Redis.make(folder / "redis")
    postgres.start()
    try:
        redis.start()
        try:
            yield postgres, redis
        finally:
            redis.stop()
    finally:
        with suppress(OSError):  # a row that broke may have left it stopped
            postgres.stop("fast")


def _run(command: Sequence[str], *, demoted: bool = False, longest_s: float = PATIENCE_S * 2) -> None:
    """Run a tool, as PostgreSQL's account if we are root. A process that it leaves running holds no pipe of
    ours."""
    account = {"user": PG_ACCOUNT, "group": PG_ACCOUNT} if demoted and not os.geteuid() else {}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        check=False,
        timeout=longest_s,
        **account,  # type: ignore[call-overload]
    )
    if done.returncode:
        raise OSError(f"{Path(command[0]).name} ended with {done.returncode}")
