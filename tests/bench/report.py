"""`python -m tests.bench.report [--no-plots]`: docs/benchmarks.md from what was recorded.

Every JSON file in docs/benchmarks holds records of `python -m tests.bench`. The page's words are in
`docs/benchmarks/page.md`, a Django template; its tables, what is missing and what missed its target come from
the records, its plots from `tests.bench.plots` in an environment that has the library.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.template import Context, Engine

from tests.bench import tables
from tests.bench.peers import PLOTS, ROOT, PeersMissing, environment
from tests.bench.registry import BY_NAME, EVALUATIONS, ROWS, SPEED

FOLDER = ROOT / "docs" / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
# File name: what it shows, and whose series it needs.
PLOTTED = {
    "uplift": ("Uplift over weeks, each row of `evaluate_advisor`", "advisor"),
    "precision": ("Precision against coverage, as surer suggestions only are counted", "advisor"),
    "calibration": ("Stated probability against what came true", "advisor"),
    "asked": ("From runs to suggestions that truly helped", "advisor"),
    "funnel": ("What is left of useful memories and of garbage after each stage of guidance", "guidance"),
    "latency": ("Milliseconds of each tool by thumbs", "tools"),
    "peers": ("An agent's turn beside two frameworks", "turn"),
}
Records = dict[str, Mapping[str, Any]]


def main() -> int:
    """Draw, render, write; 1 where the plots could not be drawn."""
    parser = argparse.ArgumentParser(description="Render docs/benchmarks.md from docs/benchmarks/*.json.")
    parser.add_argument("--no-plots", action="store_true", help="leave the plots as they are")
    options = parser.parse_args()
    drawn = 0 if options.no_plots else plots_draw()
    records = records_read(FOLDER)
    PAGE.write_text(page(records, FOLDER), encoding="utf-8")
    for row in ROWS:
        if why := tables.missing(row, records.get(row.name)):
            print(f"{row.name}: {why}", file=sys.stderr)
    return drawn


def plots_draw() -> int:
    """Draw every plot whose series were recorded; the exit code."""
    try:
        with environment(PLOTS) as python:
            return subprocess.run([python, "-m", "tests.bench.plots"], cwd=ROOT, check=False).returncode
    except PeersMissing as missing:
        print(f"The plots are as they were: {missing}", file=sys.stderr)
        return 1


def records_read(folder: Path) -> Records:
    """The records of all files by their rows' names; of two of one row the newer."""
    found: Records = {}
    for path in sorted(folder.glob("*.json")):
        for name, record in json.loads(path.read_text(encoding="utf-8")).get("rows", {}).items():
            if name not in found or record.get("at", "") > found[name].get("at", ""):
                found[name] = record
    return found


def page(records: Records, folder: Path) -> str:
    """The whole page."""
    told = {row.name: tables.section(row, records.get(row.name)) for row in ROWS}
    speed = [row for row in ROWS if row.group == SPEED]
    context = {
        "speed": tables.speed_table(speed, records),
        "again": tables.again_table(ROWS, records),
        "rows": told,
        "loses": loses(records),
        "plots": {name: plot(name, folder) for name in PLOTTED},
    }
    template = Engine().from_string((folder / "page.md").read_text(encoding="utf-8"))
    return template.render(Context(context, autoescape=False)).rstrip() + "\n"


def plot(name: str, folder: Path) -> str:
    """The picture, or why there is none."""
    shows, whose = PLOTTED[name]
    if (folder / f"{name}.svg").exists():
        return f"![{shows}](benchmarks/{name}.svg)"
    return f"*No plot yet of: {shows}. `python -m tests.bench {whose}` records what it needs.*"


def loses(records: Records) -> str:
    """Every target that was missed, with what was measured and by which command."""
    lines = []
    for row in ROWS:
        record = records.get(row.name)
        if record is None or row.group not in (SPEED, EVALUATIONS):
            continue
        missed = [target for target in record["targets"] if not target["met"]]
        if record["error"]:
            lines.append(f"- {row.work}: {tables.missing(row, record)}")
        lines += [
            f"- {row.work}: {tables.cell(t['metric'])} is **{tables.cell(t['value'])}**, the target "
            f"{tables.cell(t['target'])} (`{record['command']}`, {tables.day(record)}, {tables.busy(record)})"
            for t in missed
        ]
    unknown = [row.name for row in ROWS if row.group in (SPEED, EVALUATIONS) and row.name not in records]
    if unknown:
        lines.append(f"- Not known: {'; '.join(BY_NAME[name].work for name in unknown)}.")
    return "\n".join(lines) or "Every target that was measured is met."


if __name__ == "__main__":
    sys.exit(main())
