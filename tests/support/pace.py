"""Bounds on processor time that hold on any machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

ADDITIONS = 1_000_000
# What so many additions take on the machine whose seconds tests name.
ADDITIONS_S = 0.066


@cache
def pace() -> float:
    """Return how many times as long as on that machine work takes here, at least 1: the best of three."""
    return max(1.0, min(_additions_s() for _ in range(3)) / ADDITIONS_S)


def _additions_s() -> float:
    began, total = time.process_time(), 0
    for n in range(ADDITIONS):
        total += n
    return time.process_time() - began


@contextmanager
def processor_within(seconds: float) -> Iterator[None]:
    """Fail if the block takes more processor time than `seconds` are here."""
    began = time.process_time()
    yield
    took, most = time.process_time() - began, seconds * pace()
    assert took < most, f"{took:.1f} s of the processor, of {most:.1f}"
