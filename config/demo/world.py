"""Read the demo's fictional sources and write their feeds: RSS 2.0 (one gzipped), Atom 1.0, RDF, JSON Feed.

The same `anchor` and `now` always give the same bytes.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from functools import cache
from html import escape
from pathlib import Path
from random import Random
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

WORLD_DIR = Path(__file__).parent / "world"
MONTH = timedelta(days=30)
# No source publishes before this hour (UTC). Such an item is published on the evening before.
NIGHT_ENDS, NIGHT_SHIFT = 5, timedelta(hours=6)
SLUG_WORDS = 7
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"


@dataclass(frozen=True, slots=True)
class WorldItem:
    """One item: a unique headline and a few sentences."""

    headline: str
    text: str

    @property
    def slug(self) -> str:
        """Return the headline's first seven words in the form of a URL."""
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in self.headline.lower()).split()
        return "-".join(words[:SLUG_WORDS])


@dataclass(frozen=True, slots=True)
class WorldSource:
    """A fictional publisher with its items, newest first. `form` is the format of its feed."""

    title: str
    site: str
    form: str
    cadence: str
    voice: str
    items: tuple[WorldItem, ...]

    @property
    def key(self) -> str:
        """Return the source's key, which is the domain of its site."""
        return urlsplit(self.site).netloc


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """An item with the URL and time of its publication."""

    item: WorldItem
    source: WorldSource
    url: str
    published: datetime


@cache
def world_sources() -> tuple[WorldSource, ...]:
    """Return all sources, in the order of file names."""
    return tuple(_source(path.read_text(encoding="utf-8")) for path in sorted(WORLD_DIR.glob("*.txt")))


def _source(text: str) -> WorldSource:
    head, *blocks = text.strip().split("\n\n")
    about = dict(line.split(": ", 1) for line in head.splitlines())
    items = tuple(WorldItem(*block.split("\n", 1)) for block in blocks)
    return WorldSource(
        about["title"], about["site"], about["format"], about["cadence"], about["voice"], items
    )


def items_published(source: WorldSource, *, anchor: datetime, now: datetime) -> list[PublishedItem]:
    """Return each item of `source` with its last publication before `now`, newest first.

    Each item is published again every month. `anchor` is the time of the first seeding, when the file's first
    item is the newest.
    """
    published_items = []
    for position, item in enumerate(source.items):
        published = _first_publication(source, position, anchor)
        published += MONTH * ((now - published) // MONTH)
        url = f"{source.site}/{published:%Y/%m/%d}/{item.slug}"
        published_items.append(PublishedItem(item, source, url, published))
    return sorted(published_items, key=lambda one: one.published, reverse=True)


def _first_publication(source: WorldSource, position: int, anchor: datetime) -> datetime:
    chance = Random(f"{source.key}/{position}")
    share = (position + chance.uniform(0.1, 0.9)) / len(source.items)
    published = (anchor - share * MONTH * 0.99).replace(second=0, microsecond=0)
    return published - NIGHT_SHIFT if published.hour < NIGHT_ENDS else published


def feed_files_write(directory: Path, *, anchor: datetime, now: datetime) -> list[Path]:
    """Delete the files in `directory`, write one feed file per source, and return the paths."""
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
    """Return the bytes of one source's feed at `now`."""
    return _WRITERS[source.form](source, items_published(source, anchor=anchor, now=now))


def _rss(source: WorldSource, published_items: Sequence[PublishedItem]) -> bytes:
    root = Element("rss", {"version": "2.0"})
    channel = SubElement(root, "channel")
    _texts(channel, title=source.title, link=source.site, description=source.voice, language="en")
    for one in published_items:
        node = SubElement(channel, "item")
        _texts(node, title=one.item.headline, link=one.url, description=_html(one))
        _texts(node, guid=one.url, pubDate=format_datetime(one.published))
    return _xml(root)


def _rss_gzipped(source: WorldSource, published_items: Sequence[PublishedItem]) -> bytes:
    return gzip.compress(_rss(source, published_items), mtime=0)


def _atom(source: WorldSource, published_items: Sequence[PublishedItem]) -> bytes:
    root = Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": "en"})
    _texts(root, id=f"{source.site}/", title=source.title, updated=published_items[0].published.isoformat())
    SubElement(root, "link", {"rel": "alternate", "href": source.site})
    for one in published_items:
        node = SubElement(root, "entry")
        stamp = one.published.isoformat()
        _texts(node, id=_tag(one), title=one.item.headline, published=stamp, updated=stamp)
        SubElement(node, "link", {"rel": "alternate", "href": one.url})
        SubElement(node, "content", {"type": "html"}).text = _html(one)
    return _xml(root)


def _rdf(source: WorldSource, published_items: Sequence[PublishedItem]) -> bytes:
    spaces = {"xmlns": "http://purl.org/rss/1.0/", "xmlns:rdf": RDF, "xmlns:dc": DUBLIN_CORE}
    root = Element("rdf:RDF", spaces)
    channel = SubElement(root, "channel", {"rdf:about": source.site})
    _texts(channel, title=source.title, link=source.site, description=source.voice)
    order = SubElement(SubElement(channel, "items"), "rdf:Seq")
    for one in published_items:
        SubElement(order, "rdf:li", {"rdf:resource": one.url})
        node = SubElement(root, "item", {"rdf:about": one.url})
        _texts(node, title=one.item.headline, link=one.url, description=_html(one))
        SubElement(node, "dc:date").text = one.published.isoformat()
    return _xml(root)


def _json(source: WorldSource, published_items: Sequence[PublishedItem]) -> bytes:
    items = [
        {
            "id": _tag(one),
            "url": one.url,
            "title": one.item.headline,
            "content_html": _html(one),
            "date_published": one.published.isoformat(),
        }
        for one in published_items
    ]
    about = {"version": "https://jsonfeed.org/version/1.1", "title": source.title, "language": "en"}
    feed = {**about, "home_page_url": source.site, "description": source.voice, "items": items}
    return json.dumps(feed, ensure_ascii=False, indent=1).encode()


_WRITERS: dict[str, Callable[[WorldSource, Sequence[PublishedItem]], bytes]] = {
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


def _html(one: PublishedItem) -> str:
    return f"<p>{escape(one.item.text, quote=False)}</p>"


def _tag(one: PublishedItem) -> str:
    """Return a tag URI (RFC 4151)."""
    return f"tag:{one.source.key},{one.published:%Y-%m-%d}:{one.item.slug}"


def _xml(root: Element) -> bytes:
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))
