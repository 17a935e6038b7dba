"""New items are compared with their neighbours once, and readers learn who else tells a story of theirs."""

from datetime import timedelta

import pytest

from digest.models import Cluster, Item
from digest.selectors.clusters import cluster_mates
from digest.services import clusters
from digest.services.clusters import clusters_update
from tests.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOUR = timedelta(hours=1)
MINERS = (
    "Miners found alive after nine days under ground in Chile",
    "Chile: trapped miners found alive nine days after collapse",
    "Trapped miners in Chile found alive after nine days",
)


def tell(now, title: str, source: str, hours: float = 1, **fields) -> Item:
    return ItemFactory(
        source=SourceFactory(key=source), title=title, published_at=now - hours * HOUR, **fields
    )


@pytest.fixture
def others(db, now) -> None:
    for n, title in enumerate(("Parliament debates pension reform", "Storm damages harbour and villages")):
        tell(now, title, f"other{n}.example")


def read(reader, *keys: str) -> None:
    for key in keys:
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))


def test_items_that_tell_one_story_share_a_cluster_and_the_others_have_none(now, others):
    one, two = (tell(now, title, f"s{n}.example") for n, title in enumerate(MINERS[:2]))
    report = clusters_update(now=now)
    assert report.as_dict() == {"compared": 4, "clustered": 2, "begun": 1}
    story = Cluster.objects.get()
    assert set(Item.objects.filter(cluster=story)) == {one, two}
    assert story.last_item_at == now - HOUR
    assert not Item.objects.filter(clustered_at=None).exists()


def test_a_second_update_finds_nothing_to_do(now, others, django_assert_num_queries):
    for n, title in enumerate(MINERS):
        tell(now, title, f"s{n}.example")
    clusters_update(now=now)
    before = list(Item.objects.order_by("pk").values())
    with django_assert_num_queries(3):  # savepoint, what is new, release
        assert clusters_update(now=now + HOUR).compared == 0
    assert list(Item.objects.order_by("pk").values()) == before


def test_a_later_item_joins_the_story_there_is(now, others):
    first, _ = (tell(now, title, f"s{n}.example", hours=9) for n, title in enumerate(MINERS[:2]))
    clusters_update(now=now - HOUR)
    late = tell(now, MINERS[2], "late.example", hours=0)
    assert clusters_update(now=now).as_dict() == {"compared": 1, "clustered": 1, "begun": 0}
    late.refresh_from_db()
    assert late.cluster_id == Item.objects.get(pk=first.pk).cluster_id
    assert Cluster.objects.get().last_item_at == now


def test_a_known_item_without_a_story_begins_one_with_a_new_one(now, others):
    tell(now, MINERS[0], "s0.example", hours=9)
    clusters_update(now=now - HOUR)
    tell(now, MINERS[1], "s1.example", hours=0)
    assert clusters_update(now=now).as_dict() == {"compared": 1, "clustered": 2, "begun": 1}


def test_the_same_words_are_one_story_and_bare_headlines_of_two_words_are_not(now, others):
    a, b = (
        tell(now, "Links", key, text="The same text.", fingerprint="f" * 64)
        for key in ("a.example", "b.example")
    )
    tell(now, "Weekend reading", "c.example", fingerprint="e" * 64)
    tell(now, "Weekend reading", "d.example", fingerprint="e" * 64)
    clusters_update(now=now)
    assert set(Item.objects.exclude(cluster=None)) == {a, b}


def test_what_no_digest_reaches_any_more_is_not_compared(now, others):
    old = tell(now, MINERS[0], "s0.example", hours=24 * 8)
    clusters_update(now=now)
    assert Item.objects.get(pk=old.pk).clustered_at is None


def test_many_new_items_go_in_steps_and_come_to_the_same(now, others, monkeypatch):
    made = [tell(now, title, f"s{n}.example", hours=5 - n) for n, title in enumerate(MINERS)]
    monkeypatch.setattr(clusters, "FRESH_MAX", 1)
    assert clusters_update(now=now).as_dict() == {"compared": 5, "clustered": 3, "begun": 1}
    assert set(Cluster.objects.get().items.all()) == set(made)


@pytest.mark.parametrize("count", [10, 300])
def test_an_update_takes_as_many_queries_however_many_items(
    now, others, count, django_assert_max_num_queries
):
    for n, title in enumerate(MINERS):
        tell(now, title, f"s{n}.example")
    ItemFactory.create_batch(count)
    with django_assert_max_num_queries(16):
        clusters_update(now=now)


# --- who else tells it --------------------------------------------------------------------------------


@pytest.fixture
def story(now, others) -> list[Item]:
    made = [tell(now, title, f"s{n}.example", hours=n) for n, title in enumerate(MINERS)]
    clusters_update(now=now)
    return made


def test_mates_are_the_other_sources_of_a_story_the_newest_first(ada, story):
    read(ada, "s0.example", "s1.example", "s2.example")
    mates = cluster_mates(reader_id=ada.pk, item_ids=[story[0].pk])
    assert [mate.item_id for mate in mates[story[0].pk]] == [story[1].pk, story[2].pk]
    first = mates[story[0].pk][0]
    assert (first.title, first.source, first.url) == (story[1].title, "S1", story[1].url)


def test_nobody_is_told_of_sources_they_do_not_read(ada, ben, story):
    read(ada, "s0.example", "s1.example")
    read(ben, "s0.example")
    assert [m.item_id for m in cluster_mates(reader_id=ada.pk, item_ids=[story[0].pk])[story[0].pk]] == [
        story[1].pk
    ]
    assert cluster_mates(reader_id=ben.pk, item_ids=[story[0].pk]) == {}


def test_mates_of_a_page_take_two_queries(ada, story, django_assert_num_queries):
    read(ada, "s0.example", "s1.example", "s2.example")
    alone = ItemFactory().pk
    with django_assert_num_queries(2):
        assert {*cluster_mates(reader_id=ada.pk, item_ids=[*(i.pk for i in story), alone])} == {
            item.pk for item in story
        }
    with django_assert_num_queries(1):
        assert cluster_mates(reader_id=ada.pk, item_ids=[alone]) == {}
