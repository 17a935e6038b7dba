"""Documents ingested together leave the same rows as one after the other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.feeds.dedupe import IngestPlan, KnownItem, identify_entries, plan_ingest
from digest.feeds.entities import IngestResult, ParsedEntry, ParsedFeed
from digest.feeds.identity import article_hash
from digest.feeds.ingest import documents_ingest, feed_get_or_create
from digest.models import Feed, Item
from tests.support.thinned import examples

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
    """Return the reports and rows after reading the three publishers on some days."""
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
    columns = ("feed__url", "guid", "url", "article", "own", "source_id", "title", "text", "first_seen_at")
    return results, set(Item.objects.values_list(*columns))


@pytest.mark.django_db
@settings(max_examples=examples(60))
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


def plan(*entries: tuple[str, str, str], by_guid=(), by_article=()) -> IngestPlan:
    """Return the plan for a document of (guid, link, title), given its feed's stored items."""
    parsed = [ParsedEntry(guid, link, title, "", "", "", NOW) for guid, link, title in entries]
    at_address: dict[int, list[KnownItem]] = {}
    for item in by_article:
        at_address.setdefault(item.article, []).append(item)
    return plan_ingest(
        identify_entries(parsed), by_guid={item.guid: item for item in by_guid}, by_article=at_address
    )


LINK = "https://rivers.example/a"


def test_a_known_entry_is_stored_again_only_where_its_words_changed():
    same = identify_entries([ParsedEntry("1", LINK, "Rain", "", "", "", NOW)])["1"]
    known = KnownItem(7, "1", author="", fingerprint=same.fingerprint)
    assert plan(("1", LINK, "Rain"), by_guid=[known]) == IngestPlan()
    assert list(plan(("1", LINK, "Rain, corrected"), by_guid=[known]).update) == [7]
    assert plan(("1", LINK, "Rain"), by_guid=[KnownItem(0, "1")]) == IngestPlan()  # pruned


def test_a_post_with_a_new_guid_each_time_is_stored_once():
    known = KnownItem(7, "1", article_hash(LINK), "RAIN", "", "print")
    changed = plan(("2", LINK, "Rain"), by_article=[known])
    assert (changed.create, changed.update[7].guid) == ([], "2")
    assert plan(("1", LINK, "Rain"), ("2", LINK, "Rain"), by_guid=[known], by_article=[known]).create == []
    assert len(plan(("1", LINK, "Rain"), ("2", LINK, "Rain")).create) == 1


def test_another_title_at_a_known_address_is_another_item_by_a_urn():
    known = KnownItem(7, "1", article_hash(LINK), "Sun", "", "print")
    (new,) = plan(("2", LINK, "Rain"), by_article=[known]).create
    assert new.url.startswith("urn:tidings:") and new.article == article_hash(new.url)
    stored = KnownItem(8, "2", new.article, "Rain", "", new.fingerprint)
    again = plan(("3", LINK, "Rain"), by_article=[known, stored])
    assert (again.create, again.update[8].guid) == ([], "3")
