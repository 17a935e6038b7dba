"""From documents to items, once."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_httpserver import HTTPServer

from digest.feeds.arrival import AHEAD_AGE, LATE_MAX
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch_batch import feeds_fetch, folder_ingest
from digest.feeds.ingest import feed_get_or_create
from digest.models import Feed, Item, Source
from tests.support.documents import spared
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

pytestmark = pytest.mark.django_db


def rss(*items: str) -> bytes:
    return f"<rss><channel><title>Rivers</title>{''.join(items)}</channel></rss>".encode()


def item(title: str, link: str = "", guid: str = "", text: str = "") -> str:
    parts = {"title": title, "link": link, "guid": guid, "description": text}
    return f"<item>{''.join(f'<{k}>{v}</{k}>' for k, v in parts.items() if v)}</item>"


def test_the_same_document_twice_adds_nothing(now):
    feed = FeedFactory()
    body = rss(item("Rain", "https://rivers.example/a"), item("Sun"), item("Wind", guid="g"))
    first = document_ingest(feed=feed, body=body, now=now)
    again = document_ingest(feed=feed, body=body, now=now + timedelta(hours=1))
    assert (first.items_new, again.items_new, again.items_updated) == (3, 0, 0)
    assert set(Item.objects.values_list("first_seen_at", flat=True)) == {now}
    assert Item.objects.filter(url__startswith="urn:tidings:").count() == 2


def test_changed_words_change_the_item_and_keep_its_dates(now):
    feed = FeedFactory()
    document_ingest(feed=feed, body=rss(item("Rain", "https://r.example/a", "g")), now=now)
    body = rss(item("Rain, corrected", "https://r.example/a", "g"))
    assert document_ingest(feed=feed, body=body, now=now + timedelta(hours=1)).items_updated == 1
    stored = Item.objects.get()
    assert (stored.title, stored.first_seen_at) == ("Rain, corrected", now)


def test_two_feeds_have_an_article_each_in_their_own_words(now):
    ours, theirs = (FeedFactory(source__key=f"{name}.example") for name in ("ours", "theirs"))
    document_ingest(feed=ours, body=rss(item("Ours", "https://third.example/a?utm_source=x")), now=now)
    document_ingest(feed=theirs, body=rss(item("Theirs", "https://third.example/a")), now=now)
    assert list(Item.objects.order_by("pk").values_list("title", "source_id")) == [
        ("Ours", "ours.example"),
        ("Theirs", "theirs.example"),
    ]
    assert len(set(Item.objects.values_list("article", flat=True))) == 1


@pytest.mark.parametrize(
    ("feed_url", "source", "link", "own"),
    [
        ("https://rivers.example/feed", "rivers.example", "https://www.rivers.example/a", True),
        ("https://planet.example/feed", "planet.example", "https://rivers.example/a", False),
        ("https://ada.substack.com/feed", "ada.substack.com", "https://ada.substack.com/p/rain", True),
        ("https://ben.substack.com/feed", "ben.substack.com", "https://ada.substack.com/p/rain", False),
        # An operator gave the source another key; the address is still its publisher's.
        ("https://ada.substack.com/feed", "substack.com", "https://ada.substack.com/p/rain", True),
    ],
)
def test_an_item_knows_whether_its_feed_is_the_publishers_own(now, feed_url, source, link, own):
    feed = FeedFactory(url=feed_url, source__key=source)
    document_ingest(feed=feed, body=rss(item("Rain", link)), now=now)
    assert Item.objects.get().own is own


def test_a_feed_names_its_source_only_where_it_is_the_only_one(now):
    one = feed_get_or_create(url="https://gazette.example/rss", now=now)
    document_ingest(feed=one, body=rss(item("Rain")), now=now)
    assert Source.objects.get(pk="gazette.example").title == "Rivers"
    for section in ("sport", "news"):
        feed = feed_get_or_create(url=f"https://herald.example/{section}", now=now)
    document_ingest(feed=feed, body=rss(item("Sun")), now=now)
    assert (feed.title, Source.objects.get(pk="herald.example").title) == ("Rivers", "")


def test_entries_that_share_only_a_link_stay_apart(now):
    feed = FeedFactory()
    home = "https://rivers.example/"
    assert (
        document_ingest(feed=feed, body=rss(item("A", home, "1"), item("B", home, "2")), now=now).items_new
        == 2
    )
    assert document_ingest(feed=feed, body=rss(item("C", home, "3")), now=now).items_new == 1
    assert document_ingest(feed=feed, body=rss(item("C", home, "4")), now=now).items_new == 0


def test_the_number_of_statements_does_not_grow_with_the_document(now, django_assert_max_num_queries):
    feeds = [FeedFactory(source__key=f"r{n}.example") for n in range(2)]
    for feed, size in zip(feeds, (5, 80), strict=True):
        body = rss(*(item(f"T{feed.pk}-{n}", f"https://r.example/{feed.pk}/{n}") for n in range(size)))
        with django_assert_max_num_queries(12):
            assert document_ingest(feed=feed, body=body, now=now).items_new == size


def test_a_feed_is_ensured_once_and_named_after_its_host(now):
    feed = feed_get_or_create(url="HTTPS://feeds.bbci.co.uk:443/a/../rss#top", now=now)
    assert feed == feed_get_or_create(url="https://feeds.bbci.co.uk/rss", now=now)
    assert (feed.source_id, feed.next_check_at) == ("bbci.co.uk", now)


def test_a_refused_document_leaves_nothing_behind(now, tmp_path: Path):
    (tmp_path / "page.html").write_text("<html><body>Hello</body></html>")
    (tmp_path / "rivers.xml").write_bytes(rss(item("Rain")))
    report = folder_ingest(folder=tmp_path, now=now)
    assert [(name, problem.code) for name, problem in report.errors] == [("page.html", "not_a_feed")]
    assert Source.objects.get().key == "rivers"
    assert Feed.objects.get().state == Feed.State.IMPORTED
    with pytest.raises(FeedProblem):
        document_ingest(feed=Feed.objects.get(), body=b"", now=now)


def test_documents_parsed_at_once_are_told_and_stored_in_the_order_of_their_names(now, tmp_path: Path):
    told: list[str] = []
    for n in range(20):
        # The first take longest to parse.
        (tmp_path / f"{n:02}.xml").write_bytes(rss(*(item(f"Rain {n}, {m}") for m in range(200 - 10 * n))))
    (tmp_path / "05.xml").write_text("<html><body>Hello</body></html>")
    report = folder_ingest(folder=tmp_path, now=now, progress=told.append)
    assert told == [f"{n:02}.xml" for n in range(20)]
    assert [name for name, _ in report.errors] == ["05.xml"]
    stored = [
        int(title.split()[1].strip(","))
        for title in Item.objects.order_by("pk").values_list("title", flat=True)
    ]
    assert stored == sorted(stored) and set(stored) == {*range(20)} - {5}


def test_many_documents_that_are_refused_now_cost_one_update(now, tmp_path: Path):
    for n in range(12):
        (tmp_path / f"{n}.xml").write_bytes(rss(item(f"Rain {n}")))
    folder_ingest(folder=tmp_path, now=now)
    for n in range(1, 12):
        (tmp_path / f"{n}.xml").write_text("<html><body>Hello</body></html>")
    later = now + timedelta(days=1)
    with CaptureQueriesContext(connection) as statements:
        report = folder_ingest(folder=tmp_path, now=later)
    assert len(report.errors) == 11
    updates = [one["sql"] for one in statements if 'UPDATE "digest_feed"' in one["sql"]]
    assert sum("error_code" in sql for sql in updates) == 2  # the good one, the bad ones
    codes = dict(Feed.objects.values_list("url", "error_code"))
    assert codes == {f"file:{n}.xml": "not_a_feed" if n else "" for n in range(12)}
    assert set(Feed.objects.values_list("last_fetched_at", flat=True)) == {later}


def test_feeds_are_fetched_when_due_and_remember_how_it_went(ada, now, httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = [httpserver.host]
    httpserver.expect_request("/good").respond_with_data(rss(item("Rain")), headers={"ETag": '"1"'})
    httpserver.expect_request("/bad").respond_with_data(b"", status=503, headers={"Retry-After": "7200"})
    httpserver.expect_request("/gone").respond_with_data(b"", status=410)
    good, bad, gone = (
        feed_get_or_create(url=httpserver.url_for(p), now=now) for p in ("/good", "/bad", "/gone")
    )
    rest = FeedFactory(state=Feed.State.PAUSED), FeedFactory(next_check_at=now + timedelta(minutes=5))
    for feed in (good, bad, gone, *rest):
        SubscriptionFactory(reader=ada, feed=feed)
    report = feeds_fetch(now=now, draw=lambda: 0.0).as_dict()
    assert (report["feeds"], report["ok"], report["failed"], report["items_new"]) == (3, 1, 2, 1)
    for feed in (good, bad, gone):
        feed.refresh_from_db()
    assert (good.etag, good.failures, good.next_check_at) == ('"1"', 0, now + timedelta(hours=1))
    assert (bad.error_code, bad.failures, bad.next_check_at) == ("http_503", 1, now + timedelta(hours=2))
    assert gone.state == Feed.State.GONE
    assert feeds_fetch(now=now).as_dict()["feeds"] == 0


@pytest.mark.data
def test_real_feeds_go_in_once(now, data_dir: Path, tmp_path: Path):
    """A sample of them, and by `make test-mutations` all."""
    captured = data_dir / "feeds" / "real-smallweb"
    names = spared([path.name for path in captured.iterdir()], seed=4)
    for name in names:
        (tmp_path / name).symlink_to(captured / name)
    first = folder_ingest(folder=tmp_path, now=now).as_dict()
    again = folder_ingest(folder=tmp_path, now=now + timedelta(days=1)).as_dict()
    assert first["failed"] == 0 and first["items_seen"] > 20 * len(names) > 500
    assert first["items_new"] > 0.98 * first["items_seen"]
    assert (again["items_new"], again["items_updated"]) == (0, 0)


@pytest.mark.parametrize("language", ["\\ud800", "\\u0000en"])
def test_a_hostile_document_costs_itself_and_not_its_neighbour(now, tmp_path: Path, language: str):
    entry = f'{{"id": "1", "title": "Odd", "language": "{language}"}}'
    odd = f'{{"version": "https://jsonfeed.org/version/1.1", "title": "Odd", "items": [{entry}]}}'
    (tmp_path / "a-odd.json").write_text(odd)
    (tmp_path / "b-good.xml").write_bytes(rss(item("Rain", "https://rivers.example/a")))
    report = folder_ingest(folder=tmp_path, now=now)
    assert report.as_dict()["items_new"] == 2
    assert Item.objects.get(title="Odd").language in ("", "en")


def test_the_undated_entries_of_a_first_document_are_a_day_apart_and_later_ones_are_of_now(now):
    feed = FeedFactory()
    document_ingest(feed=feed, body=rss(item("Rain", guid="1"), item("Sun", guid="2")), now=now)
    ages = {row.title: now - row.dated_at for row in Item.objects.all()}
    assert ages == {"Rain": timedelta(hours=12), "Sun": timedelta(hours=36)}
    feed.last_new_at = now
    later = now + timedelta(hours=5)
    document_ingest(feed=feed, body=rss(item("Wind", guid="3"), item("Rain", guid="1")), now=later)
    assert Item.objects.get(title="Wind").dated_at == later
    assert Item.objects.get(title="Rain").dated_at == now - timedelta(hours=12)


def test_undated_entries_beside_dated_ones_are_as_far_apart_as_those(now):
    feed = FeedFactory()
    dated = [dated_item(f"At {n}", now - timedelta(hours=4 * n)) for n in range(1, 4)]
    undated = [item("Rain", guid="r"), dated_item("Unset clock", datetime(1970, 1, 1, tzinfo=UTC))]
    undated += [dated_item("Next year", now + timedelta(days=365))]
    document_ingest(feed=feed, body=rss(*dated, *undated), now=now)
    ages = {row.title: now - row.dated_at for row in Item.objects.all()}
    assert ages["At 2"] == timedelta(hours=8)
    hours = [ages[title] / timedelta(hours=1) for title in ("Rain", "Unset clock")]
    assert hours == [2, 6]


def test_a_post_dated_far_ahead_is_never_the_freshest(now):
    feed = FeedFactory()
    ahead = dated_item("Next year", now + timedelta(days=365))
    document_ingest(feed=feed, body=rss(ahead, dated_item("Rain", now - timedelta(days=5))), now=now)
    assert Item.objects.get(title="Next year").dated_at == now - AHEAD_AGE
    feed.last_new_at = now
    later = now + timedelta(days=1)
    document_ingest(feed=feed, body=rss(dated_item("In spring", now + timedelta(days=90))), now=later)
    assert Item.objects.get(title="In spring").dated_at == later - AHEAD_AGE


def old_posts(now, count: int) -> list[str]:
    return [dated_item(f"Old {n}", now - timedelta(days=100 + n)) for n in range(count)]


@pytest.mark.parametrize(("count", "is_news"), [(1, True), (LATE_MAX, True), (LATE_MAX + 1, False)])
def test_an_old_date_hides_nothing_that_comes_today(now, count, is_news):
    feed = FeedFactory(last_new_at=now - timedelta(days=1))
    document_ingest(feed=feed, body=rss(*old_posts(now, count)), now=now)
    dates = {row.dated_at for row in Item.objects.all()}
    assert dates == ({now} if is_news else {now - timedelta(days=100 + n) for n in range(count)})
    assert {row.published_at for row in Item.objects.all()} == {
        now - timedelta(days=100 + n) for n in range(count)
    }


def test_what_a_first_fetch_brings_keeps_its_age(now):
    document_ingest(feed=FeedFactory(last_new_at=None), body=rss(*old_posts(now, 1)), now=now)
    assert Item.objects.get().dated_at == now - timedelta(days=100)


UNDATED = item("Rain", guid="Rain")
WRONG = {
    "long ago": lambda now: dated_item("Rain", now - timedelta(days=2000)),
    "ahead": lambda now: dated_item("Rain", now + timedelta(days=300)),
    "an unset clock": lambda now: dated_item("Rain", datetime(1970, 1, 1, tzinfo=UTC)),
    "none": lambda now: UNDATED,
    "one that is no date": lambda now: UNDATED.replace("</item>", "<pubDate>soon</pubDate></item>"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("days", [1, 30, 400])
def test_a_date_far_off_is_corrected_once_whenever_its_publisher_does(now, wrong, is_first, days):
    feed = FeedFactory(last_new_at=None if is_first else now - timedelta(days=9))
    document_ingest(feed=feed, body=rss(wrong(now)), now=now)
    right = now - timedelta(hours=3)
    later = now + timedelta(days=days)
    document_ingest(feed=feed, body=rss(dated_item("Rain", right)), now=later)
    assert [(row.published_at, row.dated_at) for row in Item.objects.all()] == [(right, right)]
    document_ingest(feed=feed, body=rss(dated_item("Rain", right - timedelta(hours=1))), now=later)
    document_ingest(feed=feed, body=rss(dated_item("Rain", later)), now=later)
    assert Item.objects.get().dated_at == right


@pytest.mark.parametrize("wrong", ["ahead", "an unset clock", "none"])
def test_an_old_date_that_arrives_later_is_told_and_moves_nothing(now, wrong):
    feed = FeedFactory(last_new_at=now - timedelta(days=9))
    document_ingest(feed=feed, body=rss(WRONG[wrong](now)), now=now)
    counted, old = Item.objects.get().dated_at, now - timedelta(days=90)
    document_ingest(feed=feed, body=rss(dated_item("Rain", old)), now=now + timedelta(days=2))
    row = Item.objects.get()
    assert (row.published_at, row.dated_at) == (old, counted)


def test_no_date_is_corrected_to_one_after_the_post_came_nor_from_one_old_date_to_another(now):
    feed = FeedFactory(last_new_at=now - timedelta(days=9))
    old = now - timedelta(days=900)
    document_ingest(feed=feed, body=rss(dated_item("Sun", old)), now=now)
    for at in (now + timedelta(hours=44), old + timedelta(days=50)):
        document_ingest(feed=feed, body=rss(dated_item("Sun", at)), now=now + timedelta(hours=44))
        row = Item.objects.get()
        assert (row.published_at, row.dated_at) == (old, now)


def dated_item(title: str, at: datetime) -> str:
    return item(title, guid=title).replace("</item>", f"<pubDate>{format_datetime(at)}</pubDate></item>")
