"""Bodies of items: stored beside them, compressed, renewed when they change, gone with them."""

import zlib
from dataclasses import replace
from datetime import timedelta

import pytest

from digest.feeds.bodies import content_of
from digest.feeds.dedupe import identify_entries
from digest.feeds.entities import Enclosure, ParsedEntry
from digest.models import Item, ItemBody
from digest.retention import items_prune
from tests.support.factories import FeedFactory
from tests.support.ingest import document_ingest

pytestmark = pytest.mark.django_db

EPISODE = '<enclosure url="https://r.example/1.mp3" type="audio/mpeg" length="34000000"/>'


def rss(*items: str) -> bytes:
    return f"<rss><channel><title>Rivers</title>{''.join(items)}</channel></rss>".encode()


def entry(n: int = 1, html: str = "", more: str = "", title: str = "Rain") -> str:
    body = f"<description><![CDATA[{html}]]></description>" if html else ""
    return (
        f"<item><guid>g{n}</guid><link>https://r.example/{n}</link><title>{title}</title>{body}{more}</item>"
    )


MARKED = '<h2>Levels</h2><p>See <a href="/map">the map</a>.</p><p><img src="/boat.png" alt="a boat"></p>'


def test_an_item_has_its_body_as_published(now):
    more = f"{EPISODE}<category>Water</category><category>Weather &amp; wind</category>"
    document_ingest(feed=FeedFactory(), body=rss(entry(html=MARKED, more=more)), now=now)
    content = content_of(item=Item.objects.get())
    assert (
        '<a href="https://r.example/map"' in content.html
        and 'data-src="https://r.example/boat.png"' in content.html
    )
    assert content.categories == ("Water", "Weather & wind")
    assert content.enclosures == (Enclosure("https://r.example/1.mp3", "audio/mpeg", 34_000_000, None),)
    assert content.image == "https://r.example/boat.png"
    assert zlib.decompress(ItemBody.objects.get().html).decode() == content.html


def test_plain_items_have_no_row_and_need_no_query(now, django_assert_num_queries):
    document_ingest(feed=FeedFactory(), body=rss(entry(html="It rained.")), now=now)
    item = Item.objects.get()
    with django_assert_num_queries(0):
        assert content_of(item=item).html == ""
    assert (ItemBody.objects.count(), item.body_hash, item.categories, item.image) == (0, 0, [], "")


def test_a_release_does_not_store_every_body_again():
    """The hashes are those that installations have stored.

    If one differs here, the next fetch after an upgrade writes each body once more. A new field of
    `ParsedEntry` or `Enclosure` is hashed only where it is not empty, beside the old parts.
    """
    plain = ParsedEntry("1", "https://r.example/1", "Rain", "It rains.", "Eve", "en", None)
    episode = Enclosure("https://r.example/1.mp3", "audio/mpeg", 1000, 60)
    full = replace(
        plain,
        html="<p>It rains.</p>",
        categories=("Weather",),
        enclosures=(episode,),
        image="https://r.example/1.png",
    )
    hashes = [next(iter(identify_entries([entry]).values())).body_hash for entry in (plain, full)]
    assert hashes == [0, 699057346395039769]


def test_a_body_that_changed_is_stored_anew_and_the_same_is_not(now, django_assert_max_num_queries):
    feed = FeedFactory()
    document_ingest(feed=feed, body=rss(entry(html=MARKED), entry(2, more=EPISODE)), now=now)
    before = Item.objects.order_by("pk").first()
    again = document_ingest(feed=feed, body=rss(entry(html=MARKED), entry(2, more=EPISODE)), now=now)
    assert again.items_updated == 0
    changed = rss(entry(html=MARKED.replace("boat", "ship"), more="<category>New</category>"), entry(2))
    assert document_ingest(feed=feed, body=changed, now=now).items_updated == 2
    first, second = Item.objects.order_by("pk")
    assert "ship.png" in content_of(item=first).html and first.image == "https://r.example/ship.png"
    assert (first.categories, first.first_seen_at, first.title) == (["New"], now, before.title)
    assert content_of(item=second).enclosures == () and ItemBody.objects.count() == 1


def test_an_item_of_the_release_before_gets_its_body_while_its_feed_carries_it(now):
    feed = FeedFactory()
    document_ingest(feed=feed, body=rss(entry(html=MARKED)), now=now)
    ItemBody.objects.all().delete()
    Item.objects.update(body_hash=0, categories=[], image="")
    document_ingest(feed=feed, body=rss(entry(html=MARKED)), now=now)
    assert "Levels" in content_of(item=Item.objects.get()).html


def test_a_post_that_changes_its_guid_keeps_one_body(now):
    feed = FeedFactory()
    document_ingest(feed=feed, body=rss(entry(html=MARKED)), now=now)
    other = rss(entry(html=MARKED + "<ul><li>more</li></ul>").replace("g1", "g9"))
    document_ingest(feed=feed, body=other, now=now)
    assert "<li>more" in content_of(item=Item.objects.get()).html


def test_the_number_of_statements_does_not_grow_with_the_bodies(now, django_assert_max_num_queries):
    for size in (5, 80):
        feed = FeedFactory(source__key=f"r{size}.example")
        items = [entry(n, html=MARKED, more=EPISODE, title=f"{size}-{n}") for n in range(size)]
        with django_assert_max_num_queries(15):
            assert document_ingest(feed=feed, body=rss(*items), now=now).items_new == size
        changed = [one.replace("boat", "ship") for one in items]
        with django_assert_max_num_queries(15):
            assert document_ingest(feed=feed, body=rss(*changed), now=now).items_updated == size
        assert ItemBody.objects.filter(item__feed=feed).count() == size


def test_a_body_goes_with_its_item(now, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"items": 60}
    document_ingest(feed=FeedFactory(), body=rss(entry(html=MARKED)), now=now)
    assert items_prune(now=now + timedelta(days=100)) == 1
    assert not ItemBody.objects.exists()
