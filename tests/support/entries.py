"""Entries of small documents, as the parser reads them."""

import json

from digest.feeds.entities import ParsedEntry, ParsedFeed
from digest.feeds.parse import parse_document

SPACES = " ".join(
    (
        'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"',
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"',
        'xmlns:a="http://www.w3.org/2005/Atom"',
    )
)
URL = "https://ada.example/feed"


def read(body: str, url: str = URL) -> ParsedFeed:
    """Return the document as read."""
    return parse_document(body.encode(), url=url)


def rss(inner: str, head: str = "") -> ParsedEntry:
    """Return the entry of an RSS document with these elements; `head` are those of its channel."""
    return read(
        f'<rss version="2.0" {SPACES}><channel><title>Ada</title>{head}<item>{inner}</item></channel></rss>'
    ).entries[0]


def atom(inner: str, head: str = "", root: str = "") -> ParsedEntry:
    """Return the entry of an Atom document with these elements; `head` are those of its feed."""
    start = f'<feed xmlns="http://www.w3.org/2005/Atom" {SPACES} {root}><title>Ada</title>{head}'
    return read(f"{start}<entry>{inner}</entry></feed>").entries[0]


def json_entry(**item: object) -> ParsedEntry:
    """Return the entry of a JSON Feed with these fields."""
    return read(json.dumps({"items": [item]})).entries[0]
