"""Bounds on processor time that hold on any machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

ADDITIONS = 1_000_000
# What so many additions take on the machine whose seconds tests name.
ADDITIONS_S = 0.027


def pace() -> float:
    """Return how many times as long as on that machine work takes here and now, at least 1."""
    began, total = time.process_time(), 0
    for n in range(ADDITIONS):
        total += n
    return max(1.0, (time.process_time() - began) / ADDITIONS_S)


@contextmanager
def processor_within(seconds: float) -> Iterator[None]:
    """Fail if the block takes more processor time than `seconds` are here.

    The pace of a shared machine changes: the slower one of before and after counts.
    """
    before, began = pace(), time.process_time()
    yield
    took = time.process_time() - began
    most = seconds * max(before, pace())
    assert took < most, f"{took:.1f} s of the processor, of {most:.1f}"
