"""Bytes of a feed document in, plain entries out. RSS 0.9x to 2.0, RDF, Atom 0.3 and 1.0, JSON Feed.

The format is told by the content, never by a name or a header. Whatever the bytes, the only exception
is `FeedProblem`. A document of the usual size that the fast parser reads is read here; a larger one, and
whatever that parser refuses, in a child process that may use two seconds of processor time and 300 MiB.
"""

import re
from calendar import timegm
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urljoin

import fastfeedparser
import feedparser

from digest.caching import document_ttl_minutes
from digest.contained import parse_contained
from digest.feeds import FeedProblem, ParsedEntry, ParsedFeed
from digest.jsonfeed import json_feed
from digest.prechecks import decoded, unpacked, xml_checked
from digest.sanitise import html_plain, one_line, plain, title_plain

ENTRIES_MAX = 2_000
AUTHOR_MAX_CHARS = 200
LANGUAGE_MAX_CHARS = 20
UNTITLED_MAX_CHARS = 100
# Beyond this a document is read in a child process (8 of 237 real feeds are larger). Within it the fast
# parser and our sanitising took at most 0.2 s on documents made to be slow.
HERE_MAX_CHARS = 1024 * 1024
HERE_MAX_MARKS = 40_000
DATED: Final = re.compile(r"<(?:[\w.-]+:)?(?:pubDate|published|issued|updated|modified|created|date)\b", re.I)
WANTED: Final = {"include_tags": False, "include_media": False, "include_enclosures": False}


def parse_document(body: bytes, *, url: str = "") -> ParsedFeed:
    """Read one feed document; `url` is where it came from, for links that are relative.

    Raises `FeedProblem` with one of the codes `empty`, `too_large`, `entity_declaration`, `too_deep`,
    `too_complex`, `not_a_feed`, `malformed`, or one of `parse_contained`.
    """
    text = decoded(unpacked(body))
    if _is_xml(text):
        text = xml_checked(text)
    if len(text) > HERE_MAX_CHARS or text.count("<") + text.count("&") > HERE_MAX_MARKS:
        return parse_contained(text, url=url)
    try:
        raw = _xml_fast(text) if _is_xml(text) else json_feed(text)
    except _Refused:
        return parse_contained(text, url=url)
    return _feed(raw, url, ttl_minutes=document_ttl_minutes(text))


def document_read(text: str, *, url: str) -> ParsedFeed:
    """Read a document that passed the checks, by the fast parser or else the slow one, in this process.

    Raises `FeedProblem`: `not_a_feed`, `malformed`, `too_deep`.
    """
    if not _is_xml(text):
        return _feed(json_feed(text), url, ttl_minutes=None)
    try:
        raw = _xml_fast(text)
    except _Refused as refused:
        raw = _xml_slow(text, refused)
    return _feed(raw, url, ttl_minutes=document_ttl_minutes(text))


def _is_xml(text: str) -> bool:
    return text[:1] not in ("{", "[")


class _Refused(Exception):
    """The fast parser made nothing of a document."""


def _feed(raw: Mapping[str, Any], url: str, *, ttl_minutes: int | None) -> ParsedFeed:
    site = _link(raw.get("link"), base=url)
    entries, blank = [], 0
    for entry in raw["entries"][:ENTRIES_MAX]:
        if parsed := _entry(entry, base=site or url, language=_text(raw.get("language"))):
            entries.append(parsed)
        else:
            blank += 1
    return ParsedFeed(
        title=one_line(title_plain(_text(raw.get("title"))), limit=200),
        site_url=site,
        entries=tuple(entries),
        dropped=max(len(raw["entries"]) - ENTRIES_MAX, 0),
        blank=blank,
        ttl_minutes=ttl_minutes,
    )


def _xml_fast(text: str) -> dict[str, Any]:
    """The feed's own fields, and its entries as mappings under "entries". Raises `_Refused`."""
    try:
        found = fastfeedparser.parse(text.encode(), **WANTED)
    except Exception as error:  # a parser of strangers' bytes may fail in ways its authors never listed
        raise _Refused(str(error)) from error
    if not found["entries"] and _speaks_of_entries(text):
        raise _Refused("no entry could be read")
    if not DATED.search(text):
        # Without a date the parser takes a guid for one: "1" would be the first of this month.
        for entry in found["entries"]:
            entry.pop("published", None)
    return {**found["feed"], "entries": found["entries"]} if "feed" in found else dict(found)


def _xml_slow(text: str, refused: _Refused) -> dict[str, Any]:
    try:
        found = feedparser.parse(text.encode(), sanitize_html=False, resolve_relative_uris=False)
    except MemoryError:
        raise
    except Exception as error:  # see above
        raise FeedProblem("malformed", _words(error)) from error
    if not found.entries and not found.get("version"):
        raise FeedProblem("malformed", _words(refused)) from refused
    return {**found.feed, "entries": found.entries}


def _words(error: Exception) -> str:
    return one_line(plain(f"The document cannot be read as a feed ({error})."), limit=280)


def _speaks_of_entries(text: str) -> bool:
    return "<item" in text or "<entry" in text or ":item" in text or ":entry" in text


def _entry(raw: Mapping[str, Any], *, base: str, language: str) -> ParsedEntry | None:
    """One entry as plain text, or None where it has neither words nor a link."""
    guid, link = _text(raw.get("id")), _link(raw.get("link"), base=base)
    if not link and guid.startswith(("http://", "https://")):
        link = guid
    text = _body(raw)
    title = title_plain(_text(raw.get("title"))) or one_line(text, limit=UNTITLED_MAX_CHARS) or link[:500]
    if not title:
        return None
    return ParsedEntry(
        guid=guid,
        link=link,
        title=title,
        text=text,
        author=one_line(title_plain(_text(raw.get("author"))), limit=AUTHOR_MAX_CHARS),
        language=one_line(plain(_text(raw.get("language") or language)), limit=LANGUAGE_MAX_CHARS),
        published=_when(raw),
    )


def _body(raw: Mapping[str, Any]) -> str:
    """The fullest text an entry carries: its content, else its description."""
    for part in _parts(raw.get("content")):
        value = _text(part.get("value"))
        if value.strip():
            is_plain = part.get("type") in ("text", "text/plain")
            return plain(value) if is_plain and "</" not in value else html_plain(value)
    return html_plain(_text(raw.get("description") or raw.get("summary")))


def _parts(content: object) -> Iterable[Mapping[str, Any]]:
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _link(value: object, *, base: str) -> str:
    link = _text(value).strip()
    if not link or not base.startswith(("http://", "https://")):
        return link
    try:
        return urljoin(base, link)
    except ValueError:
        return ""  # brackets that are no IPv6 address


def _when(raw: Mapping[str, Any]) -> datetime | None:
    """When it was published (else updated), in UTC; None where no date can be read."""
    for name in ("published", "updated"):
        parts = raw.get(f"{name}_parsed")
        try:
            if parts:
                return datetime.fromtimestamp(timegm(parts), UTC)
            if value := _text(raw.get(name)):
                found = datetime.fromisoformat(value)
                return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError, TypeError, OSError):
            continue
    return None
