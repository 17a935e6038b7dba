"""`python -m tests.lab mutations [--json]`: read every open feed document and 10,000 seeded mutations.

For each document: no exception but `FeedProblem`, at most two seconds of processor time (this process and its
child together) and 300 MiB beyond the interpreter's own. The control is a document that would never end
without the limits: it must be stopped.
"""

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from digest.feeds.entities import FeedProblem
from digest.feeds.parse import parse_document
from digest.feeds.sandbox import COMMAND, SANDBOX, SandboxServer, parse_in_sandbox
from digest.feeds.sandbox_server import MEMORY_BYTES
from tests.support.documents import documents, mutations

SEED = 20260318
CPU_MAX_S, MEMORY_MAX_MIB = 2.0, 300
SPINNING = (
    "from digest.feeds.sandbox_server import *\ndef read(text, url):\n while 1: pass\nsandbox_serve(read)"
)


def cpu_s() -> float:
    """Processor time of this process and of the children that read documents, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime + SANDBOX.spent_s


def peak_mib() -> float:
    """Return the largest resident size of this process so far, in MiB. Children are held to theirs by the
    kernel."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Read all documents and print the results. Return 1 if a promise was broken."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--n", type=int, default=10_000, help="mutations")
    arguments.add_argument("--seed", type=int, default=SEED)
    options = arguments.parse_args()
    data = os.environ.get("TIDINGS_DATA")
    bodies = documents(Path(data) if data else None)
    started, empty = time.monotonic(), peak_mib()
    codes, broken, slow, parsed = Counter[str](), list[str](), list[tuple[float, str]](), 0
    for name, body in chain(bodies.items(), mutations(bodies, n=options.n, seed=options.seed)):
        before = cpu_s()
        try:
            parse_document(body, url="https://r.example/feed")
            parsed += 1
        except FeedProblem as problem:
            codes[problem.code] += 1
        except BaseException as error:
            broken.append(f"{name}: {type(error).__name__}: {error}"[:200])
        slow = sorted([*slow, (round(cpu_s() - before, 3), name)], reverse=True)[:5]
    report = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "documents": len(bodies),
        "mutations": options.n,
        "seed": options.seed,
        "read": parsed,
        "refused": dict(codes.most_common()),
        "broken": len(broken),
        "first_broken": broken[:5],
        "slowest_cpu_s": slow,
        "memory_added_mib": round(peak_mib() - empty),
        "child_limit_mib": MEMORY_BYTES >> 20,
        "child_ms": round(1000 * sorted(child_s() for _ in range(9))[4]),
        "control": control(),
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(report) if options.json else "\n".join(f"{k:18} {v}" for k, v in report.items()))
    within = slow[0][0] <= CPU_MAX_S and report["memory_added_mib"] <= MEMORY_MAX_MIB
    return 0 if within and not broken and report["control"] == "parse_timeout" else 1


def child_s() -> float:
    """Seconds by the clock that a child takes for a document of one entry."""
    started = time.monotonic()
    parse_in_sandbox("<rss><channel><item><title>x</title></item></channel></rss>", url="")
    return time.monotonic() - started


def control() -> str:
    """Return the result for a parser that never ends."""
    spinning = SandboxServer((COMMAND[0], "-c", SPINNING))
    try:
        parse_in_sandbox("<rss/>", url="", nursery=spinning)
    except FeedProblem as problem:
        return problem.code
    finally:
        spinning.end()
    return "was not stopped"


if __name__ == "__main__":
    sys.exit(main())
