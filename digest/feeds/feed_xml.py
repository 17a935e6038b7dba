"""Feed XML: read the fields of an RSS, RDF or Atom document with feedparser.

feedparser's sanitiser and link resolver are off, because we clean and resolve ourselves. `_Reading` differs
from feedparser only in names: a title or text of another vocabulary (Media RSS, iTunes, Dublin Core) is kept
apart from the entry's own, and a guid is never a link. A document that is not well-formed is repaired first
(named characters, bare ampersands, undeclared prefixes). If that is not enough, feedparser's loose parser
reads it.
"""

import html.entities
import io
import re
import xml.sax
import xml.sax.expatreader
import xml.sax.handler
import xml.sax.xmlreader
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from feedparser.api import LooseFeedParser, StrictFeedParser
from feedparser.mixin import _FeedParserMixin

from digest.feeds.entities import FeedProblem
from digest.feeds.sanitise import clean_text, one_line

Attributes = dict[str, Any]
# How a document was read, best first. `python -m tests.lab feeds` prints it beside each document.
STRICT: Final = "strict"
REPAIRED: Final = "repaired"
LOOSE: Final = "loose"

_XML_NAMES: Final = frozenset({"lt", "gt", "amp", "quot", "apos"})
# A CDATA section, a comment, ampersands before another one, or a reference. Each runs to its end or to the
# end of the document.
_REFERENCE: Final = re.compile(
    r"<!\[CDATA\[[^\]]*+(?:\](?!\]>)[^\]]*+)*+(?:\]\]>|\Z)|<!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z)"
    r"|&+(?=&)|&(?:(#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};)|([A-Za-z][A-Za-z0-9]{1,31});)?"
)
# Elements that hold text, and those that hold such elements.
_FIELD: Final = (
    r"(?:[A-Za-z]{1,10}:)?(?:title|link|guid|id|pubDate|date|published|updated|author|creator|name|email|uri"
    r"|category|comments|description|summary|subtitle|encoded|content|generator|language)"
)
_HOLDER: Final = r"(?:[A-Za-z]{1,10}:)?(?:item|entry|channel|feed|rss|RDF|image|author|source)"
_QUOTED: Final = (
    r"<!\[CDATA\[[^\]]*+(?:\](?!\]>)[^\]]*+)*+(?:\]\]>|\Z)|<!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z)"
)
# Either quoted text, or a field with its text and the tag that ends it, whatever its name.
_CLOSED: Final = re.compile(
    rf"{_QUOTED}|<(?P<name>{_FIELD})(?:\s[^<>]*+)?(?<!/)>(?P<text>(?:[^<]++|{_QUOTED})*+)"
    rf"(?:</(?:(?P<holder>{_HOLDER})|(?!{_FIELD}\s*>)[A-Za-z_][\w.:-]{{0,60}}+)\s*+>(?![^<]*</(?P=name)\s*>)"
    rf"|(?=<(?P<next>{_FIELD})(?:\s[^<>]*+)?>(?:[^<]++|{_QUOTED})*+</(?P=next)\s*>)"
    rf"|(?<=\s)(?=<(?:{_FIELD}|{_HOLDER})[\s>]))",
    re.IGNORECASE,
)
# A page's parser turns the address in a link into this.
_LINK_BEFORE: Final = re.compile(r"<link\s*+/>\s*+(https?://[^\s<>]++)")
_PREFIX: Final = re.compile(
    r"<([A-Za-z_][\w.-]{0,40}):[A-Za-z_]|\s([A-Za-z_][\w.-]{0,40}):[A-Za-z_][\w.-]{0,60}\s*="
)
_DECLARED: Final = re.compile(r"\sxmlns:([A-Za-z_][\w.-]{0,40})\s*=")
_CONTROLS: Final = re.compile("[\x80-\x9f]")
_ROOT: Final = re.compile(r"<[A-Za-z_][\w.:-]{0,60}(?=[\s>/])")
# The meanings of common prefixes that a document does not declare.
_NAMESPACES: Final = {
    **{prefix: uri for uri, prefix in _FeedParserMixin.namespaces.items() if prefix},
    **{"rss": "http://backend.userland.com/rss", "rss1": "http://purl.org/rss/1.0/"},
    **dict.fromkeys(("atom", "atom10", "a10", "feed"), "http://www.w3.org/2005/Atom"),
}
# The largest character, and those that XML forbids.
_LAST: Final = 0x10FFFF
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class _Text(str):
    """The text of an element."""

    __slots__ = ()

    def translate(self, table: Any) -> str:
        """Return the text with Windows-1252's characters instead of control codes.

        feedparser calls it for every text, which took a third of its time, though hardly any text has such
        codes.
        """
        return super().translate(table) if _CONTROLS.search(self) else self


class _Reading(_FeedParserMixin):  # type: ignore[misc]
    """Our differences from feedparser. Its dispatcher finds these methods by the names of elements."""

    # RFC 4287, 4.2.6.1: ids are compared letter by letter, so none counts from a base.
    can_be_relative_uri = _FeedParserMixin.can_be_relative_uri - {"id"}
    document_base = ""
    entries_max = 0
    is_atom_element = False
    media_groups = media_group = 0

    def resolve_uri(self, uri: str) -> str:
        """Return `uri` resolved by the current `xml:base`, or unchanged if there is none.

        Without one it is resolved against the site or the entry, which are known only later.
        """
        return uri if self.baseuri == self.document_base else super().resolve_uri(uri)

    def push_content(
        self, tag: str, attrs_d: Attributes, default_content_type: str, expecting_text: object
    ) -> None:
        """Begin a text. Note whether it declares its own type, and the current base."""
        super().push_content(tag, attrs_d, default_content_type, expecting_text)
        self.contentparams["declared"] = "type" in attrs_d or attrs_d.get("mode") == "escaped"
        self.contentparams["base"] = "" if self.baseuri == self.document_base else self.baseuri

    def decode_entities(self, element: str, data: str) -> str:
        """Return the text of an element. The loose parser resolves its references here."""
        return _Text(super().decode_entities(element, data))

    @staticmethod
    def looks_like_html(s: str) -> bool:
        """Leave the guess to `digest.feeds.parse`, for which no type is guessed here."""
        return False

    def handle_charref(self, ref: str) -> None:
        """Read a numeric reference. Drop one that names no character."""
        with suppress(ValueError, OverflowError):
            super().handle_charref(ref)

    def _sync_author_detail(self, key: str = "author") -> None:
        """Note an author given as one text. `digest.feeds.people` tells names from addresses."""
        context = self._get_context()
        found = context.get(f"{key}s")
        if found and not found[-1] and context.get(key):
            found[-1]["name"] = context[key]

    def _start_item(self, attrs_d: Attributes) -> None:
        if self.entries_max and len(self.entries) >= self.entries_max:
            raise _EnoughEntries
        super()._start_item(attrs_d)

    _start_entry = _start_item

    def _end_guid(self) -> None:
        self.pop("id")
        self._get_context()["is_link"] = bool(self.guidislink)

    def _end_id(self) -> None:
        self.pop("id")

    def _start_link(self, attrs_d: Attributes) -> None:
        context, has_type = self._get_context(), "type" in attrs_d
        before = context.get("link")
        super()._start_link(attrs_d)
        if not has_type and context.get("links"):
            context["links"][-1].pop("type", None)  # feedparser says "text/html" of every link without one
        # Atom's first alternate is the entry's link, but RSS's own link goes before all of them.
        if before and "href" in attrs_d and (self.is_atom_element or self.version.startswith("atom")):
            context["link"] = before

    def _start_media_group(self, attrs_d: Attributes) -> None:
        self.media_groups += 1
        self.media_group = self.media_groups

    def _end_media_group(self) -> None:
        self.media_group = 0

    def _start_media_content(self, attrs_d: Attributes) -> None:
        if self.media_group:
            attrs_d["group"] = self.media_group
        super()._start_media_content(attrs_d)

    def _start_itunes_author(self, attrs_d: Attributes) -> None:
        self.push("itunes_author", 1)

    def _end_itunes_author(self) -> None:
        self.pop("itunes_author")


def _own_text_methods(name: str, default_type: str) -> tuple[Any, Any]:
    """Return the methods that keep the text of an element under its own name, the first one of a kind."""

    def start(self: Any, attrs_d: Attributes) -> None:
        self.push_content(name, attrs_d, default_type, 1)

    def end(self: Any) -> None:
        context = self._get_context()
        before = {key: context[key] for key in (name, f"{name}_detail") if context.get(name)}
        self.pop_content(name)
        context.update(before)

    return start, end


for _name, _type in (
    ("media_title", "text/plain"),
    ("media_description", "text/plain"),
    ("itunes_title", "text/plain"),
    ("itunes_summary", "text/plain"),
    ("itunes_subtitle", "text/plain"),
    ("dc_title", "text/plain"),
    ("dc_description", "text/html"),
):
    _start, _end = _own_text_methods(_name, _type)
    setattr(_Reading, f"_start_{_name}", _start)
    setattr(_Reading, f"_end_{_name}", _end)


# How an element is treated. Either it is read by its name, or it is noted under a name that nothing asks for
# and known elements inside it are dropped, or it is markup within a text, which is read on.
_KNOWN: Final = "known"
_UNKNOWN: Final = "unknown"
_LEFT_OUT: Final = "left out"
_MARK: Final = "mark"
# Fields that hold no markup, by feedparser's names.
_LEAVES: Final = frozenset({"id", "link", "author", "published", "updated", "created", "category", "name"})


class _EnoughEntries(Exception):
    """As many entries were read as are kept."""


class _Strict(_Reading, StrictFeedParser):  # type: ignore[misc]
    """Reads well-formed documents. An element inside an unknown one is never an entry's title or text."""

    def __init__(self, base: str) -> None:
        # With another spelling of the name feedparser does not guess whether a text was encoded twice.
        super().__init__(base, None, "utf8")
        self.root_namespace: str | None = None
        # The treatment of each open element.
        self._open: list[str] = []

    def startElementNS(self, name: tuple[str | None, str], qname: str | None, attrs: Any) -> None:
        """Begin an element."""
        name = self._ours(name)
        self._open.append(self._deed(name))
        if self._open[-1] in (_KNOWN, _UNKNOWN):
            self.is_atom_element = name[0] == _NAMESPACES["atom"]
            super().startElementNS(name, qname, attrs)

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:
        """End an element."""
        if self._open.pop() in (_KNOWN, _UNKNOWN):
            super().endElementNS(self._ours(name), qname)

    def _ours(self, name: tuple[str | None, str]) -> tuple[str | None, str]:
        """Return the name of an element: one of another vocabulary, without a prefix, is none of ours."""
        namespace, local = name
        lowered = (namespace or "").lower()
        if self.root_namespace is None:
            self.root_namespace = lowered
        if not namespace or lowered in self._matchnamespaces:
            return name
        if "backend.userland.com/rss" in lowered:
            return "http://backend.userland.com/rss", local
        if lowered == self.root_namespace:
            return None, local
        has_prefix = any(prefix and uri == namespace for prefix, uri in self.namespaces_in_use.items())
        return name if self.incontent or has_prefix else (namespace, f"other_{local}")

    def _is_known(self, name: tuple[str | None, str]) -> bool:
        prefix = self._matchnamespaces.get((name[0] or "").lower())
        return prefix is not None and hasattr(
            self, f"_start_{f'{prefix}_' if prefix else ''}{name[1].lower()}"
        )

    def _deed(self, name: tuple[str | None, str]) -> str:
        """Return how to treat an element that begins here."""
        if self.incontent or self._is_known(name):
            is_entry = name[1].lower() in ("item", "entry")
            inside = self._open[-1] if self._open and not self.incontent and not is_entry else _KNOWN
            return _LEFT_OUT if inside in (_UNKNOWN, _LEFT_OUT) and (self.inentry or self.infeed) else _KNOWN
        if self._open and self._open[-1] == _LEFT_OUT:
            return _LEFT_OUT
        is_within = bool(self.elementstack) and self.elementstack[-1][0] in _LEAVES
        return _MARK if is_within else _UNKNOWN


class _Expat(xml.sax.expatreader.ExpatParser):
    """The parser of the standard library, which brings a text whole and not line by line: half the time."""

    def reset(self) -> None:
        """Begin a document."""
        super().reset()
        self._parser.buffer_text = True  # type: ignore[attr-defined]
        self._parser.buffer_size = 64 * 1024  # type: ignore[attr-defined]


class _Loose(_Reading, LooseFeedParser):  # type: ignore[misc]
    """Reads documents that are not well-formed."""

    def __init__(self, base: str) -> None:
        super().__init__(base, None, "utf8", {})


def feed_xml_read(text: str, *, url: str, entries_max: int) -> tuple[dict[str, Any], str]:
    """Return the feed's own fields, with its entries under "entries", and how the document was read.

    `text` has passed the checks and has no declaration and document type. `url` is its address. Raises
    `FeedProblem("malformed")`.
    """
    base = url if url.startswith(("http://", "https://")) else ""
    text = _LINK_BEFORE.sub(r"<link>\1</link>", text)
    found = _read_strictly(text, base, entries_max)
    path = STRICT
    if found is None:
        text, path = repair(text), REPAIRED
        found = _read_strictly(text, base, entries_max)
    if found is None:
        found, path = _read_loosely(text, base, entries_max), LOOSE
    if not found.entries and not found.version and not found.feeddata:
        raise malformed_problem("no feed is in it")
    # Of plain mappings nothing is read under another name: feedparser's own say "published" for "updated".
    entries = [dict(entry) for entry in found.entries]
    return {**found.feeddata, "version": found.version, "entries": entries}, path


def _prepare(parser: Any, base: str, entries_max: int) -> Any:
    parser.document_base = parser.baseuri = base
    parser.entries_max = entries_max
    parser.resolve_relative_uris = parser.sanitize_html = False
    return parser


def _read_strictly(text: str, base: str, entries_max: int) -> Any:
    """Return the parser that has read `text`, or None if it is not well-formed."""
    parser = _prepare(_Strict(base), base, entries_max)
    sax = _Expat()
    sax.setFeature(xml.sax.handler.feature_namespaces, 1)
    sax.setFeature(xml.sax.handler.feature_external_ges, 0)
    sax.setContentHandler(parser)
    sax.setErrorHandler(parser)
    source = xml.sax.xmlreader.InputSource()
    source.setByteStream(io.BytesIO(text.encode("utf-8", "replace")))
    source.setEncoding("utf-8")
    try:
        sax.parse(source)
    except _EnoughEntries:
        pass
    except xml.sax.SAXException:
        return None
    except MemoryError:
        raise
    except Exception as error:  # a parser of strangers' bytes may fail in ways its authors never listed
        raise malformed_problem(error) from error
    return parser


def _read_loosely(text: str, base: str, entries_max: int) -> Any:
    parser = _prepare(_Loose(base), base, entries_max)
    try:
        parser.feed(text)
    except _EnoughEntries:
        pass
    except MemoryError:
        raise
    except Exception as error:  # see above
        raise malformed_problem(error) from error
    return parser


def malformed_problem(error: object) -> FeedProblem:
    """Return the problem of a document that no parser reads."""
    message = f"The document cannot be read as a feed ({error})."
    return FeedProblem("malformed", one_line(clean_text(message), limit=280))


def repair(text: str) -> str:
    """Return a document in which XML knows every reference and prefix, and fields end. Linear time."""
    text = _CLOSED.sub(_closed, _REFERENCE.sub(_reference, text))
    used = {one for pair in _PREFIX.findall(text) for one in pair if one}
    missing = used - set(_DECLARED.findall(text)) - {"xml", "xmlns"}
    root = _ROOT.search(text) if missing else None
    if not root:
        return text
    names = "".join(
        f' xmlns:{one}="{_NAMESPACES.get(one, f"urn:undeclared:{one}")}"' for one in sorted(missing)
    )
    return f"{text[: root.end()]}{names}{text[root.end() :]}"


def _closed(found: re.Match[str]) -> str:
    """Return a field with the end that its name asks for, if another one ends it, or none does."""
    whole, name, text = found[0], found["name"], found["text"]
    if not name or not text.strip():
        return whole
    end = whole[found.end("text") - found.start() :]
    # Without any end tag, a new line ends a field, or a whole field after it. A tag that a title names has no
    # end: "Use <name> in a title".
    if not end and not found["next"] and "\n" not in text[len(text.rstrip()) :]:
        return whole
    return f"{whole[: len(whole) - len(end)]}</{name}>{end if found['holder'] else ''}"


def _reference(found: re.Match[str]) -> str:
    """Return a CDATA section or comment as it is, and a reference as XML knows it."""
    whole, number, name = found[0], found[1], found[2]
    if not whole.startswith("&"):
        return whole
    if number:
        code = int(number[2:-1], 16) if number[1] in "xX" else int(number[1:-1])
        return whole if 0 < code <= _LAST and not _FORBIDDEN.match(chr(code)) else ""
    if name and name not in _XML_NAMES:
        letters = html.entities.html5.get(f"{name};")
        return "".join(f"&#{ord(one)};" for one in letters) if letters else f"&amp;{name};"
    return whole if name else "&amp;" * len(whole)


def entries_left(text: str, found: Mapping[str, Any], entries_max: int) -> int:
    """Return how many entries of a document were not read because there are too many."""
    if len(found["entries"]) < entries_max:
        return 0
    return max(len(_ENTRY.findall(text)) - entries_max, 0)


_ENTRY: Final = re.compile(r"<(?:[A-Za-z]{1,10}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE)
