"""`python -m tests.lab bench [NAME …] [--json FILE] [--quick] [--list]`: run and record rows.

Without names: every row of `bench`, which measures speed, size and cost. A name is a row's or a group's
(`bench`, `evaluations`, `also`). Peers to compare with are first installed into a throwaway environment. A
row that breaks is shown, and the others go on. With `--json` the records go into FILE, beside those of other
rows. Exit 1 if a row broke or missed a target.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.lab.bench.book import book_text
from tests.lab.bench.entities import Row
from tests.lab.bench.peers import PEERS, PeersMissing, environment
from tests.lab.bench.registry import ALSO, BY_NAME, EVALUATIONS, ROWS, SPEED
from tests.lab.bench.running import Json, row_run

GROUPS = (SPEED, EVALUATIONS, ALSO)
WIDTHS = (11, 62, 9, 10)


def main() -> int:
    """Run, print, record; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows or groups (bench)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to record what is measured")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: shows that it runs, measures nothing"
    )
    parser.add_argument("--list", action="store_true", help="name the rows and leave")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BY_NAME and name not in GROUPS]:
        parser.error(f"there is no row or group {', '.join(unknown)}; --list names them")
    rows = chosen(options.names or [SPEED])
    if options.list:
        print("\n".join(f"{row.group:12} {row.name:10} {row.work}" for row in ROWS))
        return 0
    records = []
    with pythons(rows) as (own, theirs):
        print(line("row", "metric", "target", "measured"))
        for row in rows:
            record = recorded(row, theirs if row.peers else own, quick=options.quick)
            records.append(record)
            print("\n".join(lines(record)), flush=True)
            if options.json:
                keep(options.json, record)
    return int(any(r["error"] or not all(t["met"] for t in r["targets"]) for r in records))


def chosen(names: Sequence[str]) -> list[Row]:
    """Return the rows by their names or groups, in the registry's order."""
    return [row for row in ROWS if row.name in names or row.group in names]


@contextmanager
def pythons(rows: Sequence[Row]) -> Iterator[tuple[str, Path | PeersMissing | None]]:
    """Yield our Python and one that sees the peers, made only if a row needs it, or the reason why there is
    none."""
    if not any(row.peers for row in rows):
        yield sys.executable, None
        return
    print(f"installing {', '.join(PEERS)}", file=sys.stderr, flush=True)
    try:
        with environment(PEERS) as python:
            yield sys.executable, python
    except PeersMissing as missing:
        yield sys.executable, missing


def recorded(row: Row, python: str | Path | PeersMissing | None, *, quick: bool) -> Json:
    """Return the record of a row, also of one that cannot be run."""
    if isinstance(python, PeersMissing) or python is None:
        said = f"the peers could not be installed: {python}"
        about = {"name": row.name, "group": row.group, "work": row.work, "beside": row.beside}
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return about | {"at": at, "others": None, "error": said, "report": None, "targets": []}
    return row_run(row, python, quick=quick)


def lines(record: Json) -> list[str]:
    """Return the lines of a record in the table."""
    name = record["name"]
    if record["error"]:
        return [f"{name:{WIDTHS[0]}}BROKE: {record['error']}"]
    told = [
        line(name, t["metric"], t["target"], t["value"], "met" if t["met"] else "MISSED")
        for t in record["targets"]
    ]
    busy = record["others"] or 0
    took = f"{record['seconds']} s" + (f", others used {busy:.0%} of the processors" if busy >= 0.1 else "")
    missing = (record["report"] or {}).get("missing")
    return [*told, *([line(name, missing)] if missing else []), line(name, took, "", "")]


def line(*cells: object) -> str:
    """Return one line of the table."""
    widths = (*WIDTHS, 0)
    return " ".join(f"{'' if c is None else c!s:{w}}" for c, w in zip(cells, widths, strict=False)).rstrip()


def keep(path: Path, record: Json) -> None:
    """Put the record into the file, in the place of an older one of the same row.

    The targets of the last one that was measured in earnest stay beside the new ones as `before`.
    """
    book = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": {}}
    older = book["rows"].get(record["name"])
    if older and in_earnest(older):
        record = record | {"before": {key: older[key] for key in ("at", "others", "targets")}}
    elif older and "before" in older:
        record = record | {"before": older["before"]}
    book["rows"][record["name"]] = record
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(book_text(book), encoding="utf-8")


def in_earnest(record: Json) -> bool:
    """Return whether a record's figures count: a whole run that did not break."""
    return not record["error"] and not record.get("quick")


if __name__ == "__main__":
    sys.exit(main())
