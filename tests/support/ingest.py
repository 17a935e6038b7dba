"""Ingest of a single document."""

from datetime import datetime

from digest.feeds.entities import IngestResult, ParsedFeed
from digest.feeds.ingest import documents_ingest
from digest.feeds.parse import parse_document
from digest.models import Feed


def document_ingest(*, feed: Feed, body: bytes, now: datetime, url: str = "") -> IngestResult:
    """Parse a document of `feed` and store its items. Raises `FeedProblem` if the document is refused."""
    return parsed_ingest(feed=feed, parsed=parse_document(body, url=url or feed.url), now=now)


def parsed_ingest(*, feed: Feed, parsed: ParsedFeed, now: datetime) -> IngestResult:
    """Store the items of a document of `feed` that is parsed."""
    return documents_ingest(documents=[(feed, parsed)], now=now)[0]
