"""Parse: bytes of a feed document to plain entries. RSS 0.9x to 2.0, RDF, Atom 0.3 and 1.0, JSON Feed.

The content decides the format, never a name or a header. Whatever the bytes, the only exception is
`FeedProblem`. A document of the usual size that the fast parser reads is read here; a larger one, and
whatever that parser refuses, in the sandbox, within two seconds of processor time and 300 MiB. There a large
one is also decoded and checked: one call of a pattern on ten megabytes would stop all threads of a site.
"""

import json
import re
from calendar import timegm
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from digest.feeds.body_html import html_clean
from digest.feeds.entities import FeedProblem, ParsedEntry, ParsedFeed
from digest.feeds.media import entry_categories, entry_enclosures, entry_image, media_complete
from digest.feeds.polling import document_ttl_minutes
from digest.feeds.prechecks import check_xml, decode, decompress
from digest.feeds.sandbox import parse_in_sandbox
from digest.feeds.sanitise import clean_text, html_to_text, one_line, title_to_text
from ranking.language import gettext_noop

ENTRIES_MAX: Final = 2_000
AUTHOR_MAX_CHARS: Final = 200
LANGUAGE_MAX_CHARS: Final = 20
UNTITLED_MAX_CHARS: Final = 100
# Beyond this a document is read in the sandbox (8 of 237 real feeds are larger). Within it the fast parser
# and our sanitising took at most 0.2 s on documents made to be slow, a check 0.06 s.
HERE_MAX_BYTES: Final = 1024 * 1024
HERE_MAX_MARKS: Final = 40_000
# So much markup of one document is cleaned, in most feeds that of the newest entries; those after it have
# plain text alone. A tag, which takes some 3 µs, counts as so many characters at least.
MARKUP_MAX: Final = 3 * 1024 * 1024
TAG_CHARS: Final = 20
# What XML closes at once and HTML reads as the start of something that never ends.
_CLOSED_AT_ONCE: Final = re.compile(
    r"<(script|style|title|textarea|iframe|noscript|template|svg|math)\b([^<>]*)/>", re.I
)
_DATE_TAG: Final = re.compile(
    r"<(?:[\w.-]+:)?(?:pubDate|published|issued|updated|modified|created|date)\b", re.I
)
# The language of a whole document, which stands before its first item.
_LANGUAGE: Final = re.compile(r"<(?:dc:)?language>\s*+([A-Za-z][A-Za-z0-9-]{1,19})\s*+<")


class _Refused(Exception):
    """The fast parser could not read a document."""


def parse_document(body: bytes, *, url: str = "") -> ParsedFeed:
    """Read one feed document; `url` is where it came from, for links that are relative.

    Raises `FeedProblem` with one of the codes `empty`, `too_large`, `entity_declaration`, `too_deep`,
    `too_complex`, `not_a_feed`, `malformed`, or one of `parse_in_sandbox`.
    """
    body = decompress(body)
    if len(body) > HERE_MAX_BYTES:
        return parse_in_sandbox(body, url=url)
    text = document_text(body)
    if text.count("<") + text.count("&") > HERE_MAX_MARKS:
        return parse_in_sandbox(text, url=url)
    try:
        raw = _parse_fast(text) if _is_xml(text) else _parse_json(text)
    except _Refused:
        return parse_in_sandbox(text, url=url)
    return _feed(raw, url, ttl_minutes=document_ttl_minutes(text))


def document_text(body: bytes) -> str:
    """Return the text of a document once it has passed every check. Raises as `parse_document` does."""
    text = decode(body)
    return check_xml(text) if _is_xml(text) else text


def parse_checked(text: str, *, url: str) -> ParsedFeed:
    """Read a document that passed the checks, by the fast parser or else the slow one, in this process.

    Raises `FeedProblem`: `not_a_feed`, `malformed`, `too_deep`.
    """
    if not _is_xml(text):
        return _feed(_parse_json(text), url, ttl_minutes=None)
    try:
        raw = _parse_fast(text)
    except _Refused as refused:
        raw = _parse_slow(text, refused)
    return _feed(raw, url, ttl_minutes=document_ttl_minutes(text))


def _is_xml(text: str) -> bool:
    return text[:1] not in ("{", "[")


# Each parser returns the feed's own fields, and its entries as mappings under "entries".


def _parse_fast(text: str) -> dict[str, Any]:
    import fastfeedparser  # noqa: PLC0415 - lxml and more, for who fetches

    try:
        found = fastfeedparser.parse(text.encode())
    except Exception as error:  # a parser of strangers' bytes may fail in ways its authors never listed
        raise _Refused(str(error)) from error
    marks = ("<item", "<entry", ":item", ":entry")
    if not found["entries"] and any(mark in text for mark in marks):
        raise _Refused("no entry could be read")
    if not _DATE_TAG.search(text):
        # Without a date the parser takes a guid for one: "1" would be the first of this month.
        for entry in found["entries"]:
            entry.pop("published", None)
    media_complete(found["entries"], text)
    raw = {**found["feed"], "entries": found["entries"]} if "feed" in found else dict(found)
    head = text.partition("<item")[0]
    if not raw.get("language") and (named := _LANGUAGE.search(head)):
        raw["language"] = named[1]  # the parser knows `xml:lang` alone
    return raw


def _parse_slow(text: str, refused: _Refused) -> dict[str, Any]:
    import feedparser  # noqa: PLC0415 - in the sandbox alone

    try:
        found = feedparser.parse(text.encode(), sanitize_html=False, resolve_relative_uris=False)
    except MemoryError:
        raise
    except Exception as error:  # see above
        raise _malformed(error) from error
    if not found.entries and not found.get("version"):
        raise _malformed(refused) from refused
    return {**found.feed, "entries": found.entries}


def _malformed(error: Exception) -> FeedProblem:
    message = f"The document cannot be read as a feed ({error})."
    return FeedProblem("malformed", one_line(clean_text(message), limit=280))


def _parse_json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise FeedProblem("too_deep", gettext_noop("The JSON document is nested too deep.")) from error
    except ValueError as error:
        raise FeedProblem("malformed", f"The JSON document is broken ({str(error)[:150]}).") from error
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        raise FeedProblem(
            "not_a_feed", gettext_noop("This JSON document is no JSON Feed: it has no list of items.")
        )
    return {
        "title": found.get("title"),
        "link": found.get("home_page_url"),
        "language": found.get("language"),
        "entries": [_json_entry(item) for item in found["items"] if isinstance(item, dict)],
    }


def _json_entry(item: dict[str, Any]) -> dict[str, Any]:
    contents = (("text/html", item.get("content_html")), ("text/plain", item.get("content_text")))
    authors = item.get("authors") or [item.get("author")]
    author = authors[0] if isinstance(authors, list) and authors else None
    return {
        "id": item.get("id"),
        "link": item.get("url") or item.get("external_url"),
        "title": item.get("title"),
        "content": [{"type": kind, "value": value} for kind, value in contents if value],
        "description": item.get("summary"),
        "author": author.get("name") if isinstance(author, dict) else author,
        "language": item.get("language"),
        "published": item.get("date_published"),
        "updated": item.get("date_modified"),
        "tags": [{"term": tag} for tag in _list(item.get("tags"))],
        "enclosures": [
            _json_attachment(one) for one in _list(item.get("attachments")) if isinstance(one, dict)
        ],
        "image": item.get("image"),
        "banner_image": item.get("banner_image"),
    }


def _json_attachment(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "url": one.get("url"),
        "type": one.get("mime_type"),
        "length": one.get("size_in_bytes"),
        "duration": one.get("duration_in_seconds"),
    }


class _Body(NamedTuple):
    """The fullest body of an entry, and the address that its relative links count from ("": the entry's)."""

    text: str
    is_plain: bool
    base: str


def _feed(raw: Mapping[str, Any], url: str, *, ttl_minutes: int | None) -> ParsedFeed:
    """Return the feed in what a parser found; values of wrong types count as missing."""
    site = _link(raw.get("link"), base=url)
    entries, blank, markup = [], 0, 0
    for entry in raw["entries"][:ENTRIES_MAX]:
        body = _body(entry, base=_feed_base(raw, url))
        markup += 0 if body.is_plain else max(len(body.text), TAG_CHARS * body.text.count("<"))
        if parsed := _entry(
            entry,
            body,
            base=site or url,
            language=_text(raw.get("language")),
            with_html=not body.is_plain and markup <= MARKUP_MAX,
        ):
            entries.append(parsed)
        else:
            blank += 1
    return ParsedFeed(
        title=one_line(title_to_text(_text(raw.get("title"))), limit=200),
        site_url=site,
        entries=tuple(entries),
        dropped=max(len(raw["entries"]) - ENTRIES_MAX, 0),
        blank=blank,
        ttl_minutes=ttl_minutes,
    )


def _entry(
    raw: Mapping[str, Any], body: _Body, *, base: str, language: str, with_html: bool
) -> ParsedEntry | None:
    """Return one entry, or None where it has neither text nor a link."""
    guid, link = _text(raw.get("id")), _link(raw.get("link"), base=base)
    if not link and guid.startswith(("http://", "https://")):
        link = guid
    text = clean_text(body.text) if body.is_plain else html_to_text(body.text)
    title = title_to_text(_text(raw.get("title"))) or one_line(text, limit=UNTITLED_MAX_CHARS) or link[:500]
    if not title:
        return None
    own = body.base or link or base
    html, first = html_clean(body.text, base=own) if with_html else ("", "")
    enclosures = entry_enclosures(raw, base=own)
    return ParsedEntry(
        guid=guid,
        link=link,
        title=title,
        text=text,
        author=one_line(title_to_text(_text(raw.get("author"))), limit=AUTHOR_MAX_CHARS),
        language=one_line(clean_text(_text(raw.get("language") or language)), limit=LANGUAGE_MAX_CHARS),
        published=_published(raw),
        html=html,
        categories=entry_categories(raw),
        enclosures=enclosures,
        image=entry_image(raw, enclosures, base=own, first=first),
    )


def _body(raw: Mapping[str, Any], *, base: str) -> _Body:
    """Return an entry's content, else its description. An `xml:base` of its own counts from `base`."""
    for part in _list(raw.get("content")):
        value = _text(part.get("value")) if isinstance(part, Mapping) else ""
        if value.strip():
            if "xhtml" in _text(part.get("type")):
                value = _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", value)
            is_plain = part.get("type") in ("text", "text/plain") and "</" not in value
            return _Body(value, is_plain, _link(part.get("base"), base=base))
    return _Body(_text(raw.get("description") or raw.get("summary")), False, "")


def _feed_base(raw: Mapping[str, Any], url: str) -> str:
    """Return the `xml:base` of a feed, else its address."""
    detail = raw.get("title_detail")
    return _link(detail.get("base") if isinstance(detail, Mapping) else "", base=url) or url


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


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


def _published(raw: Mapping[str, Any]) -> datetime | None:
    """Return when an entry was published (else updated), in UTC; None where no date can be read."""
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
