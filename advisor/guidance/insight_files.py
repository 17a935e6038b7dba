"""Insights as people write them in files: front matter and one paragraph of Markdown. Pure."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import yaml

from advisor.guidance.entities import Draft, Kind, Level, Phase
from advisor.guidance.memories import midnight
from suggestions.entities import FIELD_OF_TYPE

FRONT_FIELDS = ("id", "title", "suggestion_type", "tool", "phase", "confidence", "expires")
_FILE = re.compile(r"\A---\n(?P<front>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_NAME, _TOOL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*"), re.compile(r"(?:[a-z]+(?:_[a-z]+)*)?")


class BadInsight(ValueError):
    """A file that is no insight: a stable `code`, and words that say what to mend."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def insight_draft(name: str, raw: bytes, *, now: datetime) -> Draft:
    """Return the insight in the file called `name`, without ".md". Raises `BadInsight` for the first thing
    wrong.

    Front matter: `id` (the file's name), `title`, `suggestion_type`, `tool` and `phase` (each may be empty),
    `confidence` (0 to 1), `expires` (a date, or empty); the body is one paragraph. While its file is there it
    does not age. Codes: `unreadable`, `no_front_matter`, `bad_front_matter`, `bad_id`, `bad_title`,
    `bad_type`, `bad_tool`, `bad_phase`, `bad_confidence`, `bad_expiry`, `bad_text`.
    """
    try:
        match = _FILE.match(raw.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise BadInsight("unreadable", f"The file is not UTF-8: byte {error.start}.") from None
    if match is None:
        raise BadInsight("no_front_matter", "The file must begin with front matter between two --- lines.")
    try:
        front = yaml.safe_load(match["front"])
    except yaml.YAMLError:
        raise BadInsight("bad_front_matter", "The front matter is not valid YAML.") from None
    if not isinstance(front, dict) or set(front) != set(FRONT_FIELDS):
        raise BadInsight("bad_front_matter", f"The front matter has the fields {', '.join(FRONT_FIELDS)}.")
    body = " ".join(match["body"].split())
    _check_fields(front, name=name, body=body)
    expires = front["expires"]
    kind, tool, phase = (front[key] or "" for key in ("suggestion_type", "tool", "phase"))
    return Draft(
        kind=Kind.INSIGHT,
        key=name,
        title=front["title"],
        text=body,
        suggestion_type=kind,
        tool=tool,
        phase=phase,
        confidence=float(front["confidence"]),
        shared=True,
        source_ref=f"{name}.md",
        ceiling=Level.NOTE,
        valid_from=midnight(now),
        expires_at=midnight(expires) if expires else None,
    )


def _check_fields(front: Mapping[str, Any], *, name: str, body: str) -> None:
    """Raise `BadInsight` for the first field that cannot be used."""
    sure, expires = front["confidence"], front["expires"]
    kind, tool, phase = (front[key] or "" for key in ("suggestion_type", "tool", "phase"))
    number = isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1
    checks = (
        (front["id"] == name and _NAME.fullmatch(name), "bad_id", f"`id` must be the file's name, {name!r}."),
        (
            isinstance(front["title"], str) and 0 < len(front["title"]) <= 80,
            "bad_title",
            "`title` has 1 to 80 characters.",
        ),
        (
            kind in ("", *FIELD_OF_TYPE),
            "bad_type",
            f"`suggestion_type` is empty or {', '.join(FIELD_OF_TYPE)}.",
        ),
        (isinstance(tool, str) and _TOOL.fullmatch(tool), "bad_tool", "`tool` is a tool's name, or empty."),
        (phase in ("", *Phase), "bad_phase", f"`phase` is empty or one of {', '.join(Phase)}."),
        (0 < len(body) <= 500, "bad_text", "The text is one paragraph of 1 to 500 characters."),
        (number, "bad_confidence", "`confidence` is a number from 0 to 1."),
        (expires in (None, "") or type(expires) is date, "bad_expiry", "`expires` is a date, or empty."),
    )
    for fine, code, message in checks:
        if not fine:
            raise BadInsight(code, message)
