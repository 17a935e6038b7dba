"""Free memory goes back to the system after work."""

import platform
import subprocess
import sys

import pytest

# Eighty megabytes in small pieces. Every thousandth stays, so most free ones lie before the heap's end. A
# reference cycle holds them, which only the garbage collector can free.
SCRIPT = """
from ranking.common.heap import heap_trim

def resident_mb():
    text = open("/proc/self/statm").read()
    return int(text.split()[1]) * 4096 / 2**20

def work():
    held = [bytes(4000) for _ in range(20_000)]
    held.append(held)
    return held[:-1:1000]

before, kept = resident_mb(), work()
left = resident_mb() - before
heap_trim()
print(left, resident_mb() - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries give back by themselves, or cannot"
)
def test_a_heap_full_of_holes_is_given_back():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    left, trimmed = map(float, done.stdout.split())
    assert left > 60
    assert trimmed < left / 3
