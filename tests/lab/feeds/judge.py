"""Judge whether our reading agrees with a suite's statement, or name the reason for another taste."""

import html
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import lxml.html
import nh3

from digest.feeds.entities import FeedProblem, ParsedEntry, ParsedFeed
from tests.lab.feeds.statements import Statement

AGREE, TASTE, PEER = "agree", "taste", "peer right"
_TEXTS = re.compile(
    rb"<(?:\w+:)?(?:summary|description|content|encoded|abstract|body)\b|\"(?:content_html|summary)\""
)
_PLAIN = re.compile(rb"type\s*=\s*[\"'](?:text|text/plain)[\"']")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a statement: agree, another taste (with its name), or the peer is right."""

    word: str
    taste: str = ""
    ours: str = ""


def judge(statement: Statement, read: ParsedFeed | FeedProblem) -> Verdict:
    """Return the verdict on a statement about a document that was read, or refused."""
    if isinstance(read, FeedProblem):
        return (
            Verdict(TASTE, "entities") if read.code == "entity_declaration" else Verdict(PEER, ours=read.code)
        )
    if statement.entry is not None and statement.entry >= len(read.entries):
        return Verdict(TASTE, "blank") if read.blank else Verdict(PEER, ours="no such entry")
    entry = None if statement.entry is None else read.entries[statement.entry]
    ours = _ours(statement, read, entry)
    if _is_same(statement, ours):
        return Verdict(AGREE, ours=str(ours))
    taste = _taste(statement, read, entry, ours)
    return Verdict(TASTE if taste else PEER, taste, str(ours))


def _ours(statement: Statement, read: ParsedFeed, entry: ParsedEntry | None) -> Any:
    if entry is None:
        return {
            "entries": len(read.entries),
            "feed title": read.title,
            "feed link": read.site_url,
        }[statement.field]
    return {
        "title": entry.title,
        "content": entry.text,
        "link": entry.link,
        "id": entry.guid,
        "author": entry.author,
        "date": entry.published,
        "category": entry.categories,
        "enclosure": [one.url for one in entry.enclosures],
    }[statement.field]


def _is_same(statement: Statement, ours: Any) -> bool:
    value = statement.value
    if statement.field in ("entries", "date") or isinstance(ours, datetime):
        return bool(value == ours)
    if statement.field == "author":
        names = {_squeezed(ours), *map(_squeezed, str(ours).split(", "))}
        return bool(names & _readings(value))
    if statement.field == "id":
        return bool(_readings(value) & _readings(ours))
    if statement.field in ("category", "enclosure"):
        return any(_readings(value) & _readings(one) for one in ours)
    if statement.field in ("title", "content", "feed title"):
        wanted = {_squeezed(value)} if _is_words(statement) else _readings(value)
        return _squeezed(ours) in wanted or any(
            len(one) > 190 and one.startswith(_squeezed(ours).rstrip("…")) for one in wanted
        )
    return _same_address(str(value), str(ours))


def _same_address(one: str, other: str) -> bool:
    return one.strip() == other.strip() or one.strip().rstrip("/") == other.strip().rstrip("/")


def _is_words(statement: Statement) -> bool:
    """Return whether a text is one by its document's own word, so that its tags are words."""
    return b"2005/Atom" in statement.document.body and bool(_PLAIN.search(statement.document.body))


def _readings(value: Any) -> set[str]:
    """Return a text as words, as HTML reads it, and with its references read once; without white space."""
    text = str(value)
    found = {_squeezed(text), _squeezed(html.unescape(text))}
    if "<" in text or "&" in text:
        with suppress(ValueError, lxml.etree.ParserError):
            found.add(_squeezed(lxml.html.fromstring(f"<div>{text}</div>").text_content()))
    return found


def _squeezed(value: Any) -> str:
    return re.sub(r"[\s\u200b\u00ad]+", "", str(value))


def _taste(statement: Statement, read: ParsedFeed, entry: ParsedEntry | None, ours: Any) -> str:
    """Return the taste by which we differ (docs/feeds.md has its reason), "" if the peer is right."""
    value = str(statement.value)
    if statement.field == "entries" and read.blank and statement.value == ours + read.blank:
        return "blank"
    if statement.field in ("link", "feed link") and urlsplit(value).scheme not in ("", "http", "https"):
        return "link"
    if statement.field == "author" and "@" in value and ours and _squeezed(ours) in _squeezed(value):
        return "address"
    name = statement.document.name
    if "content_location" in name or "content-location" in name:
        return "content-location"
    if statement.field == "id" and urlsplit(value).path.endswith(str(ours)):
        return "id as written"
    if statement.field == "category" and any(
        b'label="%s"' % one.encode() in statement.document.body for one in ours
    ):
        return "label"
    if special := _special(value):
        return special
    if b"base64" in statement.document.body or b"octet-stream" in statement.document.body:
        return "file"
    if statement.field == "content" and ours and not statement.said.count("content") and _has_two(statement):
        return "one text"
    if "linenoise" in name:
        return "broken bytes"
    if "iframe" in name and b"/iframe" in statement.document.body:
        return "frame"
    return "no text" if not ours and not _squeezed(_browser_text(html.unescape(value))) else ""


def _browser_text(markup: str) -> str:
    """Return the text that a browser shows for markup, by nh3, whose parser reads as browsers do."""
    return html.unescape(nh3.clean(markup, tags=set()))


def _special(value: str) -> str:
    """Return the special feature of a stated text: hidden characters, or HTML 4's brackets of a name."""
    if any(one in value for one in "\u200c\u200d\u200e\u200f"):
        return "invisible"
    return "names of HTML 5" if any(one in value for one in "\u2329\u232a\u3008\u3009") else ""


def _has_two(statement: Statement) -> bool:
    """Return whether a document gives an entry more than one text."""
    body = statement.document.body
    start = max(body.find(b"<item"), body.find(b"<entry"), body.find(b'"items"'))
    return len(_TEXTS.findall(body[start:])) > 1
