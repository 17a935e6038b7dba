"""The open documents, mutated by seed: nothing but a `FeedProblem`, and a second time changes nothing.

This is a sample. `make test-mutations` reads all of them here, and 10,000 mutations within their limits.
"""

from pathlib import Path

import pytest

from digest.feeds.entities import FeedProblem, ParsedFeed
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.parse import parse_document
from digest.models import Item
from tests.support.documents import SPARED, documents, mutations, spared
from tests.support.ingest import parsed_ingest

SAMPLE = 250 // SPARED


def read(body: bytes) -> ParsedFeed | None:
    try:
        return parse_document(body, url="https://r.example/feed")
    except FeedProblem as problem:
        assert problem.code
        assert problem.message
        return None


def test_mutated_documents_are_read_or_refused():
    feeds = [read(body) for _, body in mutations(documents(None), n=SAMPLE, seed=1)]
    assert SAMPLE * 0.3 < sum(feed is not None for feed in feeds) < SAMPLE


@pytest.mark.data
def test_every_captured_document_is_read_or_refused_with_a_code(data_dir: Path):
    captured = {name: body for name, body in documents(data_dir).items() if name.startswith("real-")}
    names, read = spared(captured, seed=3), 0
    for name in names:
        try:
            read += bool(parse_document(captured[name]).entries)
        except FeedProblem as problem:
            assert problem.code in {"not_a_feed", "malformed", "entity_declaration", "empty"}, name
    assert read > 0.85 * len(names) > 35


@pytest.mark.alike
@pytest.mark.data
@pytest.mark.django_db
def test_a_second_ingest_of_any_document_changes_nothing(data_dir: Path, now):
    bodies = documents(data_dir)
    some = [(name, bodies[name]) for name in spared(bodies, seed=2)]
    mutated = mutations(bodies, n=SAMPLE, seed=2)
    feeds = {name: feed for name, body in [*some, *mutated] if (feed := read(body))}
    assert len(feeds) > 0.7 * len(some) > 300
    for name, parsed in feeds.items():
        parsed_ingest(feed=feed_get_or_create(url=f"file:{name}", now=now), parsed=parsed, now=now)
    before = Item.objects.count()
    for name, parsed in feeds.items():
        result = parsed_ingest(feed=feed_get_or_create(url=f"file:{name}", now=now), parsed=parsed, now=now)
        assert (result.items_new, result.items_updated) == (0, 0), name
    assert Item.objects.count() == before
