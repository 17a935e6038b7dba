"""Rows for tests, with defaults that make sense on their own."""

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import factory
from allauth.account.models import EmailAddress
from factory.django import DjangoModelFactory

from digest.feeds.identity import article_hash
from digest.models import Feed, Feedback, Item, Reader, Source, Subscription

CLOCK = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


class ReaderFactory(DjangoModelFactory):
    class Meta:
        model = Reader
        skip_postgeneration_save = True

    # Random draws depend on the reader's id, so a fixed id gives the same draws on every run.
    id = factory.LazyAttribute(lambda r: uuid5(NAMESPACE_URL, r.username))
    username = factory.Sequence(lambda n: f"reader{n}")
    email = factory.LazyAttribute(lambda r: f"{r.username}@example.org")
    # None of these readers is new.
    welcomed_at = CLOCK - timedelta(days=60)

    @factory.post_generation
    def address(self: Reader, create: bool, extracted: object, **kwargs: object) -> None:
        """Who comes with a wish for mail has confirmed the address."""
        if create and self.mail_rhythm != Reader.MailRhythm.OFF:
            confirmed(self)


def confirmed(reader: Reader) -> Reader:
    """Return the reader. Confirm their address if they have one, so that mail goes to it."""
    if reader.email:
        EmailAddress.objects.get_or_create(user=reader, email=reader.email, defaults={"verified": True})
    return reader


class OperatorFactory(ReaderFactory):
    is_staff = True
    is_superuser = True


class SourceFactory(DjangoModelFactory):
    class Meta:
        model = Source
        django_get_or_create = ("key",)

    key = factory.Sequence(lambda n: f"source{n}.example")
    title = factory.LazyAttribute(lambda s: s.key.split(".")[0].title())


def _source_key(row: object) -> str:
    """Return the source of a row that is being made, given as a source or as a key."""
    return str(getattr(row, "source_id", None) or row.source.key)  # type: ignore[attr-defined]


def feed_address(source: str) -> str:
    """Return the address of the one feed of a source, by its key."""
    return f"https://{source}/feed.xml"


def _feed_of(row: object) -> Feed:
    """Return the feed of a row's source; it is there already for most, and found in one query."""
    key = _source_key(row)
    found = Feed.objects.filter(url=feed_address(key)).first()
    return found or FeedFactory(source=SourceFactory(key=key))


class FeedFactory(DjangoModelFactory):
    class Meta:
        model = Feed

        django_get_or_create = ("url",)

    source = factory.SubFactory(SourceFactory)
    # Nothing is fetched. A source has one feed, unless a test says otherwise by an address.
    state = Feed.State.IMPORTED
    url = factory.LazyAttribute(lambda f: feed_address(_source_key(f)))
    # The feed was fetched before, and has the title of its source.
    title = factory.LazyAttribute(lambda f: getattr(getattr(f, "source", None), "title", ""))


class SubscriptionFactory(DjangoModelFactory):
    class Meta:
        model = Subscription

    feed = factory.SubFactory(FeedFactory)
    created_at = CLOCK - timedelta(days=60)


class ItemFactory(DjangoModelFactory):
    class Meta:
        model = Item

    source = factory.SubFactory(SourceFactory)
    feed = factory.LazyAttribute(_feed_of)
    title = factory.Sequence(lambda n: f"Plain news number {n}")
    text = ""
    url = factory.LazyAttributeSequence(lambda i, n: f"https://{i.source.key}/items/{n}")
    guid = factory.SelfAttribute("url")
    article = factory.LazyAttribute(lambda i: article_hash(i.url))
    published_at = CLOCK - timedelta(hours=6)
    first_seen_at = factory.SelfAttribute("published_at")
    dated_at = factory.SelfAttribute("published_at")
    fingerprint = factory.Sequence(lambda n: f"{n:064x}")


class FeedbackFactory(DjangoModelFactory):
    class Meta:
        model = Feedback

    item = factory.SubFactory(ItemFactory)
    article = factory.LazyAttribute(lambda f: f.item.article)
    useful = True
    at = CLOCK - timedelta(days=1)
    day = factory.LazyAttribute(lambda f: int(f.at.timestamp() // 86400))
