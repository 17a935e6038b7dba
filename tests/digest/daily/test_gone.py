"""A page a day: rated or read articles are gone tomorrow, and so are those that stood on two pages."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.gone import PASSED_PLACES, Dealt, GoneReason, articles_gone, is_passed, stories_gone
from digest.daily.services import digest_build
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.feedback.services import feedback_give
from digest.items.reading import item_open
from digest.mail.content import draft_daily
from digest.models import Digest, Exposure, Item, Reader, Story
from digest.web.api.syndication import channel_of
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BEGIN = datetime(2026, 3, 18, tzinfo=UTC)


def reason_of(one: Dealt, *, on_page: bool = False) -> GoneReason | None:
    gone = articles_gone({1: one}, BEGIN, {1} if on_page else ())
    return gone[1].reason if gone else None


@pytest.mark.parametrize("dealt", [Dealt(rated_at=BEGIN - HOUR), Dealt(read_at=BEGIN - HOUR)])
def test_what_was_rated_or_read_yesterday_is_gone_even_from_a_page_that_was_made_meanwhile(dealt):
    assert reason_of(dealt) and reason_of(dealt, on_page=True)


@pytest.mark.parametrize("dealt", [Dealt(rated_at=BEGIN + HOUR), Dealt(read_at=BEGIN + HOUR)])
def test_what_is_rated_or_read_today_stays_on_todays_page_and_comes_on_no_other(dealt):
    assert not reason_of(dealt, on_page=True)
    assert reason_of(dealt)


@pytest.mark.parametrize(
    ("pages", "apart", "reason"),
    [(1, 0, None), (2, 24, GoneReason.SEEN), (2, 10, GoneReason.SEEN), (2, 0.2, None)],
)
def test_two_pages_are_enough_unless_they_were_one_visit_over_midnight(pages, apart, reason):
    shown = Dealt(pages=pages, first_shown=BEGIN - apart * HOUR - HOUR, last_shown=BEGIN - HOUR)
    assert reason_of(shown) is reason


@pytest.mark.parametrize(
    ("highest", "hours", "passed"),
    [
        (1, 24, True),
        (PASSED_PLACES, 24, True),
        (PASSED_PLACES + 1, 24, False),
        (1, 0.2, False),
        (None, None, False),
    ],
)
def test_passed_by_is_what_stood_high_on_a_page_before_this_visit(highest, hours, passed):
    assert is_passed(highest, None if hours is None else BEGIN - hours * HOUR, BEGIN) is passed


@given(st.lists(st.integers(min_value=-200, max_value=-1), min_size=2, max_size=6))
def test_of_a_story_only_what_is_newer_is_told_again(hours):
    """Article 0 was rated; the others report the same story."""
    dated = {n: BEGIN + h * HOUR for n, h in enumerate(hours)}
    gone = articles_gone({0: Dealt(rated_at=BEGIN - 50 * HOUR)}, BEGIN)
    again = stories_gone(gone, dict.fromkeys(dated, 7), dated, ())
    assert again.keys() == {n for n in dated if n and dated[n] <= BEGIN - 50 * HOUR}


# --- On the page -----------------------------------------------------------------------------------------


def shelf(reader: Reader, now: datetime, count: int = 6, hours: float = 1.0) -> list[Item]:
    """Return items of as many sources, an hour apart, that `reader` gets."""
    items = []
    for n in range(count):
        feed = FeedFactory(source=SourceFactory(key=f"s{n}.example"))
        SubscriptionFactory(reader=reader, feed=feed)
        at = now - (hours + n) * HOUR
        items.append(ItemFactory(source=feed.source, feed=feed, title=f"Item {n}", published_at=at))
    return items


def page(reader: Reader, at: datetime, *, door: str | None = Exposure.Door.PAGE) -> list[int]:
    """Build the page of the reader's day at `at`, and show it."""
    digest = digest_build(reader=reader, date=day_of(at, reader.zone), now=at)
    if door:
        exposures_log(digest=digest, door=door, now=at)
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))


@pytest.mark.django_db
@pytest.mark.services
def test_rated_and_read_articles_are_gone_tomorrow(ada, now):
    items = shelf(ada, now)
    assert len(page(ada, now)) == 6
    feedback_give(reader=ada, item_id=items[0].pk, useful=True, now=now + HOUR)
    item_open(reader=ada, item_id=items[1].pk, door="page", now=now + HOUR)
    assert {items[0].pk, items[1].pk} <= {*page(ada, now + 2 * HOUR)}, "today they stay"
    later = page(ada, now + DAY)
    assert set(later) == {item.pk for item in items[2:]}
    left_out = Digest.objects.get(reader=ada, date=(now + DAY).date()).left_out
    assert (left_out["rated"], left_out["read"]) == (1, 1)


@pytest.mark.django_db
def test_read_articles_stay_for_a_reader_who_wants_them_to_or_was_not_asked(ada, now):
    items = shelf(ada, now)
    page(ada, now)
    item_open(reader=ada, item_id=items[1].pk, door="page", now=now + HOUR)
    for wish, there in ((False, True), (None, True), (True, False)):
        ada.read_gone = wish
        ada.save()
        assert (items[1].pk in page(ada, now + DAY, door=None)) is there


@pytest.mark.django_db
@pytest.mark.services
def test_what_stood_on_two_pages_is_gone_and_what_was_built_for_nobody_stays(ada, now):
    items = shelf(ada, now)
    page(ada, now - DAY, door=None)
    page(ada, now)
    page(ada, now + DAY, door=Exposure.Door.MAIL)
    fresh = ItemFactory(source=items[0].source, feed=items[0].feed, published_at=now + 2 * DAY - HOUR)
    assert page(ada, now + 2 * DAY) == [fresh.pk]
    assert Digest.objects.get(reader=ada, date=(now + 2 * DAY).date()).left_out["seen"] == 6


@pytest.mark.django_db
def test_two_visits_a_day_are_one_page_and_an_app_that_asks_by_itself_is_none(ada, now):
    shelf(ada, now)
    page(ada, now.replace(hour=7) + DAY)
    page(ada, now.replace(hour=20) + DAY)
    for n in (2, 3):
        page(ada, now + n * DAY, door=Exposure.Door.FEED)
    assert len(page(ada, now + 4 * DAY)) == 6


@pytest.mark.django_db
def test_a_mail_in_the_morning_and_the_page_in_the_evening_are_one_page(ada, now):
    shelf(ada, now)
    page(ada, now.replace(hour=7) + DAY, door=Exposure.Door.MAIL)
    page(ada, now.replace(hour=20) + DAY)
    assert len(page(ada, now + 2 * DAY)) == 6


@pytest.mark.django_db
def test_days_are_the_readers_own(ada, now):
    ada.time_zone = "Pacific/Auckland"
    ada.save()
    items = shelf(ada, now)
    late = datetime(2026, 3, 19, 23, 59, tzinfo=ZoneInfo("Pacific/Auckland"))
    page(ada, late)
    feedback_give(reader=ada, item_id=items[0].pk, useful=True, now=late)
    assert items[0].pk not in page(ada, late + timedelta(minutes=2))
    assert len(page(ada, late + DAY - HOUR)) == 5, "one visit over midnight was one page"


@pytest.mark.django_db
def test_the_first_page_of_an_importer_holds_nothing_already_rated(ada, now):
    items = shelf(ada, now)
    page(ada, now, door=None)  # built before the import
    for item in items[:3]:
        feedback_give(reader=ada, item_id=item.pk, useful=True, now=now - DAY)
    assert set(page(ada, now + HOUR)) == {item.pk for item in items[3:]}


@pytest.mark.django_db
def test_an_old_report_of_a_story_that_was_rated_does_not_take_its_place(ada, now):
    items = shelf(ada, now, hours=30)
    story = Story.objects.create(created_at=now, last_item_at=now)
    for item, more in zip(items[:3], ("at dawn", "after talks", "says union"), strict=True):
        item.title, item.story = f"Ferry strike ends in the harbour {more}", story
        item.save()
    page(ada, now - DAY + 2 * HOUR)
    feedback_give(reader=ada, item_id=items[0].pk, useful=True, now=now - DAY + 3 * HOUR)
    assert set(page(ada, now)) == {item.pk for item in items[3:]}


@pytest.mark.django_db
def test_a_reader_does_not_lose_what_another_has_rated(ada, ben, now):
    items = shelf(ada, now)
    for item in items:
        SubscriptionFactory(reader=ben, feed=item.feed)
    feedback_give(reader=ben, item_id=items[0].pk, useful=False, now=now - DAY)
    assert len(page(ada, now)) == 6 and len(page(ben, now)) == 5


@pytest.mark.django_db
def test_luck_draws_nothing_that_stood_on_yesterdays_page(ada: Reader, now: datetime):
    yesterday = shelf(ada, now, count=12, hours=30)
    shown = set(page(ada, now - DAY))
    assert shown == {item.pk for item in yesterday}
    for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
        feed = SubscriptionFactory(reader=ada, feed__source__key=f"{name}.example").feed
        for n in range(6):
            ItemFactory(source=feed.source, feed=feed, published_at=now - (n + 1) * HOUR / 60)
    unseen = SubscriptionFactory(reader=ada, feed__source__key="unseen.example").feed
    old = ItemFactory(source=unseen.source, feed=unseen, published_at=now - 5 * DAY, first_seen_at=now - HOUR)
    digest = digest_build(reader=ada, date=day_of(now, ada.zone), now=now)
    assert set(digest.impressions.filter(slot="novelty").values_list("item", flat=True)) == {old.pk}


def slots(reader: Reader, at: datetime) -> dict[int, str]:
    """Return the slot of each item on the page of the reader's day."""
    digest = Digest.objects.get(reader=reader, date=day_of(at, reader.zone))
    return dict(digest.impressions.order_by("rank").values_list("item_id", "slot"))


@pytest.mark.django_db
@pytest.mark.services
def test_what_was_passed_by_yesterday_stands_below_all_that_is_new(ada: Reader, now: datetime):
    items = shelf(ada, now, count=20)
    yesterday = page(ada, now)
    high, low = yesterday[:PASSED_PLACES], yesterday[PASSED_PLACES:]
    at = now + DAY
    fresh = [
        ItemFactory(source=one.source, feed=one.feed, published_at=at - (n + 1) * HOUR).pk
        for n, one in enumerate(items[:3])
    ]
    today = page(ada, at)
    assert {*today[:8]} == {*fresh, *low} and [*slots(ada, at).values()][8:] == ["again"] * PASSED_PLACES
    assert today[8:] == high, "among themselves they keep their order"
    feedback_give(reader=ada, item_id=today[10], useful=True, now=at + HOUR)
    assert page(ada, at + 2 * HOUR) == today and slots(ada, at)[today[10]] == "kept"


@pytest.mark.django_db
def test_nothing_sinks_while_a_reader_reads_on_over_midnight_or_if_only_an_app_had_it(
    ada: Reader, now: datetime
):
    shelf(ada, now, count=8)
    midnight = now.astimezone(ada.zone).replace(hour=0) + DAY
    before = page(ada, midnight - HOUR / 60)
    assert page(ada, midnight + HOUR / 60, door=None) == before
    assert {*slots(ada, midnight + HOUR).values()} == {"ranked"}
    page(ada, midnight + 7 * HOUR, door=None)
    assert {*slots(ada, midnight + HOUR).values()} == {"again"}
    Exposure.objects.update(door=Exposure.Door.FEED)
    page(ada, midnight + 8 * HOUR, door=None)
    assert {*slots(ada, midnight + HOUR).values()} == {"ranked"}


@pytest.mark.django_db
def test_every_door_has_what_was_passed_by_below_what_is_new(ada: Reader, now: datetime):
    shelf(ada, now, count=5, hours=2)
    page(ada, now)
    at = now + DAY
    for n in range(2):
        ItemFactory(source=SourceFactory(key="s0.example"), published_at=at - (6 + n) * HOUR)
    digest = digest_build(reader=ada, date=day_of(at, ada.zone), now=at)
    order = list(digest.impressions.order_by("rank").values_list("item_id", flat=True))
    assert [*slots(ada, at).values()] == ["ranked"] * 2 + ["again"] * 5
    feed, _digests = channel_of(reader=ada, token="t", now=at)
    pages = {item.pk: item.url for item in Item.objects.all()}
    assert [item.url for item in feed.items] == [pages[pk] for pk in order]
    mail = draft_daily(reader=ada, digest=digest, now=at)
    assert [row.item_id for row in mail.shown] == order
    assert [item.is_again for item in mail.content.items] == [False] * 2 + [True] * 5
