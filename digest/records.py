"""Preference records: a reader's history and one candidate as a Yes/No question, a JSON object each. Pure.

The form is that of instruction data for recommenders: `instruction` (a Markdown table of what was said,
oldest first, and a candidate), `input` (empty), `output` ("Yes" or "No"), `system`, `history` (empty). A row
has idx, day and hour, what it is about and how it was rated:

    | idx | day | hour | source | title | thumb | date |
    | 1 | Mon | 17 | Reuters | Rail strike ends | up | 2026-03-16 |

Files of other makers are read too: `cuisine` stands for the source, a missing thumb for a liking, a price
is kept as text, and rows without a date get the latest ones that fit their days and hours. The reader's
name is a hash of the history.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date
from hashlib import sha256
from typing import Any

from digest.history import LINE_MAX_CHARS, BadLine

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SYSTEM = "You forecast whether a reader of a news digest will find an item useful. Answer Yes or No."
QUESTION = "Reader's recent thumbs (oldest → newest):"
CANDIDATE = "Candidate item:"
YES, NO, UP, DOWN = "Yes", "No", "up", "down"
ROWS_MAX = 2000
SOURCE_NAMES = ("source", "cuisine")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")
_CANDIDATE = re.compile(
    r"- (?P<title>.*) \((?:source|cuisine): (?P<source>(?:\\.|[^\\(),])*)"
    r"(?:, topics: (?P<topics>(?:\\.|[^\\(),])*))?(?:, price: (?P<price>(?:\\.|[^\\(),])*))?\)"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One row of a history: when (UTC; the date if known), about what, and how it was rated."""

    day: str
    hour: int
    source: str
    title: str = ""
    liked: bool = True
    topics: tuple[str, ...] = ()
    price: str = ""
    date: Date | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A history, oldest first, and the candidate it is asked about; `liked` is the answer, if known."""

    rows: tuple[Said, ...]
    title: str
    source: str
    topics: tuple[str, ...] = ()
    price: str = ""
    liked: bool | None = None

    @property
    def reader(self) -> str:
        """The reader's name: the same for the same history."""
        return f"history-{sha256(_table(self.rows).encode()).hexdigest()[:16]}"


def said_at(at: datetime, source: str, title: str, *, liked: bool = True, topics: Sequence[str] = ()) -> Said:
    """A row for what was said at that time."""
    when = at.astimezone(UTC)
    return Said(DAYS[when.weekday()], when.hour, source, title, liked, tuple(topics), date=when.date())


def record_render(record: Record) -> str:
    """The record as one line of JSON."""
    details = [f"source: {_escaped(record.source, '(),')}"]
    details += [f"topics: {_escaped('; '.join(record.topics), '(),')}"] if record.topics else []
    details += [f"price: {_escaped(record.price, '(),')}"] if record.price else []
    line = f"- {_escaped(record.title)} ({', '.join(details)})"
    output = "" if record.liked is None else YES if record.liked else NO
    body = {
        "instruction": f"{QUESTION}\n\n{_table(record.rows)}\n\n{CANDIDATE}\n{line}",
        "input": "",
        "output": output,
        "system": SYSTEM,
        "history": [],
    }
    return json.dumps(body, ensure_ascii=False)


def record_parse(line: str) -> Record:
    """The record that `line` holds.

    Raises `BadLine` with one of the codes `too_long`, `bad_json`, `missing_instruction`, `bad_output`,
    `missing_table`, `bad_table`, `bad_row`, `too_many_rows`, `missing_candidate`.
    """
    if len(line) > LINE_MAX_CHARS:
        raise BadLine("too_long", f"the line is longer than {LINE_MAX_CHARS} characters")
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine("bad_json", f"not a JSON object ({str(error)[:80]})") from None
    if not isinstance(body, dict):
        raise BadLine("bad_json", "not a JSON object")
    instruction, output = body.get("instruction"), body.get("output", "")
    if not isinstance(instruction, str) or not instruction.strip():
        raise BadLine("missing_instruction", "“instruction” is missing")
    if output not in (YES, NO, ""):
        raise BadLine("bad_output", "“output” should be Yes or No")
    lines = [row.strip() for row in instruction.split("\n")]
    rows = _rows([row for row in lines if row.startswith("|")])
    candidate = _candidate(lines)
    return Record(
        rows=rows,
        title=_plain(candidate["title"]),
        source=_plain(candidate["source"]),
        topics=_topics(_plain(candidate["topics"] or "")),
        price=_plain(candidate["price"] or ""),
        liked=None if output == "" else output == YES,
    )


def record_times(rows: Sequence[Said], until: datetime) -> list[datetime]:
    """When each row was said. Rows without a date get the latest time before `until` that keeps the order."""
    times: list[datetime] = []
    latest = until.astimezone(UTC)
    for row in reversed(rows):
        if row.date is not None:
            at = datetime.combine(row.date, time(row.hour), UTC)
        else:
            back = (latest.weekday() - DAYS.index(row.day)) % 7
            at = datetime.combine(latest.date() - timedelta(days=back), time(row.hour), UTC)
            at -= timedelta(days=7) if at > latest else timedelta()
        times.append(at)
        latest = min(latest, at)
    return times[::-1]


def _table(rows: Sequence[Said]) -> str:
    columns = ["idx", "day", "hour", "source"]
    columns += ["topics"] if any(row.topics for row in rows) else []
    columns += ["price"] if any(row.price for row in rows) else []
    columns += ["title", "thumb"]
    columns += ["date"] if any(row.date for row in rows) else []
    table = [columns, ["---"] * len(columns)]
    numbered = [_cells(n, row) for n, row in enumerate(rows, start=1)]
    table += [[cells[name] for name in columns] for cells in numbered]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)


def _cells(number: int, row: Said) -> Mapping[str, str]:
    return {
        "idx": str(number),
        "day": row.day,
        "hour": str(row.hour),
        "source": _escaped(row.source),
        "topics": _escaped("; ".join(row.topics)),
        "price": _escaped(row.price),
        "title": _escaped(row.title),
        "thumb": UP if row.liked else DOWN,
        "date": row.date.isoformat() if row.date else "",
    }


def _escaped(text: str, more: str = "") -> str:
    """`text` on one line, with a backslash before each backslash, pipe and character of `more`."""
    special = f"\\|{more}"
    if any(char in text for char in special):
        text = "".join(f"\\{char}" if char in special else char for char in text)
    return " ".join(text.split())


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.strip()) if "\\" in text else text.strip()


def _rows(lines: Sequence[str]) -> tuple[Said, ...]:
    if len(lines) < 2:
        raise BadLine("missing_table", "“instruction” holds no table")
    if len(lines) - 2 > ROWS_MAX:
        raise BadLine("too_many_rows", f"more than {ROWS_MAX} rows")
    names = [name.casefold() for name in _split(lines[0])]
    source = next((name for name in SOURCE_NAMES if name in names), "")
    if not {"day", "hour"} <= set(names) or not source:
        raise BadLine("bad_table", "the table needs the columns day, hour and source")
    return tuple(_said(dict(zip(names, _split(line), strict=False)), source) for line in lines[2:])


def _split(line: str) -> list[str]:
    """The cells of a table row."""
    inner = line.strip().removeprefix("|")
    cells, start = [], 0
    for match in _UNESCAPED_PIPE.finditer(inner):
        cells.append(_plain(inner[start : match.end() - 1]))
        start = match.end()
    return cells


def _said(cells: Mapping[str, Any], source: str) -> Said:
    hour, day = cells.get("hour", ""), cells.get("day", "")
    if day not in DAYS or not hour.isdecimal() or int(hour) > 23 or not cells.get(source):
        raise BadLine("bad_row", f"a row needs a day such as Mon, an hour from 0 to 23 and a {source}")
    if cells.get("thumb", UP) not in (UP, DOWN):
        raise BadLine("bad_row", "a thumb is up or down")
    when = None
    if cells.get("date"):
        try:
            when = Date.fromisoformat(cells["date"])
        except ValueError:
            raise BadLine("bad_row", "a date is written as 2026-03-16") from None
        if DAYS[when.weekday()] != day:
            raise BadLine("bad_row", f"{cells['date']} is no {day}")
    return Said(
        day=day,
        hour=int(hour),
        source=cells[source],
        title=cells.get("title", ""),
        liked=cells.get("thumb", UP) == UP,
        topics=_topics(cells.get("topics", "")),
        price=cells.get("price", ""),
        date=when,
    )


def _topics(text: str) -> tuple[str, ...]:
    return tuple(topic for part in text.split(";") if (topic := part.strip()))


def _candidate(lines: Sequence[str]) -> re.Match[str]:
    for line in reversed(lines):
        if line.startswith("- ") and (found := _CANDIDATE.fullmatch(line)):
            return found
    raise BadLine("missing_candidate", "“instruction” names no candidate such as “- Title (source: Reuters)”")
