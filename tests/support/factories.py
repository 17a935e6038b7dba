"""Rows for tests, with defaults that make sense on their own."""

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import factory
from allauth.account.models import EmailAddress
from factory.django import DjangoModelFactory

from digest.models import Feed, Feedback, Item, Reader, Source, Subscription

CLOCK = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


class ReaderFactory(DjangoModelFactory):
    class Meta:
        model = Reader
        skip_postgeneration_save = True

    # What is drawn by a reader's id, as which thumbs measure, falls the same way on every run.
    id = factory.LazyAttribute(lambda r: uuid5(NAMESPACE_URL, r.username))
    username = factory.Sequence(lambda n: f"reader{n}")
    email = factory.LazyAttribute(lambda r: f"{r.username}@example.org")
    # Nobody of the cast is here for the first time.
    welcomed_at = CLOCK - timedelta(days=60)

    @factory.post_generation
    def address(self: Reader, create: bool, extracted: object, **kwargs: object) -> None:
        """Who comes with a wish for mail has confirmed the address."""
        if create and self.mail_rhythm != Reader.MailRhythm.OFF:
            confirmed(self)


def confirmed(reader: Reader) -> Reader:
    """The reader, with an address that was confirmed where there is one, so that mail goes to it."""
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


class FeedFactory(DjangoModelFactory):
    class Meta:
        model = Feed

    source = factory.SubFactory(SourceFactory)
    # Nothing is fetched and no entry carries the items that tests make, so the source counts as a whole.
    state = Feed.State.IMPORTED
    url = factory.LazyAttributeSequence(lambda f, n: f"https://{f.source.key}/feed{n}.xml")


class SubscriptionFactory(DjangoModelFactory):
    class Meta:
        model = Subscription

    feed = factory.SubFactory(FeedFactory)
    created_at = CLOCK - timedelta(days=60)


class ItemFactory(DjangoModelFactory):
    class Meta:
        model = Item

    source = factory.SubFactory(SourceFactory)
    title = factory.Sequence(lambda n: f"Plain news number {n}")
    text = ""
    url = factory.LazyAttributeSequence(lambda i, n: f"https://{i.source.key}/items/{n}")
    published_at = CLOCK - timedelta(hours=6)
    first_seen_at = factory.SelfAttribute("published_at")
    dated_at = factory.SelfAttribute("published_at")
    fingerprint = factory.Sequence(lambda n: f"{n:064x}")


class FeedbackFactory(DjangoModelFactory):
    class Meta:
        model = Feedback

    item = factory.SubFactory(ItemFactory)
    useful = True
    at = CLOCK - timedelta(days=1)
    day = factory.LazyAttribute(lambda f: int(f.at.timestamp() // 86400))
