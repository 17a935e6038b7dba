"""Documents kept together leave what they leave one after the other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.arrivals import Delivery, KnownEntry, KnownItem, arrivals_of, plan
from digest.feeds import ParsedEntry, ParsedFeed
from digest.models import Feed, FeedEntry, Item
from digest.reports import IngestResult
from digest.services.ingest import documents_keep, feed_ensure

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
MORNINGS = st.lists(st.tuples(*(DOCUMENTS for _ in HOSTS)), min_size=1, max_size=3)


def left(mornings: list[tuple[ParsedFeed, ...]], *, together: bool) -> tuple[object, ...]:
    """What is reported and stored after each of the three publishers was read on some mornings."""
    Item.objects.all().delete()
    Feed.objects.all().delete()
    feeds = [feed_ensure(url=f"https://{host}/feed", now=NOW) for host in HOSTS]
    results: list[IngestResult] = []
    for n, morning in enumerate(mornings):
        documents, now = list(zip(feeds, morning, strict=True)), NOW + timedelta(days=n)
        if together:
            results += documents_keep(documents=documents, now=now)
        else:
            results += [documents_keep(documents=[one], now=now)[0] for one in documents]
    columns = ("url", "source_id", "title", "text", "fingerprint", "first_seen_at")
    entries = FeedEntry.objects.values_list("feed__url", "guid", "item__url")
    return results, set(Item.objects.values_list(*columns)), set(entries)


@pytest.mark.django_db
@settings(max_examples=60)
@given(MORNINGS)
def test_many_documents_leave_what_each_leaves_after_the_other(mornings):
    assert left(mornings, together=True) == left(mornings, together=False)


@pytest.mark.django_db
def test_the_number_of_statements_does_not_grow_with_the_documents(django_assert_max_num_queries):
    for round_, size in enumerate((2, 30)):
        feeds = [feed_ensure(url=f"https://p{round_}-{n}.example/feed", now=NOW) for n in range(size)]
        entry = ParsedEntry("1", "", "Rain", "", "", "", NOW)
        documents = [
            (feed, ParsedFeed("Rivers", feed.url, (replace(entry, text=feed.url),))) for feed in feeds
        ]
        with django_assert_max_num_queries(16):
            kept = documents_keep(documents=documents, now=NOW)
        assert [one.items_new for one in kept] == [1] * size


def arrival(link: str, title: str, guid: str = "1") -> Delivery:
    entry = ParsedEntry(guid, link, title, "", "", "", NOW)
    return Delivery(1, "https://rivers.example/feed", "rivers.example", arrivals_of([entry]))


def test_a_publisher_takes_over_what_an_aggregator_brought_in_the_same_plan():
    link = "https://rivers.example/a"
    aggregator = replace(arrival(link, "Look!"), feed_id=2, feed_url="", source_id="planet.example")
    made = plan([aggregator, arrival(link, "Rain")], entries={}, items={})
    (new,) = made.create.values()
    assert (new.words.entry.title, new.source_id) == ("Rain", "rivers.example")
    assert (made.created, made.updated) == ([[link], []], [0, 1])


def test_words_change_only_where_the_feed_may_speak():
    mine = arrival("https://rivers.example/a", "Rain")
    for speaks, changed in ((True, [7]), (False, [])):
        known = {(1, "1"): KnownEntry(7, "rivers.example", "old", speaks)}
        assert list(plan([mine], entries=known, items={}).update) == changed


def test_a_name_of_its_own_is_looked_up_where_a_link_is_shared():
    home = "https://rivers.example/"
    items = {home: KnownItem(7, home, "Sun", "rivers.example", frozenset({1}))}
    made = plan([arrival(home, "Rain")], entries={}, items=items)
    assert made.unasked == set(made.create) and all(url.startswith("urn:tidings:") for url in made.create)
