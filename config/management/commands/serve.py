"""`manage.py serve`: the site and its worker in one terminal, for one machine and few readers."""

import os
import subprocess
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.core.servers import basehttp

from config.readiness import migrations_missing
from ranking.common.commands import manage_command, signals_as_interrupt, whole_number

# The worker may take this long to finish its job before it is killed.
SHUTDOWN_S = 10.0
# A dead worker is replaced after this long, so that one that cannot start does not spin.
RESTART_S = 5.0
# Connections that may wait to be accepted. With Django's ten, about twenty-five requests at the same moment
# were enough for the system to reset some (measured; `python -m tests.lab faults replays`).
BACKLOG = 256


class Server(basehttp.WSGIServer):
    """Django's server with a longer queue of connections."""

    request_queue_size = BACKLOG


class Command(BaseCommand):
    """Serve the site with its static files, and run `manage.py work`; Ctrl-C ends both."""

    help = "Serve the site on this machine together with its worker. Ctrl-C ends both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the address to listen on."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=whole_number(0, 65535), default=8000, help="0: any that is free")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until stopped; exit code 1 where tables are missing or the port is in use."""
        if migrations_missing():
            raise CommandError("The database is not up to date. Run `make migrate`, or `tidings migrate`.")
        signals_as_interrupt()
        try:
            with worker_process(write=self.stderr.write):
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
            raise CommandError(
                f"Cannot listen on {host}:{port}: {error.strerror}. Try --port, or PORT."
            ) from error


@contextmanager
def worker_process(
    *, write: Callable[[str], object], restart_s: float = RESTART_S
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run `manage.py work` as a child while the block runs, then let it finish its job.

    A child that ends by itself is reported to `write` and replaced after `restart_s` seconds; meanwhile
    requests run inline. Yields the list of workers; the last one runs.
    """
    ending, workers = Event(), [_worker_start()]

    def watch() -> None:
        while True:
            code = workers[-1].wait()
            if ending.is_set():
                return
            write(f"The worker ended by itself (exit code {code}). Another starts in {restart_s:g} seconds.")
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
    # A process group of its own: Ctrl-C in the terminal reaches only the site, which then ends the worker.
    # A killed site cannot do that: the worker watches its parent itself.
    return subprocess.Popen(manage_command("work", "--parent", str(os.getpid())), process_group=0)


def _worker_end(worker: subprocess.Popen[bytes]) -> None:
    """Terminate a worker; kill one that takes too long, or on a second Ctrl-C."""
    worker.terminate()
    try:
        worker.wait(SHUTDOWN_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        worker.kill()
        worker.wait()
