"""The world's sources as real feed files: RSS 2.0 (one of them gzipped), Atom 1.0, RSS 1.0 (RDF), JSON Feed.

The same `anchor` and `now` give the same bytes.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from email.utils import format_datetime
from html import escape
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from config.demo.world import Issued, WorldSource, items_issued, world_sources

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


def feeds_render(directory: Path, *, anchor: datetime, now: datetime) -> list[Path]:
    """Write one feed file per source into `directory`, in place of whatever is there; returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    paths = []
    for source in world_sources():
        path = directory / f"{source.key.split('.')[0]}.{_SUFFIXES[source.form]}"
        path.write_bytes(feed_body(source, anchor=anchor, now=now))
        paths.append(path)
    return paths


def feed_body(source: WorldSource, *, anchor: datetime, now: datetime) -> bytes:
    """The bytes of one source's feed as it stands at `now`."""
    return _WRITERS[source.form](source, items_issued(source, anchor=anchor, now=now))


def _rss(source: WorldSource, issued: Sequence[Issued]) -> bytes:
    root = Element("rss", {"version": "2.0"})
    channel = SubElement(root, "channel")
    _texts(channel, title=source.title, link=source.site, description=source.voice, language="en")
    for one in issued:
        node = SubElement(channel, "item")
        _texts(node, title=one.item.headline, link=one.url, description=_html(one))
        _texts(node, guid=one.url, pubDate=format_datetime(one.published))
    return _xml(root)


def _rss_gzipped(source: WorldSource, issued: Sequence[Issued]) -> bytes:
    return gzip.compress(_rss(source, issued), mtime=0)


def _atom(source: WorldSource, issued: Sequence[Issued]) -> bytes:
    root = Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": "en"})
    _texts(root, id=f"{source.site}/", title=source.title, updated=issued[0].published.isoformat())
    SubElement(root, "link", {"rel": "alternate", "href": source.site})
    for one in issued:
        node = SubElement(root, "entry")
        stamp = one.published.isoformat()
        _texts(node, id=_tag(one), title=one.item.headline, published=stamp, updated=stamp)
        SubElement(node, "link", {"rel": "alternate", "href": one.url})
        SubElement(node, "content", {"type": "html"}).text = _html(one)
    return _xml(root)


def _rdf(source: WorldSource, issued: Sequence[Issued]) -> bytes:
    spaces = {"xmlns": "http://purl.org/rss/1.0/", "xmlns:rdf": RDF, "xmlns:dc": DUBLIN_CORE}
    root = Element("rdf:RDF", spaces)
    channel = SubElement(root, "channel", {"rdf:about": source.site})
    _texts(channel, title=source.title, link=source.site, description=source.voice)
    order = SubElement(SubElement(channel, "items"), "rdf:Seq")
    for one in issued:
        SubElement(order, "rdf:li", {"rdf:resource": one.url})
        node = SubElement(root, "item", {"rdf:about": one.url})
        _texts(node, title=one.item.headline, link=one.url, description=_html(one))
        SubElement(node, "dc:date").text = one.published.isoformat()
    return _xml(root)


def _json(source: WorldSource, issued: Sequence[Issued]) -> bytes:
    items = [
        {
            "id": _tag(one),
            "url": one.url,
            "title": one.item.headline,
            "content_html": _html(one),
            "date_published": one.published.isoformat(),
        }
        for one in issued
    ]
    about = {"version": "https://jsonfeed.org/version/1.1", "title": source.title, "language": "en"}
    feed = {**about, "home_page_url": source.site, "description": source.voice, "items": items}
    return json.dumps(feed, ensure_ascii=False, indent=1).encode()


_WRITERS: dict[str, Callable[[WorldSource, Sequence[Issued]], bytes]] = {
    "rss": _rss,
    "rss.gz": _rss_gzipped,
    "atom": _atom,
    "rdf": _rdf,
    "json": _json,
}
_SUFFIXES = {"rss": "xml", "rss.gz": "xml.gz", "atom": "atom", "rdf": "rdf", "json": "json"}


def _texts(parent: Element, **texts: str) -> None:
    for tag, text in texts.items():
        SubElement(parent, tag).text = text


def _html(one: Issued) -> str:
    return f"<p>{escape(one.item.text, quote=False)}</p>"


def _tag(one: Issued) -> str:
    """A tag URI (RFC 4151): unique for ever, and no address."""
    return f"tag:{one.source.key},{one.published:%Y-%m-%d}:{one.item.slug}"


def _xml(root: Element) -> bytes:
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))
