"""What waits for a reader's decision, and what their decisions add up to."""

from datetime import datetime
from typing import Any
from uuid import UUID

from suggestions.models import PreferenceProfile, Suggestion


def suggestions_pending(*, reader_id: UUID) -> list[Suggestion]:
    """The reader's pending suggestions in the order they were made, evidence prefetched: two queries."""
    rows = Suggestion.objects.filter(reader_id=reader_id, status=Suggestion.Status.PENDING)
    return list(rows.order_by("created_at", "pk").prefetch_related("evidence"))


def suggestions_pending_count(*, reader_id: UUID) -> int:
    """How many suggestions wait for the reader's decision; one query."""
    return Suggestion.objects.filter(reader_id=reader_id, status=Suggestion.Status.PENDING).count()


def suggestion_for(*, reader_id: UUID, suggestion_id: int) -> Suggestion | None:
    """The suggestion, evidence prefetched, if it is this reader's and theirs to see."""
    rows = Suggestion.objects.filter(reader_id=reader_id, pk=suggestion_id)
    return rows.exclude(status__in=Suggestion.UNSEEN).prefetch_related("evidence").first()


def suggestions_created_between(*, reader_id: UUID, start: datetime, end: datetime) -> list[int]:
    """The ids of the suggestions with `start` <= created < `end` that the reader may see or has seen."""
    rows = Suggestion.objects.filter(reader_id=reader_id, created_at__gte=start, created_at__lt=end)
    rows = rows.exclude(status__in=Suggestion.UNSEEN)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def profile_for(*, reader_id: UUID) -> dict[str, Any] | None:
    """The reader's preference profile as plain JSON values, or `None` before the first outcome."""
    row = PreferenceProfile.objects.filter(reader_id=reader_id, total_outcomes__gt=0).first()
    if row is None:
        return None
    return {
        "acceptance_stats": row.acceptance_stats,
        "patterns": row.patterns,
        "trends": row.trends,
        "total_outcomes": row.total_outcomes,
        "last_outcome_at": row.last_outcome_at and row.last_outcome_at.isoformat(),
        "computed_at": row.computed_at.isoformat(),
    }
