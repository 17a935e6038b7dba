"""Items of captured feeds: all kinds of text, and those with a standfirst beside a full text."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import feedparser

from digest.feeds.entities import FeedProblem
from digest.feeds.parse import parse_document
from digest.feeds.sanitise import html_to_text, title_to_text
from digest.summaries.grounding import whitespace_collapse
from tests.lab.summaries.trials import Sample

STANDFIRST_CHARS = (60, 500)
TEXT_CHARS_MIN = 600
# No feed may outweigh the others.
FEED_MAX = 12
BEGINNING = 40
# Cut-off beginnings and footers that blog software writes.
AUTOMATIC = ("…", "...", "[…]", "[...]", "appeared first on")


def standfirsts(folder: Path) -> Iterator[Sample]:
    """Yield the samples in the `real-*` folders below `folder`, twelve of one feed at most, in order of
    name."""
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
    text, said = (
        html_to_text(content[0].get("value", "")),
        whitespace_collapse(html_to_text(entry.get("summary", ""))),
    )
    low, high = STANDFIRST_CHARS
    if (
        not low < len(said) < high
        or len(text) < TEXT_CHARS_MIN
        or said[:BEGINNING] in whitespace_collapse(text)
    ):
        return None
    if said.endswith(AUTOMATIC) or AUTOMATIC[-1] in said:
        return None
    return Sample(title_to_text(entry.get("title", "")), text, said)
