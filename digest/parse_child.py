"""`python -m digest.parse_child`: read one document from standard input under limits, answer in JSON.

The limits are set here, once everything is imported, because only then it is known what the interpreter
needs for itself; code that runs in the parent between fork and exec would not be safe beside threads.
"""

import json
import resource
import signal
import sys
from math import ceil
from typing import Final

from digest.contained import MEMORY_EXIT
from digest.feeds import FeedProblem, feed_as_json
from digest.parse import document_read

# Of processor time: the two seconds a document may cost, less what imports (0.1 s) and the parent's checks
# of a document of ten megabytes (0.3 s) take. The kernel's own limit counts whole seconds.
CPU_S: Final = 1.6
MEMORY_BYTES: Final = 300 * 1024 * 1024


def main() -> int:
    """Answer with `{"feed": …}` or `{"problem": {code, message}}`; 3 where memory was not enough."""
    limits_set(cpu_s=CPU_S, memory_bytes=MEMORY_BYTES)
    try:
        head, _, text = sys.stdin.buffer.read().partition(b"\n")
        answer: dict[str, object] = {
            "feed": feed_as_json(document_read(text.decode(), url=str(json.loads(head)["url"])))
        }
    except FeedProblem as problem:
        answer = {"problem": {"code": problem.code, "message": problem.message}}
    except MemoryError:
        return MEMORY_EXIT
    sys.stdout.write(json.dumps(answer))
    return 0


def limits_set(*, cpu_s: float, memory_bytes: int) -> None:
    """Give this process `cpu_s` more seconds of processor time and `memory_bytes` beyond what it has.

    It can open no more files than a parser needs, write none, and leaves no core dump. A system that
    refuses one of the limits (macOS has no `RLIMIT_AS`) keeps the others.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    _limit(resource.RLIMIT_CPU, ceil(cpu_s) + 1)
    _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(what, (value, hard))
    except (ValueError, OSError):
        return


def _address_space() -> int:
    """Bytes of address space this process has taken so far; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
