"""`python -m tests.lab bench.opml [--json]`: feeds found in each real subscription list below TIDINGS_DATA.

Beside listparser, which reads by libxml2's forgiving HTML parser, and a strict XML parser, which is the
floor. The truth is the number of `xmlUrl=` in the file; the control is a list with that word taken out.
"""

import argparse
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import listparser
from lxml import etree

from digest.errors import NotOpml
from digest.sources.opml import opml_read


def ours(body: bytes) -> int:
    """Return the number of feeds that we find, or 0 if it is no list."""
    try:
        return len(opml_read(body).feeds)
    except NotOpml:
        return 0


def strict(body: bytes) -> int:
    """Return the number of feeds that a strict XML parser finds, or 0 if it refuses the file."""
    try:
        return len(etree.fromstring(body).xpath("//outline[@xmlUrl]"))
    except etree.XMLSyntaxError:
        return 0


def main() -> int:
    """Print a line per list and the sums. Return 1 if a feed is missed, or found although there is none."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    paths = sorted(Path(os.environ["TIDINGS_DATA"]).glob("opml/*.opml"))
    rows, started = [], time.process_time()
    for path in paths:
        body = path.read_bytes()
        theirs = len(listparser.parse(body).feeds)
        truth = body.lower().count(b"xmlurl=")
        rows.append((path.stem, truth, ours(body), theirs, strict(body)))
    sums = [sum(row[column] for row in rows) for column in range(1, 5)]
    control = sum(ours(path.read_bytes().replace(b"xmlUrl", b"x")) for path in paths)
    report = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "lists": len(rows),
        "feeds": dict(zip(("in the files", "found", "listparser", "strict XML"), sums, strict=True)),
        "control": control,
        "cpu_s": round(time.process_time() - started, 2),
        "per_list": rows,
    }
    if options.json:
        print(json.dumps(report))
    else:
        print(f"{'list':32} {'in file':>8} {'found':>6} {'listparser':>11} {'strict':>7}")
        for name, *counts in rows:
            print(f"{name:32} {counts[0]:8} {counts[1]:6} {counts[2]:11} {counts[3]:7}")
        print(f"{'all':32} {sums[0]:8} {sums[1]:6} {sums[2]:11} {sums[3]:7}; control {control}")
    return 0 if all(row[1] == row[2] for row in rows) and not control else 1


if __name__ == "__main__":
    sys.exit(main())
