"""A quiet feed that is new to a reader shows its latest posts, in every way of building, for three days."""

from datetime import timedelta

import pytest

from digest.daily.candidates import digest_candidates
from digest.daily.diversity import LATE_PLACES_MAX
from digest.daily.further import further_page
from digest.daily.item_words import LATEST
from digest.daily.presentation import ScoredItem, score_why
from digest.daily.selectors import digest_exclusions, item_place
from digest.daily.services import digest_build, digest_rank, digests_build
from digest.entities import PUBLISHED_MIN
from digest.models import Digest, Feed, Item, Reader
from ranking.selectors import config_effective
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

DAY = timedelta(days=1)


@pytest.fixture
def quiet(ada: Reader, ben: Reader, now) -> Feed:
    """Seven posts of 14 days and more; Ada began to read it yesterday, Ben long ago; both read the news."""
    feed = FeedFactory(source=SourceFactory(key="quiet.example"))
    for n in range(7):
        ItemFactory(feed=feed, source=feed.source, title=f"Post {n}", published_at=now - (14 + n) * DAY)
    news = FeedFactory(source=SourceFactory(key="news.example"))
    for n in range(4):
        ItemFactory(feed=news, source=news.source, title=f"News {n}", published_at=now - (n + 1) * DAY)
    SubscriptionFactory(reader=ada, feed=feed, created_at=now - DAY)
    SubscriptionFactory(reader=ben, feed=feed)
    for reader in (ada, ben):
        SubscriptionFactory(reader=reader, feed=news, created_at=now - DAY)
    return feed


def titles(reader: Reader) -> list[str]:
    return list(reader.digests.get().impressions.order_by("rank").values_list("item__title", flat=True))


@pytest.mark.parametrize("together", [True, False])
def test_the_newest_five_of_a_new_feed_compete_and_age_still_counts(ada, ben, now, quiet, together):
    if together:
        digests_build(now=now)
    else:
        for reader in (ada, ben):
            digest_build(reader=reader, date=now.date(), now=now)
    by_score = ada.digests.get().impressions.order_by("-score").values_list("item__title", flat=True)
    assert list(by_score[:4]) == [f"News {n}" for n in range(4)]
    assert sorted(titles(ada)) == [f"News {n}" for n in range(4)] + [f"Post {n}" for n in range(5)]
    assert "Post 0" not in titles(ben)


def test_one_by_one_and_together_give_the_same_digest(ada, ben, now, quiet):
    # An aggregator has one of the posts too, and a second quiet feed is new to Ben alone.
    planet = FeedFactory(source=SourceFactory(key="planet.example"))
    first = Item.objects.get(title="Post 0")
    ItemFactory(feed=planet, source=planet.source, url=first.url, published_at=now - 9 * DAY)
    for reader in (ada, ben):
        SubscriptionFactory(reader=reader, feed=planet, created_at=now - 2 * DAY)
    other = FeedFactory(source=SourceFactory(key="other.example"))
    ItemFactory(feed=other, source=other.source, published_at=now - 30 * DAY)
    SubscriptionFactory(reader=ben, feed=other, created_at=now - DAY)
    SubscriptionFactory(reader=ada, feed=other)

    def stored() -> dict[str, tuple]:
        return {
            digest.reader.username: (digest.left_out, list(digest.impressions.values_list("item", "parts")))
            for digest in Digest.objects.select_related("reader")
        }

    for reader in (ada, ben):
        digest_build(reader=reader, date=now.date(), now=now)
    alone = stored()
    Digest.objects.all().delete()
    digests_build(now=now)
    assert stored() == alone
    shown = {name: {item for item, _ in rows} for name, (_, rows) in alone.items()}
    assert {name for name in shown if other.items.get().pk in shown[name]} == {"ben"}
    assert {name for name in shown if first.pk in shown[name]} == {"ada"}


def test_a_feed_with_something_in_the_week_brings_nothing_older(ada, now, quiet):
    ItemFactory(feed=quiet, source=quiet.source, title="Fresh", published_at=now - DAY)
    digest_build(reader=ada, date=now.date(), now=now)
    assert "Fresh" in titles(ada) and "Post 0" not in titles(ada)


def test_after_three_days_it_is_a_feed_like_any_other(ada, now, quiet):
    ada.subscriptions.filter(feed=quiet).update(created_at=now - 3 * DAY)
    digest_build(reader=ada, date=now.date(), now=now)
    assert "Post 0" not in titles(ada)


def test_a_feed_that_took_the_place_of_one_that_moved_is_not_new(ada, now, quiet):
    old = FeedFactory(source=quiet.source, url="https://old.example/f", state="moved", moved_url=quiet.url)
    SubscriptionFactory(reader=ada, feed=old)
    for build in (lambda: digest_build(reader=ada, date=now.date(), now=now), lambda: digests_build(now=now)):
        build()
        assert "Post 0" not in titles(ada)
        Digest.objects.all().delete()


def test_its_reason_is_that_it_is_the_latest_of_a_source_one_added(ada, now, quiet):
    digest = digest_build(reader=ada, date=now.date(), now=now)
    shown = {row.item.title: row for row in digest.impressions.select_related("item__source")}

    def chips(title: str) -> tuple[str, ...]:
        row = shown[title]
        return score_why(ScoredItem(row.item, row.parts, row.score, row.slot)).chips

    assert LATEST in chips("Post 0") and LATEST not in chips("News 3")
    assert shown["Post 0"].parts["age_hours"] == 14 * 24


def test_the_ranking_by_score_alone_has_them_too(ada, now, quiet):
    effective = config_effective(reader_id=ada.pk)
    scores = digest_rank(reader=ada, date=now.date(), now=now, effective=effective)
    assert [score.candidate.title for score in scores[:5]] == [*(f"News {n}" for n in range(4)), "Post 0"]


def test_what_had_no_place_is_among_what_was_left_out_with_its_reason(ada, now, quiet):
    digest_build(reader=ada, date=now.date(), now=now, limit=4)
    found = digest_exclusions(reader=ada, date=now.date(), now=now)
    assert "Post 0" in {row.item.title for row in found.items} | set(titles(ada))
    out = next(row.item for row in found.items if row.item.source_id == "quiet.example")
    place = item_place(reader=ada, item=out, now=now)
    assert place and place.excluded and place.excluded.reason == "below"
    assert item_place(reader=ada, item=Item.objects.get(title="Post 6"), now=now) is None  # the seventh


def test_what_came_after_a_digest_was_built_is_not_among_what_it_left_out(ada, now, quiet):
    digest_build(reader=ada, date=now.date(), now=now)
    late = ItemFactory(
        feed=quiet, source=quiet.source, published_at=now - 8 * DAY, first_seen_at=now + DAY / 24
    )
    found = digest_exclusions(reader=ada, date=now.date(), now=now + DAY / 12)
    assert late.pk not in {row.item.pk for row in found.items}


def test_luck_shows_no_post_of_years_ago_where_the_week_has_enough(ada, now, quiet):
    for source in ("old.example", "month.example"):
        feed = FeedFactory(source=SourceFactory(key=source))
        SubscriptionFactory(reader=ada, feed=feed, created_at=now - DAY)
        age = 400 if source == "old.example" else 25
        ItemFactory(feed=feed, source=feed.source, title=source, published_at=now - age * DAY)
    for n in range(4, 34):
        news = Feed.objects.get(source="news.example")
        ItemFactory(feed=news, source=news.source, title=f"News {n}", published_at=now - n * DAY / 40)
    drawn = digest_candidates(reader=ada, date=now.date(), now=now)
    draw = drawn.novelty_draw(config_effective(reader_id=ada.pk))
    old = {Item.objects.get(pk=pk).title for pk in draw.never}
    assert old == {"old.example"}


@pytest.mark.parametrize("together", [True, False])
def test_five_old_posts_that_came_today_are_on_the_page_and_the_pages_after_it(ada, now, together):
    """Each of eight feeds brings one post of 2020, and a fresh one. Dates of 1970 are none."""
    for n in range(8):
        feed = SubscriptionFactory(reader=ada, created_at=now - 90 * DAY).feed
        came = {"feed": feed, "source": feed.source, "first_seen_at": now - DAY / 24}
        old = PUBLISHED_MIN if n == 0 else now - 2000 * DAY
        ItemFactory(title=f"Old {n}", published_at=old, dated_at=now - DAY / 24, **came)
        ItemFactory(title=f"News {n}", published_at=now - DAY / 8, **came)
    if together:
        digests_build(now=now)
    else:
        digest_build(reader=ada, date=now.date(), now=now)
    late = [title for title in titles(ada) if title.startswith("Old") and title != "Old 0"]
    assert len(late) == LATE_PLACES_MAX and len(titles(ada)) == 8 + 1 + LATE_PLACES_MAX
    digest = ada.digests.get()
    assert digest.left_out == {"late": 7 - LATE_PLACES_MAX}
    assert not further_page(reader=ada, digest=digest, number=2, now=now).impressions
