"""`serve`: the site and its worker in one terminal, for one machine and few readers."""

import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

# The worker finishes the job it is on; longer than the longest run it would be stuck.
GOODBYE_S = 10.0


class Command(BaseCommand):
    """Serves the site, static files included, with `manage.py work` beside it; Ctrl-C ends both."""

    help = "Serve the site on this machine together with its worker. Ctrl-C ends both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until told to stop; exit code 1 while tables are missing."""
        if _migrations_missing():
            raise CommandError("The database is not up to date. Run `make migrate`, then try again.")
        address = f"{options['host']}:{options['port']}"
        signal.signal(signal.SIGTERM, _stop)
        with worker_beside():
            self.stdout.write(f"Tidings is on http://{address}/ with its worker. Ctrl-C ends both.")
            call_command("runserver", address, use_reloader=False, skip_checks=True)


@contextmanager
def worker_beside() -> Iterator[subprocess.Popen[bytes]]:
    """Run `manage.py work` as a child for as long as the block lasts, then let it finish its job."""
    worker = subprocess.Popen([sys.executable, settings.BASE_DIR / "manage.py", "work"])
    try:
        yield worker
    finally:
        worker.terminate()
        try:
            worker.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _migrations_missing() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave as on Ctrl-C, so that the worker is told too."""
    raise KeyboardInterrupt
