"""Selectors of visible items and of ratings."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from digest.feedback.selectors import (
    feedback_by_items,
    feedback_by_urls,
    feedback_counts,
    feedback_recent,
    feedback_source_counts,
    feedback_tag_counts,
    feedback_tallies,
    reason_tags,
)
from digest.feeds.identity import article_hash
from digest.items.selectors import (
    item_for,
    items_candidates,
    reader_sources,
    reader_sources_known,
    source_titles,
)
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, ReasonTag, Source
from tests.support.bulk import thumbs_multiply
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def subscribe(reader: Reader, key: str) -> Source:
    source = SourceFactory(key=key)
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    return source


def ratings_in_bulk(reader: Reader, count: int, now: datetime) -> None:
    """Store `count` ratings of as many items of seven sources, each with a reason."""
    sources = [SourceFactory(key=f"s{i}.example") for i in range(7)]
    items = Item.objects.bulk_create(
        Item(
            guid=f"{reader.username}/{i}",
            url=f"https://bulk.example/{reader.username}/{i}",
            article=article_hash(f"https://bulk.example/{reader.username}/{i}"),
            source=sources[i % 7],
            title=f"Item {i}",
            published_at=now,
            first_seen_at=now,
            dated_at=now - timedelta(minutes=i % 5000),
            fingerprint=str(i),
        )
        for i in range(count)
    )
    at = now - DAY
    ratings = Feedback.objects.bulk_create(
        Feedback(
            **{"reader": reader, "item": item, "article": item.article, "useful": i % 3 > 0},
            **{"at": at, "day": int(at.timestamp() // 86400)},
        )
        for i, item in enumerate(items)
    )
    FeedbackTag.objects.bulk_create(FeedbackTag(feedback=f, tag_id="depth") for f in ratings)


def test_a_readers_sources_are_those_of_their_feeds_imported_ones_included(ada, ben):
    subscribe(ada, "b.example")
    subscribe(ben, "c.example")
    imported = FeedFactory(source=SourceFactory(key="a.example"), state=Feed.State.IMPORTED)
    SubscriptionFactory(reader=ada, feed=imported)
    again = FeedFactory(source=imported.source, url="https://a.example/again")
    SubscriptionFactory(reader=ada, feed=again)
    assert reader_sources(reader_id=ada.id) == ["a.example", "b.example"]


def test_a_source_without_a_title_goes_by_its_key(ada):
    SourceFactory(key="a.example", title="")
    SourceFactory(key="b.example", title="The B")
    titles = source_titles(keys=["a.example", "b.example", "unknown.example"])
    assert titles == {"a.example": "a.example", "b.example": "The B"}


def test_candidates_are_the_last_seven_days_of_the_readers_sources_newest_first(ada, ben, now):
    mine, theirs = subscribe(ada, "mine.example"), subscribe(ben, "theirs.example")
    old = ItemFactory(source=mine, published_at=now - 7 * DAY)
    first = ItemFactory(source=mine, published_at=now - 7 * DAY + HOUR)
    last = ItemFactory(source=mine, published_at=now)
    ItemFactory(source=mine, published_at=now + HOUR)
    ItemFactory(source=theirs, published_at=now)
    found = items_candidates(reader_id=ada.id, now=now)
    assert [c.item_id for c in found] == [last.id, first.id]
    assert (found[0].source, found[0].title, found[0].dated_at) == ("mine.example", last.title, now)
    assert old.id in [c.item_id for c in items_candidates(reader_id=ada.id, now=now, days=8)]
    assert len(items_candidates(reader_id=ada.id, now=now, limit=1)) == 1


def test_an_item_of_a_source_with_two_feeds_is_one_candidate(ada, now):
    source = subscribe(ada, "mine.example")
    other = FeedFactory(source=source, url="https://mine.example/other")
    SubscriptionFactory(reader=ada, feed=other)
    item = ItemFactory(source=source)
    ItemFactory(source=source, feed=other, url=item.url)
    assert len(items_candidates(reader_id=ada.id, now=now)) == 1


def test_counts_span_the_first_to_the_last_rating(ada, ben, now):
    assert feedback_counts(reader_id=ada.id).days == 0
    FeedbackFactory(reader=ada, at=now - 6 * DAY, has_reason=True)
    FeedbackFactory(reader=ada, at=now)
    FeedbackFactory(reader=ben, at=now - 30 * DAY)
    counts = feedback_counts(reader_id=ada.id)
    assert (counts.total, counts.tagged, counts.days) == (2, 1, 7)
    assert (counts.first_at, counts.last_at) == (now - 6 * DAY, now)


def test_a_rating_weighs_half_after_sixty_days(ada, ben, now):
    source = SourceFactory(key="a.example")
    for age, useful in ((0, True), (60, True), (120, False)):
        FeedbackFactory(reader=ada, item=ItemFactory(source=source), at=now - age * DAY, useful=useful)
    FeedbackFactory(reader=ada, item=ItemFactory(source=SourceFactory(key="b.example")), useful=False, at=now)
    FeedbackFactory(reader=ben, item=ItemFactory(source=source), at=now)
    a, b = feedback_tallies(reader_id=ada.id, now=now)
    assert (a.source, a.n, a.likes, a.count) == ("a.example", pytest.approx(1.75), pytest.approx(1.5), 3)
    assert (b.source, b.n, b.likes, b.count) == ("b.example", 1.0, 0.0, 1)


def test_tallies_can_exclude_later_ratings(ada, now):
    FeedbackFactory(reader=ada, at=now - 2 * DAY)
    FeedbackFactory(reader=ada, at=now - DAY)
    earlier = feedback_tallies(reader_id=ada.id, now=now, until=now - DAY)
    assert sum(tally.count for tally in earlier) == 1


def test_a_rating_from_tomorrow_weighs_no_more_than_one_of_today(ada, now):
    FeedbackFactory(reader=ada, at=now + 300 * DAY)
    assert feedback_tallies(reader_id=ada.id, now=now)[0].n == 1.0


def test_recent_feedback_is_newest_first_with_its_reasons(ada, ben, now):
    older = FeedbackFactory(reader=ada, at=now - 2 * DAY, useful=False, other_reasons=["too long"])
    newer = FeedbackFactory(reader=ada, at=now - DAY)
    newer.tags.add(*ReasonTag.objects.filter(slug__in=["depth", "clarity"]))
    FeedbackFactory(reader=ben, at=now)
    first, second = feedback_recent(reader_id=ada.id)
    assert (first.item_id, first.useful, first.tags) == (newer.item_id, True, ("clarity", "depth"))
    assert (second.url, second.useful, second.other_reasons) == (older.item.url, False, ("too long",))
    assert feedback_recent(reader_id=ada.id, since=now - DAY) == [first]
    assert feedback_recent(reader_id=ada.id, until=now - DAY) == [second]
    assert feedback_recent(reader_id=ada.id, limit=1) == [first]


def test_feedback_is_found_by_exact_address_and_by_its_owner_only(ada, ben):
    mine, theirs = FeedbackFactory(reader=ada), FeedbackFactory(reader=ben)
    urls = [mine.item.url, theirs.item.url, mine.item.url + "/"]
    assert list(feedback_by_urls(reader_id=ada.id, urls=urls)) == [mine.item.url]
    items = [mine.item, theirs.item]
    assert list(feedback_by_items(reader_id=ada.id, items=items)) == [mine.item_id]


def test_reasons_are_counted_most_frequent_first(ada, ben):
    for slugs in (["depth", "hype"], ["depth"]):
        FeedbackFactory(reader=ada).tags.add(*ReasonTag.objects.filter(slug__in=slugs))
    FeedbackFactory(reader=ben).tags.add(ReasonTag.objects.get(slug="paywall"))
    counted = [(t.tag, t.kind, t.count) for t in feedback_tag_counts(reader_id=ada.id)]
    assert counted == [("depth", "valued", 2), ("hype", "disliked", 1)]


def test_sources_are_counted_with_likes_and_totals(ada, now):
    source = SourceFactory(key="a.example")
    for useful, age in ((True, 1), (False, 1), (True, 40)):
        FeedbackFactory(reader=ada, item=ItemFactory(source=source), useful=useful, at=now - age * DAY)
    assert feedback_source_counts(reader_id=ada.id) == {"a.example": (2, 3)}
    assert feedback_source_counts(reader_id=ada.id, since=now - 7 * DAY) == {"a.example": (1, 2)}


def test_of_some_sources_a_reader_knows_those_they_read_and_those_they_rated(ada, ben):
    rated, read, other = (
        SourceFactory(key=key) for key in ("rated.example", "read.example", "other.example")
    )
    FeedbackFactory(reader=ada, item=ItemFactory(source=rated))
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=read))
    FeedbackFactory(reader=ben, item=ItemFactory(source=other))
    SubscriptionFactory(reader=ben, feed=FeedFactory(source=other))
    keys = {"rated.example", "read.example", "other.example", "nobody.example"}
    with CaptureQueriesContext(connection) as queries:
        known = reader_sources_known(reader_id=ada.id, keys=keys)
    assert known == {"rated.example", "read.example"} and len(queries) == 1
    assert reader_sources_known(reader_id=ada.id, keys={"read.example"}) == {"read.example"}


def test_the_taxonomy_is_offered_in_order(db):
    kinds = [tag.kind for tag in reason_tags()]
    assert kinds == sorted(kinds) and len(kinds) == 12


def test_a_reader_may_see_items_of_their_sources_and_those_they_rated(ada, ben):
    source = subscribe(ada, "mine.example")
    own, rated, foreign = ItemFactory(source=source), FeedbackFactory(reader=ada).item, ItemFactory()
    assert item_for(reader_id=ada.id, item_id=own.id) == own
    assert item_for(reader_id=ada.id, item_id=rated.id) == rated
    assert item_for(reader_id=ada.id, item_id=foreign.id) is None
    assert item_for(reader_id=ben.id, item_id=own.id) is None


@pytest.mark.parametrize("count", [10, 1_000, 20_000])
def test_queries_do_not_grow_with_the_feedback(ada, now, count, django_assert_num_queries):
    ratings_in_bulk(ada, min(count, 1_000), now)
    if count > 1_000:
        thumbs_multiply(ada, count // 1_000)
    with django_assert_num_queries(1):
        assert sum(t.count for t in feedback_tallies(reader_id=ada.id, now=now)) == count
    with django_assert_num_queries(1):
        assert feedback_counts(reader_id=ada.id).total == count
    with django_assert_num_queries(2):  # the thumbs, their tags
        recent = feedback_recent(reader_id=ada.id, limit=None)
    assert len(recent) == count and all(item.tags == ("depth",) for item in recent)
    with django_assert_num_queries(1):
        assert feedback_tag_counts(reader_id=ada.id)[0].count == count


def test_a_subscription_shows_no_items_of_the_publishers_other_feeds(ada, ben, now):
    channels = {}
    for reader, name in ((ada, "a"), (ben, "b")):
        feed = FeedFactory(
            source=SourceFactory(key="tube.example"), url=f"https://tube.example/{name}", state="active"
        )
        SubscriptionFactory(reader=reader, feed=feed)
        channels[reader] = ItemFactory(source=feed.source, feed=feed, title=f"Channel {name}")
    for reader in (ada, ben):
        seen = items_candidates(reader_id=reader.pk, now=now)
        assert [candidate.item_id for candidate in seen] == [channels[reader].pk]
    assert item_for(reader_id=ada.pk, item_id=channels[ben].pk) is None
