"""What a feed document says, frozen, and what can be wrong with one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


class FeedProblem(Exception):
    """A feed that could not be fetched or read. `code` is stable; `message` says what was wrong.

    `retry_after_s` is how long the server asked to be left alone, where it did; `gone` is true where
    it said that the feed will not come back.
    """

    def __init__(
        self, code: str, message: str, *, retry_after_s: float | None = None, gone: bool = False
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message
        self.retry_after_s, self.gone = retry_after_s, gone


@dataclass(frozen=True, slots=True)
class ParsedEntry:
    """One entry of a feed document as plain text. `guid` and `link` are "" where the feed gives none."""

    guid: str
    link: str
    title: str
    text: str
    author: str
    language: str
    published: datetime | None


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A feed document. `dropped` counts entries beyond the limit, `blank` those that say nothing.

    `ttl_minutes` is how long the document asks to be left alone, where it does.
    """

    title: str
    site_url: str
    entries: tuple[ParsedEntry, ...]
    dropped: int = 0
    blank: int = 0
    ttl_minutes: int | None = None


def feed_as_json(feed: ParsedFeed) -> dict[str, Any]:
    """`feed` in what JSON knows; dates as ISO 8601."""
    whole = asdict(feed)
    for entry in whole["entries"]:
        entry["published"] = entry["published"] and entry["published"].isoformat()
    return whole


def feed_from_json(whole: Mapping[str, Any]) -> ParsedFeed:
    """The feed that `feed_as_json` wrote, every field held to its type.

    Raises `KeyError`, `TypeError` or `ValueError` for anything else.
    """
    return ParsedFeed(
        title=str(whole["title"]),
        site_url=str(whole["site_url"]),
        entries=tuple(_entry_from_json(entry) for entry in whole["entries"]),
        dropped=int(whole["dropped"]),
        blank=int(whole["blank"]),
        ttl_minutes=None if whole["ttl_minutes"] is None else int(whole["ttl_minutes"]),
    )


def _entry_from_json(entry: Mapping[str, Any]) -> ParsedEntry:
    texts = ("guid", "link", "title", "text", "author", "language")
    when = entry["published"]
    published = datetime.fromisoformat(when) if when else None
    return ParsedEntry(**{name: str(entry[name]) for name in texts}, published=published)
