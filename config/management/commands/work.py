"""`manage.py work`: the embedded worker, for installations without a broker."""

import os
import signal
import socket
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections
from django.utils import timezone

from config.worker import Worker

IDLE_S = 1.0


class Command(BaseCommand):
    """Queued runs and the schedule, one thing at a time, until told to stop."""

    help = "Run queued work and the schedule from the database. SIGTERM or Ctrl-C ends it after its job."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Once, until told to stop, or as long as whoever started it lives."""
        parser.add_argument("--once", action="store_true", help="do what is due now and leave")
        parser.add_argument("--parent", type=int, metavar="PID", help="leave when this process is gone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Tick until stopped; a worker says goodbye, so that nobody waits for it."""
        asked, parent = threading.Event(), options["parent"]
        _on_stop(asked.set)

        def stopping() -> bool:
            return asked.is_set() or (parent is not None and os.getppid() != parent)

        worker = Worker(name=f"{socket.gethostname()}:{os.getpid()}"[:80])
        try:
            while not stopping():
                busy = worker.tick(now=timezone.now(), stopping=stopping)
                if options["once"]:
                    break
                if not busy:
                    asked.wait(IDLE_S)
                close_old_connections()
        finally:
            worker.leave()


def _on_stop(stop: Callable[[], None]) -> None:
    """Let SIGTERM and SIGINT ask for the end, not force it. Only a main thread may be asked."""

    def asked(number: int, frame: FrameType | None) -> None:
        stop()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, asked)
        signal.signal(signal.SIGINT, asked)
