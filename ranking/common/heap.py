"""The memory that work which is over leaves with the process. Effects."""

import ctypes
import gc
from contextlib import suppress


def heap_trim() -> None:
    """Collect garbage, then give free pages of the heap back to the system, where the C library can.

    Unless asked, glibc gives back the end of a heap alone: after 250 feeds a worker kept 42 of 89 MB
    for nothing (measured).
    """
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
