"""Leases: short, and renewed by a thread beside the work as long as its worker lives."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, connections

log = structlog.get_logger(__name__)


@contextmanager
def lease_renewal(
    *,
    renew: Callable[[], bool],
    clock: Callable[[], datetime],
    beat_s: float,
    lasting_s: float,
    failed: str,
) -> Iterator[None]:
    """Call `renew` every `beat_s` seconds while the block runs, at most for `lasting_s`.

    `renew` writes the new end of the lease and returns whether it was still ours; where it was not, renewal
    ends. A thread does it, on a connection of its own, so that it dies with a killed process. A database that
    is busy or away costs one renewal, logged as `failed`, and not the lease.
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
