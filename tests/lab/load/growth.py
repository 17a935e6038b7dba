"""The cost of ten times the installation: `python -m tests.lab load.growth [--json]`.

`DATABASE_URL` and `LOAD_SMALL_DATABASE_URL` name databases filled by `load.seed`, the second with a tenth of
the items, readers and feeds. The scripts of this folder run on both, one after the other. A row has both
figures, in milliseconds, and their exponent as in `bench.growth`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lab.bench.engine import where
from tests.lab.bench.growth import exponent, found

ROOT = Path(__file__).resolve().parents[3]
Json = dict[str, Any]
SMALL = "LOAD_SMALL_DATABASE_URL"
# The relative sizes of the two databases.
SIZES = (1, 10)
PAGES = ("pages", "--minutes", "1", "--rate", "10")
# The work, its script, and the path of the figure in its report.
WORKS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("first pages after a start, p95", PAGES, "first_pages.cold.p95_ms"),
    ("mixed page: processor of the site", PAGES, "processor_ms_a_page.site"),
    ("mixed page: processor of the database", PAGES, "processor_ms_a_page.database"),
    ("today, first visit: processor", PAGES, "alone.page=today, first visit.cpu_p50_ms"),
    ("item: processor", PAGES, "alone.page=item.cpu_p50_ms"),
    ("all items: processor", PAGES, "alone.page=all.cpu_p50_ms"),
    ("all items, best first: processor", PAGES, "alone.page=all, best.cpu_p50_ms"),
    ("a digest built, p95", ("reads",), "ranking.p95_ms"),
    ("search, p95", ("reads",), "search.p95_ms"),
    ("the night, a reader", ("night",), "ms_a_reader"),
)


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if missing := [name for name in (SMALL, "DATABASE_URL") if not os.environ.get(name)]:
        parser.error(f"set {' and '.join(missing)} to what `load.seed` has filled")
    places = [os.environ[SMALL], os.environ["DATABASE_URL"]]
    scripts = list(dict.fromkeys(script for _, script, _ in WORKS))
    reports = {script: [asked(script, place) for place in places] for script in scripts}
    rows = [row(work, [found(one, path) for one in reports[script]]) for work, script, path in WORKS]
    report = {"command": "python -m tests.lab load.growth", **where(), "rows": rows, "targets": []}
    report["items"] = [one["rows"]["digest_item"] for one in reports[PAGES]]
    print(json.dumps(report) if options.json else "\n".join(map(str, rows)))


def row(work: str, ms: Sequence[float]) -> Json:
    """Return a work with its figures at both sizes."""
    return {"work": work, "ms": [round(value, 1) for value in ms], "exponent": exponent(SIZES, ms)}


def asked(script: Sequence[str], database_url: str) -> Json:
    """Return the report of a script on a database. One that misses its own target still has a report."""
    command = [sys.executable, "-m", f"tests.lab.load.{script[0]}", *script[1:], "--json"]
    own = os.environ | {"DATABASE_URL": database_url}
    done = subprocess.run(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True, check=False)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


if __name__ == "__main__":
    main()
