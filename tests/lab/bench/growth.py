"""The cost of more items, readers and thumbs: `python -m tests.lab bench.growth [--json] [--quick]`.

It runs benchmarks of this folder at three sizes, each in its own process and database. The exponent is the
slope of log(figure) over log(size) by least squares: 0 does not grow, 1 grows like the size. Work for one
reader at one moment must not take more queries at the largest size than at the smallest.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.lab.bench.engine import where
from tests.lab.bench.peers import ROOT

Json = dict[str, Any]
# In the place of a time too short for the clock.
NOTHING_MS = 0.1
# Hash tables, trees and caches cost a little more than a plain sum; a square costs 2.
EXPONENT_MAX = 1.2


@dataclass(frozen=True, slots=True)
class Series:
    """One benchmark as its `option` grows.

    `ms`, `mb` and `queries` are paths into its report, with dots between their parts, or "" if it lacks the
    figure. `unit` is the unit of its time, in milliseconds. Queries of a batch job may grow, in steps.
    """

    work: str
    grows: str
    command: tuple[str, ...]
    option: str
    sizes: tuple[int, int, int]
    ms: str = ""
    unit: float = 1.0
    mb: str = ""
    queries: str = ""


ROUND = ("digests", "--items", "10000")
SERIES = (
    Series(
        "a digest for one reader",
        "items",
        ("digests", "--readers", "40"),
        "--items",
        (10_000, 30_000, 100_000),
        "one_reader_s",
        1000,
        "peak_mb",
        "queries",
    ),
    Series(
        "a round of digests",
        "readers",
        ROUND,
        "--readers",
        (40, 200, 1_000),
        "together_s",
        1000,
        "peak_mb",
        "queries",
    ),
    Series(
        "a search, p95",
        "items",
        ("search", "--alone", "--queries", "80"),
        "--items",
        (1_000, 10_000, 100_000),
        "rows.0.p95_ms",
    ),
    Series(
        "a reader exported",
        "thumbs",
        ("export",),
        "--thumbs",
        (1_000, 10_000, 100_000),
        "export_s",
        1000,
        "peak_mb",
    ),
    Series(
        "guidance's page of figures",
        "calls",
        ("figures", "--rounds", "3"),
        "--events",
        (10_000, 100_000, 1_000_000),
        "page.wall_ms",
    ),
    Series(
        "cold ingest of real feeds",
        "documents",
        ("ingest", "--rounds", "1", "--alone"),
        "--documents",
        (24, 79, 237),
        "rows.0.wall_s",
        1000,
    ),
    Series(
        "a re-poll by 304",
        "feeds",
        ("repoll", "--rounds", "1", "--alone"),
        "--feeds",
        (100, 300, 1_000),
        "rows.0.wall_s",
        1000,
    ),
    Series(
        "serve and its worker",
        "feeds",
        ("footprint",),
        "--feeds",
        (25, 250, 1_000),
        mb="rows.1.pss_mb",
    ),
)
TOOLS_SIZES = (1_000, 10_000, 100_000)
QUICK_DIVISOR = 20


def main() -> None:
    """Print the table, or one JSON object. Exit 1 if a target was missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    options = parser.parse_args()
    divisor = QUICK_DIVISOR if options.quick else 1
    rows = [*(measured(series, divisor) for series in SERIES), *tools(divisor)]
    report = {
        "command": "python -m tests.lab bench.growth",
        **where(),
        "rows": rows,
        "targets": targets(rows),
    }
    print(json.dumps(report) if options.json else "\n".join(map(str, rows)))
    sys.exit(int(not all(target["met"] for target in report["targets"])))


def measured(series: Series, divisor: int) -> Json:
    """Return the row of one benchmark at all its sizes."""
    sizes = [size // divisor for size in series.sizes]
    reports = [asked([*series.command, series.option, str(size)]) for size in sizes]
    row: Json = {"work": series.work, "grows": series.grows, "sizes": sizes}
    if series.ms:
        ms = [max(found(report, series.ms) * series.unit, NOTHING_MS) for report in reports]
        row |= {"ms": [round(value, 1) for value in ms], "exponent": exponent(sizes, ms)}
    if series.mb:
        mb = [found(report, series.mb) for report in reports]
        row |= {"mb": mb, "mb_exponent": exponent(sizes, mb)}
    if series.queries:
        row["queries"] = [found(report, series.queries) for report in reports]
        row["queries_may_grow"] = True
    return row


def tools(divisor: int) -> Iterator[Json]:
    """Yield a row for each tool of the advisor: its times and queries by thumbs."""
    sizes = [size // divisor for size in TOOLS_SIZES]
    for row in asked(["tools", "--sizes", *map(str, sizes)])["rows"]:
        ms = [max(value, NOTHING_MS) for value in row["ms"]]
        yield {
            "work": row["name"],
            "grows": "thumbs",
            "sizes": sizes,
            "ms": ms,
            "exponent": exponent(sizes, ms),
            "queries": row["queries"],
            "queries_may_grow": False,
        }


def asked(arguments: Sequence[str]) -> Json:
    """Return the report of one benchmark. One that misses its own target still has a report."""
    with tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder:
        own = {"DATABASE_URL": "", "REDIS_URL": "", "TIDINGS_VAR_DIR": folder, "LOG_LEVEL": "CRITICAL"}
        command = [sys.executable, "-m", "tests.lab", f"bench.{arguments[0]}", *arguments[1:], "--json"]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | own, stdout=subprocess.PIPE, text=True, check=False
        )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def found(report: Mapping[str, Any], path: str) -> float:
    """Return a figure of a report; `key=value` in its path takes the row of a list that has it."""
    value: Any = report
    for part in path.split("."):
        key, is_row, wanted = part.partition("=")
        if is_row:
            value = next(row for row in value if row[key] == wanted)
        else:
            value = value[int(part)] if part.isdigit() else value[part]
    return float(value)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log(value) over log(size)."""
    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 2)


def targets(rows: Sequence[Json]) -> list[Json]:
    """No work grows faster than its size; queries of one reader's work stay as many."""
    worst = max(rows, key=lambda row: row.get("exponent", 0.0))
    more = {
        row["work"]: row["queries"][-1] - row["queries"][0]
        for row in rows
        if not row.get("queries_may_grow", True)
    }
    most = max(more, key=lambda work: more[work])
    return [
        {
            "metric": f"exponent of time, worst: {worst['work']} by {worst['grows']}",
            "target": f"≤ {EXPONENT_MAX:g}",
            "value": worst["exponent"],
            "met": worst["exponent"] <= EXPONENT_MAX,
        },
        {
            "metric": f"queries more at the largest size, worst: {most}",
            "target": "≤ 0",
            "value": more[most],
            "met": more[most] <= 0,
        },
    ]


if __name__ == "__main__":
    main()
