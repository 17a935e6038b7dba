"""What a reader is subscribed to."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

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


def readers_without_models() -> set[UUID]:
    """The readers whose feedback no model may study; one query.

    They have turned models off, or have for one of their feeds: thumbs are studied all together, titles and
    all, and what one feed brought cannot be told from what others make of it.
    """
    return set(_without_models().values_list("pk", flat=True))


def models_allowed(*, reader_id: UUID) -> bool:
    """Whether a model may study this reader's feedback; one query."""
    return not _without_models().filter(pk=reader_id).exists()


def _without_models() -> QuerySet[Reader]:
    off = Subscription.objects.filter(reader_id=OuterRef("pk"), ai_enabled=False)
    return Reader.objects.filter(Q(ai_enabled=False) | Q(Exists(off)))
