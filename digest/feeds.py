"""What a feed document says, frozen, and what can be wrong with one."""

from dataclasses import dataclass
from datetime import datetime


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
    """A feed document. `dropped` counts entries beyond the limit, `blank` those that say nothing."""

    title: str
    site_url: str
    entries: tuple[ParsedEntry, ...]
    dropped: int = 0
    blank: int = 0
