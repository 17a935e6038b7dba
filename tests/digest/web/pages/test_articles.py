"""The page of an item: its article, the content it may load, and the reader's setting for pictures."""

import pytest
from django.test import Client

from digest.articles.pictures import picture_href
from digest.feeds.entities import Enclosure
from digest.models import Feed, Item, Reader, Source
from digest.web.pages.articles import enclosure_words
from tests.support.browser import display_form, fresh_item
from tests.support.factories import FeedFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

pytestmark = pytest.mark.django_db

SOUND = '<enclosure url="https://cdn.example/1.mp3" type="audio/mpeg"/>'
PICTURE = '<enclosure url="https://r.example/p.png" type="image/png"/>'


@pytest.fixture
def adas(ada: Reader) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def published(reader: Reader, now, body: str = "", more: str = "") -> Item:
    feed = FeedFactory()
    SubscriptionFactory(reader=reader, feed=feed)
    entry = f"<guid>1</guid><title>Rain</title><link>https://r.example/1</link>{more}"
    entry += f"<description><![CDATA[{body}]]></description>"
    document_ingest(feed=feed, body=f"<rss><channel><item>{entry}</item></channel></rss>".encode(), now=now)
    return Item.objects.get()


def test_only_a_page_with_something_to_play_may_load_it(adas: Client, ada: Reader, now):
    plain = adas.get("/")["Content-Security-Policy"]
    item = published(ada, now, "<h2>x</h2>", SOUND)
    policy = adas.get(f"/ui/item/{item.pk}")["Content-Security-Policy"]
    assert set(policy.split("; ")) - set(plain.split("; ")) == {"media-src https:"}
    assert set(plain.split("; ")) <= set(policy.split("; ")) and "media-src" not in plain


def test_sound_without_tls_is_a_link(adas: Client, ada: Reader, now):
    item = published(ada, now, "x", SOUND.replace("https:", "http:"))
    answer = adas.get(f"/ui/item/{item.pk}")
    assert "media-src" not in answer["Content-Security-Policy"]
    body = answer.content.decode()
    assert "<audio" not in body and 'href="http://cdn.example/1.mp3"' in body


def test_an_item_of_words_alone_is_paragraphs(adas: Client, ada: Reader, now):
    item = published(ada, now, "<p>It rained.</p><p>It &lt;b&gt;stopped.</p>")
    body = adas.get(f"/ui/item/{item.pk}").content.decode()
    assert "media-src" not in adas.get(f"/ui/item/{item.pk}")["Content-Security-Policy"]
    assert "It rained." in body and "<b>stopped" not in body


def test_a_picture_beside_the_text_stands_above_it_once(adas: Client, ada: Reader, now):
    item = published(ada, now, "<h2>x</h2>", PICTURE)
    href = picture_href("https://r.example/p.png")
    assert adas.get(f"/ui/item/{item.pk}").content.decode().count(href) == 1
    Reader.objects.update(pictures=Reader.Pictures.NEVER)
    assert href not in adas.get(f"/ui/item/{item.pk}").content.decode()


def test_a_picture_in_the_text_is_not_shown_twice(adas: Client, ada: Reader, now):
    item = published(ada, now, '<h2>x</h2><img src="/p.png">', PICTURE)
    body = adas.get(f"/ui/item/{item.pk}").content.decode()
    assert body.count(picture_href("https://r.example/p.png")) == 1


def test_a_wish_about_pictures_is_stored_and_another_refused(adas: Client, ada: Reader):
    assert adas.post("/ui/display", display_form(pictures="tap")).status_code == 302
    assert adas.post("/ui/display", display_form(pictures="loud")).status_code == 422
    ada.refresh_from_db()
    assert ada.pictures == "tap"


@pytest.mark.parametrize(
    ("length", "duration", "words"),
    [(34_000_000, 4350, "1 h 12 min · 34 MB"), (None, 20, "1 min"), (200, None, ""), (400_000, None, "1 MB")],
)
def test_an_enclosure_says_how_long_and_large_it_is(length, duration, words):
    assert enclosure_words(Enclosure("https://r.example/1.mp3", "audio/mpeg", length, duration)) == words


def test_the_piece_beside_a_list_is_no_page_and_plays_nothing(client: Client, ada: Reader, ben: Reader):
    item = fresh_item(ada, text="Words.")
    client.force_login(ada)
    answer = client.get(f"/ui/item/{item.pk}?pane=1")
    body = answer.content.decode()
    assert "<html" not in body and "<h1" not in body and "data-pane-item" in body and "Words." in body
    assert "media-src" not in answer["Content-Security-Policy"]
    client.force_login(ben)
    assert client.get(f"/ui/item/{item.pk}?pane=1").status_code == 404


def test_the_page_of_an_article_names_its_feed_if_its_source_is_called_otherwise(client: Client, ada: Reader):
    client.force_login(ada)
    item = fresh_item(ada, title="A lamp")
    address = f"/ui/item/{item.pk}"
    Source.objects.filter(pk=item.source_id).update(title="Gazette")
    for title, shown in (("Gazette - Sport", True), ("Gazette", False), ("", False)):
        Feed.objects.filter(pk=item.feed_id).update(title=title)
        assert ("from the feed “<bdi>Gazette - Sport</bdi>”" in client.get(address).content.decode()) is shown
