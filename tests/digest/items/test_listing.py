"""Lists of items: each article once and in order through all pages, filters, unread counts, exact undo."""

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from digest.daily.best import best_ids, best_key, best_page
from digest.items.listing import (
    ListFilter,
    ListKey,
    Span,
    feeds_among,
    feeds_read,
    filter_feeds,
    list_ids,
    list_key,
    list_read,
    unread_counts,
)
from digest.items.reading import item_read, item_save, item_unread, readings_for, readings_undo
from digest.items.selectors import article_rank
from digest.models import Feed, Item, Reader, Reading, Subscription
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
ALL = ListFilter()
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def feed(reader: Reader, key: str, folder: str = "", path: str = "feed.xml") -> Feed:
    made = FeedFactory(source=SourceFactory(key=key), url=f"https://{key}/{path}")
    SubscriptionFactory(reader=reader, feed=made, folder=folder)
    return made


def item(of: Feed, at, **fields: object) -> Item:
    return ItemFactory(feed=of, source=of.source, published_at=at, **fields)


def walk(reader: Reader, now, size: int, chosen: ListFilter = ALL) -> list[int]:
    """Return all pages of a list, one after the other."""
    feeds = filter_feeds(feeds_read(reader_id=reader.pk), chosen)
    found: list[int] = []
    after = None
    while True:
        span = Span(after)
        page = list_ids(reader_id=reader.pk, feeds=feeds, chosen=chosen, now=now, limit=size + 1, span=span)
        found += page[:size]
        if len(page) <= size:
            return found
        last = Item.objects.get(pk=page[size - 1])
        after = list_key(str(ListKey(last.dated_at, last.pk)))


def walk_best(reader: Reader, now, size: int, chosen: ListFilter = ALL) -> list[tuple[float, int]]:
    feeds = filter_feeds(feeds_read(reader_id=reader.pk), chosen)
    found: list[tuple[float, int]] = []
    after = None
    while True:
        page = best_page(reader=reader, feeds=feeds, chosen=chosen, now=now, size=size, after=after)
        found += [(entry.score, entry.item.pk) for entry in page.items]
        if page.older is None:
            return found
        after = best_key(str(page.older), now)


def made_up(seed: int, reader: Reader, other: Reader, now) -> None:
    """Five feeds of three sources, some read by both readers, and articles that several of them carry."""
    dice = random.Random(seed)
    feeds = [
        FeedFactory(source=SourceFactory(key=f"s{n % 3}.example"), url=f"https://f{n}") for n in range(5)
    ]
    for one in dice.sample(feeds, 4):
        SubscriptionFactory(reader=reader, feed=one, folder=dice.choice(["", "News", "Far"]))
    for one in dice.sample(feeds, 2):
        SubscriptionFactory(reader=other, feed=one)
    for n in range(60):
        one = dice.choice(feeds)
        # Few moments, so that many items share theirs.
        at = now - dice.randrange(6) * HOUR * 12
        ItemFactory(
            **{"feed": one, "source": one.source, "guid": str(n), "article": dice.randrange(30)},
            **{"own": dice.random() < 0.3, "published_at": at},
        )
        if dice.random() < 0.3:
            row = Item.objects.latest("pk")
            read = now if dice.random() < 0.7 else None
            Reading.objects.get_or_create(
                reader=reader, article=row.article, defaults={"item": row, "read_at": read}
            )


def expected(reader: Reader, chosen: ListFilter = ALL) -> list[int]:
    """Return the list as the rules say it, worked out in Python."""
    rows = Subscription.objects.filter(reader=reader).select_related("feed")
    if chosen.folder is not None:
        rows = rows.filter(folder=chosen.folder)
    if chosen.source:
        rows = rows.filter(feed__source_id=chosen.source)
    subscribed = {row.feed_id: row.pk for row in rows}
    best: dict[int, tuple[object, Item]] = {}
    for row in Item.objects.filter(feed_id__in=subscribed):
        rank = (article_rank(row.own, subscribed[row.feed_id]), row.pk)
        if row.article not in best or rank < best[row.article][0]:
            best[row.article] = (rank, row)
    read = set()
    if chosen.unread:
        read = set(
            Reading.objects.filter(reader=reader, read_at__isnull=False).values_list("article", flat=True)
        )
    shown = [row for _, row in best.values() if row.article not in read]
    return [row.pk for row in sorted(shown, key=lambda row: (row.dated_at, row.pk), reverse=True)]


@pytest.mark.parametrize("seed", range(12))
def test_all_pages_together_have_every_visible_article_exactly_once_and_in_order(
    seed: int, ada: Reader, ben: Reader, now
):
    made_up(seed, ada, ben, now)
    source, folder = ListFilter(source="s0.example"), ListFilter(folder="News", unread=True)
    for chosen in (ALL, ListFilter(unread=True), source, folder):
        wanted = expected(ada, chosen)
        for size in (1, 7, 50):
            assert walk(ada, now, size, chosen) == wanted, (chosen, size)
    assert walk(ben, now, 5) == expected(ben)


@pytest.mark.parametrize("seed", range(4))
def test_all_pages_by_score_have_the_same_articles_each_once_and_the_best_first(
    seed: int, ada: Reader, ben: Reader, now
):
    made_up(seed, ada, ben, now)
    FeedbackFactory(reader=ada, item=Item.objects.filter(feed__subscriptions__reader=ada).first(), at=now)
    found = walk_best(ada, now, 7)
    assert [pk for _, pk in found] == [pk for _, pk in walk_best(ada, now, 50)]
    assert sorted(pk for _, pk in found) == sorted(expected(ada))
    scores = [round(score, 7) for score, _ in found]
    assert scores == sorted(scores, reverse=True)


def test_a_page_is_full_where_most_items_are_of_articles_listed_already(ada: Reader, now):
    # The one feed brings sixty posts again that the other, read for longer, has had.
    first, again = feed(ada, "first.example"), feed(ada, "again.example")
    for n in range(60):
        item(first, now - timedelta(days=9) - n * HOUR, article=n)
        item(again, now - n * HOUR, article=n)
    assert walk(ada, now, 10) == expected(ada)
    assert len(walk(ada, now, 10)) == 60


def test_a_key_that_is_none_is_none(now):
    for typed in ("", "x", "1", "1.", ".1", "1.2.3", "-1.2", "9" * 30 + ".1", "1." + "9" * 30, "².1"):
        assert list_key(typed) is None, typed
    for typed in ("", "x", "1_2", "1_nan_x", f"{'9' * 30}_1_1", "1_1.0_1", "1__1"):
        assert best_key(typed, now) is None, typed
    key = ListKey(now + timedelta(microseconds=7), 12)
    assert list_key(str(key)) == key


def test_each_reader_has_their_own_list_counts_and_marks(ada: Reader, ben: Reader, now):
    mine, shared = feed(ada, "mine.example"), feed(ada, "shared.example")
    SubscriptionFactory(reader=ben, feed=shared)
    item(mine, now - HOUR)
    both = item(shared, now - HOUR)
    assert len(walk(ada, now, 5)) == 2
    assert walk(ben, now, 5) == [both.pk]
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=now) == 2
    assert unread_counts(reader_id=ada.pk, feeds=feeds_read(reader_id=ada.pk), now=now).total == 0
    assert unread_counts(reader_id=ben.pk, feeds=feeds_read(reader_id=ben.pk), now=now).total == 1
    assert readings_undo(reader=ben, at=now) == 0
    assert Reading.objects.filter(reader=ada, read_at=now).count() == 2


def test_counts_have_an_article_once_in_each_sum(ada: Reader, now):
    one, two = feed(ada, "one.example", "News"), feed(ada, "one.example", "News", "more.xml")
    far = feed(ada, "far.example", "Far")
    for n, carrier in enumerate((one, two, far)):
        item(carrier, now - HOUR, article=1, guid=f"same-{n}")
        item(carrier, now - HOUR, article=10 + n, guid=f"own-{n}")
    item(one, now - timedelta(days=31), article=99)
    counts = unread_counts(reader_id=ada.pk, feeds=feeds_read(reader_id=ada.pk), now=now)
    assert counts.feeds == {one.pk: 2, two.pk: 2, far.pk: 2}
    assert counts.folders == {"News": 3, "Far": 2}
    assert counts.sources == {"one.example": 3, "far.example": 2}
    assert counts.total == 4
    for chosen in (ListFilter(folder="News"), ListFilter(source="one.example"), ListFilter(feed=far.pk), ALL):
        unread = ListFilter(chosen.source, chosen.folder, chosen.feed, unread=True)
        assert len(walk(ada, now, 5, unread)) == counts.within(**chosen.names)


def test_what_was_saved_is_listed_also_where_its_feed_is_read_no_more(ada: Reader, now):
    left, here = feed(ada, "left.example"), feed(ada, "here.example")
    gone, kept = item(left, now - HOUR), item(here, now - 2 * HOUR)
    item(here, now)
    for one in (gone, kept):
        item_save(reader=ada, item_id=one.pk, saved=True, now=now)
    Subscription.objects.filter(feed=left).delete()
    saved = ListFilter(saved=True)
    assert walk(ada, now, 1, saved) == [gone.pk, kept.pk]
    assert walk(ada, now, 5, ListFilter(source="left.example", saved=True)) == [gone.pk]
    assert walk(ada, now, 5, ListFilter(feed=here.pk, saved=True)) == [kept.pk]
    assert list_read(reader=ada, feeds=None, chosen=saved, now=now, seen_by=now) == 2
    assert walk(ada, now, 5, ListFilter(saved=True, unread=True)) == []


def test_a_feed_that_moved_is_listed_and_counted_with_where_it_went(ada: Reader, now):
    new = feed(ada, "paper.example", "News", "new.xml")
    old = feed(ada, "paper.example", "Old", "old.xml")
    Feed.objects.filter(pk=old.pk).update(state=Feed.State.MOVED, moved_url=new.url)
    before, after = item(old, now - 2 * HOUR), item(new, now - HOUR)
    feeds = feeds_read(reader_id=ada.pk)
    assert [(one.feed_id, {*one.ids}) for one in feeds] == [(new.pk, {new.pk, old.pk})]
    for chosen in (ListFilter(feed=new.pk), ListFilter(folder="News"), ListFilter(source="paper.example")):
        assert walk(ada, now, 5, chosen) == [after.pk, before.pk]
    counts = unread_counts(reader_id=ada.pk, feeds=feeds, now=now)
    assert (counts.feeds, counts.folders) == ({new.pk: 2}, {"News": 2})


def state(reader: Reader) -> dict[int, tuple[object, object]]:
    ids = list(Item.objects.values_list("pk", flat=True))
    found = readings_for(reader_id=reader.pk, item_ids=ids)
    return {pk: (one.read_at, one.saved_at) for pk, one in found.items() if one.read_at or one.saved_at}


def test_undo_restores_exactly_what_was_marked(ada: Reader, now):
    here = feed(ada, "here.example")
    rows = [item(here, now - n * HOUR) for n in range(6)]
    item_read(reader=ada, item_id=rows[0].pk, now=now - HOUR)
    item_save(reader=ada, item_id=rows[1].pk, saved=True, now=now - HOUR)
    before = state(ada)
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=now) == 5
    assert len(state(ada)) == 6
    # Opened again since, so it is no longer part of the marked batch.
    item_unread(reader=ada, item_id=rows[2].pk)
    item_read(reader=ada, item_id=rows[2].pk, now=now + HOUR)
    assert readings_undo(reader=ada, at=now) == 4
    assert state(ada) == before | {rows[2].pk: (now + HOUR, None)}


def test_above_is_above_and_what_came_in_later_stays_unread(ada: Reader, now):
    here = feed(ada, "here.example")
    rows = [item(here, now - n * HOUR) for n in range(4)]
    late = item(here, now - HOUR / 2, first_seen_at=now + HOUR)
    key = ListKey(rows[2].dated_at, rows[2].pk)
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=now, newer_than=key) == 2
    assert {*state(ada)} == {rows[0].pk, rows[1].pk}
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=now) == 2
    assert late.pk not in state(ada)


def test_above_by_score_is_what_scored_better_and_below_what_scored_worse(ada: Reader, now):
    here = feed(ada, "here.example")
    rows = [item(here, now - n * HOUR * 10) for n in range(5)]
    page = best_page(reader=ada, feeds=None, chosen=ALL, now=now, size=5)
    assert [entry.item.pk for entry in page.items] == [row.pk for row in rows]
    above = best_ids(reader=ada, feeds=None, chosen=ALL, as_of=now, now=now, above=page.keys[2])
    assert above == [row.pk for row in rows[:2]]
    below = best_ids(reader=ada, feeds=None, chosen=ALL, as_of=now, now=now, below=page.keys[2])
    assert below == [row.pk for row in rows[3:]]


def test_the_mark_points_to_the_item_that_is_listed(ada: Reader, now):
    first, own = feed(ada, "first.example"), feed(ada, "own.example")
    item(first, now - HOUR, article=5)
    listed = item(own, now - 2 * HOUR, article=5, own=True)
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=now) == 1
    assert Reading.objects.get().item == listed


def test_a_page_takes_as_many_queries_however_many_feeds_and_items(ada: Reader, now):
    def cost() -> int:
        with CaptureQueriesContext(connection) as caught:
            list_ids(reader_id=ada.pk, feeds=None, chosen=ALL, now=now, limit=21)
            feeds = feeds_read(reader_id=ada.pk)
            unread_counts(reader_id=ada.pk, feeds=feeds, now=now)
        return len(caught)

    here = feed(ada, "here.example")
    item(here, now)
    assert cost() == 5  # the mutes are asked for twice
    for n in range(30):
        more = feed(ada, f"s{n}.example")
        for hours in range(2):
            item(more, now - hours * HOUR)
    assert cost() == 5  # the mutes are asked for twice


def test_a_list_of_all_feeds_asks_for_none_of_them(ada: Reader, django_assert_num_queries):
    gazette = feed(ada, "gazette.example").pk
    for chosen, muted, left in (
        (ListFilter(), (), None),
        (ListFilter(saved=True), ["gazette.example"], None),
        (ListFilter(), ["gazette.example"], []),
        (ListFilter(folder=""), (), [gazette]),
    ):
        with django_assert_num_queries(0 if left is None else 1):
            assert feeds_among(reader_id=ada.pk, chosen=chosen, muted=muted) == left


def test_an_old_date_of_another_feed_keeps_no_article_out_of_what_is_unread(ada, now):
    """If no feed of its publisher brings an article, the feed subscribed to first gives the words."""
    first, second = feed(ada, "planet.example"), feed(ada, "bbci.example")
    address = "https://bbc.example/minister"
    item(first, now - 4000 * DAY, url=address, first_seen_at=now - HOUR)
    news = item(second, now - HOUR, url=address)
    unread = ListFilter(unread=True)
    assert walk(ada, now, 10, unread) == [news.pk]
    feeds = feeds_read(reader_id=ada.pk)
    assert unread_counts(reader_id=ada.pk, feeds=feeds, now=now).total == 1
    assert list_read(reader=ada, feeds=None, chosen=unread, now=now, seen_by=now) == 1
    assert unread_counts(reader_id=ada.pk, feeds=feeds, now=now).total == 0


def test_what_comes_after_a_page_was_made_keeps_nothing_on_it_from_being_marked(ada, now):
    first, second = feed(ada, "planet.example"), feed(ada, "bbci.example")
    address = "https://bbc.example/minister"
    item(second, now - 2 * HOUR, url=address)
    item(first, now - HOUR, url=address, first_seen_at=now)
    seen_by = now - HOUR
    assert list_read(reader=ada, feeds=None, chosen=ALL, now=now, seen_by=seen_by) == 1
    assert walk(ada, now, 10, ListFilter(unread=True)) == []
