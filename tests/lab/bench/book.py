"""Write records of measurements to tests/lab/records, as summaries on few lines. Pure.

Values that no page and no plot reads are left out: single requests, queries and mutants behind a figure. The
command prints them, with `--json` or `--list`.
"""

import json
from collections.abc import Iterable
from typing import Any

WIDTH = 160
# Lists of single events behind the figures of a record.
DETAILS = frozenset({"survivors", "slow", "dearest", "by_week"})


def summary_of(value: Any) -> Any:
    """Return a record without its lists of single events."""
    if isinstance(value, dict):
        return {key: summary_of(one) for key, one in value.items() if key not in DETAILS}
    if isinstance(value, list):
        return [summary_of(one) for one in value]
    return value


def book_text(book: Any) -> str:
    """Return the summary of a book of records as JSON. Values share a line while they fit."""
    return _text(summary_of(book), "") + "\n"


def _text(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(indent) + len(line) + 2 <= WIDTH:
        return line
    if isinstance(value, list):
        return _block("[]", (_text(one, indent + " ") for one in value), indent)
    pairs = (f"{json.dumps(key)}: {_text(one, indent + ' ')}" for key, one in value.items())
    return _block("{}", pairs, indent)


def _block(brackets: str, parts: Iterable[str], indent: str) -> str:
    """Return the parts in brackets below one another; short ones share a line."""
    lines: list[str] = []
    for part in parts:
        fits = (
            lines and "\n" not in lines[-1] + part and len(indent) + len(lines[-1]) + len(part) + 4 <= WIDTH
        )
        if fits:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    inner = f",\n{indent} ".join(lines)
    return f"{brackets[0]}\n{indent} {inner}\n{indent}{brackets[1]}"
