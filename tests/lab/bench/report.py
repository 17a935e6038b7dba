"""`python -m tests.lab report [--no-plots]`: draw the plots of docs/benchmarks.md, list the missed targets.

Both come from the records: every JSON file in tests/lab/records. The page itself is written by hand; a test
compares its losses with the records. Plots are drawn by `tests.lab.bench.plots` in an environment that has
the library.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.bench.peers import PLOTS, ROOT, PeersMissing, environment
from tests.lab.bench.registry import EVALUATIONS, ROWS, SPEED

RECORDS, FOLDER = ROOT / "tests" / "lab" / "records", ROOT / "docs" / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
# File name: the plot's subject, and the row with its series.
PLOTTED = {
    "uplift": ("Uplift over weeks, each row of `python -m tests.lab advisor`", "advisor"),
    "latency": ("Milliseconds of each tool by thumbs", "tools"),
    "growth": ("Milliseconds as items, readers, thumbs or calls grow, with fitted exponents", "growth"),
    "growth_memory": ("Megabytes as items, readers or thumbs grow", "growth"),
    "peers": ("An agent's turn beside two frameworks", "turn"),
}
# Other work on the machine is mentioned from this share of its processors on.
BUSY = 0.1
Json = Mapping[str, Any]
Records = dict[str, Json]


def main() -> int:
    """Draw the plots and print the losses. Return 1 if the plots could not be drawn."""
    parser = argparse.ArgumentParser(description="Draw plots and list losses from tests/lab/records/*.json.")
    parser.add_argument("--no-plots", action="store_true", help="leave the plots as they are")
    options = parser.parse_args()
    drawn = 0 if options.no_plots else plots_draw()
    print(loses(records_read(RECORDS)))
    return drawn


def plots_draw() -> int:
    """Draw every plot with a recorded series. Return the exit code."""
    try:
        with environment(PLOTS) as python:
            return subprocess.run([python, "-m", "tests.lab.bench.plots"], cwd=ROOT, check=False).returncode
    except PeersMissing as missing:
        print(f"The plots are as they were: {missing}", file=sys.stderr)
        return 1


def records_read(folder: Path) -> Records:
    """Return the records of all files by their rows' names; of two of one row the newer."""
    found: Records = {}
    for path in sorted(folder.glob("*.json")):
        for name, record in json.loads(path.read_text(encoding="utf-8")).get("rows", {}).items():
            if name not in found or record.get("at", "") > found[name].get("at", ""):
                found[name] = record
    return found


def loses(records: Records) -> str:
    """Return a line for each target that was missed, each row that broke and each that was never recorded."""
    lines = []
    for row in ROWS:
        if row.group not in (SPEED, EVALUATIONS):
            continue
        record = records.get(row.name)
        if record is None:
            lines.append(f"{row.work}: not recorded; `python -m tests.lab bench {row.name}` measures it")
            continue
        when = f"{record['at'][:16].replace('T', ' ')} UTC, {busy(record)}"
        if record["error"]:
            lines.append(f"{row.work}: broke when last run ({when}): {record['error']}")
        lines += [
            f"{row.work}: {target['metric']} is **{target['value']}**, the target {target['target']} "
            f"(`{record['command']}`, {when})"
            for target in missed(record)
        ]
    return "\n".join(lines) or "Every target that was measured is met."


def missed(record: Json) -> list[Json]:
    """Return the targets of a record that were missed."""
    return [target for target in record["targets"] if not target["met"]]


def busy(record: Json) -> str:
    """Return words about other work on the machine at that time."""
    others = record.get("others")
    if others is None:
        return f"load {record['load']} at the start"
    return f"others used {others:.0%} of the processors" if others >= BUSY else "quiet machine"


if __name__ == "__main__":
    sys.exit(main())
