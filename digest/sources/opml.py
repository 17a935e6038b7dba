"""OPML subscription lists (opml.org, 1.0 to 2.0): read the lists that readers have, write well-formed ones.

Most real lists are not well-formed: attributes contain bare ampersands, quotes and whole elements.
Well-formed XML goes through a strict parser. The rest is cut at its `outline` tags, and the needed attributes
are searched one by one, so a broken line costs only itself. Pure.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime
from typing import Final

from lxml import etree

from digest.errors import NotOpml, OpmlTooLarge
from digest.feeds.entities import FeedProblem
from digest.feeds.prechecks import decode
from digest.feeds.sanitise import attribute_read, clean_text, one_line
from ranking.language import gettext as _
from ranking.language import gettext_noop, thousands

OPML_BYTES_MAX: Final = 2 * 1024 * 1024
FEEDS_MAX: Final = 2_000
DEPTH_MAX: Final = 64
# No real outline comes near it.
OUTLINE_MAX_CHARS: Final = 16 * 1024
# lxml takes time quadratic in the attributes of an element to list them: 2 MiB of them take minutes.
ATTRIBUTES_MAX: Final = 100
TOO_LONG: Final = gettext_noop("The line is too long to be an outline.")
TITLE_MAX_CHARS: Final = 200
FOLDER_MAX_CHARS: Final = 100
FOLDER_SEPARATOR: Final = " / "

_DECLARATION: Final = re.compile(r"<\?xml[^<>]{0,500}+(?<=\?)>")
_CUT: Final = re.compile(
    r"<outline(?=[\s/>])|</outline\s*>|</body\s*>|</opml\s*>|<!--.*?(?:-->|\Z)", re.I | re.S
)
_ATTRIBUTE_NAMES: Final = (
    "text|title|xmlurl|htmlurl|url|type|description|category|language|version|created|icon|id|nick|"
    "iscomment|isbreakpoint|customtitle|archivemode|rssfr-[a-z-]+|[a-z]+:[a-z]+"
)
_ATTRIBUTE: Final = re.compile(rf"(?<![\w:.-])({_ATTRIBUTE_NAMES})\s*=\s*([\"'])", re.I)


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed of a list; `folder` is its path, joined by “ / ”, and `line` counts from 1.

    `description` is our own lists' text about a feed, beside its title, and `site` the address of the pages
    that the feed is about, if known. Neither is read.
    """

    url: str
    title: str
    folder: str
    line: int = 0
    description: str = ""
    site: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """A line of a list that brings no feed, with a stable `code` and the `reason`."""

    line: int
    code: str
    reason: str
    what: str


@dataclass(frozen=True, slots=True)
class FeedList:
    """A list that was read. `well_formed` is false if it was no XML."""

    title: str
    feeds: tuple[ListedFeed, ...]
    rejects: tuple[Reject, ...]
    well_formed: bool


@dataclass(frozen=True, slots=True)
class _Tag:
    """A start (`attributes`, their names in lower case) or an end (None) of an outline."""

    line: int
    attributes: Mapping[str, str] | None
    empty: bool = False
    broken: str = ""


def opml_read(document: bytes) -> FeedList:
    """Return the feeds of a list, at most 2,000, in its own order, and rejects with their lines.

    Raises `OpmlTooLarge` above 2 MiB, and `NotOpml` if there is no outline at all.
    """
    if len(document) > OPML_BYTES_MAX:
        raise OpmlTooLarge(
            _("The list is larger than {opml_bytes_max} MiB. Split it and import the parts.").format(
                opml_bytes_max=OPML_BYTES_MAX >> 20
            )
        )
    try:
        text = decode(document)
    except FeedProblem as problem:
        raise NotOpml(_("The file is empty.")) from problem
    tags = _read_strictly(text)
    feeds, rejects, outlines = _collect(_read_leniently(text) if tags is None else tags)
    if not outlines:
        raise NotOpml(_("This is no OPML list: it has no outlines. Export your feeds as OPML and try again."))
    found = re.search(r"<title>([^<]{1,500})", text[:8192], re.I)
    title = one_line(clean_text(html.unescape(found.group(1))), limit=TITLE_MAX_CHARS) if found else ""
    return FeedList(title, tuple(feeds), tuple(rejects), well_formed=tags is not None)


def _read_strictly(text: str) -> list[_Tag] | None:
    """Return the tags of well-formed XML that declares no entities; None for anything else."""
    if "<!entity" in text.lower():
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=False)
    try:
        root = etree.fromstring(_DECLARATION.sub("", text, count=1).encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    tags = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str) or etree.QName(element).localname.lower() != "outline":
            continue
        line = element.sourceline or 0
        if event == "end":
            tags.append(_Tag(line, None))
        elif len(element.attrib) > ATTRIBUTES_MAX:
            tags.append(_Tag(line, {}, broken=_(TOO_LONG)))
        else:
            tags.append(_Tag(line, {str(k).lower(): str(v) for k, v in element.attrib.items()}))
    return tags


def _read_leniently(text: str) -> Iterator[_Tag]:
    """Yield the tags of any text: each outline from its start to the next tag of the list."""
    cuts = [match for match in _CUT.finditer(text) if not match.group().startswith("<!--")]
    line, at = 1, 0
    for cut, following in zip(cuts, [*cuts[1:], None], strict=False):
        line, at = line + text.count("\n", at, cut.start()), cut.start()
        if cut.group().startswith("</"):
            yield _Tag(line, None)
            continue
        inside = text[cut.end() : following.start() if following else len(text)]
        if len(inside) > OUTLINE_MAX_CHARS:
            yield _Tag(line, {}, empty=True, broken=_(TOO_LONG))
            continue
        inside = inside.strip()
        found = _attributes(inside)
        lost = "xmlurl" in inside.lower() and "xmlurl" not in found
        broken = _("The address on this line cannot be told from the text around it.") if lost else ""
        yield _Tag(line, found, empty=inside.endswith("/>") or inside in ("", "/"), broken=broken)


def _attributes(inside: str) -> dict[str, str]:
    """Return the attributes of one tag, the first of each name; one pass.

    A value ends at the quote right before the next attribute that lists use, or before the end of the tag:
    quotes anywhere else belong to the value.
    """
    found: dict[str, str] = {}
    name, quote, start = "", "", 0
    for match in _ATTRIBUTE.finditer(inside):
        before = inside[start : match.start()].rstrip() if name else ""
        if name and not before.endswith(quote):
            continue  # text inside a value
        if name:
            found.setdefault(name, before[:-1])
        name, quote, start = match.group(1).lower(), match.group(2), match.end()
    rest = inside[start:].rstrip(" \t\r\n/>")
    if name and rest.endswith(quote):
        found.setdefault(name, rest[:-1])
    return {key: attribute_read(value) for key, value in found.items()}


def _collect(tags: Iterable[_Tag]) -> tuple[list[ListedFeed], list[Reject], int]:
    """Return the feeds in their folders, the rejects, and how many outlines there were."""
    feeds, rejects, path, outlines = list[ListedFeed](), list[Reject](), list[str](), 0
    childless: list[Reject | None] = []  # of the open outlines: why it is no feed, unless others are in it
    for tag in _escaped_once([*tags]):
        if tag.attributes is None:
            path = path[:-1]
            rejects += filter(None, [childless.pop()] if childless else [])
            continue
        outlines += 1
        childless[-1:] = [None] if childless else []
        name = _title(tag.attributes.get("text") or tag.attributes.get("title") or "")
        url = _address(tag.attributes)
        folder = FOLDER_SEPARATOR.join(part for part in path if part) or _category(tag.attributes)
        beyond = len(feeds) >= FEEDS_MAX
        if url and not beyond:
            feeds.append(ListedFeed(url, name, folder[:FOLDER_MAX_CHARS].rstrip(" /"), tag.line))
        reject = None if url and not beyond else _reject(tag, name, url)
        is_folder = reject is not None and reject.code == "no_address" and "xmlurl" not in tag.attributes
        if reject and (tag.empty or not is_folder):
            rejects.append(reject)
        if not tag.empty and len(path) < DEPTH_MAX:
            path.append("" if url else name)
            childless.append(reject if is_folder else None)
    rejects += filter(None, childless)
    return feeds, rejects, outlines


def _escaped_once(tags: list[_Tag]) -> list[_Tag]:
    """Return the tags of a list that escapes all it writes twice, as its addresses show, escaped once."""
    if not any("&amp;" in (tag.attributes or {}).get("xmlurl", "") for tag in tags):
        return tags
    return [
        replace(tag, attributes={name: html.unescape(text) for name, text in tag.attributes.items()})
        if tag.attributes
        else tag
        for tag in tags
    ]


def _reject(tag: _Tag, name: str, url: str) -> Reject | None:
    """Return why an outline brings no feed; None for a folder."""
    attributes = tag.attributes or {}
    if tag.broken:
        return Reject(tag.line, "unreadable", tag.broken, name)
    if url:
        return Reject(
            tag.line,
            "too_many",
            _("A list may hold {feeds_max} feeds; this is one more.").format(feeds_max=thousands(FEEDS_MAX)),
            url,
        )
    if {"xmlurl", "htmlurl"} & attributes.keys() or attributes.get("type", "").lower() in ("rss", "atom"):
        return Reject(tag.line, "no_address", _("This feed has no address."), name)
    if attributes.get("type", "").lower() in ("include", "link") and attributes.get("url"):
        what = attributes["url"][:200]
        return Reject(tag.line, "another_list", _("This points to another list, which is not fetched."), what)
    return None


def _address(attributes: Mapping[str, str]) -> str:
    """Return the address of a feed, "" if the outline is none. Some lists say `url`, or escape it twice."""
    is_feed = attributes.get("type", "").lower() in ("rss", "atom")
    url = attributes.get("xmlurl") or (is_feed and attributes.get("url")) or ""
    return url.strip().replace("&amp;", "&")


def _category(attributes: Mapping[str, str]) -> str:
    """Return the first folder an outline names itself, as in "/News/Local" or "News,Local"."""
    parts = attributes.get("category", "").split(",")[0].split("/")
    return FOLDER_SEPARATOR.join(name for part in parts if (name := _title(part)))


def _title(text: str) -> str:
    return one_line(clean_text(text), limit=TITLE_MAX_CHARS)


def opml_write(feeds: Iterable[ListedFeed], *, title: str, now: datetime | None = None) -> bytes:
    """Return an OPML 2.0 list, UTF-8: feeds without a folder first, then folder by folder, nested."""
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = title
    if now is not None:
        etree.SubElement(head, "dateCreated").text = format_datetime(now)
    folders: dict[tuple[str, ...], etree._Element] = {(): etree.SubElement(root, "body")}
    for feed in sorted(feeds, key=lambda feed: (feed.folder.casefold(), feed.title.casefold(), feed.url)):
        path = tuple(part for part in feed.folder.split(FOLDER_SEPARATOR) if part)
        outline = etree.SubElement(_folder(folders, path), "outline", type="rss")
        for name, value in (("text", feed.title or feed.url), ("title", feed.title), ("xmlUrl", feed.url)):
            outline.set(name, clean_text(value))
        if feed.site:
            outline.set("htmlUrl", clean_text(feed.site))
        if feed.description:
            outline.set("description", clean_text(feed.description))
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def _folder(folders: dict[tuple[str, ...], etree._Element], path: tuple[str, ...]) -> etree._Element:
    """Return the element of a folder. Create it with its parents if it is new."""
    if path not in folders:
        parent = _folder(folders, path[:-1])
        folders[path] = etree.SubElement(
            parent, "outline", text=clean_text(path[-1]), title=clean_text(path[-1])
        )
    return folders[path]
