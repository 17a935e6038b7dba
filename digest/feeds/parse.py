"""Parse: turn the bytes of a feed document into plain entries. RSS 0.9x to 2.0, RDF, Atom 0.3 and 1.0, JSON
Feed.

The content decides the format, never a name or a header. `FeedProblem` is the only exception for any bytes.
Every document is decoded, checked and read in the sandbox, within two seconds of processor time and 300 MiB:
a parser of strangers' bytes may be slow or greedy in ways its authors never listed, and must not stop a
thread of the site.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from digest.feeds.body_html import html_clean
from digest.feeds.body_parts import body_prepared, plain_layout
from digest.feeds.dates import date_read
from digest.feeds.entities import ParsedEntry, ParsedFeed
from digest.feeds.feed_json import JSON, feed_json_read
from digest.feeds.media import entry_categories, entry_enclosures, entry_image
from digest.feeds.people import people_named
from digest.feeds.polling import document_ttl_minutes
from digest.feeds.prechecks import check_xml, decode, decompress
from digest.feeds.sandbox import parse_in_sandbox
from digest.feeds.sanitise import (
    FIELD_MAX_CHARS,
    clean_text,
    guess_to_text,
    has_markup,
    html_to_text,
    one_line,
    references_read,
    signs_left_once,
    signs_left_read,
    text_cut,
    unwrap,
)
from digest.feeds.titles import title_clean

ENTRIES_MAX: Final = 2_000
AUTHOR_MAX_CHARS: Final = 200
LANGUAGE_MAX_CHARS: Final = 20
UNTITLED_MAX_CHARS: Final = 100
# Characters of markup cleaned per document, in most feeds that of the newest entries. Later entries keep
# plain text only. A tag takes about 3 µs, so it counts as at least `TAG_CHARS` characters.
MARKUP_MAX: Final = 3 * 1024 * 1024
TAG_CHARS: Final = 20
# Characters read of a body for its words, of which 64 KiB are kept. Bodies without HTML are read up to that
# size.
BODY_MAX_CHARS: Final = 1024 * 1024
# A description replaces the content if it has this many times more words and at least this many characters.
FULLER: Final = 1.5
BODY_CHARS_MIN: Final = 40
# "en", "en-GB", "zh_Hant_TW". No language has a code of more than three letters, so "English" is none.
_LANGUAGE_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}")
_ANY_TAG: Final = re.compile(r"<[^<>]*+>")
# The places of an entry's text if it has no content. Other vocabularies come last.
_PLAIN_SUMMARIES: Final = ("summary", "dc_description", "itunes_summary")
_SUMMARIES: Final = (
    *_PLAIN_SUMMARIES[:2],
    "media_description",
    _PLAIN_SUMMARIES[2],
    "itunes_subtitle",
    "subtitle",
)
_TITLES: Final = ("title", "dc_title", "itunes_title", "media_title")
_WEB: Final = ("http://", "https://")
_NO_DETAIL: Final[Mapping[str, Any]] = {}


def parse_document(body: bytes, *, url: str = "", content_type: str = "") -> ParsedFeed:
    """Read one feed document. `url` is its address, for relative links.

    `content_type` is its header, which may name the encoding. Raises `FeedProblem` with one of the codes
    `empty`, `too_large`, `entity_declaration`, `too_deep`, `too_complex`, `not_a_feed`, `malformed`, or one
    of `parse_in_sandbox`.
    """
    return parse_in_sandbox(decompress(body), url=url, content_type=content_type)


def document_text(body: bytes, *, content_type: str = "") -> str:
    """Return the text of a document once it has passed every check. Raises as `parse_document` does."""
    text = decode(body, content_type=content_type)
    return check_xml(text) if _is_xml(text) else text


def parse_checked(text: str, *, url: str) -> ParsedFeed:
    """Read a document that passed the checks, in this process.

    Raises `FeedProblem`: `not_a_feed`, `malformed`, `too_deep`.
    """
    if not _is_xml(text):
        return _feed(feed_json_read(text), url, ttl_minutes=None)
    # feedparser and more, which the parent never needs.
    from digest.feeds.feed_xml import LOOSE, entries_left, feed_xml_read  # noqa: PLC0415

    raw, path = feed_xml_read(text, url=url, entries_max=ENTRIES_MAX)
    left = entries_left(text, raw, ENTRIES_MAX)
    feed = _feed(raw, url, ttl_minutes=document_ttl_minutes(text), left=left)
    return replace(feed, is_broken=path == LOOSE)


def _is_xml(text: str) -> bool:
    return text[:1] not in ("{", "[")


# Its short feeds call a text plain that is HTML without the tags: "Tell&amp;nbsp;at".
BLOGGER: Final = "Blogger"


class _Body(NamedTuple):
    """The fullest body of an entry, and the address that its relative links count from ("": the entry's)."""

    text: str
    is_plain: bool
    base: str


def _feed(raw: Mapping[str, Any], url: str, *, ttl_minutes: int | None, left: int = 0) -> ParsedFeed:
    """Build the feed from a parser's fields. Values of a wrong type count as missing."""
    url = url or _self(raw)
    site = _link(raw.get("link") or _mapping(raw.get("image")).get("link"), base=url)
    entries, blank, markup = [], 0, 0
    for entry in raw["entries"][:ENTRIES_MAX]:
        body = _body(entry, _version(raw))
        if body.is_plain and _text(raw.get("generator")) == BLOGGER:
            body = body._replace(text=references_read(body.text))
        markup += max(len(body.text), TAG_CHARS * body.text.count("<"))
        with_html = markup <= MARKUP_MAX
        if parsed := _entry(entry, body, feed=raw, base=site or url, with_html=with_html):
            entries.append(parsed)
        else:
            blank += 1
    return ParsedFeed(
        title=one_line(title_clean(_title(raw, _version(raw))), limit=200),
        site_url=site,
        entries=tuple(entries),
        dropped=max(len(raw["entries"]) - ENTRIES_MAX, 0) + left,
        blank=blank,
        ttl_minutes=ttl_minutes,
    )


def _entry(
    raw: Mapping[str, Any], body: _Body, *, feed: Mapping[str, Any], base: str, with_html: bool
) -> ParsedEntry | None:
    """Return one entry, or None if it has neither text nor a link."""
    guid, link = _text(raw.get("id")), _link(_named_link(raw), base=base)
    if not link.startswith(_WEB) and guid.startswith(_WEB) and raw.get("is_link", True):
        link = guid
    link = link or _link(raw.get("comments"), base=base)
    read = clean_text if body.is_plain else html_to_text
    limit = BODY_MAX_CHARS if with_html else FIELD_MAX_CHARS
    text = text_cut(read(body.text, limit=limit), is_cut=len(body.text) > limit)
    title = _title(raw, _version(feed)) or one_line(text, limit=UNTITLED_MAX_CHARS) or link[:500]
    if not title:
        return None
    own = body.base or link or base
    shown = plain_layout(body.text) if body.is_plain else body.text
    html, first = html_clean(shown, base=own, plain=body.is_plain) if with_html else ("", "")
    enclosures = entry_enclosures(raw, base=own)
    return ParsedEntry(
        guid=guid,
        link=link,
        title=title,
        text=text,
        author=people_named(
            raw, _mapping(raw.get("source")), feed, limit=AUTHOR_MAX_CHARS, is_plain=_is_typed(_version(feed))
        ),
        language=_language(raw, feed),
        published=date_read(*(_text(raw.get(name)) for name in ("published", "updated", "created"))),
        html=html,
        categories=entry_categories(raw),
        enclosures=enclosures,
        image=entry_image(raw, enclosures, base=own, first=first),
    )


def _is_typed(version: str) -> bool:
    """Return whether a format says of each text of which type it is, and of names that they are words."""
    return version == JSON or version.startswith("atom")


def _version(feed: Mapping[str, Any]) -> str:
    return _text(feed.get("version"))


def _title(raw: Mapping[str, Any], version: str) -> str:
    """Return the title of a feed or an entry as text on one line, "" if it has none."""
    for name in _TITLES:
        value, detail = _text(raw.get(name)), _mapping(raw.get(f"{name}_detail"))
        kind = _text(detail.get("type"))
        if "xhtml" in kind or (kind == "text/html" and version.startswith("atom")):
            text = html_to_text(value)
        elif version == JSON:
            text = clean_text(references_read(value))
        elif version.startswith("atom"):
            text = clean_text(value)
        else:
            text = guess_to_text(value)
        if text:
            return one_line(clean_text(signs_left_read(text)))
    return ""


def _body(raw: Mapping[str, Any], version: str) -> _Body:
    """Return an entry's fullest body: its content, unless a description says much more.

    Texts of other vocabularies, such as that of a picture, count only if there is nothing else.
    """
    body: _Body | None = None
    for name, value, detail in _bodies(raw):
        if (
            not value.strip()
            or (body and name not in _PLAIN_SUMMARIES)
            or (body and len(value) <= len(body.text[:BODY_CHARS_MIN]) * FULLER)
        ):
            continue
        found = _read_body(value, detail, version)
        if found and (body is None or _word_chars(found) > max(_word_chars(body), BODY_CHARS_MIN) * FULLER):
            body = found
    return body or _Body("", True, "")


def _word_chars(body: _Body) -> int:
    """Return about how many characters of words a body has."""
    text = body.text[:FIELD_MAX_CHARS]
    return len(" ".join((text if body.is_plain else _ANY_TAG.sub(" ", text)).split()))


def _bodies(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the texts of an entry, each with the name of its element and its details, content first."""
    for part in _list(raw.get("content")):
        if isinstance(part, Mapping):
            yield "content", _text(part.get("value")), part
    for name in _SUMMARIES:
        yield name, _text(raw.get(name)), _mapping(raw.get(f"{name}_detail"))


def _read_body(value: str, detail: Mapping[str, Any], version: str) -> _Body | None:
    """Return a text as markup or as words, or None for a picture or another file in the document."""
    kind, base = _text(detail.get("type")) or "text/html", _text(detail.get("base"))
    # RSS knows no types, and an Atom text without one is HTML in many feeds.
    is_typed = version == JSON or (version.startswith("atom") and bool(detail.get("declared")))
    is_markup = kind == "text/html" or kind.endswith(("+xml", "/xml"))
    if not is_markup and not kind.startswith("text/"):
        return None
    if is_typed and not is_markup:
        return _Body(value, True, base)
    value = unwrap(value)
    if "xml" in kind or is_typed or has_markup(value, lone=True):
        return _Body(body_prepared(signs_left_once(value)), False, base)
    return _Body(signs_left_read(references_read(value)), True, base)


def _self(raw: Mapping[str, Any]) -> str:
    """Return the address that a feed gives as its own, or "". For a document without a known address."""
    links = (_mapping(one) for one in _list(raw.get("links")))
    found = (_text(one.get("href")).strip() for one in links if one.get("rel") == "self")
    return next((href for href in found if href.startswith(_WEB)), "")


def _named_link(raw: Mapping[str, Any]) -> str:
    """Return the link of an entry: the publisher's own, which FeedBurner and Pheedo name beside theirs."""
    own = (_text(raw.get(name)).strip() for name in ("feedburner_origlink", "pheedo_origlink"))
    return (
        next((link for link in own if link.startswith(_WEB)), "") or _text(raw.get("link")) or _alternate(raw)
    )


def _alternate(raw: Mapping[str, Any]) -> str:
    """Return the first alternate link of an entry, of any type, such as a PDF, or "" if there is none."""
    links = [_mapping(one) for one in _list(raw.get("links"))]
    return next(
        (_text(one.get("href")) for one in links if one.get("rel") == "alternate" and one.get("href")), ""
    )


def _language(raw: Mapping[str, Any], feed: Mapping[str, Any]) -> str:
    """Return the language of an entry: its own, that of its text or title (`xml:lang`), else the feed's.

    A screen reader chooses its voice by it, so what is no language tag is left out.
    """
    content = _list(raw.get("content"))
    parts = [*content[:1], raw.get("summary_detail"), raw.get("title_detail"), feed]
    named = (_text(_mapping(part).get("language")).strip() for part in (raw, *parts))
    fitting = (tag for tag in named if len(tag) <= LANGUAGE_MAX_CHARS and _LANGUAGE_TAG.fullmatch(tag))
    return next(fitting, "").replace("_", "-")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else _NO_DETAIL


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _link(value: object, *, base: str) -> str:
    link = _text(value).strip()
    if not link or not base.startswith(_WEB):
        return link
    try:
        return urljoin(base, link)
    except ValueError:
        return ""  # brackets that are no IPv6 address
