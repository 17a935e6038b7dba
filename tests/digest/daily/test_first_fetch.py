"""First fetch: feeds that a reader has just added are fetched at once by any free process, and show."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError
from pytest_httpserver import HTTPServer
from werkzeug import Response

from config.tasks import Worker
from digest.daily import first_fetch as module
from digest.daily.first_fetch import first_fetch_advance, first_fetch_wake, first_round, stories_refresh
from digest.daily.selectors import items_newer
from digest.daily.services import digest_current, digest_refresh
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.first_fetch import feeds_new, reader_first_fetch
from digest.feeds.rate_limit import _limiter
from digest.feeds.services import feed_claim
from digest.items.selectors import items_candidates
from digest.items.stories import StoriesReport
from digest.models import Feed, Item, Reader, Summary
from digest.sources.subscriptions import subscription_add
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory
from tests.support.publishers import address, publishers

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> Iterator[HTTPServer]:
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]
    _limiter.cache_clear()
    yield httpserver
    _limiter.cache_clear()


def publish(site: HTTPServer, name: str, headline: str = "Rain") -> str:
    """Return a feed with one post, by its address."""
    item = f"<item><title>{headline} in {name}</title><link>https://{name}.example/1</link></item>"
    site.expect_request(f"/{name}").respond_with_data(
        f"<rss><channel><title>{name}</title>{item}</channel></rss>"
    )
    return site.url_for(f"/{name}")


def add(reader: Reader, *urls: str, ago: timedelta = timedelta()) -> None:
    for url in urls:
        subscription_add(reader=reader, url=url, now=timezone.now() - ago)


def round_() -> bool:
    return first_round(now=timezone.now(), clock=timezone.now)


def test_only_feeds_that_somebody_reads_and_nobody_has_tried_are_fetched(ada, site):
    add(ada, publish(site, "new"))
    FeedFactory(state="active", url=publish(site, "unread"), next_check_at=timezone.now())
    known = FeedFactory(state="active", url=publish(site, "known"), last_fetched_at=timezone.now())
    SubscriptionFactory(reader=ada, feed=known)
    assert round_() is False
    assert [request.path for request, _ in site.log] == ["/new"]
    assert Summary.objects.count() == 1  # extracts came with them
    site.clear_log()
    assert round_() is False and not site.log


def test_a_feed_that_another_worker_has_is_left_to_it(ada, site):
    add(ada, publish(site, "new"))
    assert feed_claim(feed=Feed.objects.get(), until=timezone.now() + timedelta(minutes=5))
    assert round_() is False and not site.log


def test_stories_wait_until_no_feed_is_left(ada, site, settings, monkeypatch):
    settings.FETCH_HOST_GAP_S, calls = 1.0, []  # both are at one host

    def stories(now: datetime) -> StoriesReport:
        calls.append(Item.objects.count())
        return StoriesReport()

    monkeypatch.setattr(module, "stories_update", stories)
    add(ada, publish(site, "a"), publish(site, "b"))
    assert first_round(now=timezone.now(), clock=timezone.now, seconds=0.4) is True
    assert calls == [] and Item.objects.count() == 1
    first_round(now=timezone.now(), clock=timezone.now, seconds=5)
    assert calls == [2]


def test_what_has_no_time_left_waits_for_the_next_part(ada, site):
    add(ada, publish(site, "a"), publish(site, "b"))
    assert first_round(now=timezone.now(), clock=timezone.now, seconds=0) is False  # nothing begun: no haste
    assert not site.log and feeds_new(now=timezone.now()).count() == 2


def test_slow_and_failing_feeds_cost_the_others_no_time(ada, settings):
    """Items are stored while one server is still slow; a server that fails counts as tried."""
    quick, slow, down = (address(n) for n in range(3))
    settings.FETCH_ALLOW_HOSTS = [quick, slow, down]
    rss = b"<rss><channel><title>News</title><item><title>Rain</title></item></channel></rss>"
    seen = []

    def look(url: str) -> None:
        seen.append((urlsplit(url).hostname, Item.objects.count()))

    with publishers({slow: rss, quick: rss, down: b""}, slow={slow: 1.5}) as (port, _):
        add(ada, *(f"http://{host}:{port}/" for host in (slow, quick, down)))
        feeds_fetch(now=timezone.now(), feeds=feeds_new(now=timezone.now()), progress=look)
    assert {host for host, _ in seen[:2]} == {quick, down}
    assert (quick, 1) in seen and seen[2] == (slow, 2)
    assert reader_first_fetch(reader_id=ada.pk, now=timezone.now()) is None
    ended = reader_first_fetch(reader_id=ada.pk, now=timezone.now(), finished=True)
    assert (ended.feeds, ended.fetched, ended.failed, ended.items) == (3, 3, 1, 2)


def test_the_embedded_worker_looks_for_new_feeds_at_every_tick(ada, site, monkeypatch):
    monkeypatch.setattr("config.tasks.jobs_due", lambda now, last: [])
    add(ada, publish(site, "new"))
    assert Worker("w").tick(now=timezone.now(), stopping=lambda: False) is False
    assert Item.objects.count() == 1


def test_a_first_round_that_breaks_is_noted_and_costs_the_worker_nothing(ada, site, monkeypatch):
    monkeypatch.setattr("config.tasks.jobs_due", lambda now, last: [])
    monkeypatch.setattr(module, "stories_update", lambda now: 1 / 0)
    add(ada, publish(site, "new"))
    assert Worker("w").tick(now=timezone.now(), stopping=lambda: False) is False


# --- Without a worker -----------------------------------------------------------------------------------


def test_a_page_leaves_the_feeds_to_a_worker_for_five_seconds_then_fetches_them_itself(ada, ben, site):
    add(ada, publish(site, "mine"))
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 0
    Feed.objects.update(next_check_at=timezone.now() - 6 * SECOND)
    add(ben, publish(site, "theirs"), ago=6 * SECOND)
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 1
    assert [request.path for request, _ in site.log] == ["/mine"]


def test_a_page_does_nothing_while_a_worker_is_at_it(ada, site):
    add(ada, publish(site, "a"), publish(site, "b"), ago=6 * SECOND)
    feed_claim(feed=Feed.objects.get(url__endswith="a"), until=timezone.now() + timedelta(minutes=5))
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 0


@pytest.mark.usefixtures("own_cache")
def test_a_page_leaves_a_worker_its_pauses_but_not_itself(ada, site):
    """Between two feeds a worker makes stories. A page's own fetch is no sign of a worker."""
    add(ada, publish(site, "a"), ago=6 * SECOND)
    lately = timezone.now() - 14 * SECOND
    SubscriptionFactory(reader=ada, feed=FeedFactory(state="active", last_fetched_at=lately))
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 0
    Feed.objects.exclude(last_fetched_at=None).update(last_fetched_at=timezone.now() - 16 * SECOND)
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 1
    add(ada, publish(site, "b"), ago=6 * SECOND)
    assert first_fetch_advance(reader=ada, now=timezone.now()) == 1


def test_a_page_waits_for_no_slow_server_for_long(ada, site, monkeypatch):
    monkeypatch.setattr(module, "INLINE_REQUEST_S", 0.5)
    at_its_desk = threading.Event()
    site.expect_request("/slow").respond_with_handler(lambda request: Response(str(at_its_desk.wait(10))))
    add(ada, site.url_for("/slow"), ago=6 * SECOND)
    began = timezone.now()
    assert first_fetch_advance(reader=ada, now=began) == 1
    assert timezone.now() - began < 3 * SECOND
    at_its_desk.set()
    assert Feed.objects.get().error_code == "timeout"


def test_with_a_broker_a_page_wakes_a_worker_again_but_not_at_every_look(
    ada, settings, monkeypatch, own_cache
):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    woken = []
    monkeypatch.setattr(module.FIRST_ROUND.celery, "apply_async", lambda **sent: woken.append(sent))
    add(ada, "https://new.example/feed", ago=6 * SECOND)
    for _ in range(3):
        assert first_fetch_advance(reader=ada, now=timezone.now()) == 0
    assert woken == [{"args": (), "retry": False}]


def test_a_broker_that_is_down_stops_nobody(settings, monkeypatch, django_capture_on_commit_callbacks):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def down(**options: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(module.FIRST_ROUND.celery, "apply_async", down)
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        first_fetch_wake()
    assert len(callbacks) == 1


# --- The digest -----------------------------------------------------------------------------------------


def test_todays_digest_is_built_again_when_the_first_fetch_ends_though_it_is_minutes_old(ada, ben, site, now):
    ItemFactory(feed=SubscriptionFactory(reader=ada).feed)
    SubscriptionFactory(reader=ben, feed=ada.subscriptions.get().feed)
    subscription_add(reader=ada, url=publish(site, "new"), now=now)
    before, bens = (digest_current(reader=reader, date=now.date(), now=now) for reader in (ada, ben))
    later = now + 3 * SECOND
    first_round(now=now + SECOND, clock=lambda: later)
    assert items_newer(digest=before, now=later) == 1
    after = digest_current(reader=ada, date=now.date(), now=later)
    assert after.built_at == later and after.impressions.count() == 2
    assert (
        digest_current(reader=ben, date=now.date(), now=later).built_at == bens.built_at
    )  # he added nothing
    assert items_newer(digest=after, now=later + SECOND) == 0


def test_while_feeds_are_fetched_a_digest_is_at_most_five_seconds_old(ada):
    ItemFactory(feed=SubscriptionFactory(reader=ada).feed, published_at=timezone.now() - 60 * SECOND)
    now = timezone.now()
    add(ada, "https://new.example/feed")
    day = now.astimezone(ada.zone).date()
    first = digest_current(reader=ada, date=day, now=now + SECOND)
    ItemFactory(feed=first.impressions.get().item.feed, published_at=now)
    assert digest_current(reader=ada, date=day, now=now + 5 * SECOND).impressions.count() == 1
    assert digest_current(reader=ada, date=day, now=now + 7 * SECOND).impressions.count() == 2


def test_what_came_since_is_shown_on_demand_and_counted_no_more(ada, now):
    item = ItemFactory(feed=SubscriptionFactory(reader=ada, feed__state="active").feed)
    planet = SubscriptionFactory(reader=ada, feed__state="active").feed  # its words come second
    digest = digest_refresh(reader=ada, now=now)
    for url in ("https://a.example/1", "https://a.example/1", item.url):
        ItemFactory(feed=item.feed, url=url, guid=Item.objects.count(), first_seen_at=now + SECOND)
    Feed.objects.update(last_new_at=now + SECOND)
    assert items_newer(digest=digest, now=now + 2 * SECOND) == 2  # one of them twice
    after = digest_refresh(reader=ada, now=now + 3 * SECOND)
    assert items_newer(digest=after, now=now + 4 * SECOND) == 0
    # An item that is shown already, in better words, is not offered again and again.
    ItemFactory(feed=planet, url=item.url, guid="again", first_seen_at=now + 5 * SECOND)
    Feed.objects.update(last_new_at=now + 5 * SECOND)
    last = digest_refresh(reader=ada, now=now + 6 * SECOND)
    assert last.built_at == now + 6 * SECOND and items_newer(digest=last, now=now + 7 * SECOND) == 0


def test_stories_that_another_round_made_of_the_first_items_build_the_digest_again(ada, site, monkeypatch):
    """A regular fetch batch may fetch a slow list's last feeds."""
    monkeypatch.setattr("config.tasks.jobs_due", lambda now, last: [])
    headline = "Harbour bridge closed after storm damages its northern pier"
    add(ada, publish(site, "a", headline), publish(site, "b", headline))
    feeds_fetch(now=timezone.now(), clock=timezone.now)
    day = timezone.now().astimezone(ada.zone).date()
    alone = digest_current(reader=ada, date=day, now=timezone.now())
    assert alone.impressions.count() == 2
    assert stories_refresh(now=timezone.now(), clock=timezone.now).begun == 1
    told = digest_current(reader=ada, date=day, now=timezone.now())
    assert told.impressions.count() == 1  # a story is shown once
    assert stories_refresh(now=timezone.now(), clock=timezone.now).begun == 0
    assert digest_current(reader=ada, date=day, now=timezone.now()).built_at == told.built_at


def test_the_api_says_how_far_it_is_and_what_is_newer(ada, client: Client, site):
    ItemFactory(feed=SubscriptionFactory(reader=ada).feed, published_at=timezone.now() - 60 * SECOND)
    client.force_login(ada)
    url = f"/api/digests/{timezone.now().astimezone(ada.zone).date()}"
    assert client.get(url).json()["filling"] is None
    add(ada, publish(site, "new"))
    assert client.get(url).json()["filling"] == {"feeds": 1, "fetched": 0, "failed": 0, "items": 0}
    round_()
    answer = client.get(url).json()
    assert (answer["filling"], answer["newer"], len(answer["entries"])) == (None, 0, 2)
    assert len(items_candidates(reader_id=ada.pk, now=timezone.now())) == 2
