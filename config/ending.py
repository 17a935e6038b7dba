"""How a command that was told to end leaves nothing behind."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

# What a shell says of a process that SIGTERM ended.
TERMINATED = 128 + signal.SIGTERM


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Within the block SIGTERM ends the command as an exception does, so that files it began go with it."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
