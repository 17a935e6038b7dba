"""`python -m tests.lab reflector`: does a second round with other readers' evidence earn its place?"""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from ranking.common.commands import whole_number
from tests.lab.command import fail, progress, report_end
from tests.lab.reflector.data import (
    MOVIELENS,
    NEMIG,
    Rating,
    ratings_movielens,
    ratings_nemig,
    ratings_records,
)
from tests.lab.reflector.report import rows_of, targets_of

SEED = 42
# Histories that leave room for candidates: NeMig readers made about 25 choices.
HISTORIES = {MOVIELENS: (20, 50), NEMIG: (15,)}
LOADERS = {MOVIELENS: ratings_movielens, NEMIG: ratings_nemig}


def main(argv: Sequence[str] | None = None) -> int:
    """Judge and report. Fail if a target is missed."""
    options = vars(_parser().parse_args(argv))
    started, rows = time.monotonic(), []
    for name, ratings, history in _data(options):
        rows += rows_of(name, ratings, seed=options["seed"], history=history, say=progress)
    report = {
        "command": "python -m tests.lab reflector",
        "data": str(options["records"]) if options["records"] else options["data"],
        "seed": options["seed"],
        "rows": rows,
        "targets": targets_of(rows, null=[f"{NEMIG}, {n} thumbs" for n in (15, options["history"])]),
        "seconds": round(time.monotonic() - started, 1),
    }
    return report_end(report, _words(report), as_json=options["json"])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab reflector",
        description="Evaluate the reflector on open data below TIDINGS_DATA, or on a file of records.",
    )
    parser.add_argument("--data", nargs="+", default=[MOVIELENS, NEMIG], choices=[MOVIELENS, NEMIG])
    parser.add_argument(
        "--records", type=Path, metavar="FILE", help="preference records, instead of the open data"
    )
    parser.add_argument(
        "--history", type=whole_number(1), metavar="N", help="thumbs a history holds (20, 50; 15)"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of draws and controls ({SEED})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _data(options: dict[str, Any]) -> list[tuple[str, list[Rating], int]]:
    if options["records"]:
        return [_records(options["records"], options["history"] or 10)]
    if not settings.TIDINGS_DATA:
        fail("TIDINGS_DATA names no folder of open data; --records FILE needs none.")
    found = []
    for name in options["data"]:
        folder = Path(settings.TIDINGS_DATA) / name
        try:
            ratings = LOADERS[name](folder)
        except OSError as error:
            fail(f"{folder} cannot be read ({error.strerror}).")
        histories = [options["history"]] if options["history"] else HISTORIES[name]
        found += [(f"{name}, {history} thumbs", ratings, history) for history in histories]
    return found


def _records(path: Path, history: int) -> tuple[str, list[Rating], int]:
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
            ratings, bad = ratings_records(lines)
    except OSError as error:
        fail(f"{path} cannot be read ({error.strerror}).", 2)
    for number, code in bad[:20]:
        progress(f"line {number}: {code}")
    return "records", ratings, history


def _words(report: dict[str, Any]) -> str:
    lines = []
    for row in report["rows"]:
        figures = ", ".join(f"{key} {value}" for key, value in row.items() if key != "name")
        lines.append(f"{row['name']}\n  {figures}")
    for target in report["targets"]:
        word = "met" if target["met"] else "MISSED"
        lines.append(f"{word}: {target['metric']} {target['target']} (is {target['value']})")
    return "\n".join([*lines, f"{report['seconds']} s"])
