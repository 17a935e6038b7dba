"""The two file formats for ratings, both JSON Lines: history lines and preference records.

A history line is one rating of one reader. A preference record is a reader's history and one candidate, as a
Yes/No question in the form of instruction data for recommenders. Its fields are `instruction` (a Markdown
table of ratings, oldest first, and a candidate), `input` (empty), `output` ("Yes" or "No"), `system`, and
`history` (empty):

    | idx | day | hour | source | title | thumb | date |
    | 1 | Mon | 17 | Reuters | Rail strike ends | up | 2026-03-16 |

Records of other makers can be read, too. `cuisine` is taken as the source, a missing thumb as a like, and a
price as text. Rows without a date get the latest dates that fit their days and hours. Pure.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date
from hashlib import sha256
from typing import Any, Final

from digest.feeds.identity import SOURCE_KEY_MAX_CHARS, canonical_url, item_urn
from digest.feeds.sanitise import clean_text, one_line
from ranking.common.text import fold

LINE_MAX_CHARS = 512 * 1024
READER_MAX_CHARS = 150
RAW_TAGS_MAX = 50
USEFUL: Final = {"1": True, "0": False, "true": True, "false": False}
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SYSTEM = "You forecast whether a reader of a news digest will find an item useful. Answer Yes or No."
QUESTION = "Reader's recent thumbs (oldest → newest):"
CANDIDATE = "Candidate item:"
YES, NO, UP, DOWN = "Yes", "No", "up", "down"
ROWS_MAX = 2000
SOURCE_COLUMNS = ("source", "cuisine")
# Python's "surrogateescape" turns bytes that are not UTF-8 into these code points.
_UNDECODED = re.compile(r"[\udc80-\udcff]")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")
_CANDIDATE = re.compile(
    r"- (?P<title>.*) \((?:source|cuisine): (?P<source>(?:\\.|[^\\(),])*)"
    r"(?:, topics: (?P<topics>(?:\\.|[^\\(),])*))?(?:, price: (?P<price>(?:\\.|[^\\(),])*))?\)"
)


class BadLine(Exception):
    """A line that cannot be imported: a stable `code`, and the reason in words."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One rating of one reader, as given in a history file."""

    reader: str
    url: str
    title: str
    text: str
    source: str
    source_title: str
    published: datetime | None
    useful: bool
    reasons: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One row of a record's history: time (UTC, with the date if known), item and answer."""

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
    """A history, oldest first, and the candidate to ask about. `liked` is the answer; `None` if unknown."""

    rows: tuple[RecordRow, ...]
    title: str
    source: str
    topics: tuple[str, ...] = ()
    price: str = ""
    liked: bool | None = None

    @property
    def reader(self) -> str:
        """Return the reader's name: a hash of the history, so the same history gives the same name."""
        return f"history-{sha256(_table(self.rows).encode()).hexdigest()[:16]}"


def history_parse(line: str) -> HistoryLine:
    """Return the rating in one line of a history file.

    Raises `BadLine` with the code `too_long`, `bad_encoding`, `bad_json`, `missing_<field>` or `bad_<field>`.
    """
    if len(line) <= LINE_MAX_CHARS and _UNDECODED.search(line):
        raise BadLine("bad_encoding", "not UTF-8; save the file as UTF-8 and import the line again")
    row = _json_object(line)
    title, text = one_line(clean_text(_text(row, "title"))), clean_text(_text(row, "text"))
    if not title and not text:
        raise BadLine("missing_title", "neither title nor text")
    source = one_line(clean_text(_required_text(row, "source")), limit=200)
    return HistoryLine(
        reader=_reader(row),
        url=_url(row, title, text),
        title=title or one_line(text, limit=100),
        text=text,
        source=fold(source)[:SOURCE_KEY_MAX_CHARS],
        source_title=source,
        published=_time(row, "published") if row.get("published") else None,
        useful=_useful(row),
        reasons=_reasons(row),
        at=_time(row, "at"),
    )


def record_row(
    at: datetime, source: str, title: str, *, liked: bool = True, topics: Sequence[str] = ()
) -> RecordRow:
    """Return the table row for a rating given at `at`."""
    when = at.astimezone(UTC)
    return RecordRow(DAYS[when.weekday()], when.hour, source, title, liked, tuple(topics), date=when.date())


def record_render(record: Record) -> str:
    """Return the record as one line of JSON."""
    details = [f"source: {_escape(record.source, '(),')}"]
    details += [f"topics: {_escape('; '.join(record.topics), '(),')}"] if record.topics else []
    details += [f"price: {_escape(record.price, '(),')}"] if record.price else []
    line = f"- {_escape(record.title)} ({', '.join(details)})"
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
    """Return the record in one line of a file.

    Raises `BadLine` with the code `too_long`, `bad_json`, `missing_instruction`, `bad_output`,
    `missing_table`, `bad_table`, `bad_row`, `too_many_rows` or `missing_candidate`.
    """
    body = _json_object(line)
    instruction, output = body.get("instruction"), body.get("output", "")
    if not isinstance(instruction, str) or not instruction.strip():
        raise BadLine("missing_instruction", "“instruction” is missing")
    if output not in (YES, NO, ""):
        raise BadLine("bad_output", "“output” should be Yes or No")
    lines = [row.strip() for row in instruction.split("\n")]
    rows = _rows([row for row in lines if row.startswith("|")])
    items = (_CANDIDATE.fullmatch(row) for row in reversed(lines) if row.startswith("- "))
    candidate = next(filter(None, items), None)
    if candidate is None:
        text = "“instruction” names no candidate such as “- Title (source: Reuters)”"
        raise BadLine("missing_candidate", text)
    return Record(
        rows=rows,
        title=_unescape(candidate["title"]),
        source=_unescape(candidate["source"]),
        topics=_topics(_unescape(candidate["topics"] or "")),
        price=_unescape(candidate["price"] or ""),
        liked=None if output == "" else output == YES,
    )


def record_times(rows: Sequence[RecordRow], until: datetime) -> list[datetime]:
    """Return the time of each row.

    Rows without a date get the latest time before `until` that keeps the order.
    """
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


def _json_object(line: str) -> dict[str, Any]:
    if len(line) > LINE_MAX_CHARS:
        raise BadLine("too_long", f"the line is longer than {LINE_MAX_CHARS} characters")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine("bad_json", f"not a JSON object ({str(error)[:80]})") from None
    if not isinstance(row, dict):
        raise BadLine("bad_json", "not a JSON object")
    return row


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadLine(f"bad_{name}", f"“{name}” should be a text")
    return value


def _required_text(row: Mapping[str, Any], name: str) -> str:
    value = _text(row, name).strip()
    if not clean_text(value):
        raise BadLine(f"missing_{name}", f"“{name}” is missing")
    return value


def _reader(row: Mapping[str, Any]) -> str:
    name = _required_text(row, "reader")
    if len(name) > READER_MAX_CHARS or clean_text(name) != name or "\n" in name:
        raise BadLine("bad_reader", f"“reader” should be one line of at most {READER_MAX_CHARS} characters")
    return name


def _url(row: Mapping[str, Any], title: str, text: str) -> str:
    given = _text(row, "url").strip()
    if not given:
        return item_urn(title, text)
    if url := canonical_url(given):
        return url
    raise BadLine("bad_url", "“url” should start with http:// or https:// and have at most 2000 characters")


def _useful(row: Mapping[str, Any]) -> bool:
    value = USEFUL.get(str(row.get("useful")).strip().casefold())
    if value is None:
        raise BadLine("bad_useful", "“useful” should be 1 or 0")
    return value


def _reasons(row: Mapping[str, Any]) -> tuple[str, ...]:
    tags = row.get("reason_tags") or []
    valid = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) and len(tags) <= RAW_TAGS_MAX
    if not valid:
        raise BadLine("bad_reason_tags", f"“reason_tags” should be a list of at most {RAW_TAGS_MAX} texts")
    return tuple(tags)


def _time(row: Mapping[str, Any], name: str) -> datetime:
    value = _required_text(row, name)
    try:
        when = datetime.fromisoformat(value)
        if when.tzinfo is None:
            raise BadLine(f"bad_{name}", f"“{name}” needs a time zone, such as 2026-03-18T12:00:00Z")
        when = when.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadLine(f"bad_{name}", f"“{name}” should be a time such as 2026-03-18T12:00:00Z") from None
    if not 1995 <= when.year <= 2200:
        raise BadLine(f"bad_{name}", f"“{name}” lies outside the years 1995 to 2200")
    return when


def _table(rows: Sequence[RecordRow]) -> str:
    columns = ["idx", "day", "hour", "source"]
    columns += ["topics"] if any(row.topics for row in rows) else []
    columns += ["price"] if any(row.price for row in rows) else []
    columns += ["title", "thumb"]
    columns += ["date"] if any(row.date for row in rows) else []
    table = [columns, ["---"] * len(columns)]
    for number, row in enumerate(rows, start=1):
        cells = {
            "idx": str(number),
            "day": row.day,
            "hour": str(row.hour),
            "source": _escape(row.source),
            "topics": _escape("; ".join(row.topics)),
            "price": _escape(row.price),
            "title": _escape(row.title),
            "thumb": UP if row.liked else DOWN,
            "date": row.date.isoformat() if row.date else "",
        }
        table.append([cells[name] for name in columns])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)


def _escape(text: str, more: str = "") -> str:
    """Return `text` on one line, with a backslash before each backslash, pipe and character in `more`."""
    special = f"\\|{more}"
    if any(char in text for char in special):
        text = "".join(f"\\{char}" if char in special else char for char in text)
    return " ".join(text.split())


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text.strip()) if "\\" in text else text.strip()


def _rows(lines: Sequence[str]) -> tuple[RecordRow, ...]:
    if len(lines) < 2:
        raise BadLine("missing_table", "“instruction” holds no table")
    if len(lines) - 2 > ROWS_MAX:
        raise BadLine("too_many_rows", f"more than {ROWS_MAX} rows")
    names = [name.casefold() for name in _split(lines[0])]
    source = next((name for name in SOURCE_COLUMNS if name in names), "")
    if not {"day", "hour"} <= set(names) or not source:
        raise BadLine("bad_table", "the table needs the columns day, hour and source")
    return tuple(_row(dict(zip(names, _split(line), strict=False)), source) for line in lines[2:])


def _split(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    cells, start = [], 0
    for match in _UNESCAPED_PIPE.finditer(inner):
        cells.append(_unescape(inner[start : match.end() - 1]))
        start = match.end()
    return cells


def _row(cells: Mapping[str, Any], source: str) -> RecordRow:
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
    return RecordRow(
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
