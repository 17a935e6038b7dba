"""A fetch batch against a real server: its requests, its stored items, and the states of feeds."""

import json
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.feeds import fetch_batch, rate_limit
from digest.feeds.entities import FetchReport
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.rate_limit import _limiter
from digest.feeds.selectors import subscriptions_of
from digest.feeds.services import feed_claim, feed_move, feeds_check, feeds_pause
from digest.items.selectors import items_candidates
from digest.models import Feed, Item, Reader, Source, Subscription
from digest.sources.private_feeds import private_feed_create
from digest.sources.subscription_changes import subscriptions_remove
from digest.sources.subscriptions import subscription_add
from ranking.common.commands import database_label
from tests.support.factories import FeedFactory, ReaderFactory
from tests.support.ingest import document_ingest

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def rss(*titles: str, head: str = "") -> bytes:
    items = "".join(f"<item><title>{t}</title><guid>{t}</guid></item>" for t in titles)
    return f"<rss><channel><title>Rivers</title>{head}{items}</channel></rss>".encode()


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> Iterator[HTTPServer]:
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]
    _limiter.cache_clear()
    yield httpserver
    _limiter.cache_clear()


def round_(now, **wanted: object) -> FetchReport:
    return feeds_fetch(now=now, draw=lambda: 0.0, **wanted)


def ensure(site: HTTPServer, path: str, now, host: str = "localhost") -> Feed:
    """Return a feed that somebody reads."""
    return read(feed_get_or_create(url=f"http://{host}:{site.port}{path}", now=now))


def read(feed: Feed) -> Feed:
    reader = Reader.objects.filter(username="cleo").first() or ReaderFactory(username="cleo")
    Subscription.objects.get_or_create(reader=reader, feed=feed, defaults={"created_at": feed.next_check_at})
    return feed


def test_an_unchanged_feed_is_a_success_and_is_asked_with_what_it_gave(site, now):
    feed = ensure(site, "/feed", now)
    site.expect_ordered_request("/feed").respond_with_data(rss("Rain"), headers={"ETag": '"1"'})
    site.expect_ordered_request("/feed").respond_with_data(b"", status=503)
    site.expect_ordered_request("/feed", headers={"If-None-Match": '"1"'}).respond_with_data(b"", status=304)
    reports = [round_(now + n * 24 * HOUR).as_dict() for n in range(3)]
    assert [(r["ok"], r["unchanged"]) for r in reports] == [(1, 0), (0, 0), (1, 1)]
    feed.refresh_from_db()
    assert (feed.etag, feed.failures, feed.error_code) == ('"1"', 0, "")
    assert (feed.last_new_at, feed.last_fetched_at) == (now, now + 48 * HOUR)


@pytest.mark.parametrize(
    ("headers", "head"),
    [
        ({"Cache-Control": "max-age=10800"}, ""),
        ({"Retry-After": "10800"}, ""),
        ({}, "<ttl>180</ttl>"),
        ({}, "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>8</sy:updateFrequency>"),
    ],
)
def test_what_a_publisher_asks_for_decides_when_it_is_asked_again(site, now, headers, head):
    feed = ensure(site, "/feed", now)
    site.expect_request("/feed").respond_with_data(rss("Rain", head=head), headers=headers)
    round_(now)
    feed.refresh_from_db()
    assert feed.next_check_at == now + 3 * HOUR


def test_two_workers_never_ask_one_feed_at_once(site, now):
    feed = ensure(site, "/feed", now)
    first, second = Feed.objects.get(), Feed.objects.get()
    assert feed_claim(feed=first, until=now + HOUR)
    assert not feed_claim(feed=second, until=now + HOUR)
    assert round_(now, feeds=[feed]).as_dict()["feeds"] == 0
    assert site.log == []
    site.expect_request("/feed").respond_with_data(rss("Rain"))
    assert round_(now + 2 * HOUR).as_dict()["ok"] == 1  # the worker that had it died


def test_a_feed_paused_meanwhile_is_not_asked(site, now):
    feed = ensure(site, "/feed", now)
    assert feeds_pause(feed_ids=[feed.pk]) == 1
    assert not feed_claim(feed=feed, until=now + HOUR)


def test_a_feed_shared_by_readers_is_fetched_once(site, now, ada, ben):
    site.expect_request("/feed").respond_with_data(rss("Rain"))
    for reader in (ada, ben):
        subscription_add(reader=reader, url=site.url_for("/feed"), now=now)
    round_(now)
    assert len(site.log) == 1


def test_a_feed_missing_ten_times_in_a_row_is_given_up_and_can_be_taken_up_again(site, now):
    feed = ensure(site, "/feed", now)
    site.expect_request("/feed").respond_with_data(b"", status=404)
    for n in range(9):
        round_(now + n * 48 * HOUR)
    feed.refresh_from_db()
    assert (feed.state, feed.missing) == (Feed.State.ACTIVE, 9)
    round_(now + 9 * 48 * HOUR)
    feed.refresh_from_db()
    assert feed.state == Feed.State.GONE and "ten times" in feed.error_message
    assert round_(now + 99 * 48 * HOUR).as_dict()["feeds"] == 0
    assert feeds_check(feed_ids=[feed.pk], now=now + 100 * 48 * HOUR) == 1
    round_(now + 100 * 48 * HOUR)
    feed.refresh_from_db()
    assert (feed.state, feed.missing) == (Feed.State.ACTIVE, 1)


def test_a_short_outage_costs_a_slow_feed_minutes_and_an_error_of_its_server_a_day(site, now):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    silent = read(feed_get_or_create(url=f"http://127.0.0.1:{port}/feed", now=now))
    broken = ensure(site, "/feed", now)
    site.expect_request("/feed").respond_with_data(b"", status=503)
    Feed.objects.update(check_minutes=24 * 60)
    waits = []
    for _ in range(2):
        at = Feed.objects.get(pk=silent.pk).next_check_at
        assert round_(at).as_dict()["failed"] >= 1
        waits.append(Feed.objects.get(pk=silent.pk).next_check_at - at)
    broken.refresh_from_db()
    assert waits == [HOUR / 6, HOUR / 3]
    assert broken.next_check_at == now + 24 * HOUR


def test_another_failure_in_between_starts_the_count_of_missing_anew(site, now):
    feed = ensure(site, "/feed", now)
    for n, status in enumerate([404, 404, 500, 404]):
        site.expect_ordered_request("/feed").respond_with_data(b"", status=status)
        round_(now + n * 48 * HOUR)
    feed.refresh_from_db()
    assert (feed.missing, feed.failures) == (1, 4)


ENTRY = "<item><title>Rain</title><guid>1</guid></item>"


@pytest.mark.parametrize(
    ("document", "note", "words"),
    [
        (f"<rss><channel><title>Rivers</title>{ENTRY}<<&&>", "broken", "its document is broken"),
        ("<rss><channel><title>Rivers</title><<&&>", "broken", "its document is broken"),
        ("<rss><channel><title>Rivers</title></channel></rss>", "empty", "its document has no entries"),
    ],
)
def test_an_answer_that_is_broken_or_empty_is_read_and_told_of_until_a_good_one(
    site, now, operator, client, document, note, words
):
    feed = ensure(site, "/feed", now)
    site.expect_ordered_request("/feed").respond_with_data(document, headers={"ETag": '"1"'})
    site.expect_ordered_request("/feed").respond_with_data(b"", status=304)
    site.expect_ordered_request("/feed").respond_with_data(rss("Rain"))
    client.force_login(operator)
    for n in range(2):  # the second answer is that nothing has changed
        assert round_(now + n * 48 * HOUR).as_dict()["ok"] == 1
        feed.refresh_from_db()
        assert (feed.note, feed.failures, feed.error_code) == (note, 0, "")
        for path in ("/admin/digest/feed/", f"/admin/digest/feed/{feed.pk}/change/"):
            page = client.get(path).content.decode()
            assert words in page and "doubtful" in page.lower()
    client.force_login(Reader.objects.get(username="cleo"))
    assert words in client.get("/ui/sources").content.decode()
    round_(now + 96 * HOUR)
    feed.refresh_from_db()
    assert feed.note == ""


def test_a_host_that_was_asked_too_often_is_left_alone_with_all_its_feeds(site, now):
    site.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "900"})
    for path in ("/a", "/b", "/c"):
        ensure(site, path, now)
    report = round_(now).as_dict()
    assert (report["feeds"], report["left"], len(site.log)) == (1, 2, 1)


def test_whoever_watches_hears_which_host_a_round_waits_for(site, now, monkeypatch):
    monkeypatch.setattr(fetch_batch, "WAIT_REPORTED_S", 0.2)
    busy = {"status": 429, "headers": {"Retry-After": "1"}}
    for path in ("/a", "/b"):
        site.expect_request(path).respond_with_data(b"", **busy)
        ensure(site, path, now)
    waits: list[tuple[str, float]] = []
    report = round_(now, waiting=lambda host, seconds: waits.append((host, seconds)))
    assert [host for host, _ in waits] == ["localhost"] and 0.5 < waits[0][1] <= 1
    assert (len(report.errors), len(site.log)) == (2, 2)


@pytest.mark.parametrize(("watched", "words"), [(True, "for localhost"), (False, "")])
def test_the_command_names_what_it_waits_for_on_a_terminal_only(
    site, now, monkeypatch, capsys, watched, words
):
    monkeypatch.setattr(fetch_batch, "WAIT_REPORTED_S", 0.2)
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched)
    for path in ("/a", "/b"):
        site.expect_request(path).respond_with_data(b"", status=429, headers={"Retry-After": "1"})
        ensure(site, path, now)
    with pytest.raises(CommandError, match="2 of 2 feeds failed"):
        call_command("fetch_feeds", "--feed", site.url_for("/a"), site.url_for("/b"), "--json")
    output = capsys.readouterr()
    assert json.loads(output.out)["failed"] == 2
    database, *waits = output.err.splitlines()
    assert database == f"Into: {database_label()}."
    assert words in "\n".join(waits) and bool(waits) == watched


def test_a_feed_whose_host_asked_for_a_pause_is_not_asked_and_the_command_says_until_when(site, now, capsys):
    site.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7200"})
    url = ensure(site, "/a", now).url
    with pytest.raises(CommandError, match="1 of 1 feeds failed"):
        call_command("fetch_feeds", "--feed", url)
    until = Feed.objects.get().pause_until
    with pytest.raises(CommandError, match=f"^localhost asked for a pause until {until:%H:%M} UTC"):
        call_command("fetch_feeds", "--feed", url)
    assert len(site.log) == 1 and "No feed was fetched" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "pause_s"), [(429, 7200), (503, 7200), (200, 7200), (503, None), (429, None), (304, None)]
)
def test_no_button_asks_a_server_within_the_pause_that_it_asked_for(site, client, settings, status, pause_s):
    """“Fetch now” made the feed due, and the next round asked a server that had said to wait."""
    settings.FETCH_ALLOW_HOSTS = ["localhost"]
    headers = {"Retry-After": str(pause_s)} if pause_s else {}
    body = rss("Rain") if status == 200 else b""
    site.expect_request("/a").respond_with_data(body, status=status, headers=headers)
    began = timezone.now()
    feed = ensure(site, "/a", began)
    round_(began)
    asks = bool(pause_s) or status == 429
    feed.refresh_from_db()
    assert bool(feed.pause_until) == asks
    Feed.objects.update(last_fetched_at=began - HOUR)  # not "tried in the last ten minutes"
    until = feed.pause_until and timezone.localtime(feed.pause_until)

    ada = Subscription.objects.get().reader
    client.force_login(ada)
    page = client.post("/ui/sources/change", {"fetch": feed.pk}, follow=True).content.decode()
    assert ("1 feed waits: its server asked for a pause until" in page) == asks
    assert ("fetched within minutes" in page) != asks
    assert not until or f"{until:%H:%M}." in page

    client.force_login(ReaderFactory(username="olga", is_staff=True, is_superuser=True))
    chosen = {"action": "check_soon", "_selected_action": [feed.pk]}
    page = client.post("/admin/digest/feed/", chosen, follow=True).content.decode()
    assert ("1 after pauses that servers asked for" in page) == asks
    page = client.post(f"/admin/digest/feed/{feed.pk}/fetch/", follow=True).content.decode()
    assert ("Not fetched: its server asked for a pause until" in page) == asks
    assert not until or f"{until:%H:%M}. It is fetched after that." in page
    feed.refresh_from_db()
    assert feed.next_check_at and (not until or feed.next_check_at >= until)
    assert len(site.log) == (1 if asks else 2)


def test_a_good_answer_ends_the_pause_that_a_server_asked_for(site, now):
    site.expect_oneshot_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7200"})
    feed = ensure(site, "/a", now)
    round_(now)
    site.expect_request("/a").respond_with_data(rss("Rain"))
    _limiter.cache_clear()
    round_(now + 3 * HOUR)
    feed.refresh_from_db()
    assert (feed.failures, feed.pause_until) == (0, None)


def test_another_feed_of_a_host_that_pauses_is_told_of_on_the_pages_too(
    site, client, settings, tmp_path, monkeypatch
):
    settings.VAR_DIR, settings.FETCH_HOST_GAP_S = tmp_path, 1.0
    site.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7200"})
    began = timezone.now()
    ensure(site, "/a", began)
    round_(began)
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    other = ensure(site, "/b", began)
    client.force_login(Subscription.objects.get(feed=other).reader)
    page = client.post("/ui/sources/change", {"fetch": other.pk}, follow=True).content.decode()
    assert "1 feed waits: its server asked for a pause until" in page
    client.force_login(ReaderFactory(username="olga", is_staff=True, is_superuser=True))
    page = client.post(f"/admin/digest/feed/{other.pk}/fetch/", follow=True).content.decode()
    assert "Not fetched: its server asked for a pause until" in page and "Its site is busy" not in page
    assert len(site.log) == 1


def test_another_feed_of_a_host_that_pauses_ends_the_command_at_once(
    site, now, settings, tmp_path, monkeypatch
):
    """It printed nothing for four minutes, and then that no feed was due."""
    settings.VAR_DIR, settings.FETCH_HOST_GAP_S = tmp_path, 1.0
    site.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7200"})
    for path in ("/a", "/b"):
        ensure(site, path, now)
    with pytest.raises(CommandError, match="failed"):
        call_command("fetch_feeds", "--feed", site.url_for("/a"))
    monkeypatch.setattr(rate_limit, "_PROCESS", "another process")
    _limiter.cache_clear()
    began = time.monotonic()
    with pytest.raises(CommandError, match=r"^localhost asked for a pause until \d\d:\d\d UTC"):
        call_command("fetch_feeds", "--feed", site.url_for("/b"))
    assert time.monotonic() - began < 30 and len(site.log) == 1


@pytest.mark.parametrize(("named", "broken", "code"), [(False, 1, 0), (False, 2, 1), (True, 1, 1)])
def test_the_command_fails_if_every_feed_did_or_one_that_was_named(site, now, named, broken, code):
    for n in range(2):
        data, status = (b"", 500) if n < broken else (rss("Rain"), 200)
        site.expect_request(f"/{n}").respond_with_data(data, status=status)
        ensure(site, f"/{n}", now)
    words = ["--feed", *Feed.objects.values_list("url", flat=True)] if named else []
    try:
        call_command("fetch_feeds", *words)
        ended = 0
    except CommandError as error:
        ended = error.returncode
    assert ended == code


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("/harbour/fed", "/harbour/feed"),
        ("/Harbour/Feed", "/harbour/feed"),
        ("/something/else/altogether", ""),
    ],
)
def test_a_mistyped_feed_is_refused_with_near_ones_and_nothing_is_stored(site, now, typed, near):
    """The command stored the mistyped address as a feed, and asked for it."""
    feed = ensure(site, "/harbour/feed", now)
    with pytest.raises(CommandError, match="No feed here has the address") as refused:
        call_command("fetch_feeds", "--feed", feed.url, site.url_for(typed))
    assert refused.value.returncode == 2 and site.url_for(typed) in str(refused.value)
    assert (f"Did you mean “{site.url_for(near)}”?" if near else "Readers add") in str(refused.value)
    assert "Did you mean" in str(refused.value) or not near
    assert list(Feed.objects.all()) == [feed] and Source.objects.count() == 1 and not site.log


def test_a_private_feed_is_fetched_by_its_address_which_no_mistyped_one_brings_out(site, ada):
    address = site.url_for("/lamps-canary")
    private_feed_create(reader=ada, address=address, publisher="localhost", title="Lamps")
    site.expect_request("/lamps-canary").respond_with_data(rss("Rain"))
    with pytest.raises(CommandError) as refused:
        call_command("fetch_feeds", "--feed", f"{address}s")
    assert "Did you mean" not in str(refused.value)
    call_command("fetch_feeds", "--feed", address)
    assert Feed.objects.count() == 1 and Item.objects.get().title == "Rain"


def test_a_named_feed_that_is_paused_is_told_of(site, now):
    feeds_pause(feed_ids=[ensure(site, "/a", now).pk])
    with pytest.raises(CommandError, match="1 of 1 feeds was not fetched: it is paused"):
        call_command("fetch_feeds", "--feed", site.url_for("/a"))


def test_feeds_of_one_host_wait_for_its_pause(site, now, settings, tmp_path):
    settings.FETCH_HOST_GAP_S = 30.0
    settings.VAR_DIR = tmp_path  # not the hosts of another run
    for path in ("/a", "/b", "/c"):
        site.expect_request(path).respond_with_data(rss("Rain"))
        ensure(site, path, now)
    report = round_(now, seconds=5).as_dict()
    assert (report["ok"], report["left"], len(site.log)) == (1, 2, 1)
    assert Feed.objects.filter(next_check_at=now).count() == 2  # unchanged, for the next fetch batch


def test_a_worker_that_must_stop_ends_its_request_and_begins_no_other(site, now, settings, tmp_path):
    """Beside feeds that drip, a batch took four minutes: each deploy killed its worker after 90 s."""
    settings.FETCH_WORKERS, settings.VAR_DIR = 1, tmp_path
    for host in ("localhost", "127.0.0.1"):
        site.expect_request(f"/{host}").respond_with_data(rss("Rain"))
        ensure(site, f"/{host}", now, host=host)
    report = round_(now, stopping=lambda: bool(site.log)).as_dict()
    assert (report["ok"], report["left"], len(site.log)) == (1, 1, 1)
    assert Feed.objects.filter(next_check_at=now).count() == 1
    assert round_(now).as_dict()["ok"] == 1


def chain(site: HTTPServer, status: int, target: str) -> None:
    site.expect_request("/old").respond_with_data(b"", status=status, headers={"Location": target})


@pytest.mark.parametrize(("status", "moves"), [(301, True), (308, True), (302, False), (307, False)])
def test_only_permanent_redirects_seen_three_times_change_the_address(site, now, ada, status, moves):
    feed = ensure(site, "/old", now)
    Subscription.objects.create(reader=ada, feed=feed, created_at=now)
    chain(site, status, "/new")
    site.expect_request("/new").respond_with_data(rss("Rain"))
    states = []
    for n in range(3):
        round_(now + n * 48 * HOUR)
        feed.refresh_from_db()
        states.append(feed.state)
    assert states == ["active", "active", "moved" if moves else "active"]
    assert feed.moved_sightings == 0 and Item.objects.get().feed == feed
    assert [row.feed.url for row in subscriptions_of(reader_id=ada.pk)] == [
        site.url_for("/new" if moves else "/old")
    ]


def test_redirects_to_changing_addresses_are_no_move(site, now):
    feed = ensure(site, "/old", now)
    for n, target in enumerate(["/a", "/b", "/a", "/a"]):
        site.clear()
        chain(site, 301, target)
        site.expect_request(target).respond_with_data(rss("Rain"))
        round_(now + n * 48 * HOUR)
    feed.refresh_from_db()
    assert feed.url.endswith("/old") and feed.moved_sightings == 2


def test_a_failure_between_two_redirects_starts_the_count_anew(site, now):
    feed = ensure(site, "/old", now)
    for n, status in enumerate([301, 500, 301, 500, 301]):
        site.clear()
        chain(site, status, "/new")
        site.expect_request("/new").respond_with_data(rss("Rain"))
        round_(now + n * 48 * HOUR)
    feed.refresh_from_db()
    assert feed.url.endswith("/old")
    assert (feed.moved_sightings, feed.moved_since) == (1, now + 4 * 48 * HOUR)


def test_three_redirects_within_an_hour_are_no_move_yet(site, now):
    feed = ensure(site, "/old", now)
    chain(site, 301, "/new")
    site.expect_request("/new").respond_with_data(rss("Rain"))
    for minutes in (0, 20, 40, 24 * 60):
        Feed.objects.update(next_check_at=now)  # an operator has it fetched again
        assert (feed.state, feed.moved_since) == ("active", now if minutes else None)
        round_(now + minutes * HOUR / 60)
        feed.refresh_from_db()
    assert (feed.state, feed.moved_url, feed.moved_since) == ("moved", site.url_for("/new"), None)


def test_a_move_takes_the_readers_along_and_leaves_the_items_with_them(site, now, ada, ben):
    old, new = ensure(site, "/old", now), ensure(site, "/new", now)
    document_ingest(feed=old, body=rss("Rain", "Sun"), now=now)
    document_ingest(feed=new, body=rss("Rain", "Wind"), now=now)
    for reader, feed in ((ada, old), (ben, new)):
        Subscription.objects.create(reader=reader, feed=feed, created_at=now, ai_enabled=False)
    assert feed_move(feed=old, url=new.url, now=now) == new
    read = {
        reader.username: {c.title for c in items_candidates(reader_id=reader.pk, now=now)}
        for reader in (ada, ben)
    }
    assert read == {"ada": {"Rain", "Sun", "Wind"}, "ben": {"Rain", "Wind"}}
    (row,) = subscriptions_of(reader_id=ada.pk)
    assert (row.feed, row.ai_enabled) == (new, False)


def test_who_leaves_a_feed_leaves_what_it_was_before_it_moved(site, now, ada):
    feeds = [ensure(site, f"/{n}", now) for n in range(3)]
    subscription_add(reader=ada, url=feeds[0].url, now=now)
    for before, after in pairwise(feeds):
        feed_move(feed=before, url=after.url, now=now)
    assert subscriptions_remove(reader=ada, feed_ids=[feeds[2].pk], now=now)
    assert not Subscription.objects.filter(reader=ada).exists()


def test_who_asks_for_the_old_address_gets_the_new_one(site, now, ada):
    old, new = ensure(site, "/old", now), ensure(site, "/new", now)
    feed_move(feed=old, url=new.url, now=now)
    assert subscription_add(reader=ada, url=old.url, now=now).feed == new
    feed_move(feed=new, url=old.url, now=now)  # and back
    old.refresh_from_db()
    assert [row.feed for row in subscriptions_of(reader_id=ada.pk)] == [old]
    assert old.state == Feed.State.ACTIVE


def test_a_feed_that_only_becomes_secure_goes_on_as_it_is(site, now, settings):
    feed = feed_get_or_create(url="http://www.localhost/feed", now=now)
    settings.FETCH_ALLOW_HOSTS = ["localhost"]
    assert feed_move(feed=feed, url="https://localhost/feed", now=now) == feed
    feed.refresh_from_db()
    assert (feed.url, feed.state, Feed.objects.count()) == ("https://localhost/feed", "active", 1)


def test_a_feed_given_up_is_fetched_again_when_another_moves_to_it(site, now):
    old, new = ensure(site, "/old", now), ensure(site, "/new", now)
    Feed.objects.filter(pk=new.pk).update(state=Feed.State.GONE, failures=3)
    feed_move(feed=old, url=new.url, now=now)
    new.refresh_from_db()
    assert (new.state, new.failures) == (Feed.State.ACTIVE, 0)


def test_a_feed_that_moves_to_another_publisher_does_not_keep_the_old_name(site, now):
    feed = ensure(site, "/old", now)
    moved = feed_move(feed=feed, url=f"http://127.0.0.1:{site.port}/new", now=now)
    feed.refresh_from_db()
    assert (feed.source_id, moved.source_id) == ("localhost", "127.0.0.1")


def test_a_move_to_an_inner_address_is_refused(site, now, settings):
    feed = ensure(site, "/old", now)
    site.expect_request("/new").respond_with_data(rss("Rain"))
    chain(site, 301, f"http://127.0.0.1:{site.port}/new")
    for n in range(3):
        if n == 2:  # the operator closes the hole between the second and the third look
            settings.FETCH_ALLOW_HOSTS = ["localhost"]
        round_(now + n * 48 * HOUR)
    feed.refresh_from_db()
    assert (feed.url.endswith("/old"), feed.error_code) == (True, "bad_port")


def test_a_feed_without_a_move_costs_two_statements_when_nothing_changed(
    site, now, django_assert_num_queries
):
    ensure(site, "/feed", now)
    site.expect_request("/feed", headers={"If-None-Match": '"1"'}).respond_with_data(b"", status=304)
    Feed.objects.update(etag='"1"', last_fetched_at=now - HOUR)
    FeedFactory(state=Feed.State.PAUSED)
    with django_assert_num_queries(3):  # which are due, the claim, the result
        assert round_(now).unchanged == 1
