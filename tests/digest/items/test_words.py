"""A reader gets an item's words from a feed they read. No other feed can change or hide them."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.daily.services import digest_build
from digest.feedback.selectors import feedback_by_items
from digest.feedback.services import feedback_clear, feedback_set
from digest.feedback.transfer import feedback_import
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.rate_limit import _limiter
from digest.feeds.services import feed_move
from digest.items.reading import item_read, items_read, items_unread, readings_for
from digest.items.search import items_search
from digest.items.selectors import item_for, items_candidates
from digest.items.stories import items_related, stories_update
from digest.models import Feed, Feedback, Item, Reader, Reading
from digest.sources.subscriptions import subscription_add
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LINK = "https://paper.example/bank"


def rss(title: str, *entries: str) -> bytes:
    return f"<rss><channel><title>{title}</title>{''.join(entries)}</channel></rss>".encode()


def post(title: str, link: str = LINK, *, date: str = "", author: str = "", text: str = "") -> str:
    tags = {
        "title": title,
        "link": link,
        "guid": link,
        "pubDate": date,
        "author": author,
        "description": text,
    }
    return f"<item>{''.join(f'<{k}>{v}</{k}>' for k, v in tags.items() if v)}</item>"


def feed(host: str, *readers: Reader) -> Feed:
    made = FeedFactory(source__key=host, url=f"https://{host}/feed", state="active")
    for reader in readers:
        SubscriptionFactory(reader=reader, feed=made)
    return made


def titles(reader: Reader, now) -> list[tuple[str, str]]:
    return [(c.title, c.source) for c in items_candidates(reader_id=reader.pk, now=now)]


def test_who_brings_an_address_first_gives_its_words_to_nobody_else(ada, ben, now):
    paper, evil = feed("paperfeeds.example", ada), feed("evil.example", ben)
    document_ingest(feed=evil, body=rss("The Paper", post("Bank halts ALL withdrawals")), now=now - HOUR)
    document_ingest(feed=paper, body=rss("The Paper", post("Bank keeps its rate")), now=now)
    assert titles(ada, now) == [("Bank keeps its rate", "paperfeeds.example")]
    assert titles(ben, now) == [("Bank halts ALL withdrawals", "evil.example")]
    document_ingest(feed=evil, body=rss("The Paper", post("Sign in to save your money")), now=now)
    digest = digest_build(reader=ada, date=now.date(), now=now)
    assert [row.item.title for row in digest.impressions.all()] == ["Bank keeps its rate"]


def test_nobody_dates_or_signs_an_article_for_another(ada, ben, now):
    paper, evil = feed("paper.example", ada), feed("evil.example", ben)
    old = post("Resigns", date="Fri, 11 Dec 2015 10:00:00 GMT", author="PAYWALL: verify at evil.example")
    document_ingest(feed=evil, body=rss("x", old), now=now - HOUR)
    own = post("Minister resigns over scandal", date="Wed, 18 Mar 2026 11:30:00 GMT")
    document_ingest(feed=paper, body=rss("Paper", own), now=now)
    (candidate,) = items_candidates(reader_id=ada.pk, now=now)
    assert Item.objects.get(pk=candidate.item_id).author == ""
    assert candidate.dated_at == now - HOUR / 2


@pytest.mark.parametrize("own_first", [True, False])
def test_of_two_feeds_a_reader_gets_the_publishers_own_words_else_the_earliest_subscribed(
    ada, now, own_first
):
    feeds = {name: feed(name, ada) for name in ("planet.example", "paper.example", "finds.example")}
    order = sorted(feeds, reverse=own_first)
    for name in order:
        document_ingest(feed=feeds[name], body=rss(name, post(f"By {name}")), now=now)
    assert titles(ada, now) == [("By paper.example", "paper.example")]
    elsewhere = "https://other.example/a"
    for name in order:
        document_ingest(feed=feeds[name], body=rss(name, post(f"Of {name}", elsewhere)), now=now)
    assert ("Of planet.example", "planet.example") in titles(ada, now)
    assert len(titles(ada, now)) == 2


def test_an_article_is_rated_and_read_once_for_all_feeds_that_carry_it(ada, ben, now):
    planet, paper = feed("planet.example", ada), feed("paper.example", ben)
    for one in (planet, paper):
        document_ingest(feed=one, body=rss("x", post(f"By {one.source_id}")), now=now)
    mine, theirs = (Item.objects.get(feed=one).pk for one in (planet, paper))
    twin = Item.objects.get(pk=theirs)
    feedback_set(reader=ada, item_id=mine, useful=True, now=now)
    item_read(reader=ada, item_id=mine, now=now)
    SubscriptionFactory(reader=ada, feed=paper)
    assert [c.item_id for c in items_candidates(reader_id=ada.pk, now=now)] == [theirs]
    assert feedback_by_items(reader_id=ada.pk, items=[twin])[theirs].useful
    assert readings_for(reader_id=ada.pk, item_ids=[theirs])[theirs].read_at == now
    assert (items_read(reader=ada, item_ids=[theirs], now=now), Reading.objects.count()) == (0, 1)
    feedback_set(reader=ada, item_id=theirs, useful=False, now=now + HOUR)
    assert [(row.item_id, row.useful) for row in Feedback.objects.all()] == [(mine, False)]
    assert feedback_clear(reader=ada, item_id=theirs)
    assert items_unread(reader=ada, item_ids=[theirs], at=now) == 1
    assert feedback_by_items(reader_id=ben.pk, items=[twin]) == {}


def test_a_digest_holds_an_article_once_although_it_was_rated_in_other_words(ada, now):
    planet = feed("planet.example", ada)
    document_ingest(feed=planet, body=rss("x", post("By the planet")), now=now)
    day = digest_build(reader=ada, date=now.date(), now=now)
    feedback_set(reader=ada, item_id=Item.objects.get().pk, useful=True, now=now)
    paper = feed("paper.example", ada)
    document_ingest(feed=paper, body=rss("x", post("By the paper")), now=now)
    again = digest_build(reader=ada, date=now.date(), now=now)
    assert day.pk == again.pk
    assert [row.item.title for row in again.impressions.all()] == ["By the planet"]


def test_search_and_stories_hold_an_article_once_and_in_own_words(ada, ben, now):
    for host, readers in (("planet.example", [ada]), ("paper.example", [ada]), ("evil.example", [ben])):
        words = post("Harbour ferry strike ends today", text=f"marked {host.split('.')[0]}")
        document_ingest(feed=feed(host, *readers), body=rss(host, words), now=now)
    document_ingest(
        feed=feed("gazette.example", ada),
        body=rss("Gazette", post("Harbour ferry strike ends", "https://gazette.example/1")),
        now=now,
    )
    assert [
        i.source_id for i in items_search(reader_id=ada.pk, query="marked", now=timezone.now()).items
    ] == ["paper.example"]
    assert items_search(reader_id=ada.pk, query="evil", now=timezone.now()).total == 0
    stories_update(now=now)
    gazette = Item.objects.get(source="gazette.example")
    (related,) = items_related(reader_id=ada.pk, item_ids=[gazette.pk], now=timezone.now())[gazette.pk]
    assert related.source_key == "paper.example" or related.source_key == "planet.example"


def test_a_feed_that_redirects_to_a_newspaper_gives_its_items_to_none_of_its_readers(ada, ben, now, settings):
    settings.FETCH_ALLOW_HOSTS = ["localhost"]
    evil = feed("evil.example", ben)
    document_ingest(feed=evil, body=rss("x", post("Renew here", "https://evil.example/renew")), now=now)
    for already in (True, False):  # a feed with readers here, and a new one
        address = f"https://localhost/{already}"
        if already:
            paper = feed_get_or_create(url=address, now=now)
            SubscriptionFactory(reader=ada, feed=paper)
        moved = feed_move(feed=evil, url=address, now=now)
        if not already:
            subscription_add(reader=ada, url=address, now=now)
        document_ingest(feed=moved, body=rss("Paper", post("Mayor arrested", LINK + address)), now=now)
        assert "Renew here" not in [title for title, _ in titles(ada, now)]
        assert ("Mayor arrested", "localhost") in titles(ada, now)
        assert "Renew here" in [title for title, _ in titles(ben, now)]
        evil = moved


def test_an_open_redirect_lends_nobody_a_newspapers_name(now, ada, httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]
    _limiter.cache_clear()
    target = f"http://127.0.0.1:{httpserver.port}/evil"
    httpserver.expect_request("/out").respond_with_data(b"", status=302, headers={"Location": target})
    httpserver.expect_request("/evil").respond_with_data(rss("The Paper", post("Renew here")))
    lent = feed_get_or_create(url=f"http://localhost:{httpserver.port}/out", now=now)
    SubscriptionFactory(reader=ada, feed=lent)
    feeds_fetch(now=now, draw=lambda: 0.0)
    assert titles(ada, now) == [("Renew here", "127.0.0.1")]
    httpserver.clear()
    httpserver.expect_request("/out").respond_with_data(rss("The Paper", post("Mayor arrested", "")))
    feeds_fetch(now=now + 48 * HOUR, draw=lambda: 0.0)
    assert ("Mayor arrested", "localhost") in titles(ada, now + 48 * HOUR)


@pytest.mark.parametrize("words", ["Renew here", "Mayor arrested"])
def test_a_redirect_to_a_newspaper_and_back_leaves_its_name_on_no_other_words(
    now, ada, httpserver: HTTPServer, settings, words
):
    """The second time the feed answers itself: the same guid, and other words, or other links alone."""
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]
    _limiter.cache_clear()
    paper = f"http://localhost:{httpserver.port}/paper"
    link = f"http://localhost:{httpserver.port}/mayor"
    httpserver.expect_ordered_request("/evil").respond_with_data(b"", 302, headers={"Location": paper})
    truth = post("Mayor arrested", link, text="<![CDATA[<p><a href='/a'>He</a></p>]]>")
    httpserver.expect_ordered_request("/paper").respond_with_data(rss("The Paper", truth))
    lie = post(words, link, text="<![CDATA[<p><a href='https://evil.example/'>He</a></p>]]>")
    httpserver.expect_ordered_request("/evil").respond_with_data(rss("The Paper", lie))
    evil = feed_get_or_create(url=f"http://127.0.0.1:{httpserver.port}/evil", now=now)
    SubscriptionFactory(reader=ada, feed=evil)
    feeds_fetch(now=now, draw=lambda: 0.0)
    assert titles(ada, now) == [("Mayor arrested", "localhost")]
    feeds_fetch(now=now + 48 * HOUR, draw=lambda: 0.0)
    assert titles(ada, now + 48 * HOUR) == [(words, "127.0.0.1")]
    assert not Item.objects.get().own


def test_an_import_shows_its_reader_nothing_of_others_feeds_and_nobody_else_its_words(ada, ben, now):
    secret = feed("club.example", ada)
    members = post("MEMBERS ONLY", "https://club.example/m/1?key=s3cr3t")
    document_ingest(feed=secret, body=rss("Club", members), now=now)
    at = now - HOUR
    for name in ("carl", "dora"):
        line = {"reader": name, "url": "https://club.example/a", "title": f"By {name.title()}"}
        line |= {"source": "club.example", "useful": 1, "at": at.isoformat()}
        assert feedback_import(lines=[json.dumps(line)], now=now).imported == 1
    for name in ("carl", "dora"):
        reader = Reader.objects.get(username=name)
        assert titles(reader, now) == [(f"By {name.title()}", "club.example")]
        assert item_for(reader_id=reader.pk, item_id=Item.objects.get(title="MEMBERS ONLY").pk) is None
    assert [title for title, _ in titles(ada, now)] == ["MEMBERS ONLY"]
