"""`manage.py work`: run the embedded worker, for installations without a broker."""

import os
import signal
import socket
import threading
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from config.pulse.files import Pulse
from config.tasks import Worker
from ranking.common.heap import heap_trim
from ranking.common.start import SettingsCommand

IDLE_S = 1.0
# A tick that takes longer did some work, so its free memory is worth returning.
WORK_S = 0.5
# How much the worker beside a site gives way to its pages if both want the same processor.
NICE = 5


class Command(SettingsCommand):
    """Run queued runs and scheduled jobs, one at a time, until stopped."""

    help = "Run queued work and the schedule. SIGTERM or Ctrl-C ends it after the job that is running."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--once` and `--parent PID`."""
        parser.add_argument("--once", action="store_true", help="Run what is due now, then end.")
        parser.add_argument("--parent", type=int, metavar="PID", help="End when this process is gone.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Work until stopped, then delete the heartbeat, so that no request waits for this worker."""
        stopped, parent = threading.Event(), options["parent"]

        def stop(number: int, frame: FrameType | None) -> None:
            stopped.set()

        if threading.current_thread() is threading.main_thread():  # other threads cannot set handlers
            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, stop)

        def stopping() -> bool:
            return stopped.is_set() or (parent is not None and os.getppid() != parent)

        if parent is not None:
            os.nice(NICE)
        with Pulse(settings.VAR_DIR) as pulse:
            worker = Worker(name=f"{socket.gethostname()}:{os.getpid()}"[:80], allow=pulse.allow)
            try:
                while not stopping():
                    began = time.monotonic()
                    busy = worker.tick(now=timezone.now(), stopping=stopping)
                    if options["once"]:
                        break
                    if time.monotonic() - began > WORK_S:
                        heap_trim()
                    if not busy:
                        stopped.wait(IDLE_S)
                    close_old_connections()
            finally:
                worker.stop()
