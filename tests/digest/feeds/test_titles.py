"""Names of feeds without what only says that they are feeds."""

from importlib import import_module

import pytest
from django.apps import apps
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.discovery import page_feeds
from digest.feeds.parse import parse_document
from digest.feeds.titles import title_clean
from digest.models import Feed, Source, Subscription
from digest.sources.subscription_changes import subscriptions_rename
from digest.sources.subscriptions import opml_import
from tests.support.factories import FeedFactory, SubscriptionFactory

DIRTY = [
    ("Rest of World -", "Rest of World"),
    ("Harbour |", "Harbour"),
    ("500px:", "500px"),
    ("» Harbour", "Harbour"),
    ("Harbour »", "Harbour"),
    ("Harbour » Feed", "Harbour"),
    ("Harbour – RSS", "Harbour"),
    ("Toronto Sun - RSS Feed", "Toronto Sun"),
    ("CTVNews.ca - Top Stories - Public RSS", "CTVNews.ca - Top Stories"),
    ("A List Apart: The Full Feed", "A List Apart"),
    ("Autocar RSS Feed", "Autocar"),
    ("Harbour (RSS)", "Harbour"),
    ("Harbour Atom", "Harbour"),
    ("Ain't It Cool News Feed", "Ain't It Cool News"),
    ("Feed -", "Feed"),
]
CLEAN = [
    "RSS",
    "RSS Feed",
    "The Feed",
    "Chicken Feed",
    "---",
    "",
    "BBC News - Sport",
    "Repubblica.it > Homepage",
    "Disney+",
    "C-",
    "Yahoo!",
    "Le blog «Atome»",
    "CNN.com - RSS Channel - App",
]


@pytest.mark.parametrize(("title", "cleaned"), DIRTY)
def test_a_title_loses_signs_at_its_ends_and_the_words_for_feed(title: str, cleaned: str):
    assert title_clean(title) == cleaned


@pytest.mark.parametrize("title", CLEAN)
def test_a_title_that_is_a_name_stays(title: str):
    assert title_clean(title) == title


@given(st.lists(st.sampled_from(["RSS", "feed", "the", "-", "»", "Harbour:", "news", "«", "|", "x"])))
def test_cleaning_again_changes_nothing_and_leaves_a_name(words: list[str]):
    cleaned = title_clean(title := " ".join(words))
    assert title_clean(cleaned) == cleaned
    assert bool(cleaned) == bool(title)


def test_documents_and_pages_bring_clean_names():
    feed = "<rss version='2.0'><channel><title>Harbour -</title><item><title>A</title></item></channel></rss>"
    assert parse_document(feed.encode()).title == "Harbour"
    markup = "<link rel=alternate type=application/rss+xml title='Harbour &raquo; Feed' href=/feed>"
    assert [feed.title for feed in page_feeds(markup, url="https://harbour.example/")] == ["Harbour"]


@pytest.mark.django_db
@pytest.mark.parametrize(("known", "own"), [("", "Harbour"), ("Harbour", ""), ("The port", "Harbour |")])
def test_a_list_brings_no_name_from_before_the_cleaning(ada, now, known: str, own: str):
    """Of a feed that nobody fetched yet, the list most likely has the feed's own name."""
    feed = FeedFactory(url="https://e.example/feed", title=known)
    document = f"<opml><body><outline text='Harbour |' xmlUrl='{feed.url}'/></body></opml>".encode()
    opml_import(reader=ada, document=document, now=now)
    assert Subscription.objects.get().own_name == own


@pytest.mark.django_db
def test_stored_names_become_clean_and_a_readers_own_name_stays(ada, ben):
    theirs = SubscriptionFactory(reader=ada, feed__title="Harbour -", own_name="Harbour -")
    own = SubscriptionFactory(reader=ben, feed=theirs.feed)
    subscriptions_rename(reader=ben, names={theirs.feed_id: "The port -"})
    Source.objects.filter(pk=theirs.feed.source_id).update(title="Harbour -")
    migration = import_module("digest.migrations.0020_titles_clean")
    for operation in migration.Migration.operations:
        operation.code(apps, None)
    assert Feed.objects.get(pk=theirs.feed_id).title == "Harbour"
    assert Source.objects.get(pk=theirs.feed.source_id).title == "Harbour"
    names = {row.reader_id: row.name for row in Subscription.objects.select_related("feed")}
    assert names == {ada.pk: "Harbour", ben.pk: "The port -"}
    assert own.feed_id == theirs.feed_id
