"""One line of a reader's history (JSON Lines) as a checked record."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from digest.identity import SOURCE_KEY_MAX_CHARS, canonical_url, item_urn
from digest.sanitise import one_line, plain
from ranking.matching import fold

LINE_MAX_CHARS = 512 * 1024
READER_MAX_CHARS = 150
RAW_TAGS_MAX = 50
USEFUL: Final = {"1": True, "0": False, "true": True, "false": False}


# Bytes that were no UTF-8 arrive as these code points ("surrogateescape").
_UNDECODED = re.compile(r"[\udc80-\udcff]")


class BadLine(Exception):
    """A line that cannot be imported: a stable `code`, and the reason in words."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Thumb:
    """One thumb of one reader, as the file says."""

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


def thumb_read(line: str) -> Thumb:
    """Check one line. Raises `BadLine` with one of the codes `too_long`, `bad_encoding`, `bad_json`,
    `missing_<field>`, `bad_<field>`."""
    if len(line) > LINE_MAX_CHARS:
        raise BadLine("too_long", f"the line is longer than {LINE_MAX_CHARS} characters")
    if _UNDECODED.search(line):
        raise BadLine("bad_encoding", "not UTF-8; save the file as UTF-8 and import the line again")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine("bad_json", f"not a JSON object ({str(error)[:80]})") from None
    if not isinstance(row, dict):
        raise BadLine("bad_json", "not a JSON object")
    title, text = one_line(plain(_text(row, "title"))), plain(_text(row, "text"))
    if not title and not text:
        raise BadLine("missing_title", "neither title nor text")
    source = one_line(plain(_required(row, "source")), limit=200)
    return Thumb(
        reader=_reader(row),
        url=_url(row, title, text),
        title=title or one_line(text, limit=100),
        text=text,
        source=fold(source)[:SOURCE_KEY_MAX_CHARS],
        source_title=source,
        published=_when(row, "published") if row.get("published") else None,
        useful=_useful(row),
        reasons=_reasons(row),
        at=_when(row, "at"),
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadLine(f"bad_{name}", f"“{name}” should be a text")
    return value


def _required(row: Mapping[str, Any], name: str) -> str:
    value = _text(row, name).strip()
    if not plain(value):
        raise BadLine(f"missing_{name}", f"“{name}” is missing")
    return value


def _reader(row: Mapping[str, Any]) -> str:
    name = _required(row, "reader")
    if len(name) > READER_MAX_CHARS or plain(name) != name or "\n" in name:
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
    if (
        not isinstance(tags, list)
        or not all(isinstance(tag, str) for tag in tags)
        or len(tags) > RAW_TAGS_MAX
    ):
        raise BadLine("bad_reason_tags", f"“reason_tags” should be a list of at most {RAW_TAGS_MAX} texts")
    return tuple(tags)


def _when(row: Mapping[str, Any], name: str) -> datetime:
    value = _required(row, name)
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
