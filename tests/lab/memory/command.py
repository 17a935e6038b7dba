"""`python -m tests.lab memory`: the cost of memory, and whether the outcome check separates good from bad."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence

from ranking.common.commands import whole_number
from tests.lab.command import report_end
from tests.lab.memory.measures import effects_measure, retrieval_measure, targets_of


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, report, and leave with 1 when a target is missed."""
    options = vars(_parser().parse_args(argv))
    began = time.monotonic()
    seed, readers = options["seed"], options["readers"] * (5 if options["full"] else 1)
    rows = retrieval_measure(seed=seed)
    rows += effects_measure(seed=seed, readers=readers, progress=_progress)
    targets = targets_of(rows)
    report = {
        "command": "python -m tests.lab memory",
        "data": f"a made-up history of 100 decisions; {readers} simulated readers of each kind",
        "seed": seed,
        "rows": rows,
        "targets": targets,
        "seconds": round(time.monotonic() - began, 1),
    }
    return report_end(report, as_json=options["json"])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab memory",
        description="Measure three-layer retrieval against fetching all, and the outcome check.",
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of everything random (default 1)")
    parser.add_argument(
        "--readers",
        type=whole_number(0),
        default=40,
        help="simulated readers of each kind (default 40); 0: retrieval only",
    )
    parser.add_argument("--full", action="store_true", help="five times as many readers")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{total} readers", end="" if done < total else "\n", file=sys.stderr)
