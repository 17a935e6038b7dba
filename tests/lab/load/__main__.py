"""`python -m tests.lab load [NAME …] [--json FILE]`: a large installation, one script after another.

Without names it runs all of `--help` but the first two, on the PostgreSQL of `DATABASE_URL`. Two must be
named: `seed`, which fills it first (minutes, and 5 GB), and `growth`, which needs a second one. With `--json`
each record goes into FILE as it comes, replacing an older one of the same name. Exit 1 if one broke or missed
a target.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.lab.bench.book import book_text
from tests.lab.bench.running import machine

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("sizes", "pages", "reads", "partitions", "replica", "lists", "fetch", "night")
BY_HAND = ("seed", "growth")
LONGEST_S = 3600
ERROR_CHARS = 600


def main() -> int:
    """Run the named scripts, print and record their results. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*BY_HAND, *NAMES)))
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep what is measured")
    options = parser.parse_args()
    if unknown := set(options.names) - {*BY_HAND, *NAMES}:
        parser.error(f"there is no script {', '.join(sorted(unknown))}")
    missed = 0
    for name in options.names or NAMES:
        if name == "seed":
            missed += subprocess.run(
                [sys.executable, "-m", "tests.lab.load.seed"], cwd=ROOT, check=False
            ).returncode
            continue
        record = measured(name)
        missed += bool(record["error"]) or not all(aim["met"] for aim in (record["report"] or {})["targets"])
        print(said(record), flush=True)
        if options.json:
            keep(options.json, record)
    return int(missed > 0)


def measured(name: str) -> dict[str, Any]:
    """Return a script's record: time, machine, its load, and the report or the error."""
    command = [sys.executable, "-m", f"tests.lab.load.{name}", "--json"]
    told = {
        "name": name,
        "command": f"python -m tests.lab load.{name}",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_before": round(os.getloadavg()[0], 1),
    }
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    told |= {"seconds": round(time.monotonic() - began, 1), "load_after": round(os.getloadavg()[0], 1)}
    try:
        return told | {"report": json.loads(done.stdout.strip().splitlines()[-1]), "error": ""}
    except (IndexError, ValueError):
        return told | {"report": None, "error": (done.stderr.strip() or done.stdout.strip())[-ERROR_CHARS:]}


def said(record: dict[str, Any]) -> str:
    """Return a line for each target, or the error."""
    if record["error"]:
        return f"{record['name']:8} BROKE: {record['error']}"
    aims = record["report"]["targets"]
    rows = [
        f"{record['name']:8} {aim['metric']:44} {aim['target']:>9} {aim['value']!s:>10} "
        f"{'met' if aim['met'] else 'MISSED'}"
        for aim in aims
    ]
    busy = f"{record['seconds']} s, load {record['load_before']} before and {record['load_after']} after"
    return "\n".join([*rows, f"{record['name']:8} {busy}"])


def keep(path: Path, record: dict[str, Any]) -> None:
    """Put the record into the file, in the place of an older one of the same name."""
    book = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    book[record["name"]] = record
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(book_text(book), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
