"""Prechecks: cheap, linear checks of the bytes of strangers before any parser gets them.

Every limit answers a measured cost: 200,000 nested elements took a common parser 17 s, an entity bomb
of 1 kB 7 s, one element with 300,000 attributes 60 s. Pure.
"""

import re
import zlib
from typing import Final

from digest.feeds.encodings import text_of
from digest.feeds.entities import FeedProblem
from ranking.language import gettext_noop

COMPRESSED_MAX_BYTES: Final = 5 * 1024 * 1024
BODY_MAX_BYTES: Final = 10 * 1024 * 1024
RATIO_MAX: Final = 100
# Small bodies may compress as well as they like.
RATIO_UNCHECKED_BYTES: Final = 1024 * 1024
# Archives in parts (`pigz`, `bgzip`) have some hundreds. zlib copies all that follows a member.
MEMBERS_MAX: Final = 1_000
PIECE_BYTES: Final = 64 * 1024
DEPTH_MAX = 256
TAGS_MAX: Final = 500_000
TAG_MAX_CHARS: Final = 64 * 1024
ATTRIBUTES_MAX: Final = 512
HEAD_CHARS: Final = 8192

GZIP_MAGIC: Final = b"\x1f\x8b"
# The last is a document of one Atom entry.
FEED_ROOTS: Final = frozenset({"rss", "feed", "rdf", "channel", "entry"})

_XML_DECLARATION: Final = re.compile(r"<\?xml\s[^>]{0,500}>")
_INVALID_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_START: Final = re.compile(r"<(?:\?xml|rss[\s>:]|feed[\s>]|rdf:rdf|channel[\s>]|entry[\s>])", re.IGNORECASE)
_DOCTYPE: Final = re.compile(r"<!DOCTYPE\s[^<>\[]{0,500}>", re.IGNORECASE)
_ENTITY: Final = re.compile(r"<!ENTITY", re.IGNORECASE)
_QUOTED: Final = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
# One token a match. Each alternative runs to its end or to the end of the document and never turns back
# (possessive), so the scan is linear. A tag ends at the first `>` outside quoted values. A quotation mark
# without a partner before the next `<` quotes nothing.
_TOKEN: Final = re.compile(
    r"<(?:!\[CDATA\[[^\]]*+(?:\](?!\]>)[^\]]*+)*+(?:\]\]>|\Z)"
    r"|!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z)"
    r"|\?[^?]*+(?:\?(?!>)[^?]*+)*+(?:\?>|\Z)"
    r"|(/?)([A-Za-z_][^\s<>/]*+)"
    r"([^<>=]*+(?:=\s*+(?:\"[^\"<]*+\"|'[^'<]*+')?+[^<>=]*+)*+))"
)
_SECTION: Final = "<![CDATA["
_SECTION_END: Final = "]]>"
# The tag before a CDATA section.
_ELEMENT_BEFORE: Final = re.compile(r"<([A-Za-z_][\w.:-]{0,60}+)(?:\s[^<>]*+)?>\s*+\Z")
_ELEMENT_MAX: Final = 300
# Up to this many tokens are listed at once (about 25 MB), which is faster. More are read one by one.
_LISTED_MAX: Final = 100_000


def decompress(body: bytes) -> bytes:
    """Return `body`, decompressed if it is gzip, within the size limits.

    An archive may have several members, and a server may have compressed an archive once more. Raises
    `FeedProblem`: `empty`, `too_large`, `malformed` (a broken archive).
    """
    if not body.startswith(GZIP_MAGIC):
        if len(body) > BODY_MAX_BYTES:
            raise FeedProblem("too_large", f"The document is larger than {BODY_MAX_BYTES >> 20} MiB.")
        return body
    if len(body) > COMPRESSED_MAX_BYTES:
        raise FeedProblem("too_large", f"The archive is larger than {COMPRESSED_MAX_BYTES >> 20} MiB.")
    limit = min(BODY_MAX_BYTES, max(RATIO_MAX * len(body), RATIO_UNCHECKED_BYTES))
    plain = _members(body, limit)
    return _members(plain, limit) if plain.startswith(GZIP_MAGIC) else plain


def _members(body: bytes, limit: int) -> bytes:
    """Return the members of a gzip archive joined, in linear time. Bytes after them are dropped."""
    parts, size, at, members = list[bytes](), 0, 0, 0
    while body.startswith(GZIP_MAGIC, at):
        stream, members = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), members + 1
        while not stream.eof:
            piece = body[at : at + PIECE_BYTES]
            try:
                parts.append(stream.decompress(piece, limit + 1 - size))
            except zlib.error as error:
                raise FeedProblem("malformed", f"The compressed document is broken ({error}).") from error
            size, at = size + len(parts[-1]), at + len(piece) - len(stream.unused_data)
            if size > limit or members > MEMBERS_MAX:
                raise FeedProblem(
                    "too_large", gettext_noop("The document grows beyond the limit when it is decompressed.")
                )
            if not piece and not stream.eof:
                raise FeedProblem("malformed", gettext_noop("The compressed document ends too early."))
    return b"".join(parts)


def decode(body: bytes, *, content_type: str = "") -> str:
    """Return `body` as text (see `digest.feeds.encodings`), without the characters that XML forbids.

    Raises `FeedProblem("empty")` if nothing is left.
    """
    read = text_of(body, content_type=content_type)
    text = _INVALID_XML.sub("", read).lstrip("\ufeff \t\r\n")
    if not text.strip():
        raise FeedProblem("empty", gettext_noop("The document is empty."))
    return text


def check_xml(text: str) -> str:
    """Check the XML document inside `text` and return it without its declaration.

    CDATA sections without an end are ended first, because they would hide the rest. Raises `FeedProblem`:
    `not_a_feed`, `entity_declaration`, `too_deep`, `too_complex`.
    """
    if text.count(_SECTION) > text.count(_SECTION_END):
        text = sections_ended(text)
    if _ENTITY.search(text) and _ENTITY.search(_QUOTED.sub("", text)):
        raise FeedProblem(
            "entity_declaration", gettext_noop("The document declares entities, which feeds must not.")
        )
    start = _START.search(text, 0, HEAD_CHARS)
    if start and not re.match(r"<!doctype\s+html|<html", text, re.IGNORECASE):
        text = text[start.start() :]
    local = _scan(text).rpartition(":")[2].lower()
    if local in ("html", "body", "head", "p", "div"):
        raise FeedProblem(
            "not_a_feed", gettext_noop("This is a web page, not a feed. Look for the site's feed address.")
        )
    if local not in FEED_ROOTS:
        raise FeedProblem("not_a_feed", gettext_noop("This document is neither RSS nor Atom nor JSON Feed."))
    return _DOCTYPE.sub("", _XML_DECLARATION.sub("", text, count=1), count=1)


def sections_ended(text: str) -> str:
    """Return a document in which each CDATA section that nothing ends ends with its element. Linear time.

    Such a section takes all that follows, up to the end of another one. An excerpt that a program cut often
    is one.
    """
    parts, done, at, end = list[str](), 0, text.find(_SECTION), -1
    while at >= 0:
        if end < at:
            end = text.find(_SECTION_END, at)
            end = len(text) if end < 0 else end
        element = _ELEMENT_BEFORE.search(text, max(at - _ELEMENT_MAX, 0), at)
        close = text.find(f"</{element[1]}", at, end) if element else -1
        if close >= 0 and (end == len(text) or text.find(_SECTION, close, end) >= 0):
            parts += [text[done:close], _SECTION_END]
            done = close
        elif end == len(text):
            break
        at = text.find(_SECTION, done if done > at else end)
    return "".join([*parts, text[done:]])


def _scan(text: str) -> str:
    """Check all tags in one pass. Return the name of the first element, or "" if there is none."""
    root, open_tags, tags = "", list[str](), 0
    listed = text.count("<") <= _LISTED_MAX
    tokens = _TOKEN.findall(text) if listed else map(re.Match.groups, _TOKEN.finditer(text))
    for close, name, rest in tokens:
        if not name:
            continue
        root, tags = root or name, tags + 1
        # The first length is all that most tags cost.
        heavy = len(rest) > ATTRIBUTES_MAX and (len(rest) > TAG_MAX_CHARS or rest.count("=") > ATTRIBUTES_MAX)
        if tags > TAGS_MAX or heavy:
            raise FeedProblem(
                "too_complex", gettext_noop("The document has more tags or attributes than any real feed.")
            )
        if close:
            if open_tags and open_tags[-1] == name:
                open_tags.pop()
            else:
                _close(open_tags, name)
        elif rest[-1:] != "/":
            open_tags.append(name)
            if len(open_tags) > DEPTH_MAX:
                raise FeedProblem("too_deep", f"Elements are nested more than {DEPTH_MAX} deep.")
    return root


def _close(open_tags: list[str], name: str) -> None:
    """Close `name` and the elements open inside it. Ignore an end tag without a start."""
    if name in open_tags:
        while open_tags.pop() != name:
            pass
