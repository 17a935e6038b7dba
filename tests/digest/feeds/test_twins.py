"""A feed that is stored with and without TLS or `www.` becomes one, and its readers lose nothing."""

from datetime import timedelta

import pytest

from digest.feedback.services import feedback_set
from digest.feeds.discovery import FoundFeed
from digest.feeds.fetch import FetchResponse
from digest.feeds.identity import article_hash
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.parse import parse_document
from digest.feeds.services import feed_move, twins_join
from digest.feeds.twins import items_follow, items_join, twins_of
from digest.items.listing import ListFilter, feeds_read, list_ids, unread_counts
from digest.items.reading import item_read, item_save
from digest.models import Feed, Feedback, Item, Reader, Reading, Subscription
from digest.sources.adding import feed_add
from digest.sources.subscriptions import opml_import, subscription_add
from suggestions.models import Evidence
from tests.support.ingest import document_ingest

PLAIN, SECURE = "http://localhost/feed", "https://localhost/feed"
DAY = timedelta(days=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings) -> None:
    """Allow feeds on this machine, because its name needs no look-up."""
    settings.FETCH_ALLOW_HOSTS = ["localhost"]


def document(*titles: str, scheme: str = "https", now) -> bytes:
    items = "".join(
        f"<item><title>{title}</title><link>{scheme}://localhost/{title}</link>"
        f"<pubDate>{now - n * DAY / 24:%a, %d %b %Y %H:%M:%S +0000}</pubDate></item>"
        for n, title in enumerate(titles, 1)
    )
    return f"<rss><channel><title>T</title>{items}</channel></rss>".encode()


def stored(url: str, *titles: str, now, scheme: str | None = None) -> Feed:
    feed = feed_get_or_create(url=url, now=now)
    body = document(*titles, scheme=scheme or url.partition(":")[0], now=now)
    document_ingest(feed=feed, body=body, now=now)
    Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now, last_new_at=now)
    for item in feed.items.all():  # as stored by releases that knew no other spelling of an address
        Item.objects.filter(pk=item.pk).update(article=article_hash(item.url))
    feed.refresh_from_db()
    return feed


def reads(reader: Reader, feed: Feed, now) -> None:
    Subscription.objects.get_or_create(reader=reader, feed=feed, defaults={"created_at": now})


def of(feed: Feed, title: str) -> Item:
    return Item.objects.get(feed=feed, title=title)


def unread(reader: Reader, now) -> list[str]:
    ids = list_ids(reader_id=reader.pk, feeds=None, chosen=ListFilter(unread=True), limit=50, now=now)
    titles = sorted(Item.objects.filter(pk__in=ids).values_list("title", flat=True))
    counts = unread_counts(reader_id=reader.pk, feeds=feeds_read(reader_id=reader.pk), now=now)
    assert counts.total == len(ids)
    return titles


# --- Rows that follow ------------------------------------------------------------------------------------


def test_reads_stars_and_thumbs_follow_and_nothing_is_unread_again(ada, ben, now):
    plain, secure = (stored(url, "a", "b", "c", now=now) for url in (PLAIN, SECURE))
    reads(ada, plain, now)
    reads(ben, secure, now)
    item_read(reader=ada, item_id=of(plain, "a").pk, now=now)
    item_save(reader=ada, item_id=of(plain, "b").pk, saved=True, now=now)
    feedback_set(reader=ada, item_id=of(plain, "b").pk, useful=True, now=now)
    before = {reader: unread(reader, now) for reader in (ada, ben)}

    assert twins_join(now=now) == 1

    assert {reader: unread(reader, now) for reader in (ada, ben)} == before
    for feed in (plain, secure):
        item = of(feed, "b")
        assert Reading.objects.get(reader=ada, article=item.article).saved_at == now
        assert Feedback.objects.get(reader=ada, article=item.article).useful
    plain.refresh_from_db()
    assert (plain.state, plain.moved_url) == ("moved", SECURE)
    assert Feedback.objects.get().item.feed == plain  # by id: evidence and exposures stay in place


def test_what_the_other_brings_next_is_unread_once(ada, now):
    plain, secure = (stored(url, "a", "b", now=now) for url in (PLAIN, SECURE))
    reads(ada, plain, now)
    for title in ("a", "b"):
        item_read(reader=ada, item_id=of(plain, title).pk, now=now)
    twins_join(now=now)
    document_ingest(feed=secure, body=document("new", "a", "b", now=now), now=now + DAY / 24)
    assert unread(ada, now + DAY / 12) == ["new"]


def test_an_archive_of_the_other_comes_read_and_what_was_missed_comes_unread(ada, now):
    plain = stored(PLAIN, "a", "b", "c", now=now - DAY)
    secure = stored(SECURE, "a", "b", "c", *"defgh", now=now - DAY)  # d to h are older
    document_ingest(feed=secure, body=document("missed", now=now), now=now)
    reads(ada, plain, now - DAY)
    for item in Item.objects.filter(feed=plain):
        item_read(reader=ada, item_id=item.pk, now=now)
    twins_join(now=now)
    assert unread(ada, now) == ["missed"]


def test_one_who_read_both_keeps_the_first_read_and_the_last_thumb(ada, now):
    plain, secure = (stored(url, "a", now=now) for url in (PLAIN, SECURE))
    for feed in (plain, secure):
        reads(ada, feed, now)
    item_read(reader=ada, item_id=of(secure, "a").pk, now=now)
    item_read(reader=ada, item_id=of(plain, "a").pk, now=now - DAY)
    item_save(reader=ada, item_id=of(plain, "a").pk, saved=True, now=now)
    feedback_set(reader=ada, item_id=of(plain, "a").pk, useful=True, now=now - DAY)
    feedback_set(reader=ada, item_id=of(secure, "a").pk, useful=False, now=now)
    twins_join(now=now)
    row = Reading.objects.get(reader=ada)
    assert (row.read_at, row.saved_at, row.article) == (now - DAY, now, of(secure, "a").article)
    assert [one.useful for one in Feedback.objects.filter(reader=ada)] == [False]


def test_a_post_that_a_third_feed_has_stays_read_there(ada, now):
    plain, _ = (stored(url, "a", now=now) for url in (PLAIN, SECURE))
    third = stored("https://planet.example/feed", "a", now=now, scheme="http")
    assert of(third, "a").article == of(plain, "a").article
    for feed in (plain, third):
        reads(ada, feed, now)
    item_read(reader=ada, item_id=of(plain, "a").pk, now=now)
    twins_join(now=now)
    assert unread(ada, now) == []


def test_evidence_keeps_its_item(ada, now):
    plain, secure = (stored(url, "a", now=now) for url in (PLAIN, SECURE))
    ids = set(Item.objects.values_list("pk", flat=True))
    assert Evidence._meta.get_field("item").related_model is Item
    items_join(feed=plain, target=secure, now=now)
    assert set(Item.objects.values_list("pk", flat=True)) == ids


# --- Two addresses of one feed -----------------------------------------------------------------------------


def test_www_is_joined_too_and_a_joined_feed_is_left_alone(now):
    kept, www = (stored(f"https://{w}news.example/f", "a", "b", now=now) for w in ("", "www."))
    assert twins_of() == [(www, kept)]
    assert (twins_join(now=now), twins_join(now=now)) == (1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"last_fetched_at": None},
        {"error_code": "http_500"},
        {"state": "gone"},
        {"state": "paused"},
    ],
)
def test_tls_that_did_not_answer_gets_nobody(now, change):
    stored(PLAIN, "a", "b", now=now)
    secure = stored(SECURE, "a", "b", now=now)
    Feed.objects.filter(pk=secure.pk).update(**change)
    assert not [pair for pair in twins_of() if pair[1].pk == secure.pk]


def test_nobody_is_led_from_tls_to_plain_http(now):
    secure = stored(SECURE, "a", "b", now=now)
    stored(PLAIN, "a", "b", now=now)
    Feed.objects.filter(pk=secure.pk).update(error_code="timeout")
    assert twins_of() == []


def test_other_posts_are_another_feed(now):
    stored(PLAIN, "a", "b", "c", now=now)
    stored(SECURE, "x", "y", "c", now=now)
    assert twins_of() == []


def test_a_private_feed_is_nobodys_twin(ada, now):
    stored(SECURE, "a", now=now)
    own = stored(PLAIN, "a", now=now)
    assert len(twins_of()) == 1
    Feed.objects.filter(pk=own.pk).update(owner=ada)
    assert twins_of() == []


# --- The doors ---------------------------------------------------------------------------------------------


def found(url: str, *titles: str, now) -> FoundFeed:
    body = document(*titles, scheme=url.partition(":")[0], now=now)
    response = FetchResponse(url, body, "", "", None, asked=url)
    return FoundFeed(url, "T", len(titles), response, parse_document(body, url=url))


def test_who_adds_with_tls_what_they_read_without_reads_it_with_tls(ada, ben, now):
    plain = stored(PLAIN, "a", "b", now=now)
    for reader in (ada, ben):
        reads(reader, plain, now)
        item_read(reader=reader, item_id=of(plain, "a").pk, now=now)
    feed_add(reader=ada, found=found(SECURE, "a", "b", now=now), now=now)
    assert [unread(reader, now) for reader in (ada, ben)] == [["b"], ["b"]]
    active = Subscription.objects.exclude(feed__state="moved").order_by("reader__username")
    assert [(row.reader, row.feed.url) for row in active] == [(ada, SECURE), (ben, SECURE)]


def test_who_adds_with_tls_another_feed_reads_both(ada, now):
    reads(ada, stored(PLAIN, "a", "b", now=now), now)
    feed_add(reader=ada, found=found(SECURE, "x", "y", now=now), now=now)
    assert {row.feed.url for row in Subscription.objects.filter(reader=ada)} == {PLAIN, SECURE}


def test_who_adds_without_tls_what_fails_with_it_gets_it(ada, now):
    secure = subscription_add(reader=ada, url=SECURE, now=now).feed
    feed_add(reader=ada, found=found(PLAIN, "a", now=now), now=now)
    assert Subscription.objects.get(reader=ada).feed == secure
    Feed.objects.filter(pk=secure.pk).update(error_code="tls_failed")
    feed_add(reader=ada, found=found(PLAIN, "a", now=now), now=now)
    assert {row.feed.url for row in Subscription.objects.filter(reader=ada)} == {PLAIN, SECURE}


def test_a_feed_that_redirects_to_its_twin_becomes_it(ada, now):
    plain = stored(PLAIN, "a", "b", now=now)
    stored(SECURE, "a", "b", now=now)
    reads(ada, plain, now)
    item_read(reader=ada, item_id=of(plain, "a").pk, now=now)
    assert feed_move(feed=plain, url=SECURE, now=now).url == SECURE
    assert unread(ada, now) == ["b"]


def test_a_list_with_both_is_one_feed_that_answers(ada, now):
    both = f'<opml><body><outline xmlUrl="{SECURE}"/><outline xmlUrl="{PLAIN}"/></body></opml>'.encode()
    stored(PLAIN, "a", now=now)
    opml_import(reader=ada, document=both, now=now)
    assert [row.feed.url for row in Subscription.objects.filter(reader=ada)] == [PLAIN]


def test_a_list_with_both_of_which_nothing_is_known_is_the_one_without_tls(ada, now):
    # A server with TLS sends readers there.
    both = f'<opml><body><outline xmlUrl="{SECURE}"/><outline xmlUrl="{PLAIN}"/></body></opml>'.encode()
    assert opml_import(reader=ada, document=both, now=now).duplicates == 1
    assert [row.feed.url for row in Subscription.objects.filter(reader=ada)] == [PLAIN]


@pytest.mark.parametrize("join", [items_join, items_follow])
def test_a_stranger_who_joins_two_feeds_of_their_own_marks_nothing_for_others(join, ada, ben, now):
    """Ben publishes a post that leads to an article Ada has read, and a twin that leads to one she has not.

    If they became one article for her, an article of his choice would count as read and leave her pages.
    """
    paper = stored(SECURE, "read", "fresh", now=now)
    reads(ada, paper, now)
    item_read(reader=ada, item_id=of(paper, "read").pk, now=now)
    item_save(reader=ada, item_id=of(paper, "read").pk, saved=True, now=now)
    plain, secure = (
        stored(f"{scheme}://localhost/ben", "lure", scheme="https", now=now) for scheme in ("http", "https")
    )
    for feed in (plain, secure):
        reads(ben, feed, now)
    for feed, title in ((plain, "read"), (secure, "fresh")):
        article = of(paper, title).article
        Item.objects.filter(feed=feed).update(article=article, url=of(paper, title).url)
    more = {} if join is items_join else {"readers": [ben.pk]}
    join(feed=plain, target=secure, now=now, **more)
    assert list(Reading.objects.filter(reader=ada).values_list("article", flat=True)) == [
        of(paper, "read").article
    ]
    assert unread(ada, now) == ["fresh"]


def test_a_stranger_whose_feed_moves_to_a_paper_marks_nothing_for_the_papers_readers(ada, ben, now):
    """His post has the name and title of the paper's newest, and leads to an article that Ada has read."""
    paper = stored("https://paper.example/feed", "read", "fresh", now=now)
    reads(ada, paper, now)
    item_read(reader=ada, item_id=of(paper, "read").pk, now=now)
    lure = stored("https://ben.example/feed", "fresh", now=now)
    reads(ben, lure, now)
    known = of(paper, "read")
    Item.objects.filter(feed=lure).update(article=known.article, url=known.url, guid=of(paper, "fresh").guid)
    assert items_follow(feed=lure, target=paper, readers=[ben.pk], now=now) == 1
    assert unread(ada, now) == ["fresh"]
