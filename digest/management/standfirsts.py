"""Items of captured feeds: all kinds of text, and those with a standfirst beside a full text."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import feedparser

from digest.feeds import FeedProblem
from digest.grounding import spaced
from digest.grounding_trials import Sample
from digest.parse import parse_document
from digest.sanitise import html_plain, title_plain

STANDFIRST_CHARS = (60, 500)
TEXT_CHARS_MIN = 600
# No feed may outweigh the others.
FEED_MAX = 12
BEGINNING = 40
# Cut-off beginnings and footers that blog software writes.
AUTOMATIC = ("…", "...", "[…]", "[...]", "appeared first on")


def standfirsts(folder: Path) -> Iterator[Sample]:
    """The samples in the `real-*` folders below `folder`, twelve of one feed at most, in order of name."""
    for path in sorted(folder.glob("real-*/*")):
        body = path.read_bytes()
        found = feedparser.parse(gzip.decompress(body) if path.suffix == ".gz" else body)
        samples = [sample for entry in found.entries if (sample := _sample(entry))]
        yield from samples[:FEED_MAX]


def feed_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """(title, text) of items that have any text, twelve of one feed at most; feeds we refuse are left out."""
    for path in sorted(folder.glob("real-*/*")):
        try:
            found = parse_document(path.read_bytes())
        except FeedProblem:
            continue
        yield from [(entry.title, entry.text) for entry in found.entries if entry.text][:FEED_MAX]


def _sample(entry: feedparser.FeedParserDict) -> Sample | None:
    content = entry.get("content") or [{}]
    text, said = html_plain(content[0].get("value", "")), spaced(html_plain(entry.get("summary", "")))
    low, high = STANDFIRST_CHARS
    if not low < len(said) < high or len(text) < TEXT_CHARS_MIN or said[:BEGINNING] in spaced(text):
        return None
    if said.endswith(AUTOMATIC) or AUTOMATIC[-1] in said:
        return None
    return Sample(title_plain(entry.get("title", "")), text, said)
