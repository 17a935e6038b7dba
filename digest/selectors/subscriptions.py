"""What a reader is subscribed to."""

from collections.abc import Collection
from uuid import UUID

from digest.models import Reader, Subscription


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


def readers_with_models(*, reader_ids: Collection[UUID]) -> set[UUID]:
    """Those of the readers whose feedback a model may study; one query.

    Neither have they turned models off, nor for any of their feeds: thumbs are studied all together, titles
    and all, and what one feed brought cannot be told from what others make of it.
    """
    off = Subscription.objects.filter(reader_id__in=reader_ids, ai_enabled=False).values("reader_id")
    rows = Reader.objects.filter(pk__in=reader_ids, ai_enabled=True).exclude(pk__in=off)
    return set(rows.values_list("pk", flat=True))


def models_allowed(*, reader_id: UUID) -> bool:
    """`readers_with_models` of one reader."""
    return bool(readers_with_models(reader_ids=[reader_id]))
