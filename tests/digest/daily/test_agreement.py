"""An item that several of a reader's sources report ranks higher, and its page says how many do.

Only this reader's sources count.
"""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from digest.daily.item_words import score_explain
from digest.daily.presentation import items_score
from digest.daily.services import digest_build
from digest.models import Impression, Item, Reader, Story
from ranking.scoring import agreement, count_sources
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOURS = 30


def feed_read_by(*readers: Reader, source: str, url: str = ""):
    feed = FeedFactory(source=SourceFactory(key=source), url=url or f"https://{source}/feed.xml")
    for reader in readers:
        SubscriptionFactory(reader=reader, feed=feed)
    return feed


HEADLINES = (
    "Comet lands near Reykjavik harbour",
    "Reykjavik harbour: a comet lands at dawn",
    "Where the comet of Reykjavik harbour fell",
)


@pytest.fixture
def world(ada, ben, now) -> dict[str, Item]:
    """Return a story of yesterday in three of Ada's sources, of which Ben reads one, and a newer item."""
    feeds = [feed_read_by(ada, ben, source="a.example")]
    feeds += [feed_read_by(ada, source=f"{name}.example") for name in "bc"]
    at, story = now - timedelta(hours=HOURS), Story.objects.create(created_at=now, last_item_at=now)
    told = [
        ItemFactory(
            source=feed.source,
            feed=feed,
            title=HEADLINES[n],
            published_at=at,
            story=story,
        )
        for n, feed in enumerate(feeds)
    ]
    alone = feed_read_by(ada, ben, source="d.example")
    newer = ItemFactory(source=alone.source, feed=alone, title="Newer", published_at=at + timedelta(hours=3))
    return {"told": told[0], "newer": newer}


def shown(reader: Reader, now) -> list[Impression]:
    digest = digest_build(reader=reader, date=now.date(), now=now)
    return list(digest.impressions.select_related("item").order_by("rank"))


def words(row: Impression) -> tuple[list[str], dict[str, str]]:
    why = score_explain(row.parts, row.score, "A source")
    return list(why.chips), {line.words: line.figure for line in why.lines}


@pytest.mark.django_db
def test_what_three_of_my_sources_report_comes_before_what_is_a_little_newer(ada, now, world):
    first, second = shown(ada, now)
    assert (first.item.title, second.item_id) == (world["told"].title, world["newer"].pk)
    chips, lines = words(first)
    assert "3 of your sources" in chips
    assert lines["3 of your sources report it"] == "+ 0.16"
    assert first.score == approx(first.parts["recency"] * first.parts["interest"])
    assert not any("of your sources" in chip for chip in words(second)[0])


@pytest.mark.django_db
def test_who_reads_one_of_them_is_told_nothing_of_the_others(ben, now, world):
    first, second = shown(ben, now)
    assert (first.item_id, second.item_id) == (world["newer"].pk, world["told"].pk)
    assert [row.parts["reported_by"] for row in (first, second)] == [1, 1]
    assert not any(
        "of your sources" in word for row in (first, second) for word in [*words(row)[0], *words(row)[1]]
    )


@pytest.mark.django_db
def test_an_article_that_an_aggregator_carries_too_is_reported_by_two(ada, now):
    own = feed_read_by(ada, source="own.example")
    planet = feed_read_by(ada, source="planet.example")
    item = ItemFactory(source=own.source, feed=own, own=True, published_at=now - timedelta(hours=1))
    ItemFactory(source=planet.source, feed=planet, url=item.url, published_at=now - timedelta(hours=1))
    (row,) = shown(ada, now)
    assert row.parts["reported_by"] == 2


@pytest.mark.django_db
def test_two_feeds_of_one_source_are_one_source(ada, now):
    one = feed_read_by(ada, source="own.example")
    two = feed_read_by(ada, source="own.example", url="https://own.example/all.xml")
    item = ItemFactory(source=one.source, feed=one, published_at=now - timedelta(hours=1))
    ItemFactory(source=two.source, feed=two, url=item.url, published_at=now - timedelta(hours=1))
    (row,) = shown(ada, now)
    assert row.parts["reported_by"] == 1


@pytest.mark.django_db
def test_an_item_scored_on_a_page_of_its_own_has_the_score_of_the_digest(ada, ben, now, world):
    for reader in (ada, ben):
        in_digest = {row.item_id: (row.score, row.parts) for row in shown(reader, now)}
        items = list(Item.objects.filter(pk__in=in_digest))
        for entry in items_score(reader=reader, items=items, now=now):
            assert (entry.score, entry.parts) == in_digest[entry.item.pk]


def test_each_doubling_of_sources_counts_the_same_up_to_thirty_two():
    assert agreement(np.array([0, 1, 2, 4, 8, 32, 64])).tolist() == approx([0, 0, 0.1, 0.2, 0.3, 0.5, 0.5])


def test_a_score_that_was_stored_without_the_number_of_sources_is_explained_as_before():
    parts = {
        "source_weight": 1.0,
        "config_weight": 1.0,
        "learned_delta": 0.0,
        "age_hours": 1.0,
        "recency": 0.97,
    }
    parts |= {"topics": [], "boosts": {}, "similarity": 0.0, "community": 0.0, "interest": 1.0}
    why = score_explain(parts, 0.97, "A source")
    assert why.chips == ()
    assert [line.label for line in why.lines] == ["A source", "Freshness"]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), max_size=30))
def test_sources_of_a_story_are_counted_once_each(rows):
    stories, sources = (np.array([row[n] for row in rows], dtype=np.int64) for n in (0, 1))
    expected = [len({s for k, s in rows if k == story}) for story, _ in rows]
    assert count_sources(stories, sources).tolist() == expected
