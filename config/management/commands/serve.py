"""`serve`: the site and its worker in one terminal, for one machine and few readers."""

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.core.servers import basehttp
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.arguments import whole_number

# How long the worker may take to finish the job it is on before it is ended for good.
GOODBYE_S = 10.0
# A worker that died is replaced after this long, so that one that cannot start does not spin.
RESTART_S = 5.0
# Connections that may wait to be taken up. With Django's ten, about twenty-five requests at the same moment
# were enough for the system to reset some (measured; `python -m tests.faults replays`).
BACKLOG = 256


class Server(basehttp.WSGIServer):
    """Django's server, with room for a crowd at the door."""

    request_queue_size = BACKLOG


class Command(BaseCommand):
    """Serves the site, static files included, with `manage.py work` beside it; Ctrl-C ends both."""

    help = "Serve the site on this machine together with its worker. Ctrl-C ends both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=whole_number(0, 65535), default=8000, help="0: any that is free")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until told to stop; exit code 1 while tables are missing or the port is taken."""
        if _migrations_missing():
            raise CommandError("The database is not up to date. Run `make migrate`, then try again.")
        # SIGINT as well: a shell starts background jobs with it ignored, and Python then leaves it so.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)
        try:
            with worker_beside(say=self.stderr.write):
                self._serve(options["host"], options["port"])
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")

    def _serve(self, host: str, port: int) -> None:
        def bound(actual: object) -> None:
            self.stdout.write(f"Tidings is on http://{host}:{actual}/ with its worker. Ctrl-C ends both.")

        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
        application = basehttp.get_internal_wsgi_application()
        try:
            basehttp.run(host, port, application, threading=True, on_bind=bound, server_cls=Server)
        except OSError as error:
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. Try --port.") from error


@contextmanager
def worker_beside(
    *, say: Callable[[str], object], restart_s: float = RESTART_S
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run `manage.py work` as a child for as long as the block lasts, then let it finish its job.

    A child that ends by itself is replaced after `restart_s` seconds, and `say` hears of it; yields the
    workers so far, the last one at work. Meanwhile requests help themselves.
    """
    ending, workers = Event(), [_worker_start()]

    def watch() -> None:
        while True:
            code = workers[-1].wait()
            if ending.is_set():
                return
            say(f"The worker ended by itself (exit code {code}). Another follows in {restart_s:g} seconds.")
            if ending.wait(restart_s):
                return
            workers.append(_worker_start())

    watcher = Thread(target=watch, daemon=True, name="worker-watch")
    watcher.start()
    try:
        yield workers
    finally:
        ending.set()
        _worker_end(workers[-1])
        watcher.join()
        _worker_end(workers[-1])


def _worker_start() -> subprocess.Popen[bytes]:
    # A group of its own: Ctrl-C in the terminal reaches the site alone, which then tells the worker.
    # A site that is killed can tell nobody: the worker looks after its parent itself.
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work", "--parent", str(os.getpid())]
    return subprocess.Popen(command, process_group=0)


def _worker_end(worker: subprocess.Popen[bytes]) -> None:
    """Ask for the end, and force it on one that takes too long or whose user asks a second time."""
    worker.terminate()
    try:
        worker.wait(GOODBYE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        worker.kill()
        worker.wait()


def _migrations_missing() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave as on Ctrl-C, so that the worker is told too."""
    raise KeyboardInterrupt
