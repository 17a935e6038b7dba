"""Why an article has no place in a digest: its page says what is true of it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.days import day_of
from digest.items.reading import item_read
from digest.models import Digest, Item, Reader, Subscription
from ranking.entities import Mute
from ranking.services import mute_set, source_rules_set
from ranking.source_rules import SourceRules
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory, FeedFactory, ItemFactory, SubscriptionFactory

KEY = "gazette.example"


def built(reader: Reader, hours: float) -> Digest:
    """Return a digest without items, made so many hours ago."""
    at = timezone.now() - timedelta(hours=hours)
    return Digest.objects.create(reader=reader, date=day_of(at, reader.zone), built_at=at, config_version=0)


def place(client: Client, reader: Reader, item: Item) -> str:
    """Return the sentence on the item's page."""
    client.force_login(reader)
    return client.get(f"/ui/item/{item.pk}").context["place_words"]


def test_an_article_that_is_new_waits_for_a_digest(client: Client, ada: Reader):
    item = fresh_item(ada, hours=1)
    assert place(client, ada, item) == "No digest of yours was made since it came."
    built(ada, hours=0).delete()
    digest = built(ada, hours=2)
    Digest.objects.filter(pk=digest.pk).update(date=day_of(timezone.now(), ada.zone))
    assert place(client, ada, item) == "It came after today’s digest was made."


def test_an_old_article_says_why_it_was_in_none(client: Client, ada: Reader):
    item = fresh_item(ada, hours=24 * 20)
    Subscription.objects.update(created_at=timezone.now() - timedelta(days=60))
    assert place(client, ada, item) == "No digest of yours was made in the week after it was published."
    Item.objects.filter(pk=item.pk).update(first_seen_at=timezone.now() - timedelta(days=2))
    assert place(client, ada, item).startswith("It was older than a week when it came.")


def muted(reader: Reader, item: Item) -> None:
    mute_set(reader_id=reader.pk, mute=Mute("word", "gossip"), now=timezone.now())


def kept_out(reader: Reader, item: Item) -> None:
    Subscription.objects.update(in_today=False)


def left(reader: Reader, item: Item) -> None:
    FeedbackFactory(reader=reader, item=item, at=timezone.now())
    Subscription.objects.all().delete()


def copied(reader: Reader, item: Item) -> None:
    feed = FeedFactory(source=item.source, url="https://gazette.example/other.xml")
    SubscriptionFactory(reader=reader, feed=feed)
    ItemFactory(feed=feed, source=item.source, url=item.url, own=True, published_at=item.published_at)
    Item.objects.filter(pk=item.pk).update(own=False)


def outlived(reader: Reader, item: Item) -> None:
    rules = SourceRules(shelf_life=6)
    source_rules_set(reader_id=reader.pk, source=KEY, rules=rules, now=timezone.now())


def rated(reader: Reader, item: Item) -> None:
    FeedbackFactory(reader=reader, item=item, at=timezone.now() - timedelta(hours=20))


def read(reader: Reader, item: Item) -> None:
    item_read(reader=reader, item_id=item.pk, now=timezone.now() - timedelta(hours=20))


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (muted, "One of your mutes hides it."),
        (kept_out, "You keep its feed out of Today."),
        (left, "You do not read its feed any more."),
        (copied, "Another of your feeds has the same article, which counts instead."),
        (outlived, "It was past the shelf life that you gave its source."),
        (rated, "You had rated it before a digest was made."),
        (read, "You had read it before a digest was made."),
    ],
)
def test_an_article_that_was_no_candidate_says_why(client: Client, ada: Reader, done, words):
    item = fresh_item(ada, hours=30, title="Gossip from the pier")
    Subscription.objects.update(created_at=timezone.now() - timedelta(days=60))
    built(ada, hours=10)
    done(ada, item)
    item.refresh_from_db()
    assert place(client, ada, item) == words
