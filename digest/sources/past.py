"""Stars and read marks in the JSON exports of other readers. Pure.

Four forms are read. Google Reader's (`starred.json` of FreshRSS and Inoreader): `items`, whose `categories`
name the states. Miniflux's API: `entries` with `starred` and `status`. NewsBlur's: `stories` with
`starred_timestamp` and `read_status`. Feedbin's `starred.json`: a list of entries, or entries one after the
other without a list, all of them starred. A bad entry is counted and the rest is read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from digest.errors import NotAPast
from digest.feeds.entities import FeedProblem
from digest.feeds.identity import canonical_url, web_url
from digest.feeds.prechecks import decode
from digest.feeds.sanitise import TITLE_MAX_CHARS, clean_text, html_to_text, one_line
from digest.feeds.storable import Storable
from ranking.language import gettext as _
from ranking.language import thousands

PAST_BYTES_MAX: Final = 32 * 1024 * 1024
ENTRIES_MAX: Final = 20_000
# A file of nothing but `{},` would take thirty times its size in memory. These allow 25 objects and lists and
# 150 texts and numbers for each of 20,000 entries, whose own words are full of commas and quotes, too.
CONTAINERS_MAX: Final = 500_000
VALUES_MAX: Final = 6_000_000
# No longer address is followed (`Item.url`), and each sign of one costs time.
URL_MAX_CHARS: Final = 2000
STARRED, READ = "state/com.google/starred", "state/com.google/read"
FORMS: Final = ("items", "entries", "stories")


@dataclass(frozen=True, slots=True)
class PastEntry(Storable):
    """One article in an export. `feed_url` and `site_url` are "" if the file does not name them.

    `starred_at` is the time of its star, as well as the file knows, or `None` for an article without one.
    """

    LIMITS: ClassVar = {"title": TITLE_MAX_CHARS}

    url: str
    title: str
    text: str
    feed_url: str
    site_url: str
    site_title: str
    published: datetime | None
    starred_at: datetime | None
    read: bool


@dataclass(frozen=True, slots=True)
class Past:
    """The entries of an export. `bad` counts those without an address or a title, or beyond the most."""

    entries: tuple[PastEntry, ...]
    bad: int = 0


def past_read(
    document: bytes, now: datetime, *, in_steps: Callable[[Iterable[Any]], Iterable[Any]] = iter
) -> Past:
    """Return the entries of an export. Raises `NotAPast` for any other document, or if the file is too large.

    No time is later than `now`. A time in the future is replaced by it. The entries are read with `in_steps`.
    """
    if len(document) > PAST_BYTES_MAX:
        size = PAST_BYTES_MAX // 1024**2
        raise NotAPast(_("The file is too large: {size} MiB at most.").format(size=size))
    try:
        text = decode(document)
    except FeedProblem as problem:
        raise NotAPast(problem.message) from problem
    _check_size(text)
    rows, form = _rows(text)
    entries, bad = [], 0
    for n, row in enumerate(in_steps(rows)):
        entry = _entry(row, form, now) if n < ENTRIES_MAX and isinstance(row, dict) else None
        if entry is None:
            bad += 1
        else:
            entries.append(entry)
    return Past(tuple(entries), bad)


def _check_size(text: str) -> None:
    """Refuse a text with more values than an export has, before they take up memory. Raises `NotAPast`."""
    containers = text.count("{") + text.count("[")
    if containers > CONTAINERS_MAX or text.count('"') + text.count(",") > VALUES_MAX:
        entries = thousands(ENTRIES_MAX)
        raise NotAPast(
            _("The file has more in it than {entries} articles can have. Export fewer at once.").format(
                entries=entries
            )
        )


def _rows(text: str) -> tuple[list[Any], str]:
    """Return the entries of the file as they stand there, and the name of their list, "" for Feedbin's."""
    try:
        values = list(_values(text))
    except (ValueError, RecursionError):
        values = []
    if len(values) == 1 and isinstance(values[0], dict):
        form = next((name for name in FORMS if isinstance(values[0].get(name), list)), "")
        if form:
            return values[0][form], form
    rows = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not any(isinstance(row, dict) and row.get("url") for row in rows):
        raise NotAPast(_("This is no export of stars: choose the starred.json that your other reader made."))
    return rows, ""


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a text, one after the other."""
    # An integer of thousands of digits would be refused with the whole file. As a float it costs little.
    decoder, at = json.JSONDecoder(parse_int=lambda digits: (int if len(digits) < 20 else float)(digits)), 0
    text = text.strip()
    for _value in range(CONTAINERS_MAX):
        if at >= len(text):
            return
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1


def _entry(row: Mapping[str, Any], form: str, now: datetime) -> PastEntry | None:
    read = {"items": _google, "entries": _miniflux, "stories": _newsblur, "": _feedbin}[form]
    try:
        found = read(row)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError):
        return None
    url = canonical_url(found.url) if len(found.url) <= URL_MAX_CHARS and web_url(found.url) else ""
    title = one_line(html_to_text(found.title)) or one_line(found.text, limit=100)
    if not url or not title or len(url) > URL_MAX_CHARS:
        return None
    starred_at = min(found.starred_at, now) if found.starred_at else None
    published = min(found.published, now) if found.published else None
    return PastEntry(
        url=url,
        title=title,
        text=found.text,
        feed_url=web_url(found.feed_url[:URL_MAX_CHARS]),
        site_url=web_url(found.site_url[:URL_MAX_CHARS]),
        site_title=one_line(clean_text(found.site_title), limit=200),
        published=published,
        starred_at=starred_at or ((published or now) if found.starred_at else None),
        read=found.read,
    )


def _google(row: Mapping[str, Any]) -> PastEntry:
    origin = row.get("origin") or {}
    states = [str(name) for name in row.get("categories") or []]
    links = [*(row.get("canonical") or []), *(row.get("alternate") or [])]
    body = row.get("content") or row.get("summary") or {}
    stream = _text(origin.get("feedUrl")) or _text(origin.get("streamId")).removeprefix("feed/")
    # Lists of stars by other programs name no states.
    is_starred = any(name.endswith(STARRED) for name in states) or not any("/state/" in n for n in states)
    at = _seconds(row.get("starred")) or _seconds(row.get("timestampUsec"), 1e6)
    return PastEntry(
        url=next((_text(link.get("href")) for link in links), ""),
        title=_text(row.get("title")),
        text=html_to_text(_text(body.get("content"))),
        feed_url=stream,
        site_url=_text(origin.get("htmlUrl")),
        site_title=_text(origin.get("title")),
        published=_seconds(row.get("published")),
        starred_at=(at or _seconds(row.get("published")) or EPOCH) if is_starred else None,
        read=any(name.endswith(READ) for name in states),
    )


def _miniflux(row: Mapping[str, Any]) -> PastEntry:
    feed = row.get("feed") or {}
    at = _date(row.get("changed_at")) or _date(row.get("published_at")) or EPOCH
    return PastEntry(
        url=_text(row.get("url")),
        title=_text(row.get("title")),
        text=html_to_text(_text(row.get("content"))),
        feed_url=_text(feed.get("feed_url")),
        site_url=_text(feed.get("site_url")),
        site_title=_text(feed.get("title")),
        published=_date(row.get("published_at")),
        starred_at=at if row.get("starred") is True else None,
        read=row.get("status") == "read",
    )


def _newsblur(row: Mapping[str, Any]) -> PastEntry:
    starred = row.get("starred") is True or bool(_seconds(row.get("starred_timestamp")))
    published = _seconds(row.get("story_timestamp"))
    return PastEntry(
        url=_text(row.get("story_permalink")),
        title=_text(row.get("story_title")),
        text=html_to_text(_text(row.get("story_content"))),
        feed_url="",
        site_url="",
        site_title=_text(row.get("story_feed_title")),
        published=published,
        starred_at=(_seconds(row.get("starred_timestamp")) or published or EPOCH) if starred else None,
        read=str(row.get("read_status")) == "1",
    )


def _feedbin(row: Mapping[str, Any]) -> PastEntry:
    published = _date(row.get("published"))
    return PastEntry(
        url=_text(row.get("url")),
        title=_text(row.get("title")),
        text=html_to_text(_text(row.get("content"))),
        feed_url=_text(row.get("feed_url")),
        site_url="",
        site_title="",
        published=published,
        starred_at=_date(row.get("created_at")) or published or EPOCH,
        read=False,
    )


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: object, unit: float = 1.0) -> datetime | None:
    """Return a count of seconds since 1970, a number or digits; `None` for none, and for zero."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not value:
        return None
    seconds = float(value) / unit
    return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None


def _date(value: object) -> datetime | None:
    """Return an ISO date with its zone; UTC if it has none."""
    if not isinstance(value, str) or not value:
        return None
    at = datetime.fromisoformat(value)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
