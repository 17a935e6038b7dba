"""Curated insights: one Markdown file each, front matter and a paragraph, reviewed by people. Pure.

Front matter: `id` (the file's name without ".md"), `title` (at most 80 characters), `suggestion_type` (one of
the four, or empty for any), `tool` and `phase` (where it helps; empty for anywhere), `confidence` (0 to 1),
`expires` (a date, or empty for never). The body is one paragraph of at most 500 characters.

Codes of what is wrong with a file: `unreadable` (not UTF-8), `no_front_matter`, `bad_front_matter` (no YAML
mapping, an unknown field, one missing), `bad_id`, `bad_title`, `bad_type`, `bad_tool`, `bad_phase`,
`bad_confidence`, `bad_expiry`, `bad_text`.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml

from suggestions.entities import FIELD_OF_TYPE

FIELDS = ("id", "title", "suggestion_type", "tool", "phase", "confidence", "expires")
PHASES = ("", "explore", "analyze", "hypothesize", "write", "critique", "repair")
TITLE_CHARS_MAX, TEXT_CHARS_MAX = 80, 500
_FILE = re.compile(r"\A---\n(?P<front>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TOOL = re.compile(r"(?:[a-z]+(?:_[a-z]+)*)?")


@dataclass(frozen=True, slots=True)
class Insight:
    """One insight as its file states it."""

    id: str
    title: str
    text: str
    suggestion_type: str
    tool: str
    phase: str
    confidence: float
    expires: date | None


class BadInsight(ValueError):
    """A file that is no insight: a stable `code`, and words that say what to mend."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def insight_parse(name: str, raw: bytes) -> Insight:
    """The insight in the file called `name`, without ".md". Raises `BadInsight` for the first thing wrong."""
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadInsight("unreadable", f"The file is not UTF-8: byte {error.start}.") from None
    match = _FILE.match(text)
    if match is None:
        raise BadInsight("no_front_matter", "The file must begin with front matter between two --- lines.")
    front = _front(match["front"])
    insight_id, title = front["id"], front["title"]
    _ask(insight_id == name and _NAME.fullmatch(name), "bad_id", f"`id` must be the file's name, {name!r}.")
    _ask(
        _line(title, TITLE_CHARS_MAX),
        "bad_title",
        f"`title` is one line of 1 to {TITLE_CHARS_MAX} characters.",
    )
    kind, tool, phase = (front[key] or "" for key in ("suggestion_type", "tool", "phase"))
    _ask(
        kind == "" or kind in FIELD_OF_TYPE,
        "bad_type",
        f"`suggestion_type` is empty or one of {', '.join(FIELD_OF_TYPE)}.",
    )
    _ask(isinstance(tool, str) and _TOOL.fullmatch(tool), "bad_tool", "`tool` is a tool's name, or empty.")
    _ask(phase in PHASES, "bad_phase", f"`phase` is empty or one of {', '.join(PHASES[1:])}.")
    body = " ".join(match["body"].split())
    _ask(
        _line(body, TEXT_CHARS_MAX),
        "bad_text",
        f"The text is one paragraph of 1 to {TEXT_CHARS_MAX} characters.",
    )
    confidence, expires = _confidence(front["confidence"]), _expiry(front["expires"])
    return Insight(name, title, body, kind, tool, phase, confidence, expires)


def _front(text: str) -> dict[str, Any]:
    try:
        front = yaml.safe_load(text)
    except yaml.YAMLError:
        raise BadInsight("bad_front_matter", "The front matter is not valid YAML.") from None
    if not isinstance(front, dict) or set(front) != set(FIELDS):
        raise BadInsight("bad_front_matter", f"The front matter has exactly the fields {', '.join(FIELDS)}.")
    return front


def _ask(fine: object, code: str, message: str) -> None:
    if not fine:
        raise BadInsight(code, message)


def _line(value: object, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= most and value.isprintable()


def _confidence(value: object) -> float:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    _ask(fine, "bad_confidence", "`confidence` is a number from 0 to 1.")
    return float(str(value))


def _expiry(value: object) -> date | None:
    _ask(
        value in (None, "") or type(value) is date,
        "bad_expiry",
        "`expires` is a date as YYYY-MM-DD, or empty.",
    )
    return value if isinstance(value, date) else None
