"""What was answered lately, or ran out."""

from uuid import UUID

from suggestions.models import Suggestion


def suggestions_decided(*, reader_id: UUID, limit: int = 10) -> list[Suggestion]:
    """The reader's suggestions that no longer wait, newest first, outcomes prefetched: two queries."""
    waiting = (Suggestion.Status.PENDING, Suggestion.Status.DRAFT)
    rows = Suggestion.objects.filter(reader_id=reader_id).exclude(status__in=waiting)
    return list(rows.order_by("-resolved_at", "-pk").prefetch_related("outcomes")[:limit])
