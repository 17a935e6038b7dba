"""What a reader is subscribed to."""

from uuid import UUID

from digest.models import Subscription


def subscriptions_of(*, reader_id: UUID) -> list[Subscription]:
    """The reader's subscriptions with feed and source at hand, by the source's name; one query."""
    rows = Subscription.objects.filter(reader_id=reader_id).select_related("feed__source")
    return sorted(rows, key=lambda row: str(row.feed.source).casefold())


def subscriptions_any(*, reader_id: UUID) -> bool:
    """Whether the reader reads anything at all; one query."""
    return Subscription.objects.filter(reader_id=reader_id).exists()


def subscription_of(*, reader_id: UUID, feed_id: int) -> Subscription | None:
    """The reader's own subscription to a feed, with feed and source at hand; None where there is none."""
    found = Subscription.objects.filter(reader_id=reader_id, feed__pk=feed_id)
    return found.select_related("feed__source").first()
