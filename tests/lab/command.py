"""Shared by the commands of the evaluations: the end of a report, and messages of failures."""

import json
import sys
from typing import Any, NoReturn


def report_end(report: dict[str, Any], text: str | None = None, *, as_json: bool) -> int:
    """Print a report as JSON, as `text` or row by row. Return 1 if a target is missed, else 0."""
    lines = [
        "  ".join(f"{key}={value}" for key, value in row.items())
        for row in [*report["rows"], *report["targets"]]
    ]
    print(json.dumps(report) if as_json else "\n".join(lines) if text is None else text)
    missed = [target["metric"] for target in report["targets"] if not target["met"]]
    if missed:
        print(f"Targets missed: {'; '.join(missed)}.", file=sys.stderr)
    return int(bool(missed))


def fail(words: str, code: int = 1) -> NoReturn:
    """Print a message to stderr, and exit with `code`."""
    progress(words)
    sys.exit(code)


def progress(words: str) -> None:
    """Write a line to stderr; stdout is the report's alone."""
    print(words, file=sys.stderr, flush=True)
