"""`python -m tests.lab ranking`: compare the order with readers' later choices, part by part."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from ranking.common.commands import whole_number
from tests.lab.command import fail, progress, report_end
from tests.lab.ranking.data import NAMES, data_read
from tests.lab.ranking.rows import rows_of
from tests.lab.ranking.topics import TOPICS, topics_measured
from tests.lab.ranking.world import World

READERS = 300


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, report, and leave with 1 when a target is missed."""
    options = vars(_parser().parse_args(argv))
    if not settings.TIDINGS_DATA:
        fail("Set TIDINGS_DATA to the folder of open data sets.", 2)
    began, folder, seed = time.monotonic(), Path(settings.TIDINGS_DATA), options["seed"]
    rows: list[dict[str, Any]] = []
    targets: list[dict[str, Any]] = []
    for name in options["data"]:
        found = _measure(name, folder, seed, options)
        rows += found[0]
        targets += found[1]
        progress(f"{name}: done after {time.monotonic() - began:.0f} s")
    report = {
        "command": "python -m tests.lab ranking",
        "data": ", ".join(options["data"]),
        "half": "development" if options["development"] else "report",
        "seed": seed,
        "rows": rows,
        "targets": targets,
        "seconds": round(time.monotonic() - began, 1),
    }
    return report_end(report, as_json=options["json"])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab ranking",
        description="Rank open histories by the product's score and by its baselines (needs TIDINGS_DATA).",
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of everything random (default 1)")
    parser.add_argument("--full", action="store_true", help="all readers instead of a sample")
    parser.add_argument(
        "--readers", type=whole_number(1), default=READERS, help=f"readers a data set (default {READERS})"
    )
    parser.add_argument(
        "--data", nargs="+", choices=(*NAMES, TOPICS), default=[*NAMES, TOPICS], help="default: all"
    )
    parser.add_argument(
        "--development", action="store_true", help="the half of the readers that numbers are tuned on"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _measure(
    name: str, folder: Path, seed: int, options: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if name == TOPICS:
        return topics_measured(folder, seed=seed)
    readers = 0 if options["full"] else options["readers"]
    data = data_read(name, folder, seed=seed, readers=readers, development=options["development"])
    return rows_of(World(data, seed=seed), seed=seed)
