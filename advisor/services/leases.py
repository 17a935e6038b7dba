"""Showing that a worker lives: a lease is short, and a thread beside the work renews it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connections

log = structlog.get_logger(__name__)


@contextmanager
def lease_kept(
    *,
    renew: Callable[[], bool],
    clock: Callable[[], datetime],
    beat_s: float,
    lasting_s: float,
    failed: str,
) -> Iterator[None]:
    """Call `renew` every `beat_s` seconds while the block runs, at most for `lasting_s`.

    `renew` writes the new end of the lease, and answers whether it was still ours: where it was not, nobody
    asks again. A thread does it, on a connection of its own, so that a process that is killed takes it along.
    A database that is busy or away costs one sign of life, logged as `failed`, and not the lease.
    """
    ended = threading.Event()
    until = clock() + timedelta(seconds=lasting_s)

    def beat() -> None:
        try:
            while not ended.wait(beat_s) and clock() < until:
                try:
                    if not renew():
                        return
                except DatabaseError:
                    log.warning(failed, exc_info=True)
                    connections.close_all()
        finally:
            connections.close_all()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
