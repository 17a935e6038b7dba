"""Documents ingested together leave what they leave one after the other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.feeds.dedupe import FeedDocument, KnownEntry, KnownItem, identify_entries, plan_ingest
from digest.feeds.entities import IngestResult, ParsedEntry, ParsedFeed
from digest.feeds.ingest import documents_ingest, feed_get_or_create
from digest.models import Feed, FeedEntry, Item

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
# Two publishers, an aggregator of both, and few enough names that documents meet in every way.
HOSTS = ("rivers.example", "gazette.example", "planet.example")
LINKS = ["", *(f"https://{host}/{path}" for host in HOSTS[:2] for path in ("a", "b"))]
ENTRIES = st.builds(
    ParsedEntry,
    guid=st.sampled_from(["", "1", "2", "3"]),
    link=st.sampled_from(LINKS),
    title=st.sampled_from(["Rain", "RAIN", "Sun"]),
    text=st.sampled_from(["", "wet", "dry"]),
    author=st.just(""),
    language=st.just(""),
    published=st.just(NOW),
)
DOCUMENTS = st.lists(ENTRIES, max_size=5).map(lambda entries: ParsedFeed("", "", tuple(entries)))
DAYS = st.lists(st.tuples(*(DOCUMENTS for _ in HOSTS)), min_size=1, max_size=3)


def result_of(days: list[tuple[ParsedFeed, ...]], *, together: bool) -> tuple[object, ...]:
    """Return what is reported and stored after the three publishers were read on some days."""
    Item.objects.all().delete()
    Feed.objects.all().delete()
    feeds = [feed_get_or_create(url=f"https://{host}/feed", now=NOW) for host in HOSTS]
    results: list[IngestResult] = []
    for n, day in enumerate(days):
        documents, now = list(zip(feeds, day, strict=True)), NOW + timedelta(days=n)
        if together:
            results += documents_ingest(documents=documents, now=now)
        else:
            results += [documents_ingest(documents=[one], now=now)[0] for one in documents]
    columns = ("url", "source_id", "title", "text", "fingerprint", "first_seen_at")
    entries = FeedEntry.objects.values_list("feed__url", "guid", "item__url")
    return results, set(Item.objects.values_list(*columns)), set(entries)


@pytest.mark.django_db
@settings(max_examples=60)
@given(DAYS)
def test_many_documents_leave_what_each_leaves_after_the_other(days):
    assert result_of(days, together=True) == result_of(days, together=False)


@pytest.mark.django_db
def test_the_number_of_statements_does_not_grow_with_the_documents(django_assert_max_num_queries):
    for round_, size in enumerate((2, 30)):
        feeds = [feed_get_or_create(url=f"https://p{round_}-{n}.example/feed", now=NOW) for n in range(size)]
        entry = ParsedEntry("1", "", "Rain", "", "", "", NOW)
        documents = [
            (feed, ParsedFeed("Rivers", feed.url, (replace(entry, text=feed.url),))) for feed in feeds
        ]
        with django_assert_max_num_queries(16):
            results = documents_ingest(documents=documents, now=NOW)
        assert [one.items_new for one in results] == [1] * size


def document(link: str, title: str, guid: str = "1") -> FeedDocument:
    entry = ParsedEntry(guid, link, title, "", "", "", NOW)
    return FeedDocument(1, "https://rivers.example/feed", "rivers.example", identify_entries([entry]))


def test_a_publisher_takes_over_what_an_aggregator_brought_in_the_same_plan():
    link = "https://rivers.example/a"
    aggregator = replace(document(link, "Look!"), feed_id=2, feed_url="", source_id="planet.example")
    plan = plan_ingest([aggregator, document(link, "Rain")], entries={}, items={})
    (new,) = plan.create.values()
    assert (new.content.entry.title, new.source_id) == ("Rain", "rivers.example")
    assert (plan.created, plan.updated) == ([[link], []], [0, 1])


def test_text_changes_only_where_the_feed_brought_the_item():
    mine = document("https://rivers.example/a", "Rain")
    for is_first, changed in ((True, [7]), (False, [])):
        known = {(1, "1"): KnownEntry(7, "rivers.example", "old", is_first)}
        assert list(plan_ingest([mine], entries=known, items={}).update) == changed


def test_a_urn_is_looked_up_where_a_link_is_shared():
    home = "https://rivers.example/"
    items = {home: KnownItem(7, home, "Sun", "rivers.example", frozenset({1}))}
    plan = plan_ingest([document(home, "Rain")], entries={}, items=items)
    assert plan.unchecked == set(plan.create) and all(url.startswith("urn:tidings:") for url in plan.create)
