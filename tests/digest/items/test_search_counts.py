"""Unread counts of saved searches: what they count, and that one statement counts them all."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.items import search_counts
from digest.items.listing import ReadFeed
from digest.items.reading import item_read, item_save
from digest.items.search import SearchFilters, SearchTooLong
from digest.items.search_counts import CountedSearch, searches_unread
from digest.models import Item, Reader, SavedSearch, Subscription
from digest.mutes.services import mutes_change
from ranking.entities import Mute
from tests.support.browser import fresh_item

LIMIT_S = search_counts.COUNTS_S


@pytest.fixture(autouse=True)
def has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let counts take their time, however busy this machine is."""
    monkeypatch.setattr(search_counts, "COUNTS_S", 30)


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def keep(reader: Reader, query: str, **filters: str) -> None:
    """Save a search of a reader."""
    SavedSearch.objects.create(
        reader=reader, query=query, order="best", filters=filters, created_at=timezone.now()
    )


def counts(page: Client) -> dict[str, int]:
    return {line.name: line.unread for line in page.get("/ui/all").context["searches"]}


def test_a_search_counts_the_unread_articles_of_thirty_days_that_it_finds(
    page: Client, ada: Reader, ben: Reader
):
    first = fresh_item(ada, title="Harbour news", text="Of a ferry.", categories=["Sea"])
    again = fresh_item(ada, title="Harbour news, too", key="other.example", author="Olga Rand")
    Item.objects.filter(pk=again.pk).update(article=first.article)
    fresh_item(ada, title="A harbour", key="other.example")
    fresh_item(ada, title="An old harbour", hours=31 * 24)
    fresh_item(ben, title="A harbour of another", key="third.example")
    read = fresh_item(ada, title="A harbour that was read")
    item_read(reader=ada, item_id=read.pk, now=timezone.now())
    item_save(reader=ada, item_id=first.pk, saved=True, now=timezone.now())
    Subscription.objects.filter(feed__source="other.example").update(folder="News")
    for query, filters in (
        ("harbour", {}),
        ("harb*", {"unread": "1"}),
        ("harbour -ferry", {}),
        ("harbour ferry", {"source": "gazette.example"}),
        ("harbour", {"folder": "News"}),
        ("harbour", {"folder": "Nowhere"}),
        ("harbour", {"category": "sea"}),
        ("harbour", {"author": "olga rand"}),
        ("harbour", {"saved": "1"}),
        ("harbour", {"until": "2020-01-01"}),
        ("harbuor", {}),
    ):
        keep(ada, query, **filters)
    keep(ben, "harbour")
    assert counts(page) == {
        "harbour": 2,
        "harb* · unread": 2,
        "harbour -ferry": 2,
        "harbour ferry · Gazette": 1,
        "harbour · News": 2,
        "harbour · Nowhere": 0,
        "harbour · sea": 1,
        "harbour · olga rand": 1,
        "harbour · saved": 1,
        "harbour · 2020-01-01": 0,
        "harbuor": 0,
    }
    side = page.get("/ui/all?side=1").content.decode()
    assert 'data-count="2"' in side.split("harbour</bdi>")[1][:90]


def test_what_is_muted_does_not_count(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour news")
    fresh_item(ada, title="Harbour crime")
    fresh_item(ada, title="Harbour", key="loud.example")
    keep(ada, "harbour")
    assert counts(page) == {"harbour": 3}
    for kind, value, left in (
        ("word", "crime", 2),
        ("source", "loud.example", 1),
        ("source", "gazette.example", 0),
    ):
        mutes_change(reader=ada, mute=Mute(kind, value), muted=True, now=timezone.now())
        assert counts(page) == {"harbour": left}


def test_whoever_hides_counts_gets_none(page: Client, ada: Reader):
    fresh_item(ada, title="Harbour news")
    keep(ada, "harbour")
    Reader.objects.update(hide_counts=True)
    assert counts(page) == {"harbour": 0}
    assert 'data-count="' not in page.get("/ui/all").content.decode()


@pytest.mark.parametrize("address", ["/ui/all", "/ui/all?side=1"])
def test_fifty_searches_cost_a_page_the_queries_of_one(page: Client, ada: Reader, address: str):
    fresh_item(ada, title="Harbour news", categories=["Sea"])
    mutes_change(reader=ada, mute=Mute("word", "crime"), muted=True, now=timezone.now())
    page.get(address)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            page.get(address)
        return len(queries)

    without = cost()
    keep(ada, "harbour", category="sea")
    one = cost()
    for n in range(49):
        keep(ada, f"harbour -word{n}", **({"folder": "News"} if n % 2 else {"author": "Olga"}))
    assert cost() == one
    # The statement, labels and mutes; PostgreSQL has four for the limit of its time.
    assert one - without <= (3 if connection.vendor == "sqlite" else 7)


def test_fifty_searches_in_a_folder_of_a_thousand_feeds_are_counted_in_one_statement(ada: Reader):
    item = fresh_item(ada, title="Harbour news")
    ids = (item.feed_id, *range(item.feed_id + 1, item.feed_id + 1000))
    feeds = [ReadFeed(item.feed_id, ids, "Gazette", "gazette.example", "Gazette", "News", "", "")]
    searches = {n: CountedSearch("harbour", SearchFilters(folder="News")) for n in range(50)}
    found = searches_unread(reader_id=ada.pk, searches=searches, feeds=feeds, now=timezone.now())
    assert found == dict.fromkeys(searches, 1)


def test_counts_that_take_too_long_are_left_out(page: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch):
    @contextmanager
    def stopped(seconds: float) -> Iterator[None]:
        yield
        raise SearchTooLong

    fresh_item(ada, title="Harbour news")
    keep(ada, "harbour")
    monkeypatch.setattr(search_counts, "in_time", stopped)
    assert counts(page) == {"harbour": 0} and LIMIT_S <= 0.5
