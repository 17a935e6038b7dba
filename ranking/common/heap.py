"""Return free heap memory to the operating system. Effects."""

import ctypes
import gc
from contextlib import suppress


def heap_trim() -> None:
    """Collect garbage, then return free heap pages to the operating system, if the C library can do so.

    By itself glibc returns only the end of a heap. Measured: after 250 feeds a worker kept 42 of 89 MB
    unused.
    """
    gc.collect()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
