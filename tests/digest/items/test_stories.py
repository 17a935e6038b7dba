"""New items are compared once, and readers see the other sources of a story."""

from datetime import timedelta

import pytest
from django.utils import timezone

from digest.items import stories
from digest.items.stories import items_related, stories_update
from digest.models import Item, Story
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOUR = timedelta(hours=1)
MINERS = (
    "Miners found alive after nine days under ground in Chile",
    "Chile: trapped miners found alive nine days after collapse",
    "Trapped miners in Chile found alive after nine days",
)


def item_of(now, title: str, source: str, hours: float = 1, **fields) -> Item:
    return ItemFactory(
        source=SourceFactory(key=source), title=title, published_at=now - hours * HOUR, **fields
    )


@pytest.fixture
def others(db, now) -> None:
    for n, title in enumerate(("Parliament debates pension reform", "Storm damages harbour and villages")):
        item_of(now, title, f"other{n}.example")


def subscribe_to(reader, *keys: str) -> None:
    for key in keys:
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))


def test_items_of_one_story_share_a_row_and_other_items_have_none(now, others):
    one, two = (item_of(now, title, f"s{n}.example") for n, title in enumerate(MINERS[:2]))
    report = stories_update(now=now)
    assert report.as_dict() == {"compared": 4, "clustered": 2, "begun": 1}
    story = Story.objects.get()
    assert set(Item.objects.filter(story=story)) == {one, two}
    assert story.last_item_at == now - HOUR
    assert not Item.objects.filter(clustered_at=None).exists()


def test_a_second_update_finds_nothing_to_do(now, others, django_assert_num_queries):
    for n, title in enumerate(MINERS):
        item_of(now, title, f"s{n}.example")
    stories_update(now=now)
    before = list(Item.objects.order_by("pk").values())
    with django_assert_num_queries(1):  # the new items
        assert stories_update(now=now + HOUR).compared == 0
    assert list(Item.objects.order_by("pk").values()) == before


def test_a_later_item_joins_an_existing_story(now, others):
    first, _ = (item_of(now, title, f"s{n}.example", hours=9) for n, title in enumerate(MINERS[:2]))
    stories_update(now=now - HOUR)
    late = item_of(now, MINERS[2], "late.example", hours=0)
    assert stories_update(now=now).as_dict() == {"compared": 1, "clustered": 1, "begun": 0}
    late.refresh_from_db()
    assert late.story_id == Item.objects.get(pk=first.pk).story_id
    assert Story.objects.get().last_item_at == now


def test_a_known_item_and_a_new_one_start_a_story(now, others):
    item_of(now, MINERS[0], "s0.example", hours=9)
    stories_update(now=now - HOUR)
    item_of(now, MINERS[1], "s1.example", hours=0)
    assert stories_update(now=now).as_dict() == {"compared": 1, "clustered": 2, "begun": 1}


def test_equal_texts_are_one_story_and_equal_headlines_of_two_words_are_not(now, others):
    a, b = (
        item_of(now, "Links", key, text="The same text.", fingerprint="f" * 64)
        for key in ("a.example", "b.example")
    )
    item_of(now, "Weekend reading", "c.example", fingerprint="e" * 64)
    item_of(now, "Weekend reading", "d.example", fingerprint="e" * 64)
    stories_update(now=now)
    assert set(Item.objects.exclude(story=None)) == {a, b}


def test_items_older_than_the_window_are_not_compared(now, others):
    old = item_of(now, MINERS[0], "s0.example", hours=24 * 8)
    stories_update(now=now)
    assert Item.objects.get(pk=old.pk).clustered_at is None


def test_many_new_items_in_batches_give_the_same_stories(now, others, monkeypatch):
    made = [item_of(now, title, f"s{n}.example", hours=5 - n) for n, title in enumerate(MINERS)]
    monkeypatch.setattr(stories, "FRESH_MAX", 1)
    assert stories_update(now=now).as_dict() == {"compared": 5, "clustered": 3, "begun": 1}
    assert set(Story.objects.get().items.all()) == set(made)


@pytest.mark.parametrize("count", [10, 300])
def test_an_update_takes_as_many_queries_however_many_items(
    now, others, count, django_assert_max_num_queries
):
    for n, title in enumerate(MINERS):
        item_of(now, title, f"s{n}.example")
    ItemFactory.create_batch(count)
    with django_assert_max_num_queries(16):
        stories_update(now=now)


# --- other sources of a story -------------------------------------------------------------------------


@pytest.fixture
def story(now, others) -> list[Item]:
    made = [item_of(now, title, f"s{n}.example", hours=n) for n, title in enumerate(MINERS)]
    stories_update(now=now)
    return made


def test_other_sources_of_a_story_are_listed_newest_first(ada, story):
    subscribe_to(ada, "s0.example", "s1.example", "s2.example")
    mates = items_related(reader_id=ada.pk, item_ids=[story[0].pk], now=timezone.now())
    assert [mate.item_id for mate in mates[story[0].pk]] == [story[1].pk, story[2].pk]
    first = mates[story[0].pk][0]
    assert (first.title, first.source, first.url) == (story[1].title, "S1", story[1].url)


def test_what_the_same_source_posted_again_is_listed_after_the_others(ada, now, others):
    subscribe_to(ada, "s0.example", "s1.example")
    first = item_of(now, MINERS[0], "s0.example", hours=3)
    again = item_of(now, f"{MINERS[0]} again", "s0.example", hours=1)
    apart = item_of(now, MINERS[2], "s0.example", hours=1)
    other = item_of(now, MINERS[1], "s1.example", hours=2)
    stories_update(now=now)
    found = items_related(reader_id=ada.pk, item_ids=[first.pk, apart.pk], now=timezone.now())
    assert [mate.item_id for mate in found[first.pk]] == [other.pk, again.pk]
    assert apart.pk not in found, "another headline of the source stands by itself"


def test_sources_the_reader_does_not_subscribe_to_are_not_listed(ada, ben, story):
    subscribe_to(ada, "s0.example", "s1.example")
    subscribe_to(ben, "s0.example")
    assert [
        m.item_id
        for m in items_related(reader_id=ada.pk, item_ids=[story[0].pk], now=timezone.now())[story[0].pk]
    ] == [story[1].pk]
    assert items_related(reader_id=ben.pk, item_ids=[story[0].pk], now=timezone.now()) == {}


def test_other_sources_of_a_page_take_four_queries(ada, story, django_assert_num_queries):
    subscribe_to(ada, "s0.example", "s1.example", "s2.example")
    alone = ItemFactory().pk
    with django_assert_num_queries(4):
        assert {
            *items_related(reader_id=ada.pk, item_ids=[*(i.pk for i in story), alone], now=timezone.now())
        } == {item.pk for item in story}
    with django_assert_num_queries(1):
        assert items_related(reader_id=ada.pk, item_ids=[alone], now=timezone.now()) == {}
