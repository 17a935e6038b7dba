"""Who comes back after three days or more is offered the best since then, and may mark the rest as read."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.daily.catch_up import away_since, catch_up
from digest.days import day_of
from digest.feedback.services import feedback_give
from digest.items.reading import item_read
from digest.models import Exposure, Feed, Item, Reader, Reading, Story
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def visited(reader: Reader, item: Item, at, door: str = Exposure.Door.PAGE) -> None:
    figures = {"rank": 1, "slot": "ranked", "propensity": 1.0, "score": 1.0, "config_version": 0}
    Exposure.objects.create(reader=reader, item=item, date=at.date(), door=door, shown_at=at, **figures)


@pytest.fixture
def missed(ada, now) -> list[Item]:
    """Forty items of eight sources since Ada's visit twelve days ago, one story in three."""
    feeds = [FeedFactory(source=SourceFactory(key=f"s{n}.example")) for n in range(8)]
    for feed in feeds:
        SubscriptionFactory(reader=ada, feed=feed)
    at = [now - (n / 4 + 0.1) * DAY for n in range(40)]
    items = [
        ItemFactory(source=feeds[n % 8].source, feed=feeds[n % 8], title=f"Item {n}", published_at=at[n])
        for n in range(40)
    ]
    story = Story.objects.create(created_at=now, last_item_at=now)
    for item, more in zip(items[33:36], ("at dawn", "after talks", "says union"), strict=True):
        item.title, item.story = f"{item.title}: ferry strike ends in the harbour {more}", story
        item.save()
    old = ItemFactory(source=feeds[0].source, feed=feeds[0], title="Seen", published_at=now - 13 * DAY)
    visited(ada, old, now - 12 * DAY)
    return items


def test_nobody_is_away_before_three_days_or_by_looking_in_today(ada, now, missed):
    assert away_since(reader=ada, now=now) == now - 12 * DAY
    visited(ada, missed[0], now)
    assert away_since(reader=ada, now=now) == now - 12 * DAY
    visited(ada, missed[1], now - 4 * DAY, door=Exposure.Door.MAIL)
    assert away_since(reader=ada, now=now) == now - 12 * DAY
    visited(ada, missed[2], now - 2 * DAY)
    assert away_since(reader=ada, now=now) is None
    assert catch_up(reader=ada, now=now) is None


def test_days_of_an_absence_are_the_readers_whatever_the_hour_of_a_visit(ada, now, missed):
    """Ada, in Berlin, reads at nine: half a minute earlier on the third day is not "not away"."""
    morning = now.replace(hour=8)
    Exposure.objects.update(shown_at=morning - 3 * DAY + timedelta(minutes=2))
    assert away_since(reader=ada, now=morning)
    Exposure.objects.update(shown_at=morning - 2 * DAY - timedelta(hours=8))
    assert away_since(reader=ada, now=morning) is None


def test_the_best_since_the_last_visit_are_thirty_with_what_sources_agree_on_first(ada, now, missed):
    found = catch_up(reader=ada, now=now)
    titles = [entry.item.title for entry in found.best]
    assert len(titles) == 30
    assert titles[0].startswith("Item 33") and found.best[0].parts["reported_by"] == 3
    assert not [t for t in titles if t.startswith(("Item 34", "Item 35", "Seen"))]
    assert {*found.rest} == {item.pk for item in missed} - {entry.item.pk for entry in found.best}


def test_what_was_read_is_not_offered_again(ada, now, missed):
    item_read(reader=ada, item_id=missed[33].pk, now=now)
    found = catch_up(reader=ada, now=now)
    assert missed[33].pk not in {entry.item.pk for entry in found.best} | {*found.rest}


def test_a_backlog_that_came_in_one_fetch_is_spread_over_the_days_it_was_published(ada, now, missed):
    """The machine was off for eleven days, and all of it came this minute."""
    Item.objects.exclude(title="Seen").update(dated_at=now - timedelta(minutes=1), first_seen_at=now)
    for n, item in enumerate(missed):
        item.published_at = now - (n / 4 + 1) * DAY
        Item.objects.filter(pk=item.pk).update(published_at=item.published_at)
    ancient = missed[0]
    Item.objects.filter(pk=ancient.pk).update(published_at=now - 400 * DAY)
    sections = [section for section in catch_up(reader=ada, now=now).sections if section.day]
    days = [section.day for section in sections]
    assert len(days) >= 10 and days == sorted(days, reverse=True)
    published = {item.pk: day_of(item.published_at, ada.zone) for item in missed}
    published[ancient.pk] = day_of(
        now - timedelta(minutes=1), ada.zone
    )  # older than the absence: when it came
    assert all(published[pk] == section.day for section in sections for pk in section.items)


def test_another_readers_visits_and_feeds_say_nothing(ada, ben, now, missed):
    visited(ben, missed[0], now - 5 * DAY)
    found = catch_up(reader=ben, now=now)
    assert (list(found.best), list(found.rest)) == ([], [])


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture
def now():
    return timezone.now()


def test_today_points_to_what_was_missed_all_day_and_to_nothing_without_an_absence(page, ada, now, missed):
    for _ in range(2):
        assert "The best since your last visit" in page.get("/").content.decode()
    Exposure.objects.filter(shown_at__lt=now - 2 * DAY).delete()
    assert "The best since your last visit" not in page.get("/").content.decode()
    assert "You have not been away" in page.get("/ui/catch-up").content.decode()


def test_after_a_longer_absence_the_page_names_no_day_as_the_last_visit_that_was_none(page, ada, now, missed):
    Exposure.objects.update(shown_at=now - 53 * DAY)
    assert catch_up(reader=ada, now=now).is_longer
    body = page.get("/ui/catch-up").content.decode()
    assert "The best of the last thirty days" in body and "last visit" not in body


def read_all(ada, now, missed) -> None:
    for item in missed:
        item_read(reader=ada, item_id=item.pk, now=now)


def rate_all(ada, now, missed) -> None:
    for item in missed:
        feedback_give(reader=ada, item_id=item.pk, useful=True, now=now)


def delete_all(ada, now, missed) -> None:
    Item.objects.exclude(title="Seen").delete()


def leave_the_oldest(ada, now, missed) -> None:
    Item.objects.exclude(title__in=["Seen", missed[39].title]).delete()


@pytest.mark.parametrize(
    ("happened", "is_offered"),
    [(read_all, False), (rate_all, False), (delete_all, False), (leave_the_oldest, True)],
)
def test_today_points_to_the_page_if_it_shows_something(page, ada, now, missed, happened, is_offered):
    happened(ada, now, missed)
    for _ in range(2):
        assert ("The best since your last visit" in page.get("/").content.decode()) == is_offered
        assert bool(page.get("/ui/catch-up").context["found"].best) == is_offered


CATCH_UP, READ = "/ui/catch-up", "/ui/catch-up/read"


def shown_on(body: str) -> dict[str, list[str]]:
    """Return the fields of the page's form that name the items on it."""
    return {"item": re.findall(r'name="item" value="(\d+)"', body)}


def taken_back(page, body: str) -> str:
    """Return the catch-up page after its Undo."""
    at = re.search(r'name="undo" value="([^"]+)"', body)[1]
    return page.post("/ui/read/undo", {"undo": at, "next": CATCH_UP}, follow=True).content.decode()


def test_the_list_is_finished_by_marking_it_as_read_and_that_is_undone(page, ada, missed):
    body = page.get(CATCH_UP).content.decode()
    shown = shown_on(body)
    assert len(shown["item"]) == 30 and "Mark these as read" in body and "/ui/all?unread=1" in body
    after = page.post(READ, shown, follow=True).content.decode()
    read = Reading.objects.filter(reader=ada, read_at__isnull=False)
    assert {str(pk) for pk in read.values_list("item", flat=True)} == {*shown["item"]}
    assert "30 items marked as read" in after and "The best is marked as read" in after
    assert "data-item=" not in after and "/ui/all?unread=1" in after
    again = taken_back(page, after)
    assert read.count() == 0 and shown_on(again) == shown


def test_after_the_best_the_rest_is_marked_as_read_too_and_nothing_is_left(page, ada, missed):
    after = page.post(READ, shown_on(page.get(CATCH_UP).content.decode()), follow=True).content.decode()
    assert "Mark the other 10 as read" in after
    after = page.post(READ, {"rest": "1"} | shown_on(after), follow=True).content.decode()
    assert Reading.objects.filter(reader=ada, read_at__isnull=False).count() == 40
    assert "You have read it all" in after


def test_only_what_was_missed_can_be_marked(page, ada, ben, missed):
    theirs = ItemFactory(title="Not Ada's")
    page.post(READ, {"item": [theirs.pk, "x", "9" * 40]})
    assert not Reading.objects.exists()


def test_where_nothing_came_the_page_says_so_and_which_feeds_failed(page, ada, missed):
    Item.objects.exclude(title="Seen").delete()
    Feed.objects.update(state="active", last_fetched_at=timezone.now())
    body = page.get(CATCH_UP).content.decode()
    assert "Nothing new came since" in body and "read it all" not in body
    assert "could not be fetched" not in body
    failing = Feed.objects.filter(subscriptions__reader=ada).order_by("pk")[:3]
    Feed.objects.filter(pk__in=[*failing.values_list("pk", flat=True)]).update(failures=1)
    body = page.get(CATCH_UP).content.decode()
    assert '3 of your 8 feeds could not be fetched. <a href="/ui/sources">' in body


def test_the_rest_is_marked_as_read_and_unread_again(page, ada, missed):
    body = page.get(CATCH_UP).content.decode()
    assert body.count("data-item=") >= 30
    after = page.post(READ, {"rest": "1"} | shown_on(body), follow=True).content.decode()
    read = Reading.objects.filter(reader=ada, read_at__isnull=False)
    assert read.count() == 10 and "10 items marked as read" in after
    assert "Mark the other" not in after
    again = taken_back(page, after)
    assert read.count() == 0 and "10 items unread again" in again


def test_what_came_after_the_page_was_made_is_not_marked_with_the_rest(page, ada, missed):
    body = page.get(CATCH_UP).content.decode()
    seen = re.search(r'name="seen" value="(\d+)"', body)[1]
    late = ItemFactory(source=missed[0].source, feed=missed[0].feed, published_at=timezone.now())
    Item.objects.filter(pk=late.pk).update(first_seen_at=timezone.now() + timedelta(minutes=1))
    after = page.post(READ, {"rest": "1", "seen": seen} | shown_on(body), follow=True).content.decode()
    assert "Mark the other 10 as read" in body and "10 items marked as read" in after
    assert not Reading.objects.filter(item=late).exists()


def test_an_item_found_not_useful_can_be_folded_and_offers_an_undo(page, ada, missed):
    url = f"/ui/item/{missed[0].pk}/feedback"
    down = page.post(url, {"useful": "0"}, headers={"X-Requested-With": "fetch"}).content.decode()
    assert re.search(r'value="clear" class="text undo"[^>]*>Undo<', down)
    up = page.post(url, {"useful": "1"}, headers={"X-Requested-With": "fetch"}).content.decode()
    assert "undo" not in up


def test_the_page_has_a_heading_for_each_day_and_nothing_has_aged(page, ada, now, missed):
    found = catch_up(reader=ada, now=now)
    assert min(entry.parts["recency"] for entry in found.best) == pytest.approx(1, abs=1e-3)
    days = [section.day for section in found.sections]
    assert days[0] is None and len(days) >= 10
    body = page.get(CATCH_UP).content.decode()
    assert "Reported by several of your sources" in body
    assert body.count("day-of-absence") == len(days)


def test_what_was_rated_meanwhile_is_not_offered(ada, now, missed):
    feedback_give(reader=ada, item_id=missed[0].pk, useful=True, now=now)
    found = catch_up(reader=ada, now=now)
    assert missed[0].pk not in {entry.item.pk for entry in found.best} | {*found.rest}
