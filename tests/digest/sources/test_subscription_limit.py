"""A reader has a maximum number of feeds, added in any way, and known feeds are fetched first."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from digest.errors import TooManySubscriptions
from digest.feeds.rate_limit import HostLimiter, HostQueue
from digest.feeds.selectors import feeds_due
from digest.models import Feed, Reader, Subscription
from digest.sources.recommended import starter_feeds_chosen, starter_interests, welcome_answer
from digest.sources.subscription_changes import subscriptions_remove, subscriptions_restore
from digest.sources.subscriptions import (
    opml_import,
    subscription_add,
)
from tests.support.factories import FeedFactory, SubscriptionFactory

CODE = "too_many_subscriptions"


@pytest.fixture(autouse=True)
def three_at_most(settings) -> None:
    settings.SUBSCRIPTIONS_MAX = 3


def count(reader: Reader) -> int:
    return Subscription.objects.filter(reader=reader).count()


def listed(*hosts: str) -> bytes:
    lines = "\n".join(f'<outline type="rss" xmlUrl="https://{host}/feed"/>' for host in hosts)
    return f'<opml version="2.0"><body>\n{lines}\n</body></opml>'.encode()


def fill(reader: Reader, now, number: int = 3) -> list[Subscription]:
    urls = [f"https://s{n}.example/feed" for n in range(number)]
    return [subscription_add(reader=reader, url=url, now=now) for url in urls]


def test_one_more_is_refused_and_becomes_no_feed(ada: Reader, ben: Reader, now):
    fill(ada, now)
    with pytest.raises(TooManySubscriptions, match="3 feeds") as refused:
        subscription_add(reader=ada, url="https://one-more.example/feed", now=now)
    assert (refused.value.code, refused.value.status) == (CODE, 409)
    assert count(ada) == 3 and not Feed.objects.filter(url__contains="one-more").exists()
    assert subscription_add(reader=ada, url="https://s0.example/feed", now=now), "read already"
    assert subscription_add(reader=ben, url="https://one-more.example/feed", now=now)


def test_a_feed_that_was_removed_comes_back_while_there_is_room(ada: Reader, now):
    first = fill(ada, now)[0]
    removed = subscriptions_remove(reader=ada, feed_ids=[first.feed_id], now=now)
    subscription_add(reader=ada, url="https://other.example/feed", now=now)
    with pytest.raises(TooManySubscriptions):
        subscriptions_restore(reader=ada, removed=removed, now=now)
    subscriptions_remove(reader=ada, feed_ids=[Feed.objects.get(url__contains="other").pk], now=now)
    assert subscriptions_restore(reader=ada, removed=removed, now=now) and count(ada) == 3


def test_a_list_goes_in_up_to_the_limit_and_the_rest_is_listed(ada: Reader, now):
    fill(ada, now, 1)
    FeedFactory(url="https://gone.example/feed", state=Feed.State.GONE)
    document = listed("gone.example", "s0.example", "b.example", "c.example", "d.example", "e.example")
    report = opml_import(reader=ada, document=document, now=now).as_dict()
    assert (report["added"], report["already"], report["refused"]) == (2, 1, 3)
    refused = [(one["code"], one["what"]) for one in report["rejects"]]
    assert refused == [
        ("feed_is_gone", "https://gone.example/feed"),
        (CODE, "https://d.example/feed"),
        (CODE, "https://e.example/feed"),
    ]
    assert count(ada) == 3 and not Feed.objects.filter(url__contains="d.example").exists()
    again = opml_import(reader=ada, document=document, now=now)
    assert (again.added, again.already) == (0, 3)


def test_the_pages_say_so(ada: Reader, client: Client, now):
    fill(ada, now)
    client.force_login(ada)
    added = client.post("/ui/sources", {"url": "https://one-more.example/feed", "as_is": "on"})
    assert added.status_code == 422 and "as many as one may" in added.content.decode()
    answer = client.post(
        "/ui/sources/import", {"file": SimpleUploadedFile("a.opml", listed("b.example"))}, follow=True
    )
    assert answer.status_code == 200 and "as many as one may" in answer.content.decode()
    assert count(ada) == 3


def test_a_first_visit_brings_no_more_than_the_limit(ada: Reader, now):
    feeds = starter_feeds_chosen(interests=[one.key for one in starter_interests()], urls=[])
    assert welcome_answer(reader=ada, feeds=feeds, now=now).added == 3 == count(ada)


def test_known_feeds_come_before_new_ones_in_a_round(ada: Reader, now):
    new = [FeedFactory(state=Feed.State.ACTIVE, next_check_at=now - timedelta(days=1)) for _ in range(3)]
    earlier = now - timedelta(hours=1)
    known = FeedFactory(state=Feed.State.ACTIVE, next_check_at=now, last_fetched_at=earlier)
    Feed.objects.filter(pk__in=[feed.pk for feed in new]).update(last_fetched_at=None)
    for feed in (*new, known):
        SubscriptionFactory(reader=ada, feed=feed)
    assert feeds_due(now=now)[0] == known


def test_a_crowd_of_new_hosts_does_not_hold_back_the_next_feed_of_a_known_host():
    entries = [("known", 1), ("known", 2), *((f"new{n}", -n) for n in range(1, 5)), ("known", 3)]
    queue, limiter = HostQueue(entries, is_new=lambda entry: entry < 0), HostLimiter(gap_s=0, shared=False)
    order = []
    while entry := queue.next(limiter):
        host, number = entry
        order.append(number)
        limiter.leave(host)
        queue.requeue(host)
    assert order == [1, 2, 3, -1, -2, -3, -4]


def test_feeds_that_nobody_reads_any_more_are_not_fetched(ada: Reader, ben: Reader, now):
    """Feeds that were added, fetched once and removed stayed due for ever, and came before new ones."""
    for row in fill(ada, now):
        subscription_add(reader=ben, url=row.feed.url, now=now)
    Feed.objects.update(last_fetched_at=now, next_check_at=now)
    removed = subscriptions_remove(
        reader=ada, feed_ids=[row.feed_id for row in ada.subscriptions.all()], now=now
    )
    assert len(feeds_due(now=now)) == 3, "Ben reads them"
    subscriptions_remove(reader=ben, feed_ids=[row.feed_id for row in ben.subscriptions.all()], now=now)
    assert not feeds_due(now=now)
    subscriptions_restore(reader=ada, removed=removed, now=now)
    assert len(feeds_due(now=now)) == 3, "an undo goes on as before"
    ada.delete()
    assert not feeds_due(now=now), "neither are those of a deleted account"


def test_a_day_of_additions_has_an_end_whatever_is_removed_in_between(ada: Reader, ben: Reader, now):
    """Three lists of a thousand feeds with removals in between were three thousand feeds."""
    seen = []
    for n in range(4):
        report = opml_import(reader=ada, document=listed(*(f"l{n}{m}.example" for m in range(3))), now=now)
        seen.append((report.added, report.refused))
        subscriptions_remove(reader=ada, feed_ids=[row.feed_id for row in ada.subscriptions.all()], now=now)
    assert seen == [(3, 0), (3, 0), (0, 3), (0, 3)]
    assert Feed.objects.count() == 6
    with pytest.raises(TooManySubscriptions, match="today"):
        subscription_add(reader=ada, url="https://one-more.example/feed", now=now)
    assert subscription_add(reader=ben, url="https://one-more.example/feed", now=now)
    assert subscription_add(reader=ada, url="https://one-more.example/feed", now=now + timedelta(days=1))
